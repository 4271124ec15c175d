internal import Foundation

/// Finds or makes the file of a copy of a shared store.
///
/// | The log has | The file at the path is | |
/// |---|---|---|
/// | nothing | missing, or a store of its own | the log begins with it |
/// | a store | missing | it is fetched |
/// | a store | a copy | it goes on; `FollowingWork` makes it again if it must |
/// | nothing | a copy | refused, unless its program ended before it could begin the log |
/// | a store | a store of its own | refused |
struct CopyMaker: Sendable {
  let path: String
  let log: any SharedLog
  let schema: StoreSchema
  let options: Store.Options

  /// The environment of the copy, with the caller as an owner. It may be older than the log, or have
  /// another past.
  func open() throws -> LMDBEnvironment {
    // Others may make or remove the copy meanwhile; then look again.
    for _ in 0..<16 {
      guard try StoreLocation(path).existingFile() != nil else {
        try make()
        continue
      }
      let environment = try openFile()
      do {
        try check(environment)
        return environment
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
  private func check(_ environment: LMDBEnvironment) throws {
    guard let header = try environment.outboxHeader() else { return try begin(from: environment) }
    switch header.role {
    case .shared: break
    case .writer, .follower, .superseded:
      // A mirror whose commits are all shipped, or a follower: it joins the others.
      guard try log.head()?.newest == header.place else { throw notShipped }
      return try environment.setOutboxRole(.shared)
    }
    let isBegun: Bool
    do { isBegun = try log.head() != nil } catch let error as LarchError
      where error.code == .unavailable
    { return }
    if isBegun { return }
    // The copy was prepared, and its program ended before the log was begun.
    guard header.place.position <= 1 else { throw emptyLog }
    _ = try fill(environment)
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
      return try log.begin(at: header.place, expecting: nil) { try copy($0) }
    }
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

  private var notShipped: LarchError {
    error(
      .diverged,
      "The mirrored store and its log are not at the same commit; wait until the mirror is settled, then share it."
    )
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
