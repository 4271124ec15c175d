extension LMDBEnvironment {
  /// Makes the changes of entries, which must follow the newest commit of a follower, in one transaction.
  ///
  /// Those who observe the store hear of it as of any write. An error leaves the file as it was.
  ///
  /// - Parameter skipsKnown: whether to pass over entries that the file has: another process with the same copy
  ///   may have applied them since they were read.
  /// - Returns: the place at which the store is now.
  /// - Throws: `.diverged` if an entry does not follow, `.damagedLog` if one is not whole, `.newerLog` if a
  ///   newer Larch has made it, `.unsuitableFile` if the store is no follower, and what a write throws.
  @discardableResult
  package func apply(_ entries: [LogEntry], skipsKnown: Bool = false) throws -> LogPlace {
    try checkFollowing(entries)
    return try withRoomForTrees(toMake: treeCount(entries)) { try applyOnce(entries, skipsKnown) }
  }

  /// Runs a body that opens trees. If there are more of them than handles, the file is opened again, which
  /// reserves as many as it has by then and some more, and the body runs again.
  ///
  /// - Parameter toMake: how many trees the body makes, at most.
  func withRoomForTrees<T>(
    toMake: @autoclosure () -> Int = 0, _ body: () throws -> T
  ) throws -> T {
    do {
      return try body()
    } catch let error as LarchError
      where (error.underlying as? LMDBError)?.kind == .databasesFull
    {
      try withWriteLock {
        treesToMake = toMake()
        defer { treesToMake = 0 }
        try reopen()
      }
      return try body()
    }
  }

  /// How many trees entries name; those of one that is not whole are no trees.
  private func treeCount(_ entries: [LogEntry]) -> Int {
    entries.reduce(0) { count, entry in
      count + entry.changes.withUnsafeBytes { (try? ChangeRecord($0))?.trees.count ?? 0 }
    }
  }

  private func applyOnce(_ entries: [LogEntry], _ skipsKnown: Bool) throws -> LogPlace {
    try changeOutbox { header, tree, transaction, write in
      guard let known = header, known.role == .follower || known.role == .shared else {
        throw LarchError(
          .unsuitableFile, "The store is no follower, so it cannot take the commits of another one."
        ) { $0.path = path }
      }
      let entries = skipsKnown ? try unknown(entries, known.place) : entries[...]
      guard let first = entries.first, let last = entries.last else { return known.place }
      guard first.before == known.place.token, first.place.position == known.place.position &+ 1
      else { throw diverged(first) }
      for entry in entries { try apply(entry, in: transaction) }
      header?.place = last.place
      header?.shipped = last.place
      return last.place
    }
  }

  /// The entries that a file does not have, which is at a place.
  private func unknown(
    _ entries: [LogEntry], _ place: LogPlace
  ) throws -> ArraySlice<LogEntry> {
    if let here = entries.first(where: { $0.place.position == place.position }), here.place != place
    {
      throw diverged(here)
    }
    return entries.drop { $0.place.position <= place.position }
  }

  /// Each entry must follow the one before, and be what its token was made for.
  private func checkFollowing(_ entries: [LogEntry]) throws {
    var before: LogEntry?
    for entry in entries {
      guard entry.isWhole else { throw damaged(entry, "token") }
      if let before,
        entry.before != before.place.token
          || entry.place.position != before.place.position &+ 1
      {
        throw diverged(entry)
      }
      before = entry
    }
  }

  private func apply(_ entry: LogEntry, in transaction: LMDBTransaction) throws {
    try entry.changes.withUnsafeBytes { bytes in
      if bytes.count >= 2,
        UInt16(littleEndian: bytes.loadUnaligned(as: UInt16.self)) > ChangeRecord.version
      {
        throw LarchError(
          .newerLog, "The log was written by a newer version of Larch; update Larch to follow it."
        ) {
          $0.path = path
          $0.detail = "entry \(entry.place.position)"
        }
      }
      do {
        let record = try ChangeRecord(bytes)
        try record.check()
        var opened: [String: LMDBDatabase] = [:]
        for tree in record.trees {
          // LMDB's names end at a zero.
          guard !LMDBEnvironment.isOwn(tree.name), !tree.name.utf8.contains(0) else {
            throw damaged(entry, "tree \(tree.name)")
          }
          let flags = LMDBDatabase.Flags(rawValue: tree.flags)
          guard
            let database = try LMDBDatabase.open(tree.name, flags.union(.create), in: transaction),
            try database.flags(in: transaction) == flags
          else { throw damaged(entry, "flags of tree \(tree.name)") }
          opened[tree.name] = database
        }
        try record.apply(in: transaction, &opened, keepsHandles: true)
        #if LARCH_SHARE_EVERYTHING
          try BrokenFollowing.losePair(of: record, at: entry.place, in: transaction, opened)
        #endif
      } catch is ChangeRecord.Malformed {
        throw damaged(entry, "changes")
      } catch let error as LMDBError
        where error.kind == .incompatible || error.kind == .badValueSize
      {
        throw damaged(entry, "\(error)")
      }
    }
  }

  /// Makes a copy the writer of its log, with the entry that took the next place there. Another process with the same
  /// copy may have applied it already.
  func becomeWriter(with entry: LogEntry) throws {
    guard try apply([entry], skipsKnown: true) == entry.place else { throw diverged(entry) }
    try setOutboxRole(.writer)
    // These two commits are not flushed by themselves.
    try sync()
  }

  private func diverged(_ entry: LogEntry) -> LarchError {
    LarchError(
      .diverged,
      "The log does not continue the state of this store; make a new copy from the log."
    ) {
      $0.path = path
      $0.detail = "entry \(entry.place.position)"
    }
  }

  private func damaged(_ entry: LogEntry, _ detail: String) -> LarchError {
    LarchError(
      .damagedLog,
      "An entry of the log is damaged or was altered; nothing of it was used. Check the server."
    ) {
      $0.path = path
      $0.detail = "entry \(entry.place.position): \(detail)"
    }
  }
}
