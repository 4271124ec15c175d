internal import CLMDB

internal import Synchronization

/// The read transactions of an environment, active, parked and held, and all other uses of its
/// handle that must end before the map may move or the file may be closed.
///
/// Beginning or ending a read takes the mutex once, and allocates nothing if there is a parked
/// reader.
///
/// Unchecked: the variables are guarded by `mutex`, except where their comment says otherwise.
final class ReaderPool: @unchecked Sendable {
  /// The reasons why no use may begin.
  struct Blockers: OptionSet {
    let rawValue: UInt8
    /// The last owner has closed the environment.
    static let closed = Self(rawValue: 1)
    /// The map is about to move: no read may live.
    static let exclusive = Self(rawValue: 2)
    /// LMDB has stopped the environment; it must be reopened.
    static let poisoned = Self(rawValue: 4)
  }

  /// Whether the handle can be used.
  enum HandleState {
    case open(OpaquePointer)
    case closed
    /// The environment must be reopened.
    case unusable
  }

  /// For messages.
  let path: String
  /// The slots of the lock file, which the process that made it has decided. Guarded by `mutex`.
  private(set) var maxReaders: Int
  /// A parked reader keeps its slot, and other processes need slots too. Guarded by `mutex`.
  @exclusivity(unchecked) private var maxParked = 1
  /// How long growth waits for open reads, and a read for a free slot.
  let waitLimit: Double
  private let generations = Atomic<Int>(0)

  let mutex = SystemMutex()
  /// Signalled when a read ends while a thread waits for it, and when `blockers` shrinks.
  let changed = SystemCondition()

  /// LMDB's environment. It changes only with the write lock held, or when nobody holds that any
  /// more: so the thread that has the write lock reads it without the mutex.
  private(set) var handle: OpaquePointer?
  var blockers: Blockers = []
  /// Readers and other uses of the handle that must end before the map may move.
  var activeUses = 0
  /// Every reader that has a slot, active or parked.
  private(set) var all: [LMDBReader] = []
  /// Unchecked, since the mutex gives the exclusive access that the runtime would check in a table:
  /// a read takes 446 instructions with it, and 802 without.
  @exclusivity(unchecked) var parked: [LMDBReader] = []
  var slotWaiters = 0
  /// Reads that outlive the call that began them.
  var held: [LMDBHeldRead] = []

  init(path: String, _ options: LMDBEnvironment.Options) {
    self.path = path
    maxReaders = options.maxReaders
    waitLimit = options.waitLimit
  }

  /// Rises when the environment is reopened: all database handles and readers are then invalid.
  var generation: Int { generations.load(ordering: .acquiring) }

  // MARK: The way of nearly every read

  /// A parked reader for a read of this thread, which renews it; nil if there is none, or if reads
  /// are blocked.
  func takeParked(_ thread: UInt, _ place: CodePlace) -> LMDBReader? {
    mutex.lock()
    guard blockers.isEmpty, let reader = parked.popLast() else {
      mutex.unlock()
      return nil
    }
    reader.begin(thread, place)
    activeUses &+= 1
    mutex.unlock()
    return reader
  }

  /// Parks the reader of a read that has ended; true if the environment must be closed.
  func park(_ reader: LMDBReader) -> Bool {
    mutex.lock()
    reader.thread = 0
    if blockers.isEmpty && slotWaiters == 0 && parked.count < maxParked {
      parked.append(reader)
      activeUses &-= 1
      mutex.unlock()
      return false
    }
    // The use is uncounted only after its slot is free: after the last one the handle may be
    // closed.
    parkOrAbortLocked(reader)
    return endUseLocked()
  }

  func parkOrAbortLocked(_ reader: LMDBReader) {
    if parked.count < maxParked {
      parked.append(reader)
    } else {
      reader.transaction.abort()
      all.removeAll { $0 === reader }
    }
  }

  // MARK: Uses

  /// Counts a use of the handle if it is usable; waits while the map is about to move.
  func beginUse(_ thread: UInt) -> HandleState {
    mutex.lock()
    defer { mutex.unlock() }
    // A thread that already reads continues: whatever moves the map waits for it.
    while blockers.contains(.exclusive), handle == nil || !isReadingLocked(thread) {
      changed.wait(mutex)
    }
    let state = stateLocked
    if case .open = state { activeUses &+= 1 }
    return state
  }

  /// Counts a use for housekeeping, which does not wait; nil if it would have to.
  func beginUseWithoutWaiting() -> OpaquePointer? {
    mutex.lock()
    defer { mutex.unlock() }
    guard blockers.isEmpty, let handle else { return nil }
    activeUses &+= 1
    return handle
  }

  /// Ends a use; true if it was the last one of an environment that is closing.
  func endUse() -> Bool {
    mutex.lock()
    return endUseLocked()
  }

  /// The same with the mutex held; unlocks it.
  func endUseLocked() -> Bool {
    activeUses &-= 1
    if !blockers.isEmpty || slotWaiters > 0 { changed.broadcast() }
    let mustClose = blockers.contains(.closed) && activeUses == 0
    mutex.unlock()
    return mustClose
  }

  /// Whether the thread has a read open.
  func isReading(_ thread: UInt) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return isReadingLocked(thread)
  }

  func isReadingLocked(_ thread: UInt) -> Bool { all.contains { $0.thread == thread } }

  // MARK: The slow way to a read

  /// Renews a parked reader, or begins a new one, inside a use; returns LMDB's code if that fails.
  func renewOrBegin(
    _ handle: OpaquePointer, _ thread: UInt, _ place: CodePlace
  ) -> (LMDBReader?, Int32) {
    mutex.lock()
    let renewed = parked.popLast()
    renewed?.begin(thread, place)
    mutex.unlock()
    if let renewed {
      let code = renewed.renew()
      if code == MDB_SUCCESS { return (renewed, code) }
      mutex.lock()
      renewed.thread = 0
      parked.append(renewed)
      mutex.unlock()
      return (nil, code)
    }
    var transaction: OpaquePointer?
    let code = mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &transaction)
    guard code == MDB_SUCCESS, let transaction else { return (nil, code) }
    let reader = LMDBReader(
      LMDBTransaction(pointer: transaction), generation: generation, place: place)
    if !reader.hasItsNumber {
      let code = reader.renewUntilItHasItsNumber()
      guard code == MDB_SUCCESS else {
        mdb_txn_abort(transaction)
        return (nil, code)
      }
    }
    mutex.lock()
    reader.begin(thread, place)
    all.append(reader)
    mutex.unlock()
    return (reader, code)
  }

  /// Waits a moment for a read to end and free its slot; false if the deadline has passed.
  func waitForSlot(until deadline: MonotonicTime) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    slotWaiters += 1
    defer { slotWaiters -= 1 }
    let now = MonotonicTime.now.nanoseconds
    if now >= deadline.nanoseconds { return false }
    // A snapshot that was just ended has left a parked reader.
    if parked.isEmpty {
      // Reads of other processes end without a signal, hence the short wait.
      _ = changed.wait(mutex, until: MonotonicTime(nanoseconds: now &+ 10_000_000))
    }
    return true
  }
}

extension ReaderPool {
  // MARK: Moving the map

  /// Blocks new reads and waits for the open ones to end, with the write lock held, until
  /// `letReadsBegin`. Held reads are ended only when nothing else blocks, so that none is lost in
  /// vain.
  ///
  /// A read whose thread waits to write (`isWaitingToWrite`) would never end, so this does not wait
  /// for it.
  func stopReads(
    _ ending: LMDBHeldRead.Ending, isWaitingToWrite: (UInt) -> Bool
  ) throws -> (OpaquePointer, ended: [LMDBHeldRead]) {
    let deadline = MonotonicTime.after(seconds: waitLimit)
    mutex.lock()
    defer { mutex.unlock() }
    guard let handle else { throw LarchError.closed(path) }
    if isReadingLocked(ThreadIdentity.current) {
      throw LarchError(
        .mapFull,
        "The map must grow, but this thread has an open read of the store; end the read, then write."
      ) { $0.path = path }
    }
    blockers.insert(.exclusive)
    var isLate = false
    while activeUses > 0 {
      let blocking = all.first { reader in
        reader.thread != 0 && (isLate || isWaitingToWrite(reader.thread))
      }
      if isLate || blocking != nil {
        blockers.remove(.exclusive)
        changed.broadcast()
        throw blockedByRead(blocking)
      }
      isLate = !changed.wait(mutex, until: deadline)
    }
    return (handle, giveUpLocked(ending, of: nil))
  }

  /// Lets reads begin again.
  func letReadsBegin() {
    mutex.lock()
    blockers.remove(.exclusive)
    changed.broadcast()
    mutex.unlock()
  }

  /// Lets `stopReads` check again what it waits for.
  func wakeWaiting() {
    mutex.lock()
    if blockers.contains(.exclusive) { changed.broadcast() }
    mutex.unlock()
  }

  /// The error that names the read that keeps the map from moving.
  private func blockedByRead(_ reader: LMDBReader?) -> LarchError {
    LarchError(
      .mapFull, "The map must grow, but a read is still open; end long reads, then retry."
    ) {
      $0.path = path
      $0.detail = reader.map {
        "snapshot \($0.transaction.id) is read on thread \(String($0.thread, radix: 16)), begun at \($0.place)"
      }
    }
  }

  // MARK: The handle

  /// Whether the handle can be used, for the thread that has the write lock.
  var state: HandleState {
    mutex.lock()
    defer { mutex.unlock() }
    return stateLocked
  }

  private var stateLocked: HandleState {
    if blockers.contains(.closed) { return .closed }
    if !blockers.contains(.poisoned), let handle { return .open(handle) }
    return .unusable
  }

  /// Notes that LMDB has stopped the environment; does nothing if it has been reopened since the
  /// given generation.
  func poison(ifStill generation: Int? = nil) {
    mutex.lock()
    if generation == nil || generation == self.generation { blockers.insert(.poisoned) }
    mutex.unlock()
  }

  /// Removes the handle from all reads, which are stopped, so that it can be closed.
  func removeHandle() {
    mutex.lock()
    blockers.insert(.poisoned)
    let released = forgetHandleLocked()
    mutex.unlock()
    for reader in released { reader.transaction.abort() }
  }

  private func forgetHandleLocked() -> [LMDBReader] {
    defer {
      all = []
      parked = []
      handle = nil
    }
    return all
  }

  /// Starts to use a handle.
  func adopt(_ opened: OpaquePointer) {
    mutex.lock()
    adoptLocked(opened)
    mutex.unlock()
  }

  private func adoptLocked(_ opened: OpaquePointer) {
    handle = opened
    var info = MDB_envinfo()
    mdb_env_info(opened, &info)
    maxReaders = Int(info.me_maxreaders)
    maxParked = max(1, min(64, maxReaders / 4))
  }

  /// Starts to use the handle of an environment that was reopened.
  func adoptReopened(_ opened: OpaquePointer) {
    mutex.lock()
    adoptLocked(opened)
    generations.add(1, ordering: .releasing)
    blockers.remove(.poisoned)
    changed.broadcast()
    mutex.unlock()
  }

  // MARK: Closing

  /// Refuses new uses and ends held reads that are not in use; held reads in use end with their
  /// use.
  func close() {
    mutex.lock()
    blockers.insert(.closed)
    _ = giveUpLocked(.closed, of: nil)
    changed.broadcast()
    mutex.unlock()
  }

  /// Undoes `close`.
  func reopen() {
    mutex.lock()
    blockers.remove(.closed)
    mutex.unlock()
  }

  /// Removes the handle and all readers if nothing uses them any more; nil if something does.
  func takeUnused() -> (handle: OpaquePointer?, readers: [LMDBReader])? {
    mutex.lock()
    defer { mutex.unlock() }
    guard activeUses == 0 else { return nil }
    let handle = handle
    return (handle, forgetHandleLocked())
  }
}
