extension Store {
  /// Opens a copy of a store that several servers and processes read and write, or makes it.
  ///
  /// ```swift
  /// import LarchPostgres
  ///
  /// let store = try Store(
  ///   sharing: .postgres("postgres://db.local/larch", store: "shop"), copy: "shop.larch",
  ///   for: Order.self)
  /// ```
  ///
  /// Each server has a copy, a file on its own disk. Reads are reads of the file, and ask nobody. A write
  /// runs on the file too; its commit is an append to the log on the server, at the next place. If
  /// another server has taken the place, the write is undone, what came between is applied, and the closure
  /// runs again. So writes have one order for all servers, as they have in one file.
  ///
  /// The first opening of all begins the log: with the store at `copy`, or with an empty one. If `copy` is the
  /// file of a mirrored store, its log is shared from then on, and a mirror that ships to it elsewhere is refused.
  /// Where the log has a shared store and there is no file, it is fetched. A copy that the log has left behind, or that has
  /// commits that the server lost, is replaced by a new one; the latter is kept beside it under another
  /// name (``Store/movedAside``). A copy that is there opens without the server, too, if its schema is that of the
  /// declarations; writes then wait for the server.
  ///
  /// - Parameters:
  ///   - log: the log on a server; the product `LarchPostgres` makes one.
  ///   - copy: the path of the file on this machine. It can be removed while it is closed.
  ///   - types: the record types of the store.
  ///   - migrations: the migrations to run once, by one of the servers, in this order.
  ///   - options: the options of the store. `durability` says how the copy is kept; a commit is as durable
  ///     as the server's. `.logged` is refused.
  /// - Throws: the errors of ``init(at:for:migrations:options:)-(String,_,_,_)``; `.unavailable` if the
  ///   server cannot be reached and is needed, `.serverRefused`, `.newerLog`, `.damagedLog`;
  ///   `.fileExists` if the file is a store of its own and the log has another one; `.diverged` if the log
  ///   is empty and the copy is not, or does not have all commits of a mirrored file; `.conflictingOptions`
  ///   if the log is that of a mirrored store with another file, and for other options than those of a copy that is
  ///   open; `.readOnly`.
  /// - Complexity: two calls of the server, and what the copy does not have.
  public convenience init(
    sharing log: ServerLog, copy: String, for types: any Record.Type...,
    migrations: [Migration] = [],
    options: Options = Options()
  ) throws {
    var options = options
    options.migrations += migrations
    try self.init(sharing: log, copy: copy, types: types, options: options, isTemporary: false)
  }

  /// The list form.
  package convenience init(
    sharing log: ServerLog, copy path: String, types: [any Record.Type], options: Options,
    isTemporary: Bool
  ) throws {
    let options = options.withChosenMessages
    let schema = try StoreSchema(types, evolution: options.evolution)
    try Migration.check(options.migrations)
    guard !options.isReadOnly else {
      throw LarchError(
        .readOnly,
        "A shared store is written by all; to read only, use `Store(following:copy:for:)`."
      ) { $0.path = path }
    }
    guard options.durability != .logged else {
      throw LarchError(
        .conflictingOptions,
        "A copy of a shared store needs no commit log of its own; use another `durability`."
      ) { $0.path = path }
    }
    let copy = try SharedCopy.open(path, log, schema, options)
    do {
      try self.init(
        opening: path, schema, options, isTemporary: isTemporary,
        movedAside: copy.follower.status.keptAside)
    } catch {
      copy.leave()
      throw error
    }
    companions.withLock { $0.sharedCopy = copy }
  }

  /// Makes the copy a store of its own, and closes this store. The log and the other copies stay as they
  /// are.
  ///
  /// For the day on which the server is lost with its log: the copy with the newest ``version`` begins a new
  /// log, at its next opening with `sharing:`. It needs no server.
  ///
  /// - Throws: `.readOnly` for a store that is not shared; `.busy` if another `Store` of this process has
  ///   the copy open; `.closed`; what a write throws.
  /// - Complexity: one small write.
  public func endSharing() throws {
    _ = try currentCatalog()
    guard let copy = companions.withLock({ $0.sharedCopy }) else { throw notShared }
    try copy.expectOnlyUser()
    close()
    let environment = try LMDBEnvironment.open(path: path, options: options.forEnvironment(schema))
    defer { environment.close() }
    try environment.endOutbox()
  }

  private var notShared: LarchError {
    LarchError(.readOnly, "The store is not shared; open it with `Store(sharing:copy:for:)`.") {
      $0.path = path
    }
  }

  /// What became of a write that ended with `.commitUnknown`.
  public enum CommitOutcome: Sendable {
    /// It has happened. This copy has it now.
    case committed
    /// It has not happened, and never will.
    case notCommitted
  }

  /// Asks the server what became of a write that threw `.commitUnknown`.
  ///
  /// If the server has nothing at the place of the write yet, the place is taken with an entry without
  /// changes: so a message of the write that is still on its way comes too late.
  ///
  /// ```swift
  /// } catch let error as LarchError where error.code == .commitUnknown {
  ///   // Later, when the server can be reached again:
  ///   if try store.outcome(of: error) == .notCommitted { try pay(order) }
  /// }
  /// ```
  ///
  /// - Parameter error: the error of the write.
  /// - Throws: `.unavailable` if the server cannot be reached; `.commitUnknown` if the log has cut the
  ///   history of that time; `.invalidQuery` for an error with another code; `.readOnly` for a store that is not
  ///   shared; `.diverged`, `.closed`.
  /// - Complexity: one to three calls of the server.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func outcome(of error: LarchError) throws -> CommitOutcome {
    try findOutcome(of: error)
  }

  /// The same, without blocking the task's thread.
  ///
  /// - Parameter error: the error of the write.
  /// - Throws: the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  public nonisolated(nonsending) func outcome(of error: LarchError) async throws -> CommitOutcome {
    try await BlockingWork.run { try self.findOutcome(of: error) }
  }

  private func findOutcome(of error: LarchError) throws -> CommitOutcome {
    _ = try currentCatalog()
    guard let commit = error.underlying as? UnknownCommit else {
      throw LarchError(
        .invalidQuery,
        "The error has no commit with an unknown outcome; pass one with the code `.commitUnknown`."
      ) { $0.path = path }
    }
    guard let copy = companions.withLock({ $0.sharedCopy }) else { throw notShared }
    return try copy.outcome(of: commit)
  }
}

extension SharedCopy {
  func outcome(of commit: UnknownCommit) throws -> Store.CommitOutcome {
    do {
      return try findOutcome(of: commit)
    } catch let error as LarchError where error.code == .unavailable {
      throw LarchError(
        .unavailable,
        "The server cannot be reached, so the outcome of the write is not known yet; ask again later, and do not repeat the write before.",
        underlying: error.underlying ?? error
      ) { $0.detail = error.context.detail }
    }
  }

  private func findOutcome(of commit: UnknownCommit) throws -> Store.CommitOutcome {
    try environment.catchUpWithLog()
    while true {
      // Its own client may be in a commit now.
      let log = try server.open()
      defer { log.close() }
      switch try log.tail(after: commit.before, limit: 1) {
      case .entries(let found):
        if let next = found.first {
          try log.confirm()
          if next.place != commit.place { return .notCommitted }
          // It may have come after the look at the log.
          try environment.catchUpWithLog()
          return .committed
        }
        do {
          if try environment.takePlace(after: commit.before) { return .notCommitted }
        } catch let error as LarchError where error.code == .commitUnknown {
          // It names the entry that takes the place, and the answer about that one would be another.
          throw LarchError(.unavailable, "", underlying: error)
        }
      case .cut:
        // The state may be just at its place, or after it.
        if case .entries = try log.tail(after: commit.place, limit: 1) {
          try log.confirm()
          try environment.catchUpWithLog()
          return .committed
        }
        throw LarchError(
          .commitUnknown, "The log does not have the history of that time any more.",
          underlying: commit
        ) { $0.path = self.environment.path }
      case .diverged:
        throw LarchError(
          .diverged, "The server has lost the commits before the write; open the store again."
        ) { $0.path = self.environment.path }
      }
    }
  }
}
