/// The commits of one store in their order, kept outside of its file.
///
/// The log has two parts: *entries*, one for each commit, and the *state*, which is all pairs of all trees
/// as they were at one of the entries. From the state and the entries after it, a copy of the store can
/// be made.
///
/// The order of commits is decided here and nowhere else: `append` succeeds only at the place after the
/// newest entry. All methods may be called from any thread, and each blocks until the server has
/// answered. An error of the server is a `LarchError`: `.unavailable` where a later attempt may succeed.
/// After an error, an append may have happened, unless the error's cause is `CallHadNoEffect`; the same append
/// again tells, as long as no other entry follows.
package protocol SharedLog: AnyObject, Sendable {
  /// Where the log is, for messages. It contains no password.
  var name: String { get }

  /// What the log has; nil if it was never begun.
  func head() throws -> LogHead?

  /// Puts a state in the place of everything that the log has, in one step: a failure leaves what was
  /// there.
  ///
  /// - Parameters:
  ///   - place: the entry at which the copied store is. Later entries follow it.
  ///   - expected: the newest place that the log has, as far as the caller knows; nil if it was never
  ///     begun. If it has another one, nothing is changed.
  ///   - use: who will append to the log.
  ///   - fill: writes the pairs, tree after tree, each in its order.
  /// - Returns: false if the log has another newest place.
  func begin(
    at place: LogPlace, expecting expected: LogPlace?, for use: LogUse,
    _ fill: (any LogStateWriter) throws -> Void
  ) throws -> Bool

  /// Makes the log of a mirrored store that of a shared one, and appends an entry, in one step. A mirror that
  /// still runs finds its place taken.
  ///
  /// - Returns: false if the log does not end where the entry follows.
  func share(with entry: LogEntry) throws -> Bool

  /// Appends entries, of which each follows the one before it, all or none.
  ///
  /// - Parameter mayBeThere: whether an earlier attempt may have appended them. Then it also succeeds if
  ///   the log has exactly these entries there already, which can cost one more call of the server.
  /// - Returns: false if the log does not end where the first entry follows.
  func append(_ entries: [LogEntry], mayBeThere: Bool) throws -> Bool

  /// Waits until all that the log shows is as safe as what it has acknowledged: a server that was started again
  /// may show an entry that none of its standbys has.
  func confirm() throws

  /// The entries after a place.
  ///
  /// - Parameter limit: how many bytes of changes to read, about. At least one entry is read.
  func tail(after place: LogPlace, limit: Int) throws -> LogTail

  /// Waits until the log has entries after a position, or until the time has passed. It may return
  /// early.
  func wait(after position: UInt64, seconds: Double) throws

  /// Reads the state as it is at one moment, tree after tree, each in its order. Empty trees are begun
  /// too.
  ///
  /// - Returns: the place of the state.
  func state(into writer: any LogStateWriter) throws -> LogPlace

  /// Brings the state up to the last entry that is older than some seconds and not after a position, and
  /// deletes the entries up to it, except the newest one of the log.
  ///
  /// - Returns: the place of the state.
  func fold(through position: UInt64, olderThan seconds: Double) throws -> LogPlace

  /// Waits until no other client has a turn, takes it, and reads the entries after a place: one call of
  /// the server, as `tail`. The turn ends with the next `append`, with `endTurn`, and with the connection.
  ///
  /// Clients that lose their places to each other take turns, so that none of them loses forever. A
  /// server may give up the wait after a while, and answer without a turn.
  func takeTurn(after place: LogPlace, limit: Int) throws -> LogTail

  /// Ends the turn, if the client has one.
  func endTurn()

  /// Says by when later calls must have an answer: those that have none by then fail as where the server is
  /// away. Nil leaves them the time that the client gives each call.
  func expectAnswers(within seconds: Double?)

  /// Why commits that were acknowledged may be lost with the server, as far as the calls until now have shown;
  /// nil if nothing says so.
  var failoverRisk: String? { get }

  /// Ends calls that wait, and closes the connections. Later calls throw `.closed`.
  func close()
}

extension SharedLog {
  package var failoverRisk: String? { nil }
  package func expectAnswers(within seconds: Double?) {}

  /// The error of who needs a log that was never begun.
  package var nothingThere: LarchError {
    LarchError(
      .logNotFound,
      "The server has no store under this name. Check the name (`larch server list`), the database and the schema; or open the store that it is for with `mirror:` first."
    ) { $0.detail = name }
  }
}

/// Who appends to a log.
package enum LogUse: Sendable {
  /// One store, whose commits are shipped. Others follow it, and one of them may take its place.
  case mirrored
  /// All copies of a shared store.
  case shared
}

/// What a log has.
package struct LogHead: Equatable, Sendable {
  package var use: LogUse
  package var newest: LogPlace
  /// The entry at which the state is.
  package var folded: LogPlace
  /// The entries after the state.
  package var entries: Int
  /// The bytes of their changes.
  package var bytes: Int
  /// When the newest entry came, in seconds since 1970 by the clock of the server.
  package var time: Double
  /// When the entry of the state came.
  package var foldedTime: Double

  package init(
    use: LogUse, newest: LogPlace, folded: LogPlace, entries: Int, bytes: Int, time: Double,
    foldedTime: Double
  ) {
    self.use = use
    self.newest = newest
    self.folded = folded
    self.entries = entries
    self.bytes = bytes
    self.time = time
    self.foldedTime = foldedTime
  }
}

/// What a log has after a place.
package enum LogTail: Sendable {
  /// The entries; none if the place is the newest.
  case entries([LogEntry])
  /// The log begins after the place: what followed it was folded.
  case cut
  /// The log has another entry at the place, or ends before it.
  case diverged
}

/// A tree of a store, as it is made again elsewhere.
package struct LogTree: Hashable, Sendable {
  package let name: String
  /// The flags of LMDB: sorted duplicates, and whether these have one length.
  package let flags: UInt32

  package init(name: String, flags: UInt32) {
    self.name = name
    self.flags = flags
  }

  /// Whether a key can have several values.
  package var hasDuplicates: Bool { flags & 0x04 != 0 }
}

/// Takes the pairs of a state.
package protocol LogStateWriter: AnyObject {
  /// Begins a tree. It may stay empty.
  func begin(_ tree: LogTree) throws
  /// Adds a pair to the tree that was begun last. Pairs come in the order of keys, then of values.
  func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws
}

/// A log on a server, to which a store ships its commits or from which it follows those of another one.
///
/// The product `LarchPostgres` makes one: `.postgres("postgres://…")`.
public struct ServerLog: Sendable {
  /// Where the log is, without a password.
  public let name: String
  /// How long entries are kept, an hour by default: a store can be restored to each of its commits in
  /// that time, and a follower that was away for longer fetches the whole store again.
  public var history = Duration.seconds(3600)
  private let connect: @Sendable () throws -> any SharedLog

  package init(name: String, connect: @escaping @Sendable () throws -> any SharedLog) {
    self.name = name
    self.connect = connect
  }

  /// The log; it connects when it is first used.
  package func open() throws -> any SharedLog { try connect() }
}
