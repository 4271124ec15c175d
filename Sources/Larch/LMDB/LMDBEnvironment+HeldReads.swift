internal import CLMDB

extension LMDBEnvironment {
  /// Makes a read that has just begun last beyond its call.
  ///
  /// The map cannot move and the environment not be closed while a held read is used. One that is
  /// not used is in nobody's way: it is ended.
  func hold(
    _ reader: LMDBReader, owner: ObjectIdentifier, deadline: MonotonicTime?
  ) -> LMDBHeldRead {
    let began = MonotonicTime.now
    mutex.lock()
    let held = LMDBHeldRead(
      reader, owner: owner, place: reader.place, began: began, deadline: deadline)
    reader.isHeld = true
    reader.thread = 0
    reader.sighting = ReadSighting(use: reader.use, since: began.nanoseconds)
    heldReads.append(held)
    endUseLocked()
    return held
  }

  /// Refuses one more held read of an owner who has as many as are allowed.
  func checkRoomForHeldRead(of owner: ObjectIdentifier, limit: Int) throws {
    try endOldHeldReads()
    mutex.lock()
    defer { mutex.unlock() }
    let open = heldReads.filter { $0.owner == owner }
    // Half of the slots are left to reads.
    let limit = min(limit, max(1, options.maxReaders / 2))
    guard open.count >= limit else { return }
    throw LarchError(
      .tooManySnapshots,
      "The store has as many snapshots open as it may; end some, or raise `Options.maximumSnapshots`."
    ) {
      $0.path = path
      $0.detail =
        "\(open.count) open"
        + (open.first.map { ", the oldest taken at \($0.place), \($0.age.logText) ago" } ?? "")
    }
  }

  // MARK: Uses

  /// Begins a use on this thread: the transaction, or nil inside another use of this thread.
  ///
  /// A thread that is inside of something that others may wait for must not wait without an end
  /// (`isBounded`): they may be in the use that it waits for.
  func beginUse(of held: LMDBHeldRead, isBounded: Bool) throws -> LMDBTransaction? {
    try checkNotForked()
    let thread = ThreadIdentity.current
    if let deadline = held.deadline, MonotonicTime.now.nanoseconds >= deadline.nanoseconds {
      endHeldRead(held, .tooOld)
    }
    var limit: MonotonicTime?
    mutex.lock()
    while true {
      if held.thread == thread {
        held.depth += 1
        mutex.unlock()
        return nil
      }
      guard held.ending == nil, let reader = held.reader else {
        let ending = held.ending ?? .given
        mutex.unlock()
        throw ending.error(of: held, path: path)
      }
      if blockers.contains(.exclusive), !isReading(thread) {
        readsChanged.wait(mutex)
      } else if held.thread == 0 {
        held.thread = thread
        held.depth = 1
        reader.thread = thread
        activeUses &+= 1
        mutex.unlock()
        return reader.transaction
      } else if !isBounded {
        held.released.wait(mutex)
      } else {
        let end = limit ?? MonotonicTime.after(seconds: options.waitLimit)
        limit = end
        guard held.released.wait(mutex, until: end) else {
          mutex.unlock()
          throw LarchError(
            .busy,
            "Another thread uses the snapshot, and this one waits for it inside of a transaction; use a snapshot for each thread."
          ) {
            $0.path = path
            $0.detail = "taken at \(held.place)"
          }
        }
      }
    }
  }

  /// Ends a use, and the held read with it where that was asked for meanwhile.
  func endUse(of held: LMDBHeldRead) {
    if isForked { return }
    mutex.lock()
    held.depth -= 1
    if held.depth > 0 {
      mutex.unlock()
      return
    }
    held.thread = 0
    held.reader?.thread = 0
    // Before the use is counted off: with the last one the handle may be closed.
    if held.ending != nil { releaseLocked(held) }
    held.released.broadcast()
    endUseLocked()
  }

  // MARK: Ending

  /// Ends a held read, at the end of its use if it is in one; nothing when it has ended.
  func endHeldRead(_ held: LMDBHeldRead, _ ending: LMDBHeldRead.Ending = .given) {
    if isForked { return }
    mutex.lock()
    let isEnded = giveUpLocked(held, ending)
    mutex.unlock()
    if isEnded { tell([held]) }
  }

  /// Asks the holders of long reads to give them up: those that nobody uses are ended at once,
  /// others at the end of their use. For whoever waits for reads to end.
  func giveUpHeldReads(_ ending: LMDBHeldRead.Ending, of owner: ObjectIdentifier? = nil) {
    if isForked { return }
    mutex.lock()
    let ended = giveUpHeldReadsLocked(ending, of: owner)
    mutex.unlock()
    tell(ended)
  }

  /// The same with the mutex held; those that it ends are to be told to the log without it.
  func giveUpHeldReadsLocked(
    _ ending: LMDBHeldRead.Ending, of owner: ObjectIdentifier? = nil
  ) -> [LMDBHeldRead] {
    heldReads.filter { (owner == nil || $0.owner == owner) && giveUpLocked($0, ending) }
  }

  /// Ends those that are older than their owners allow.
  func endOldHeldReads() throws {
    try checkNotForked()
    mutex.lock()
    let now = MonotonicTime.now
    let ended = heldReads.filter { $0.isTooOld(at: now) && giveUpLocked($0, .tooOld) }
    mutex.unlock()
    tell(ended)
  }

  /// Writes to the log that held reads were ended; without the mutex.
  func tell(_ ended: [LMDBHeldRead]) {
    guard let log = options.log else { return }
    for held in ended {
      if let message = held.ending?.message(of: held, path: path) { log(message) }
    }
    deliverMessages()
  }

  /// True when it ends by this.
  func giveUpLocked(_ held: LMDBHeldRead, _ ending: LMDBHeldRead.Ending) -> Bool {
    guard held.ending == nil else { return false }
    held.ending = ending
    // Those who wait for their turn to use it wait for nothing.
    held.released.broadcast()
    if held.thread == 0 { releaseLocked(held) }
    return true
  }

  private func releaseLocked(_ held: LMDBHeldRead) {
    heldReads.removeAll { $0 === held }
    guard let reader = held.reader else { return }
    held.reader = nil
    reader.isHeld = false
    mdb_txn_reset(reader.transaction.pointer)
    if parkedReaders.count < maxParkedReaders {
      parkedReaders.append(reader)
    } else {
      reader.transaction.abort()
      readers.removeAll { $0 === reader }
    }
    if slotWaiters > 0 { readsChanged.broadcast() }
  }
}

extension LMDBEnvironment {
  func isOpen(_ held: LMDBHeldRead) -> Bool {
    if isForked { return false }
    mutex.lock()
    defer { mutex.unlock() }
    return held.ending == nil && !held.isTooOld(at: .now)
  }
}
