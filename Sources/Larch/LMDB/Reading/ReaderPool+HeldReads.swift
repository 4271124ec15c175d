internal import CLMDB

extension ReaderPool {
  /// Makes a read that has just begun outlive its call; true if its use was the last one of an
  /// environment that is closing.
  func hold(_ held: LMDBHeldRead, _ reader: LMDBReader, _ logPlace: LogPlace?) -> Bool {
    mutex.lock()
    return holdLocked(held, reader, logPlace)
  }

  /// The same, unless the owner already has the allowed number. The read then stays as it was.
  func hold(
    _ held: LMDBHeldRead, _ reader: LMDBReader, _ logPlace: LogPlace?, limit: Int
  ) throws -> Bool {
    mutex.lock()
    do { try checkRoomLocked(for: held.owner, limit: limit) } catch {
      mutex.unlock()
      throw error
    }
    return holdLocked(held, reader, logPlace)
  }

  private func holdLocked(
    _ held: LMDBHeldRead, _ reader: LMDBReader, _ logPlace: LogPlace?
  ) -> Bool {
    reader.isHeld = true
    reader.isObserving = held.isObserving
    reader.logPlace = logPlace
    reader.thread = 0
    reader.sighting = ReadSighting(use: reader.use, since: held.began.nanoseconds)
    self.held.append(held)
    return endUseLocked()
  }

  /// Refuses another held read if the owner already has the allowed number.
  func checkRoomForHeldRead(of owner: ObjectIdentifier, limit: Int) throws {
    mutex.lock()
    defer { mutex.unlock() }
    try checkRoomLocked(for: owner, limit: limit)
  }

  private func checkRoomLocked(for owner: ObjectIdentifier, limit: Int) throws {
    // Those that serve observers are ended where their slots are needed.
    let snapshots = held.filter { !$0.isObserving }
    let own = snapshots.filter { $0.owner == owner }
    // Half of the slots are left for other reads, whichever stores of the file have the first half.
    let isHalfFull = snapshots.count >= max(1, maxReaders / 2)
    guard isHalfFull || own.count >= limit else { return }
    let open = isHalfFull ? snapshots : own
    throw LarchError(
      .tooManySnapshots,
      isHalfFull
        ? "Open snapshots have half of the slots for readers; end some, or raise `Options.maximumReaders`."
        : "The store has the maximum number of open snapshots; end some, or raise `Options.maximumSnapshots`."
    ) {
      $0.path = path
      $0.detail =
        "\(open.count) open"
        + (open.first.map { ", the oldest taken at \($0.place), \($0.age.logText) ago" } ?? "")
    }
  }

  /// Whether the program holds a read.
  var hasSnapshots: Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return held.contains { !$0.isObserving }
  }

  func isOpen(_ held: LMDBHeldRead) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return held.ending == nil && !held.isTooOld(at: .now)
  }

  // MARK: Uses

  /// Begins a use on this thread: the transaction, or nil inside another use of this thread.
  ///
  /// A thread inside something that others may wait for must not wait without a limit
  /// (`isBounded`): they may be inside the use that it waits for.
  func beginUse(of held: LMDBHeldRead, isBounded: Bool) throws -> LMDBTransaction? {
    let thread = ThreadIdentity.current
    var limit: MonotonicTime?
    mutex.lock()
    defer { mutex.unlock() }
    while true {
      if held.thread == thread {
        held.depth += 1
        return nil
      }
      guard held.ending == nil, let reader = held.reader else {
        throw (held.ending ?? .given).error(of: held, path: path)
      }
      if blockers.contains(.exclusive), !isReadingLocked(thread) {
        changed.wait(mutex)
      } else if held.thread == 0 {
        held.thread = thread
        held.depth = 1
        reader.thread = thread
        activeUses &+= 1
        return reader.transaction
      } else if !isBounded {
        held.released.wait(mutex)
      } else {
        let end = limit ?? MonotonicTime.after(seconds: waitLimit)
        limit = end
        guard held.released.wait(mutex, until: end) else { throw usedElsewhere(held) }
      }
    }
  }

  private func usedElsewhere(_ held: LMDBHeldRead) -> LarchError {
    LarchError(
      .busy,
      "Another thread uses the snapshot, and this thread may not wait inside a transaction; use one snapshot per thread."
    ) {
      $0.path = path
      $0.detail = "taken at \(held.place)"
    }
  }

  /// Ends a use. Also ends the held read if that was requested meanwhile. True if it was the last
  /// use of an environment that is closing.
  func endUse(of held: LMDBHeldRead) -> Bool {
    mutex.lock()
    held.depth -= 1
    if held.depth > 0 {
      mutex.unlock()
      return false
    }
    held.thread = 0
    held.reader?.thread = 0
    // Before the use is uncounted: after the last one the handle may be closed.
    if held.ending != nil { releaseLocked(held) }
    held.released.broadcast()
    return endUseLocked()
  }

  // MARK: Ending

  /// Ends a held read, or lets it end after its current use; true if this call ended it.
  func giveUp(_ held: LMDBHeldRead, _ ending: LMDBHeldRead.Ending) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return giveUpLocked(held, ending)
  }

  /// Ends the held reads of an owner, or all; those in use end after their current use. Returns
  /// those that this call ended.
  func giveUp(_ ending: LMDBHeldRead.Ending, of owner: ObjectIdentifier?) -> [LMDBHeldRead] {
    mutex.lock()
    defer { mutex.unlock() }
    return giveUpLocked(ending, of: owner)
  }

  /// Ends the held reads that only serve observers.
  func giveUpObserving() {
    mutex.lock()
    defer { mutex.unlock() }
    for held in held where held.isObserving { _ = giveUpLocked(held, .given) }
  }

  /// Ends the held reads that are older than their owners allow, and returns them.
  func giveUpOld() -> [LMDBHeldRead] {
    mutex.lock()
    defer { mutex.unlock() }
    return giveUpOldLocked(at: .now)
  }

  func giveUpOldLocked(at now: MonotonicTime) -> [LMDBHeldRead] {
    held.filter { $0.isTooOld(at: now) && giveUpLocked($0, .tooOld) }
  }

  func giveUpLocked(
    _ ending: LMDBHeldRead.Ending, of owner: ObjectIdentifier?
  ) -> [LMDBHeldRead] {
    held.filter { (owner == nil || $0.owner == owner) && giveUpLocked($0, ending) }
  }

  private func giveUpLocked(_ held: LMDBHeldRead, _ ending: LMDBHeldRead.Ending) -> Bool {
    guard held.ending == nil else { return false }
    held.ending = ending
    // Threads that wait to use it get the error of its end.
    held.released.broadcast()
    if held.thread == 0 { releaseLocked(held) }
    return true
  }

  private func releaseLocked(_ held: LMDBHeldRead) {
    self.held.removeAll { $0 === held }
    guard let reader = held.reader else { return }
    held.reader = nil
    reader.isHeld = false
    reader.isObserving = false
    mdb_txn_reset(reader.transaction.pointer)
    parkOrAbortLocked(reader)
    if slotWaiters > 0 { changed.broadcast() }
  }
}
