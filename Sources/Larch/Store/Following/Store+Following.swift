internal import Foundation

extension Store {
  /// Opens a copy of another store, which follows that store's log on a server.
  ///
  /// ```swift
  /// let store = try Store(
  ///   following: .postgres("postgres://db.example/larch"), copy: "people.larch",
  ///   for: Person.self, Company.self)
  /// ```
  ///
  /// Without a file at the path the copy is made first, which ``Options/copyProgress`` reports. A copy
  /// that is there is opened at once, also while the server cannot be reached. From then on a thread
  /// applies to it what the writer commits: ``follower`` says how far it is. Reads and observers work as
  /// on any store; a write throws `.readOnly`. A copy that is behind what the log keeps, or has another
  /// past than the log, is made again in its place; the file of the latter is kept beside it, and the log
  /// says where.
  ///
  /// Several processes may open one copy: one of them applies the log.
  ///
  /// - Parameters:
  ///   - log: the log on the server.
  ///   - path: the path of the copy.
  ///   - types: the record types of the store. Indexes and collections that the copy does not have yet
  ///     are not used, as with ``Options/isReadOnly``.
  ///   - options: the options of the store. Commits wait for less than with
  ///     ``Options/durability-swift.property`` `.durable`, since the log has all of it.
  /// - Throws: `.unavailable` if there is no copy yet and the server cannot be reached; `.logNotFound` if it has
  ///   no store under this name; `.serverRefused`, `.newerLog`, `.damagedLog`; `.unsuitableFile` if the file is no copy;
  ///   `.migrationPending`, `.schemaMismatch` if the declarations do not fit; the errors of
  ///   ``init(at:for:migrations:options:)-(String,_,_,_)`` for the file.
  /// - Complexity: that of opening; the size of the store if the copy is made.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public convenience init(
    following log: ServerLog, copy path: String, for types: any Record.Type...,
    options: Options = Options()
  ) throws {
    try self.init(following: log, copy: path, types: types, options: options)
  }

  /// The list form of ``init(following:copy:for:options:)``.
  package convenience init(
    following log: ServerLog, copy path: String, types: [any Record.Type],
    options: Options = Options()
  ) throws {
    let schema = try StoreSchema(types, evolution: options.evolution)
    var options = options.withChosenMessages
    var environmentOptions = options.forEnvironment(schema)
    environmentOptions.canCreate = false
    environmentOptions.logsCommits = false
    if environmentOptions.durability == .durable { environmentOptions.durability = .relaxed }
    // The declarations are compared with the file, and never written into it.
    options.isReadOnly = true
    try FollowedCopy.makeIfMissing(at: path, from: log, options)
    let environment = try LMDBEnvironment.open(path: path, options: environmentOptions)
    var begun: FollowingWork?
    do {
      _ = try environment.followedPlace()
      let work = try FollowingWork(environment, log, options)
      begun = work
      try work.completeCopy()
      _ = try Store.hasPendingMigrations(environment, schema, options)
      let catalog = try Store.openCatalog(environment, schema, options)
      self.init(
        environment: environment, catalog: catalog, schema: schema, options: options,
        isTemporary: false, follower: Follower(work))
      work.start()
    } catch {
      begun?.close()
      environment.close()
      throw Store.named(error, path)
    }
    tell(LogMessage(.debug, .opened, "The store was opened.") { $0.path = environment.path })
  }

  /// Opens a copy of another store, which follows that store's log on a server, without blocking the
  /// task's thread while the copy is made.
  ///
  /// - Parameters:
  ///   - log: the log on the server.
  ///   - path: the path of the copy.
  ///   - types: the record types of the store.
  ///   - options: the options of the store.
  /// - Throws: the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  public nonisolated(nonsending) convenience init(
    following log: ServerLog, copy path: String, for types: any Record.Type...,
    options: Options = Options()
  ) async throws {
    try await BlockingWork.run {
      try FollowedCopy.makeIfMissing(at: path, from: log, options)
    }
    try self.init(following: log, copy: path, types: types, options: options)
  }

  /// What keeps this store like the log of another one; nil if it follows none
  /// (`Store(following:copy:for:options:)`). A shared store has one too, which applies what other servers
  /// commit (``init(sharing:copy:for:migrations:options:)``).
  ///
  /// - Complexity: O(1).
  public var follower: Follower? {
    companions.withLock { $0.follower as? Follower ?? $0.sharedCopy?.follower }
  }

  /// Makes the copy the store that writes the log, and closes this store.
  ///
  /// Use it when the machine of the writer is gone. The copy gets all that the log has, takes the next
  /// place in it, and is a mirrored store from then on: open it with
  /// `Store(at: path, mirror: log, for: …)`, which also runs migrations and builds indexes. The old
  /// writer, if it still runs, loses its place: what it ships next is refused, and it refuses writes with
  /// `.diverged`. What it had not shipped stays in its file.
  ///
  /// If it throws, the copy follows the log as before. Its entry may be in the log nevertheless, and the
  /// old writer has lost its place then; promote again.
  ///
  /// - Parameter limit: how long to try.
  /// - Throws: `.unavailable` if the server did not answer in time, or the old writer was always faster;
  ///   `.diverged` if another copy was promoted at the same time; `.conflictingOptions` if the log is that of a
  ///   shared store; `.unsuitableFile` if the store follows
  ///   no log; the other errors of a server; `.closed`.
  /// - Complexity: the entries that are missing, and two calls of the server.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func promote(within limit: Duration = .seconds(30)) throws {
    try promoteBlocking(limit)
  }

  /// Makes the copy the store that writes the log, without blocking the task's thread.
  ///
  /// - Parameter limit: how long to try.
  /// - Throws: the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  public nonisolated(nonsending) func promote(
    within limit: Duration = .seconds(30)
  ) async throws {
    try await BlockingWork.run { try self.promoteBlocking(limit) }
  }

  private func promoteBlocking(_ limit: Duration) throws {
    _ = try currentCatalog()
    guard isFollowing, let follower else {
      throw LarchError(
        .unsuitableFile,
        "The store follows no log, so there is nothing to promote; open the copy with `Store(following:copy:for:)`."
      ) { $0.path = path }
    }
    try follower.work.promote(within: limit)
    tell(
      LogMessage(.notice, .promoted, "The copy writes the log from now on.") { $0.path = path })
    close()
  }
}
