extension LMDBEnvironment {
  // MARK: State

  /// The place of the newest commit that a state has in its log; nil if the store has none.
  func logPlace(in transaction: LMDBTransaction) throws -> LogPlace? {
    // Opened with the catalog, if there is one: without it, nothing is searched here.
    guard let database = outboxDatabase.withLock({ $0 }) else { return nil }
    return try OutboxTree(database: database, path: path).header(in: transaction)?.place
  }

  /// The header of the outbox in the newest state; nil if there is none.
  package func outboxHeader() throws -> OutboxHeader? {
    try readOutbox { transaction, tree in try tree.header(in: transaction) } ?? nil
  }

  /// The header in the state of a transaction; nil if there is none.
  package func outboxHeader(in transaction: LMDBTransaction) throws -> OutboxHeader? {
    do {
      let plain = LMDBTransaction(pointer: transaction.pointer)
      guard try LMDBDatabase.exists(OutboxTree.name, in: plain) else { return nil }
      if let tree = knownOutbox(in: plain) { return try tree.header(in: plain) }
      return try OutboxTree.mappedHeader(in: plain, path: path)
    } catch {
      throw translated(error)
    }
  }

  /// The tree, if the transaction knows its handle.
  private func knownOutbox(in transaction: LMDBTransaction) -> OutboxTree? {
    guard let database = outboxDatabase.withLock({ $0 }),
      (try? database.flags(in: transaction)) != nil
    else { return nil }
    return OutboxTree(database: database, path: path)
  }

  /// The entries after a position that wait to be shipped, each whole and following the one before.
  ///
  /// - Parameter limit: how many bytes of changes to read, about. At least one entry is read.
  /// - Returns: `.cut` if entries after the position were removed already, or there is no outbox.
  package func outboxEntries(after position: UInt64, limit: Int) throws -> LogTail {
    try readOutbox { transaction, _ in
      try outboxEntries(after: position, limit: limit, in: transaction)
    } ?? .cut
  }

  /// The same in the state of a transaction.
  func outboxEntries(
    after position: UInt64, limit: Int, in transaction: LMDBTransaction
  ) throws -> LogTail {
    guard let tree = try outboxTree(in: transaction),
      let header = try tree.header(in: transaction), header.shipped.position <= position
    else { return .cut }
    if position > header.place.position { return .diverged }
    var found: [LogEntry] = []
    var bytes = 0
    try tree.forEach(after: position, in: transaction) { entry in
      found.append(entry)
      bytes += entry.changes.count
      return bytes < limit
    }
    let expected = position == header.place.position ? 0 : 1
    guard found.count >= expected, found.first.map({ $0.place.position == position + 1 }) ?? true
    else { throw tree.damage("entry \(position + 1) is missing") }
    return .entries(found)
  }

  /// Checks the header and every entry that waits.
  ///
  /// - Throws: `.corrupted` for damage, with what is damaged.
  package func checkOutbox(in transaction: LMDBTransaction) throws {
    guard let header = try outboxHeader(in: transaction),
      let tree = try outboxTree(in: transaction)
    else { return }
    var last = header.shipped
    var bytes: UInt64 = 0
    try tree.forEach(after: 0, in: transaction) { entry in
      guard entry.before == last.token, entry.place.position == last.position &+ 1 else {
        throw tree.damage("entry \(entry.place.position) does not follow")
      }
      do {
        try entry.changes.withUnsafeBytes { try ChangeRecord($0).check() }
      } catch is ChangeRecord.Malformed {
        throw tree.damage("changes of entry \(entry.place.position)")
      }
      last = entry.place
      bytes += UInt64(entry.changes.count)
      return true
    }
    guard last == header.place, bytes == header.bytes else {
      throw tree.damage("entries are missing")
    }
  }

  /// The tree of the outbox in a transaction; nil if there is none.
  func outboxTree(in transaction: LMDBTransaction) throws -> OutboxTree? {
    do {
      guard
        try LMDBDatabase.exists(
          OutboxTree.name, in: LMDBTransaction(pointer: transaction.pointer))
      else { return nil }
    } catch { throw translated(error) }
    if let tree = knownOutbox(in: transaction) { return tree }
    try openOutboxHandle()
    // This transaction began before.
    throw OutboxHandleMissing()
  }

  /// Opens the handle of the outbox for reads that begin later, unless it is open or there is no outbox.
  package func openOutboxHandle() throws {
    if outboxDatabase.withLock({ $0 }) != nil { return }
    if isWriting { try openOutbox() } else { try withWriteLock { try openOutbox() } }
  }

  /// Reads the newest state; nil if there is no outbox.
  private func readOutbox<T>(
    _ body: (LMDBTransaction, OutboxTree) throws -> T
  ) throws -> T? {
    while true {
      let reader = try beginRead()
      defer { endRead(reader) }
      do {
        guard let tree = try outboxTree(in: reader.transaction) else { return nil }
        return try body(reader.transaction, tree)
      } catch is OutboxHandleMissing {
        continue
      } catch {
        throw translated(error)
      }
    }
  }

  // MARK: Changing the outbox

  /// Begins to keep an outbox, in one write. If there is one of the same store already, only its role
  /// changes; of another store, it begins again.
  ///
  /// - Parameters:
  ///   - identity: which store it is; nil keeps the number that the file has, or makes a new one.
  ///   - place: the commit at which the store is.
  ///   - isOwnPlace: whether this writer has made the place, so that it must know it again.
  ///   - alongside: what else the write changes, if the outbox is begun.
  package func makeOutbox(
    role: OutboxRole, identity: [UInt8]?, place: LogPlace, isOwnPlace: Bool = false,
    alongside: (LMDBTransaction) throws -> Void = { _ in }
  ) throws {
    try changeOutbox(needsHeader: false, creates: true) { header, tree, transaction, write in
      if let known = header, identity == nil || identity == known.identity {
        if known.role != role { try take(role, &header) }
        return
      }
      try tree.empty(by: write)
      header = OutboxHeader(
        role: role, identity: identity ?? OutboxHeader.newIdentity(), place: place)
      if isOwnPlace { header?.random = place.token.random }
      try alongside(transaction)
    }
  }

  /// Ends the outbox: commits are not recorded any more, and what was not shipped is dropped.
  ///
  /// - Parameter alongside: what else the write changes.
  package func removeOutbox(alongside: (LMDBTransaction) throws -> Void = { _ in }) throws {
    try changeOutbox(needsHeader: false) { header, tree, transaction, write in
      // The tree stays, empty: its handle may be in use by reads.
      try tree.empty(by: write)
      header = nil
      try alongside(transaction)
    }
  }

  /// Removes the entries up to a place, which the server has.
  ///
  /// - Parameters:
  ///   - log: the name of the log that has them; nil leaves what is known.
  ///   - isFirstCopy: whether it has them in a copy of all pairs, which was needed.
  /// - Throws: `.diverged` if the store does not have that place.
  package func trimOutbox(
    through place: LogPlace, in log: String? = nil, isFirstCopy: Bool = false
  ) throws {
    try changeOutbox { header, tree, transaction, write in
      guard var known = header else { return }
      // What was shipped to another log before the store left it comes late.
      if let log, place.position >= known.shipped.position { known.log = log }
      if isFirstCopy, place.position >= known.shipped.position {
        // Nothing that was not recorded came after the copy.
        known.needsFirstCopy = false
        known.isPaused = false
        known.isRestored = false
      }
      if place.position > known.shipped.position {
        guard try tree.token(at: place.position, known, in: transaction) == place.token else {
          throw unknownPlace(place)
        }
        if place.position == known.place.position {
          try tree.empty(by: write)
          known.bytes = 0
        } else {
          let removed = try tree.remove(through: place.position, in: transaction, by: write)
          known.bytes -= min(known.bytes, removed)
        }
        known.shipped = place
      }
      header = known
    }
  }

  /// Drops the entries, and says that the server needs all pairs. Commits are recorded from here on.
  ///
  /// - Parameter isPaused: whether they are not, until this is called again: as when the server is away
  ///   for long.
  package func restartOutbox(isPaused: Bool = false) throws {
    try changeOutbox { header, tree, _, write in
      try tree.empty(by: write)
      header?.restart(isPaused: isPaused)
    }
  }

  /// Gives up the log that the store has been shipped to, for another one. From here on the store is at a place that the
  /// first one does not lead to, with other tokens, so whoever still ships there finds a log of another store.
  package func leaveLog(for name: String) throws {
    try changeOutbox { header, tree, _, write in
      try tree.empty(by: write)
      header?.random = .random(in: 1 ... .max)
      header?.moveUnrecorded()
      header?.restart(isPaused: false)
      header?.forgetLeft()
      header?.log = name
    }
  }

  /// Changes the role. A follower that becomes a writer makes tokens of its own from here on.
  ///
  /// - Throws: `.diverged` if a writer has commits that were not shipped: they would be lost.
  package func setOutboxRole(_ role: OutboxRole) throws {
    try changeOutbox { header, _, _, _ in
      if header?.role != role { try take(role, &header) }
    }
  }

  /// Takes a role, with a random number of its own.
  private func take(_ role: OutboxRole, _ header: inout OutboxHeader?) throws {
    // A superseded store keeps what was not shipped, since nobody else has it.
    guard role == .writer || role == .superseded || header?.place == header?.shipped else {
      throw LarchError(
        .diverged,
        "The store has commits that were not shipped; ship them, or keep the file aside and make a new follower."
      ) { $0.path = path }
    }
    header?.role = role
    header?.random = .random(in: 1 ... .max)
  }

  /// Changes the outbox in a write that is not recorded and not flushed at once.
  ///
  /// - Parameters:
  ///   - needsHeader: whether the body needs the header that is there. Without it, a damaged one is nil.
  ///   - creates: whether the tree is made if there is none.
  /// - Throws: `.unsuitableFile` if there is no outbox, `.corrupted` if it is damaged.
  func changeOutbox<T>(
    needsHeader: Bool = true, creates: Bool = false,
    _ body: (inout OutboxHeader?, OutboxTree, LMDBTransaction, OutboxWrite) throws -> T
  ) throws -> T {
    try upkeep { transaction in
      let found = creates ? try OutboxTree.open(in: transaction, path: path, creates: true) : nil
      guard let tree = outbox.tree ?? found else { throw noOutbox() }
      let before = outbox.header
      if needsHeader, before == nil, try tree.header(in: transaction) == nil { throw noOutbox() }
      var header = before
      let write = OutboxWrite(transaction, recorder: commitLog == nil ? nil : recorder)
      let value = try body(&header, tree, transaction, write)
      if let header, header != before || write.hasWritten { try tree.set(header, by: write) }
      outbox.willCommit(header)
      return value
    }
  }

  /// Runs a write that changes the outbox, or the file as a whole: nothing of it is recorded.
  func upkeep<T>(_ body: (LMDBTransaction) throws -> T) throws -> T {
    try checkWritable()
    return try withUpkeep {
      while true {
        let (attempt, value) = try attempt(body)
        if try attempt.commit(min(.relaxed, options.durability)) { return value }
        try makeWay()
      }
    }
  }

  /// Takes the write lock for writes that are not recorded.
  func withUpkeep<T>(_ body: () throws -> T) throws -> T {
    try withWriteLock {
      let before = outbox.purpose
      outbox.purpose = .upkeep
      defer { outbox.purpose = before }
      return try body()
    }
  }

  private func unknownPlace(_ place: LogPlace) -> LarchError {
    LarchError(
      .diverged, "The server has commits that this store does not have; mirror it to another log."
    ) {
      $0.path = path
      $0.detail = "place \(place.position)"
    }
  }

  private func noOutbox() -> LarchError {
    LarchError(.unsuitableFile, "The store is not mirrored; begin a mirror first.") {
      $0.path = path
    }
  }
}
