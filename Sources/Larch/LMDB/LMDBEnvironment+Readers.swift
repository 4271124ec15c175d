internal import CLMDB

internal import Foundation

/// A read transaction with a slot of the lock table. It is parked between reads, which pins no
/// pages and makes beginning one eight times cheaper.
final class LMDBReader: @unchecked Sendable {
  let transaction: LMDBTransaction
  /// The generation of the environment that it belongs to.
  let generation: Int
  /// What an upper layer wants to find again with the slot, such as its caches. Only touched by
  /// the thread that reads.
  var attachment: AnyObject?
  /// The thread that reads, or 0 while it is parked; guarded by the environment.
  @exclusivity(unchecked) fileprivate(set) var thread: UInt = 0

  fileprivate init(_ transaction: LMDBTransaction, generation: Int) {
    self.transaction = transaction
    self.generation = generation
  }
}

extension LMDBEnvironment {
  /// A parked reader keeps its slot, and other processes need some too.
  private var maxParkedReaders: Int { max(1, min(64, options.maxReaders / 4)) }

  /// Begins a read of the newest snapshot. It must end with `endRead`, on the same thread.
  func beginRead() throws -> LMDBReader {
    try checkNotForked()
    let thread = ThreadIdentity.current
    mutex.lock()
    if blockers.isEmpty, let reader = parkedReaders.popLast() {
      reader.thread = thread
      activeUses &+= 1
      mutex.unlock()
      let code = mdb_txn_renew(reader.transaction.pointer)
      if code == MDB_SUCCESS { return reader }
      park(reader)
    } else {
      mutex.unlock()
    }
    return try beginReadSlowly(thread)
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
  private func endUseLocked() {
    activeUses &-= 1
    if !blockers.isEmpty || slotWaiters > 0 { readsChanged.broadcast() }
    let mustClose = blockers.contains(.closed) && isIdle
    mutex.unlock()
    if mustClose { LMDBRegistry.shared.finishClosing(self) }
  }

  // MARK: The slow way to a read

  private func beginReadSlowly(_ thread: UInt) throws -> LMDBReader {
    let deadline = MonotonicTime.after(seconds: options.waitLimit)
    while true {
      let handle = try beginUse(thread)
      let generation = self.generation
      let (reader, code) = renewOrBegin(handle, thread)
      if let reader { return reader }
      mutex.lock()
      endUseLocked()
      switch code {
      case MDB_MAP_RESIZED: try adoptMapSize(thread)
      case MDB_PANIC: try recover(thread, poisoning: generation)
      case MDB_READERS_FULL: try waitForSlot(until: deadline)
      default: throw translated(LMDBError(code, "mdb_txn_begin"))
      }
    }
  }

  private func renewOrBegin(_ handle: OpaquePointer, _ thread: UInt) -> (LMDBReader?, Int32) {
    mutex.lock()
    let parked = parkedReaders.popLast()
    parked?.thread = thread
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
    let reader = LMDBReader(LMDBTransaction(pointer: transaction), generation: generation)
    mutex.lock()
    reader.thread = thread
    readers.append(reader)
    mutex.unlock()
    return (reader, code)
  }

  /// Frees the slots of dead processes, else waits a moment for a read to end.
  private func waitForSlot(until deadline: MonotonicTime) throws {
    if try checkReaders() > 0 { return }
    mutex.lock()
    slotWaiters += 1
    let now = MonotonicTime.now.nanoseconds
    let isLate = now >= deadline.nanoseconds
    if !isLate {
      // Reads of other processes end without a word, hence the short wait.
      _ = readsChanged.wait(mutex, until: MonotonicTime(nanoseconds: now &+ 10_000_000))
    }
    slotWaiters -= 1
    mutex.unlock()
    if isLate { throw LMDBError(MDB_READERS_FULL, "mdb_txn_begin").larchError(path: path) }
  }
}
