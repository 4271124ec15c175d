internal import CLMDB

extension LMDBEnvironment {
  /// Begins a read of the newest snapshot. It must end with `endRead`, on the same thread.
  ///
  /// With a parked reader this makes no system call.
  func beginRead(at place: CodePlace = CodePlace()) throws -> LMDBReader {
    try checkNotForked()
    let thread = ThreadIdentity.current
    if let reader = readers.takeParked(thread, place) {
      if reader.renew() == MDB_SUCCESS { return reader }
      park(reader)
    }
    return try beginReadSlowly(thread, place)
  }

  /// Ends a read; its reader must not be used after that.
  func endRead(_ reader: LMDBReader) {
    if isForked { return }
    mdb_txn_reset(reader.transaction.pointer)
    park(reader)
    deliverMessages()
  }

  /// The same without delivering messages, for a thread that holds a mutex.
  func endReadSilently(_ reader: LMDBReader) {
    mdb_txn_reset(reader.transaction.pointer)
    park(reader)
  }

  private func park(_ reader: LMDBReader) {
    if readers.park(reader) { LMDBRegistry.shared.finishClosing(self) }
  }

  // MARK: Uses that are not reads

  /// Runs a body that uses the handle and must not see the map move.
  func withHandle<T>(_ body: (OpaquePointer) throws -> T) throws -> T {
    try checkNotForked()
    let handle = try beginUse(ThreadIdentity.current)
    defer {
      endUse()
      deliverMessages()
    }
    return try body(handle)
  }

  /// Counts a use if the environment is usable; waits and recovers if needed.
  private func beginUse(_ thread: UInt) throws -> OpaquePointer {
    while true {
      switch readers.beginUse(thread) {
      case .open(let handle): return handle
      case .closed: throw LarchError.closed(path)
      case .unusable: try recover()
      }
    }
  }

  private func endUse() {
    if readers.endUse() { LMDBRegistry.shared.finishClosing(self) }
  }

  // MARK: The slow way to a read

  private func beginReadSlowly(_ thread: UInt, _ place: CodePlace) throws -> LMDBReader {
    defer { deliverMessages() }
    var wait: SlotWait?
    while true {
      let handle = try beginUse(thread)
      let generation = self.generation
      let (reader, code) = readers.renewOrBegin(handle, thread, place)
      if let reader {
        if let wait { tell(wait, place) }
        return reader
      }
      endUse()
      switch code {
      case MDB_MAP_RESIZED: try adoptMapSize()
      case MDB_PANIC: try recover(poisoning: generation)
      case MDB_READERS_FULL: wait = try waitForSlot(wait)
      default: throw translated(LMDBError(code, "mdb_txn_begin"))
      }
    }
  }

  /// A read for housekeeping, which does not wait: nil if it would have to.
  func beginReadWithoutWaiting() -> LMDBReader? {
    guard !isForked, let handle = readers.beginUseWithoutWaiting() else { return nil }
    let (reader, _) = readers.renewOrBegin(handle, ThreadIdentity.current, CodePlace())
    if reader == nil { endUse() }
    return reader
  }

  /// The number of the newest commit whose header is in the file, if that needs no wait. Readers may see
  /// it a moment later.
  var newestHeader: UInt64? {
    guard !isForked, let handle = readers.beginUseWithoutWaiting() else { return nil }
    defer { endUse() }
    var info = MDB_envinfo()
    mdb_env_info(handle, &info)
    return UInt64(info.me_last_txnid)
  }

  // MARK: A full table

  /// The state of a read that waits for a slot.
  private struct SlotWait {
    let began: MonotonicTime
    let deadline: MonotonicTime
    /// The holders of the slots when it began.
    let holders: String
  }

  /// Frees the slots of dead processes and of snapshots that are too old, or else waits a moment
  /// for a read to end.
  private func waitForSlot(_ before: SlotWait?) throws -> SlotWait {
    let wait =
      before
      ?? SlotWait(
        began: .now, deadline: MonotonicTime.after(seconds: options.waitLimit),
        holders: options.log == nil ? "" : describedSlots())
    if try checkReaders() > 0 { return wait }
    readers.giveUpObserving()
    try endOldHeldReads()
    guard readers.waitForSlot(until: wait.deadline) else { throw fullTableError() }
    return wait
  }

  /// The error that names the longest open reads.
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
        .warning, .readerWait, "A read waited for a reader slot: all slots are in use.",
        details: details
      ) {
        $0.path = path
        $0.detail = wait.holders
      })
  }
}
