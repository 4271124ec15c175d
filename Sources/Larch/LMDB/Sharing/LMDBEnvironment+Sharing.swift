/// Why a write must run again.
enum WriteObstacle: Equatable {
  /// Another copy of the shared store has taken the place.
  case placeLost
  /// A collection has no ids left that belong to this process.
  case noIDs(collection: UInt32, wanted: Int64)
}

extension LMDBEnvironment {
  // MARK: Joining

  /// Lets writes of a copy of a shared store commit in the order of its log.
  ///
  /// All stores of the file in this process share it.
  ///
  /// - Parameter order: is asked for one if there is none.
  package func joinOrder(_ order: () throws -> CommitOrder) throws -> CommitOrder {
    try withWriteLock {
      if let known = outbox.order { return known }
      let made = try order()
      outbox.order = made
      #if LARCH_SHARE_EVERYTHING
        // Many tests name ids by their numbers, and one copy of two writes: its ids are those of a file.
        if made.log.name != "memory with one writer" { ids.beginBlocks() }
      #else
        ids.beginBlocks()
      #endif
      return made
    }
  }

  /// Ends that: writes are refused from here on.
  package func leaveOrder() throws {
    try withWriteLock {
      outbox.order = nil
      ids.endBlocks()
    }
  }

  /// Whether a commit is in the log, or on its way, and the copy does not have it yet.
  package var isSharedCommitRunning: Bool { outbox.order?.isCommitting ?? false }

  /// Who decides the order of commits; nil for a store that is not shared. For tests.
  package var sharedOrder: CommitOrder? { outbox.order }

  /// Whether ids come from blocks that were claimed in the log.
  package var hasIDBlocks: Bool { ids.blocks != nil }

  // MARK: Commits

  /// Appends the changes of a write that is about to commit to the log.
  ///
  /// - Throws: the transaction must be aborted then.
  func appendShared(
    _ known: OutboxHeader, _ tree: OutboxTree, _ transaction: LMDBTransaction, by write: OutboxWrite
  ) throws {
    guard let order = outbox.order else { throw notJoined() }
    // Also if nothing is left of the write: what was undone may be the claim of a block.
    try ids.checkPendingBlocks { try order.firstUnclaimedID(transaction, $0) }
    guard recorder.operations > 0 || recorder.isLarge else { return }
    guard !recorder.isLarge, let changes = recorder.changes(), changes.count <= outbox.entryLimit
    else { throw outboxEntryTooLarge() }
    var header = known
    // Tokens of all copies differ, and those of one too: its closures may run again.
    let entry = LogEntry(after: header.place, random: .random(in: 1 ... .max), changes: changes)
    header.place = entry.place
    header.shipped = entry.place
    // After the append nothing may fail but the commit itself.
    try tree.set(header, by: write)
    guard try order.append(entry) else {
      outbox.obstacle = .placeLost
      throw PlaceLost()
    }
    outbox.willCommit(header)
    outbox.appended = entry
  }

  private struct PlaceLost: Error {}

  func notJoined() -> LarchError {
    LarchError(
      .readOnly,
      "The file is a copy of a shared store, so writes need its log; open it with `Store(sharing:copy:for:)`."
    ) { $0.path = path }
  }

  /// Brings an entry into the copy that is in the log, but whose own transaction could not be committed
  /// here: the closure must not run again.
  ///
  /// - Parameters:
  ///   - wasFull: whether the map was full.
  ///   - failure: why the commit failed.
  func takeIn(_ entry: LogEntry, wasFull: Bool, _ failure: any Error) throws {
    outbox.order?.noteTakenIn()
    do {
      try writeQueue.lending {
        if wasFull { try grow() }
        try apply([entry], skipsKnown: true)
      }
    } catch {
      throw LarchError(
        .ioFailure,
        "The write is committed in the log, but this copy could not take it in yet; do not repeat it.",
        underlying: translated(failure)
      ) { $0.path = path }
    }
  }

  // MARK: Running again

  /// Removes what kept a write from its commit, with the write lock held and no transaction open. Then
  /// it runs again.
  func makeWay() throws {
    if hasMadeRoom { return hasMadeRoom = false }
    guard let obstacle = outbox.obstacle else { return try grow() }
    outbox.obstacle = nil
    switch obstacle {
    case .placeLost: try catchUp(takesTurn: true)
    case .noIDs(let collection, let wanted): try claimBlock(of: collection, wanted)
    }
  }

  /// Notes that a collection has no ids; the run is undone.
  package func noteNoIDs(of collection: UInt32) {
    outbox.obstacle = .noIDs(collection: collection, wanted: ids.nextBlockSize(collection))
    noteMapFull()
  }

  /// Claims ids in the log, in a commit of its own, before any of them is handed out.
  private func claimBlock(of collection: UInt32, _ count: Int64) throws {
    guard let order = outbox.order else { throw notJoined() }
    let takenIn = order.takenIn
    do {
      let block = try writeQueue.lending {
        try write(durability: .relaxed) { transaction in
          // Ids that the store assigned before it was shared, and that were undone, stay above.
          let missing =
            ids.highest(collection) - (try order.firstUnclaimedID(transaction, collection))
          return try order.claimIDs(
            transaction, collection, max(count, missing + 1 + IDBlocks.firstSize))
        }
      }
      ids.addBlock(block, of: collection)
    } catch let error as LarchError where error.code == .commitUnknown {
      // Of the claim only: the write that needs the ids has not happened.
      throw LarchError(
        .unavailable, "The server did not answer, and nothing was written; retry later.",
        underlying: error
      ) { $0.path = path }
    } catch let error as LarchError where error.code == .ioFailure && order.takenIn > takenIn {
      // The claim is in the log, and the write that needs the ids is not.
      throw error.underlying ?? error
    }
  }

  /// Applies what the log has and this copy does not, with the write lock held and no transaction open.
  ///
  /// - Parameter takesTurn: whether to wait until no other copy has a turn.
  func catchUp(takesTurn: Bool = false) throws {
    guard let order = outbox.order else { throw notJoined() }
    var takesTurn = takesTurn
    try writeQueue.lending {
      while true {
        guard let here = try outboxHeader()?.place else { throw notJoined() }
        switch try order.missing(after: here, takesTurn: takesTurn) {
        case .entries(let entries):
          if entries.isEmpty { return }
          try apply(entries, skipsKnown: true)
          order.reached(entries.map(\.place))
          // The next look may wait for the server.
          changes.resumeElsewhere()
          // The tail was read up to a limit of bytes, so there may be more.
          if entries.reduce(0, { $0 + $1.changes.count }) < CommitOrder.batchBytes { return }
          takesTurn = false
        case .cut: throw isCut()
        case .diverged: throw hasDiverged()
        }
      }
    }
  }

  /// Applies entries of the log, if the copy does not have them yet: another thread or process may have been
  /// faster.
  package func applyMissing(_ entries: [LogEntry]) throws {
    try withWriteLock {
      guard let place = try writeQueue.lending({ try outboxHeader()?.place }) else {
        throw notJoined()
      }
      guard let last = entries.last, last.place.position > place.position else { return }
      try writeQueue.lending { _ = try apply(entries, skipsKnown: true) }
    }
  }

  private func isCut() -> LarchError {
    LarchError(
      .unavailable,
      "The copy is older than the history that the log keeps, and is being made again; retry in a moment."
    ) { $0.path = path }
  }

  private func hasDiverged() -> LarchError {
    LarchError(
      .diverged,
      "The copy has commits that the server has lost; it is kept beside a new one, which is being made; run the write again then."
    ) { $0.path = path }
  }
}

// MARK: - Work of the whole copy

extension LMDBEnvironment {
  /// Applies what the log has and this copy does not.
  package func catchUpWithLog() throws { try withWriteLock { try catchUp() } }

  /// Takes a place in the log with an entry that changes nothing, so that nobody else can have it any more.
  ///
  /// - Returns: false if it is taken.
  package func takePlace(after place: LogPlace) throws -> Bool {
    try withWriteLock {
      guard let order = outbox.order else { throw notJoined() }
      let entry = LogEntry(
        after: place, random: .random(in: 1 ... .max), changes: ChangeRecord.nothing)
      guard try order.append(entry) else { return false }
      defer { order.endCommit() }
      try catchUp()
      return true
    }
  }

  /// Throws if the file is a copy of a shared store: then it must not be replaced by itself.
  func checkNotShared() throws {
    guard outbox.order != nil, outbox.purpose == .ordinary else { return }
    throw LarchError(
      .unsuitableFile,
      "A copy of a shared store cannot be compacted or replaced; close it and remove its file, and the next opening makes a new copy."
    ) { $0.path = path }
  }
}
