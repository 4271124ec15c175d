internal import Foundation

/// Finds or makes the file of a copy of a shared store.
///
/// | The log has | The file at the path is | |
/// |---|---|---|
/// | nothing | missing, or a store of its own | the log begins with it |
/// | nothing | a copy | refused, unless its program ended before it could begin the log |
/// | a shared store | missing | it is fetched |
/// | a shared store | a copy, or a mirrored file whose commits it has | it goes on; `FollowingWork` makes it again if it must |
/// | a shared store | a store of its own | refused |
/// | a mirrored store | its own file, at the newest commit | the log is shared from here on |
/// | a mirrored store | anything else | refused: its writer may be at work elsewhere |
struct CopyMaker: Sendable {
  let path: String
  let log: any SharedLog
  let schema: StoreSchema
  let options: Store.Options

  /// The environment of the copy, with the caller as an owner, and whether the server has answered. The copy
  /// may be older than the log, or have another past.
  func open() throws -> (LMDBEnvironment, isReachable: Bool) {
    // Others may make or remove the copy meanwhile; then look again.
    for _ in 0..<16 {
      guard try StoreLocation(path).existingFile() != nil else {
        try make()
        continue
      }
      let environment = try openFile()
      do {
        return (environment, try check(environment))
      } catch {
        environment.close()
        throw error
      }
    }
    throw LarchError(
      .busy, "Another program makes and removes the copy again and again; retry later."
    ) { $0.path = path }
  }

  private func openFile(initialize: ((LMDBTransaction) throws -> Void)? = nil) throws
    -> LMDBEnvironment
  {
    try LMDBEnvironment.open(
      path: path, options: options.forEnvironment(schema), initialize: initialize)
  }

  // MARK: A file that is there

  /// Makes the file a copy of the log, if it is none.
  ///
  /// - Returns: false if the server could not be reached, and the file is a copy.
  private func check(_ environment: LMDBEnvironment) throws -> Bool {
    guard let header = try environment.outboxHeader() else {
      try begin(from: environment)
      return true
    }
    let head: LogHead?
    do {
      if header.role == .shared { log.expectAnswers(within: SharedCopy.patience) }
      defer { log.expectAnswers(within: nil) }
      head = try log.head()
    } catch let error as LarchError where error.code == .unavailable && header.role == .shared {
      return false
    }
    try become(environment, header, head)
    return true
  }

  /// Makes a file with an outbox a copy of what the log has.
  private func become(
    _ environment: LMDBEnvironment, _ header: OutboxHeader, _ head: LogHead?
  ) throws {
    guard let head else {
      guard header.role == .shared else { throw notBegun }
      // The copy was prepared, and its program ended before the log was begun.
      guard header.place.position <= 1 else { throw emptyLog }
      _ = try fill(environment)
      return
    }
    switch (header.role, head.use) {
    case (.shared, .shared): break
    case (.follower, .shared): try environment.setOutboxRole(.shared)
    case (.writer, .shared), (.superseded, .shared): try join(environment, header)
    // A shared copy: its program ended while it shared the log.
    case (.writer, .mirrored), (.shared, .mirrored): try share(environment, header, head)
    case (.follower, .mirrored), (.superseded, .mirrored): throw isMirrored
    }
  }

  /// Lets the file of a mirrored store write with the others, if it has nothing that they do not have.
  private func join(_ environment: LMDBEnvironment, _ header: OutboxHeader) throws {
    guard case .entries = try log.tail(after: header.place, limit: 1) else { throw leftBehind }
    try environment.trimOutbox(through: header.place)
    try environment.setOutboxRole(.shared)
  }

  /// Makes the log of a mirrored store a shared one, from the newest commit of its file on.
  private func share(
    _ environment: LMDBEnvironment, _ header: OutboxHeader, _ head: LogHead
  ) throws {
    guard head.newest == header.place else {
      throw header.role == .shared ? isMirrored : notShipped
    }
    // First the file: another program that has it open writes no commit from here on, since it has no log.
    try environment.trimOutbox(through: header.place)
    try environment.setOutboxRole(.shared)
    let entry = LogEntry(
      after: header.place, random: .random(in: 1 ... .max), changes: ChangeRecord.nothing)
    do {
      guard try log.share(with: entry) else { throw notShipped }
    } catch {
      try? environment.setOutboxRole(header.role)
      throw error
    }
  }

  /// Begins the log with a store of its own.
  private func begin(from environment: LMDBEnvironment) throws {
    guard try log.head() == nil else { throw notACopy }
    try environment.beginOutbox(role: .shared, place: Self.newPlace())
    if try fill(environment) { return }
    try environment.endOutbox()
    throw notACopy
  }

  /// Sends all pairs to a log that was never begun; false if another copy was faster.
  private func fill(_ environment: LMDBEnvironment) throws -> Bool {
    try environment.withPairs { header, copy in
      guard let header else { throw notACopy }
      let isBegun = try log.begin(at: header.place, expecting: nil, for: .shared) { try copy($0) }
      if isBegun { tellBegun() }
      return isBegun
    }
  }

  /// A wrong name would be noticed by nothing else.
  private func tellBegun() {
    options.log?(
      LogMessage(
        .notice, .logBegun,
        "The server had no log under this name, so a new shared store was begun."
      ) {
        $0.path = path
        $0.detail = log.name
      })
  }

  /// A place that no other log begins with.
  private static func newPlace() -> LogPlace {
    LogEntry(after: .start, random: .random(in: 1 ... .max), changes: []).place
  }

  // MARK: A new file

  /// Makes the file, from the log or as a new store.
  private func make() throws {
    if try log.head() == nil {
      // Whoever comes second finds a log, and a file that is no copy of it.
      let isFirst: Bool
      do {
        let environment = try openFile(initialize: CatalogLoader.initialize)
        defer { environment.close() }
        if try environment.outboxHeader() != nil { return }
        try environment.beginOutbox(role: .shared, place: Self.newPlace())
        isFirst = try fill(environment)
      }
      if !isFirst { try Store.destroy(at: path) }
      return
    }
    do {
      let place = try FollowedCopy.make(at: path, from: log, options, role: .shared)
      options.log?(
        LogMessage(.notice, .copied, "A copy of the store was made from its log.") {
          $0.path = path
          $0.detail = "position \(place.position) of \(log.name)"
        })
    } catch let error as LarchError where error.code == .fileExists {
      // Another process was faster.
    }
  }

  // MARK: For commits

  func claimIDs(
    _ count: Int64, of collection: UInt32, in transaction: LMDBTransaction,
    _ environment: LMDBEnvironment
  ) throws -> Range<Int64> {
    let storage = try CatalogLoader(environment, StoreSchema()).openStorage(in: transaction)
    guard
      let records = try environment.openDatabase(
        CatalogStorage.recordsName(collection), in: transaction)
    else {
      throw LarchError(
        .schemaChanged, "Another program has removed the collection; open the store again."
      ) { $0.path = path }
    }
    return try storage.claimIDs(count, of: collection, in: records, transaction)
  }

  func firstUnclaimedID(
    _ collection: UInt32, in transaction: LMDBTransaction, _ environment: LMDBEnvironment
  ) throws -> Int64 {
    try CatalogLoader(environment, StoreSchema()).openStorage(in: transaction)
      .firstUnclaimedID(collection, in: transaction)
  }

  // MARK: Errors

  private var notACopy: LarchError {
    error(
      .fileExists,
      "The file is a store of its own, and the log has another one; choose another path for the copy."
    )
  }

  private var notBegun: LarchError {
    error(
      .diverged,
      "The server does not have the mirrored store of this file yet; open it with `mirror:` until the mirror is settled, then share it."
    )
  }

  private var notShipped: LarchError {
    error(
      .diverged,
      "The server does not have the newest commits of this mirrored store, or has those of another one that took its place. Open it with `mirror:`, which ships them or says so; then share it."
    )
  }

  private var leftBehind: LarchError {
    error(
      .diverged,
      "The log is that of a shared store, and does not have all commits of this file: it is another store's, or it went on without them. Check the name, or keep the file and choose another path for the copy."
    )
  }

  private var isMirrored: LarchError { Self.isMirrored(log.name, path) }

  static func isMirrored(_ log: String, _ path: String) -> LarchError {
    LarchError(
      .conflictingOptions,
      "The log is that of a mirrored store, whose program may be writing now. Open the file of that store with `sharing:` first; if it was lost, make it with `Store.takeOver`. Or choose another name for the log."
    ) {
      $0.path = path
      $0.detail = log
    }
  }

  private var emptyLog: LarchError {
    error(
      .diverged,
      "The log is empty, but this copy had one: the server was replaced, or the name is wrong. Restore the log, or move the copy away to begin a new one."
    )
  }

  private func error(_ code: LarchError.Code, _ message: StaticString) -> LarchError {
    LarchError(code, message) {
      $0.path = path
      $0.detail = log.name
    }
  }
}
