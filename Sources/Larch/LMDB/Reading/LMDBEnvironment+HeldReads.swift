extension LMDBEnvironment {
  /// Makes a read that has just begun outlive its call.
  ///
  /// The map cannot move and the environment cannot be closed while a held read is in use. One that
  /// is not in use blocks nothing: it is ended.
  func hold(
    _ reader: LMDBReader, owner: ObjectIdentifier, deadline: MonotonicTime?,
    isObserving: Bool = false
  ) -> LMDBHeldRead {
    let held = LMDBHeldRead(
      reader, owner: owner, place: reader.place, began: .now, deadline: deadline,
      isObserving: isObserving)
    if readers.hold(held, reader, nil) { LMDBRegistry.shared.finishClosing(self) }
    return held
  }

  /// Refuses another snapshot if the owner already has the allowed number, before a slot is taken for it.
  func checkRoomForHeldRead(of owner: ObjectIdentifier, limit: Int) throws {
    try endOldHeldReads()
    try readers.checkRoomForHeldRead(of: owner, limit: limit)
  }

  /// The same for a snapshot of the program, of which an owner may have a limited number. If it has them
  /// already, the read is ended.
  func hold(
    _ reader: LMDBReader, owner: ObjectIdentifier, deadline: MonotonicTime?, logPlace: LogPlace?,
    limit: Int
  ) throws -> LMDBHeldRead {
    let held = LMDBHeldRead(
      reader, owner: owner, place: reader.place, began: .now, deadline: deadline,
      isObserving: false)
    do {
      if try readers.hold(held, reader, logPlace, limit: limit) {
        LMDBRegistry.shared.finishClosing(self)
      }
    } catch {
      endRead(reader)
      throw error
    }
    return held
  }

  func isOpen(_ held: LMDBHeldRead) -> Bool { !isForked && readers.isOpen(held) }

  /// Whether another store of this process has the same file open, and so the same handles, or a
  /// snapshot does, which may have an older schema.
  var isShared: Bool {
    LMDBRegistry.shared.owners(of: self) > 1 || readers.hasSnapshots
  }

  // MARK: Uses

  /// Begins a use on this thread: the transaction, or nil inside another use of this thread. If
  /// another thread uses the read, this one waits; with `isBounded` it waits only for a limited
  /// time.
  func beginUse(of held: LMDBHeldRead, isBounded: Bool) throws -> LMDBTransaction? {
    try checkNotForked()
    if let deadline = held.deadline, MonotonicTime.now.nanoseconds >= deadline.nanoseconds {
      endHeldRead(held, .tooOld)
    }
    return try readers.beginUse(of: held, isBounded: isBounded)
  }

  /// Ends a use. Also ends the held read if that was requested meanwhile.
  func endUse(of held: LMDBHeldRead) {
    if !isForked, readers.endUse(of: held) { LMDBRegistry.shared.finishClosing(self) }
  }

  // MARK: Ending

  /// Ends a held read, or lets it end after its current use; does nothing if it has ended.
  func endHeldRead(_ held: LMDBHeldRead, _ ending: LMDBHeldRead.Ending = .given) {
    if !isForked, readers.giveUp(held, ending) { tell([held]) }
  }

  /// Ends the held reads of an owner: unused ones at once, others after their current use.
  func giveUpHeldReads(_ ending: LMDBHeldRead.Ending, of owner: ObjectIdentifier? = nil) {
    if !isForked { tell(readers.giveUp(ending, of: owner)) }
  }

  /// Ends the held reads that are older than their owners allow.
  func endOldHeldReads() throws {
    try checkNotForked()
    tell(readers.giveUpOld())
  }

  /// Logs that held reads were ended.
  func tell(_ ended: [LMDBHeldRead]) {
    guard let log = options.log else { return }
    for held in ended where !held.isObserving {
      if let message = held.ending?.message(of: held, path: path) { log(message) }
    }
    deliverMessages()
  }
}
