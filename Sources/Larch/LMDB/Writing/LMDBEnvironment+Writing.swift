internal import CLMDB

extension LMDBEnvironment {
  /// Runs a body in a write transaction and commits it; a thrown error undoes everything.
  ///
  /// If the map is full, or the disk and there is a way to make room, the body runs again from the start: its
  /// effects outside the transaction must allow that.
  ///
  /// - Parameter isIndivisible: whether it cannot be done in smaller steps. If it is too large for the outbox
  ///   of a mirrored store, the mirror copies the whole store then, instead of refusing it.
  @discardableResult
  package func write<T>(
    durability: LMDBDurability? = nil, isIndivisible: Bool = false,
    _ body: (LMDBTransaction) throws -> T
  ) throws -> T {
    try write(
      durability: durability, isIndivisible: isIndivisible, attempting: { try attempt(body) })
  }

  /// The loop of every write that has the write lock for itself: `attempting` begins and fills a
  /// transaction, and is called again if the commit finds the map full.
  func write<T>(
    durability: LMDBDurability?, isIndivisible: Bool = false,
    attempting: () throws -> (WriteAttempt, T)
  ) throws -> T {
    try checkWritable()
    return try withWriteLock {
      beginProgramWrite()
      if isIndivisible { outbox.isIndivisible = true }
      defer { if isIndivisible { outbox.isIndivisible = false } }
      while true {
        let (attempt, value) = try attempting()
        if try attempt.commit(durability ?? options.durability) { return value }
        try makeWay()
      }
    }
  }

  /// Begins a transaction and runs a body in it, with the write lock held. If the map is too small
  /// for the body, the map grows and the body runs again in a new transaction.
  ///
  /// The caller commits the attempt or aborts it.
  func attempt<T>(_ body: (LMDBTransaction) throws -> T) throws -> (WriteAttempt, T) {
    while true {
      let attempt = try beginWrite()
      if let value = try attempt.run(body) { return (attempt, value) }
      try makeWay()
    }
  }

  func checkWritable() throws {
    guard !options.isReadOnly else {
      throw LarchError(.readOnly, "The store was opened read-only; open it for writing.") {
        $0.path = path
      }
    }
  }

  /// Commits what `beginWrite` began, with the write lock held; false if nothing was changed, since the map was full,
  /// or the disk, which has room now.
  func commit(_ transaction: LMDBTransaction, _ durability: LMDBDurability) throws -> Bool {
    let id = transaction.id
    map.wasFull = false
    do { try recordInOutbox(transaction) } catch {
      transaction.abort()
      if map.wasFull || outbox.obstacle == .placeLost || makesRoom(after: error) { return false }
      throw translated(error)
    }
    // What is in the log is durable: the copy only must stay whole.
    let durability = outbox.isAppended ? min(durability, .relaxed) : durability
    let isObserved = transaction.isObserved
    let changed = isObserved ? changedRecords(in: transaction) : nil
    let hasChanged = hasChanged.load(ordering: .relaxed)
    defer { if isObserved { changes.didEndCommit() } }
    do {
      if let commitLog {
        try commitLog.commit(transaction)
      } else {
        setDurability(durability)
        try transaction.commit()
      }
    } catch {
      if let entry = outbox.appended { return try finishAppended(entry, error, id: id) }
      // With a log that has failed, the next opening tells whether this commit is there.
      if map.wasFull, commitLog?.hasFailed != true { return false }
      if makesRoom(after: error) { return false }
      let failure = afterFailedCommit(error, id: id)
      // It may have reached the file nevertheless.
      changes.publishFailure(transaction: id)
      options.log?(
        LogMessage(.error, .commitFailed, "A commit failed, because the disk reported an error.") {
          $0.path = path
          // An error of the store, so without data of records.
          $0.detail = "\(error.naming(path))"
        })
      throw failure
    }
    if outbox.isAppended { tellOrder() }
    ids.commit()
    // If nothing was changed, LMDB writes nothing. The next commit gets the number, and may be one of another
    // process, which comes before anything here.
    guard hasChanged else { return true }
    var failure: LMDBError?
    // With a log in use, the record of the commit has been flushed.
    if durability == .durable, commitLog?.isInUse != true, let handle {
      do { try Self.flushDrive(handle) } catch { failure = error }
    }
    afterCommit()
    outbox.didCommit(id)
    if outbox.hasHeader, let place = outbox.header?.place { recentPlaces.note(place, after: id) }
    changes.publish(changed, transaction: id, hadLog: isObserved)
    if let failure { throw failureAfterCommit(failure) }
    return true
  }

  @inline(never)
  private func tellOrder() {
    if let entry = outbox.appended { outbox.order?.didCommit(entry) }
    outbox.appended = nil
  }

  /// Ends a commit that is in the log, but failed in this copy.
  @inline(never)
  private func finishAppended(
    _ entry: LogEntry, _ error: LMDBError, id: UInt64
  ) throws -> Bool {
    let wasFull = map.wasFull
    let failure: any Error = wasFull ? error : afterFailedCommit(error, id: id)
    outbox.appended = nil
    // Its ids are those of records now.
    ids.commit()
    let order = outbox.order
    defer { order?.endCommit() }
    try takeIn(entry, wasFull: wasFull, failure)
    // Not before: whoever waits for the place reads at once.
    order?.reached([entry.place])
    return true
  }

  /// Notes the author of a write that has ended. Others may follow in the same transaction.
  ///
  /// - Parameter transaction: the transaction that others may share, and no child of it.
  @inline(__always)
  func endWrite(of author: String?, in transaction: LMDBTransaction) {
    if transaction.isObserved { noteWrite(of: author, in: transaction) }
  }

  @inline(never)
  private func noteWrite(of author: String?, in transaction: LMDBTransaction) {
    changes.log.endWrite(of: author) { tree, key in
      try LMDBDatabase(handle: tree).get(key, in: transaction)
    }
  }

  @inline(never)
  private func changedRecords(in transaction: LMDBTransaction) -> CommittedChanges? {
    changes.willCommit()
    // The keys of a tree come in order, so from the second one on, a cursor mostly stays in its page.
    var last: UInt32?
    var cursor: LMDBCursor?
    // A bulk write has neighbours, and a step costs a third of a search. Where it is in vain, it is
    // soon no longer tried.
    var steps = 0
    return changes.log.finish { tree, key in
      let database = LMDBDatabase(handle: tree)
      if last != tree {
        (last, steps) = (tree, 2)
        cursor = nil
        return try database.get(key, in: transaction)
      }
      if cursor == nil {
        cursor = try LMDBCursor(database, in: transaction)
      } else if steps > 0 {
        if let next = try cursor?.next(), next.key.equals(key) {
          steps = min(steps + 1, 8)
          return next.value
        }
        steps -= 2
      }
      return try cursor?.seek(exactly: key)?.value
    }
  }

  /// LMDB reads its flags at the commit; both may change while it is open.
  private func setDurability(_ durability: LMDBDurability) {
    guard durability != currentDurability, let handle else { return }
    mdb_env_set_flags(handle, UInt32(MDB_NOSYNC), durability == .none ? 1 : 0)
    mdb_env_set_flags(handle, UInt32(MDB_NOMETASYNC), durability == .relaxed ? 1 : 0)
    currentDurability = durability
  }

  /// Begins a write with the write lock held, whatever state others have left the environment in.
  func beginWrite() throws -> WriteAttempt {
    ids.begin()
    attempts &+= 1
    (pagesWait, hasMadeRoom) = (false, false)
    if let order = outbox.order, order.wantsTurn, outbox.purpose == .ordinary {
      try catchUp(takesTurn: true)
    }
    var isRecovered = false
    while true {
      let current: OpaquePointer
      switch readers.state {
      case .open(let handle): current = handle
      case .closed: throw LarchError.closed(path)
      case .unusable:
        try reopen()
        continue
      }
      if let found = commitLog?.found {
        if found.hasFailed {
          try reopen()
          continue
        }
        pagesWait = found.pagesWait
      }
      runHousekeeping(beforeWrite: current)
      // Not before: `catchUp` is a write of its own.
      forgetChanges()
      var transaction: OpaquePointer?
      let code = mdb_txn_begin(current, nil, 0, &transaction)
      if code == MDB_SUCCESS, let transaction {
        let begun = LMDBTransaction(pointer: transaction)
        do {
          if try prove(begun) {
            return WriteAttempt(
              environment: self,
              transaction: LMDBTransaction(pointer: transaction, watcher: beginWatching()))
          }
        } catch is OutboxHandleMissing {
          begun.abort()
          try openOutbox()
          continue
        } catch {
          begun.abort()
          throw translated(error)
        }
        // Nobody may write to a file that another one has replaced.
        begun.abort()
        try follow()
        continue
      }
      switch code {
      case MDB_MAP_RESIZED:
        try adoptMapSizeWithWriteLock()
      case MDB_PANIC where !isRecovered:
        isRecovered = true
        try reopen()
      default:
        throw translated(LMDBError(code, "mdb_txn_begin"))
      }
    }
  }

  /// Does what follows a commit.
  private func afterCommit() {
    guard let handle else { return }
    var info = MDB_envinfo()
    mdb_env_info(handle, &info)
    let page = Int(info.me_last_pgno)
    runHousekeeping(afterCommit: handle, lastPage: page)
    watchReads(lastPage: page)
  }

  /// Checks whether a failed commit has made LMDB stop the environment, and reopens it then.
  private func afterFailedCommit(_ error: LMDBError, id: UInt64) -> any Error {
    let failure = translated(error)
    guard let current = handle else { return failure }
    guard isStopped(current) || commitLog?.hasFailed == true else { return failure }
    let newest: UInt64
    do {
      try reopen()
      newest = try newestSnapshot()
    } catch {
      // Later operations try again; until then, the contents of the file are unknown.
      return LarchError(
        .ioFailure,
        "The disk failed at the end of the commit; read the data to see whether the change was saved.",
        underlying: failure
      ) { $0.path = path }
    }
    return newest >= id ? failureAfterCommit(error) : failure
  }

  private func failureAfterCommit(_ error: LMDBError) -> LarchError {
    LarchError(
      .ioFailure, "The commit reached the file, but the disk failed; do not repeat the write.",
      underlying: error
    ) { $0.path = path }
  }

  /// Whether LMDB has stopped the environment, because the last step of a commit failed.
  private func isStopped(_ current: OpaquePointer) -> Bool {
    var probe: OpaquePointer?
    let code = mdb_txn_begin(current, nil, 0, &probe)
    if code == MDB_SUCCESS, let probe { mdb_txn_abort(probe) }
    return code == MDB_PANIC
  }

  /// Ends the use of the log after a write for which the disk had no room, if pages wait for a checkpoint: without the
  /// log LMDB uses them, and needs no others. True if the write should run again. In that run nothing waits any more,
  /// so there is no third one.
  ///
  /// No transaction is open, and the record of the write was taken back.
  func makesRoom(after error: any Error) -> Bool {
    guard pagesWait, let handle, let commitLog, isOutOfRoom(error) else { return false }
    pagesWait = false
    // What has failed at its last step may be in the file, and must not come twice.
    guard !isStopped(handle), commitLog.endWaiting() else { return false }
    hasMadeRoom = true
    return true
  }

  /// Whether an error is that of this file, and says that there was no room for it.
  private func isOutOfRoom(_ error: any Error) -> Bool {
    guard let error = translated(error) as? LarchError else { return false }
    return error.code == .diskFull && error.context.path == path
  }

  /// The number of the snapshot that a read would see. The header may have a greater one: if other
  /// processes have the file open, they continue without a commit that failed.
  private func newestSnapshot() throws -> UInt64 {
    // The write lock is held, and none of its writes is open any more.
    try writeQueue.lending { try openDatabases { $0.id } }
  }
}
