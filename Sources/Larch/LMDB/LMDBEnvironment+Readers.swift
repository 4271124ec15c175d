internal import CLMDB

internal import Foundation

extension LMDBEnvironment {
  /// A parked reader keeps its slot, and other processes need some too.
  var maxParkedReaders: Int { max(1, min(64, options.maxReaders / 4)) }

  /// Begins a read of the newest snapshot. It must end with `endRead`, on the same thread.
  ///
  /// Where a parked reader is at hand this makes no system call.
  func beginRead(at place: CodePlace = CodePlace()) throws -> LMDBReader {
    try checkNotForked()
    let thread = ThreadIdentity.current
    mutex.lock()
    if blockers.isEmpty, let reader = parkedReaders.popLast() {
      reader.thread = thread
      reader.place = place
      reader.use &+= 1
      activeUses &+= 1
      mutex.unlock()
      let code = mdb_txn_renew(reader.transaction.pointer)
      if code == MDB_SUCCESS { return reader }
      park(reader)
    } else {
      mutex.unlock()
    }
    return try beginReadSlowly(thread, place)
  }

  /// Ends a read; its reader must not be used any more.
  func endRead(_ reader: LMDBReader) {
    if isForked { return }
    mdb_txn_reset(reader.transaction.pointer)
    park(reader)
  }

  private func park(_ reader: LMDBReader) {
    mutex.lock()
    reader.thread = 0
    if blockers.isEmpty && slotWaiters == 0 && parkedReaders.count < maxParkedReaders {
      parkedReaders.append(reader)
      activeUses &-= 1
      mutex.unlock()
      return
    }
    // Not a use any more only when its slot is free: with the last use the handle may be closed.
    if parkedReaders.count < maxParkedReaders {
      parkedReaders.append(reader)
    } else {
      reader.transaction.abort()
      readers.removeAll { $0 === reader }
    }
    endUseLocked()
  }

  // MARK: Uses that are not reads

  /// Runs a body that uses the handle and must not see the map move.
  func withHandle<T>(_ body: (OpaquePointer) throws -> T) throws -> T {
    try checkNotForked()
    let thread = ThreadIdentity.current
    let handle = try beginUse(thread)
    defer {
      mutex.lock()
      endUseLocked()
      deliverMessages()
    }
    return try body(handle)
  }

  /// Counts a use when the environment is in a state for it; waits and recovers where needed.
  private func beginUse(_ thread: UInt) throws -> OpaquePointer {
    while true {
      mutex.lock()
      try waitUntilMapIsStill(thread)
      if blockers.contains(.closed) {
        mutex.unlock()
        throw closedError()
      }
      if !blockers.contains(.poisoned), let handle {
        activeUses &+= 1
        mutex.unlock()
        return handle
      }
      mutex.unlock()
      try recover(thread)
    }
  }

  /// Waits with the mutex held while the map is about to move. A thread that reads already goes
  /// on: what moves the map waits for it.
  private func waitUntilMapIsStill(_ thread: UInt) throws {
    while blockers.contains(.exclusive), handle == nil || !isReading(thread) {
      readsChanged.wait(mutex)
    }
  }

  /// Whether the thread has a read open; with the mutex held.
  func isReading(_ thread: UInt) -> Bool { readers.contains { $0.thread == thread } }

  /// Ends a use with the mutex held, and unlocks it.
  func endUseLocked() {
    activeUses &-= 1
    if !blockers.isEmpty || slotWaiters > 0 { readsChanged.broadcast() }
    let mustClose = blockers.contains(.closed) && isIdle
    mutex.unlock()
    if mustClose { LMDBRegistry.shared.finishClosing(self) }
  }

  // MARK: The slow way to a read

  private func beginReadSlowly(_ thread: UInt, _ place: CodePlace) throws -> LMDBReader {
    defer { deliverMessages() }
    var wait: SlotWait?
    while true {
      let handle = try beginUse(thread)
      let generation = self.generation
      let (reader, code) = renewOrBegin(handle, thread, place)
      if let reader {
        if let wait { tell(wait, place) }
        return reader
      }
      mutex.lock()
      endUseLocked()
      switch code {
      case MDB_MAP_RESIZED: try adoptMapSize()
      case MDB_PANIC: try recover(thread, poisoning: generation)
      case MDB_READERS_FULL: wait = try waitForSlot(wait)
      default: throw translated(LMDBError(code, "mdb_txn_begin"))
      }
    }
  }

  /// A read for housekeeping, which waits for nothing: nil where that would be needed.
  func beginReadAtOnce() -> LMDBReader? {
    if isForked { return nil }
    let thread = ThreadIdentity.current
    mutex.lock()
    guard blockers.isEmpty, let handle else {
      mutex.unlock()
      return nil
    }
    activeUses &+= 1
    mutex.unlock()
    let (reader, _) = renewOrBegin(handle, thread, CodePlace())
    if let reader { return reader }
    mutex.lock()
    endUseLocked()
    return nil
  }

  private func renewOrBegin(
    _ handle: OpaquePointer, _ thread: UInt, _ place: CodePlace
  ) -> (LMDBReader?, Int32) {
    mutex.lock()
    let parked = parkedReaders.popLast()
    parked?.thread = thread
    parked?.place = place
    parked?.use &+= 1
    mutex.unlock()
    if let parked {
      let code = mdb_txn_renew(parked.transaction.pointer)
      if code == MDB_SUCCESS { return (parked, code) }
      mutex.lock()
      parked.thread = 0
      parkedReaders.append(parked)
      mutex.unlock()
      return (nil, code)
    }
    var transaction: OpaquePointer?
    let code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
    guard code == MDB_SUCCESS, let transaction else { return (nil, code) }
    let reader = LMDBReader(
      LMDBTransaction(pointer: transaction), generation: generation, place: place)
    mutex.lock()
    reader.thread = thread
    reader.use = 1
    readers.append(reader)
    mutex.unlock()
    return (reader, code)
  }

  // MARK: A full table

  /// A read that waits for a slot.
  private struct SlotWait {
    let began: MonotonicTime
    let deadline: MonotonicTime
    /// Who had the slots when it began.
    let holders: String
  }

  /// Frees the slots of dead processes and of snapshots that are too old, else waits a moment for
  /// a read to end.
  private func waitForSlot(_ before: SlotWait?) throws -> SlotWait {
    let wait =
      before
      ?? SlotWait(
        began: .now, deadline: MonotonicTime.after(seconds: options.waitLimit),
        holders: options.log == nil ? "" : describedSlots())
    if try checkReaders() > 0 { return wait }
    try endOldHeldReads()
    mutex.lock()
    slotWaiters += 1
    let now = MonotonicTime.now.nanoseconds
    let isLate = now >= wait.deadline.nanoseconds
    // A snapshot that was just ended has left a parked reader.
    if !isLate, parkedReaders.isEmpty {
      // Reads of other processes end without a word, hence the short wait.
      _ = readsChanged.wait(mutex, until: MonotonicTime(nanoseconds: now &+ 10_000_000))
    }
    slotWaiters -= 1
    mutex.unlock()
    if isLate { throw fullTableError() }
    return wait
  }

  /// The error that names the reads which have been open the longest.
  private func fullTableError() -> LarchError {
    let detail = describedSlots()
    var error = LMDBError(MDB_READERS_FULL, "mdb_txn_begin").larchError(path: path)
    error.context.detail = detail
    return error
  }

  private func tell(_ wait: SlotWait, _ place: CodePlace) {
    guard let log = options.log else { return }
    var details = LogMessage.Details()
    details.place = place
    details.waited = .nanoseconds(MonotonicTime.now.nanoseconds &- wait.began.nanoseconds)
    log(
      LogMessage(
        .warning, .readerWait, "A read waited for a slot: the table of readers is full.",
        details: details
      ) {
        $0.path = path
        $0.detail = wait.holders
      })
  }
}
