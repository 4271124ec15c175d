internal import Foundation
package import Larch

/// The log of one store on a PostgreSQL server.
///
/// A call takes a connection that nobody uses, or makes one; all logs of the process on one server share them.
/// Nothing is kept in memory about the log, so what others do to it is seen by the next call.
package final class PostgresLog: SharedLog {
  package let name: String
  let store: String
  let tables: PostgresTables
  private let address: PostgresAddress
  private let options: PostgresOptions
  private let pq: LibPQ
  let wake = PostgresWake()
  let pool: PostgresPool
  let turn = Locked(PostgresTurn())
  private let trips = Locked(0)

  /// Connects when it is first used.
  ///
  /// - Parameter store: the name of the store; nil for work on all that the server has.
  /// - Throws: `LarchError` with the codes `.missingLibrary`, `.invalidAddress`, `.unavailable`.
  package init(_ text: String, store: String?, _ options: PostgresOptions) throws {
    if let store, store.isEmpty || store.utf8.count > 200 || store.contains("\0") {
      throw LarchError(
        .invalidAddress,
        "The name of a store on a server has 1 to 200 bytes, of which none is zero.")
    }
    pq = try LibPQ.shared()
    address = try PostgresAddress(text, pq)
    self.store = store ?? ""
    self.options = options.usable
    tables = PostgresTables(schema: options.schema)
    name = Self.name(address.name, store, options)
    pool = .shared(
      PostgresPool.Key(
        address: address.identity, connectTimeout: self.options.connectTimeout,
        answerTimeout: self.options.answerTimeout, connections: self.options.connections))
    pool.join()
  }

  /// Where a log is: the schema belongs to it, since another one has other logs.
  static func name(_ server: String, _ store: String?, _ options: PostgresOptions) -> String {
    let schema = options.schema == PostgresOptions().schema ? "" : ", schema \(options.schema)"
    return server + (store.map { ", store \($0)" } ?? "") + schema
  }

  deinit { close() }

  package func close() {
    guard wake.end() else { return }
    pool.watch.end(of: wake)
    endTurn()
    pool.leave()
  }

  /// How often an answer was waited for, since the log was opened.
  package var roundTrips: Int { trips.withLock { $0 } }

  func count(_ number: Int) { trips.withLock { $0 += number } }

  /// Makes the tables, and gives a role the rights on them.
  package func prepare(for role: String?, readsOnly: Bool) throws {
    try call { connection in
      try tables.create(connection)
      guard let role else { return }
      try tables.grant(role, readsOnly: readsOnly, connection)
      // To a user who may not grant, PostgreSQL only sends a warning.
      let rows = try connection.run(
        "SELECT has_schema_privilege($1, $2, 'USAGE') AND has_table_privilege($1, $3, $4)",
        [
          .text(role), .text(tables.name), .text(tables("log")),
          .text(readsOnly ? "SELECT" : "INSERT"),
        ])
      guard try rows.bool(0, 0) else {
        throw PostgresFailure(.server("42501"), "the rights of \(role) were not changed")
      }
    }
  }
}

// MARK: - Connections

extension PostgresLog {
  /// Calls with a connection; what it throws is an error for the program.
  ///
  /// - Parameters:
  ///   - beginning: statements before the body. Without them the body may be called a second time, if a
  ///     connection that had not been used for a while was found dead; else only they are repeated.
  ///   - followsAttempt: whether an earlier call may have done what this one asks for, so that no error of this
  ///     one may say that nothing has happened.
  package func call<T>(
    beginning: String? = nil, followsAttempt: Bool = false,
    _ body: (PostgresConnection) throws -> T
  ) throws -> T {
    var effect = followsAttempt ? Effect.possible : .none
    do {
      if wake.hasEnded { throw PostgresFailure(.closed) }
      return try pool.using(wake, patience: options.answerTimeout) {
        try callAtOnce(beginning, &effect, body)
      }
    } catch let failure as PostgresFailure {
      throw failure.error(of: name, hadNoEffect: effect.isExcluded)
    }
  }

  /// What the attempts of a call may have changed.
  private enum Effect {
    /// Nothing: the body was not called.
    case none
    /// The answer to the only attempt tells.
    case ofOneAttempt
    case possible

    /// Whether certainly nothing was changed; nil if the answer tells.
    var isExcluded: Bool? {
      switch self {
      case .none: true
      case .ofOneAttempt: nil
      case .possible: false
      }
    }

    mutating func noteAttempt() { if self == .none { self = .ofOneAttempt } }
  }

  private func callAtOnce<T>(
    _ beginning: String?, _ effect: inout Effect, _ body: (PostgresConnection) throws -> T
  ) throws -> T {
    if let waiting = pool.take() {
      waiting.wake = wake
      var isReady = false
      do {
        try waiting.finishAhead()
        guard let beginning else {
          effect.noteAttempt()
          return try use(waiting, body)
        }
        try begin(waiting, beginning)
        isReady = true
      } catch let failure as PostgresFailure where failure.isLost {
        // The server was started again since, or ends just now: then it may have done what the body asked.
        // Other idle connections are as old.
        pool.forget()
        if effect == .ofOneAttempt { effect = .possible }
      }
      if isReady {
        effect.noteAttempt()
        return try use(waiting, body)
      }
    }
    let made = try connected()
    if let beginning { try begin(made, beginning) }
    effect.noteAttempt()
    return try use(made, body)
  }

  /// A new connection.
  func connected() throws(PostgresFailure) -> PostgresConnection {
    let made = try PostgresConnection(to: address, options, pq, wake)
    try check(made)
    return made
  }

  private func use<T>(
    _ connection: PostgresConnection, _ body: (PostgresConnection) throws -> T
  ) throws -> T {
    let before = connection.trips
    defer { count(connection.trips - before) }
    let result: T
    do {
      result = try body(connection)
    } catch let failure as PostgresFailure {
      // Those that nobody uses are connections to the same server.
      if failure.takesNoWrites { pool.forget() }
      if !failure.endsConnection { giveBack(connection) }
      throw failure
    }
    giveBack(connection)
    return result
  }

  /// Begins a transaction. From now on only its end makes the connection usable for others, also if the
  /// beginning fails in its middle.
  private func begin(_ connection: PostgresConnection, _ beginning: String) throws {
    connection.isInTransaction = true
    let before = connection.trips
    defer { count(connection.trips - before) }
    try connection.script(beginning)
  }

  /// A connection that is not given back is closed, and with it the server undoes its transaction.
  private func giveBack(_ connection: PostgresConnection) {
    guard !connection.isInTransaction else { return }
    pool.giveBack(connection)
  }

  package var failoverRisk: String? { pool.failoverRisk }

  /// A server that acknowledges what it may lose is no place for the only copy of a commit.
  private func check(_ connection: PostgresConnection) throws(PostgresFailure) {
    let rows = try connection.run(
      """
      SELECT current_setting('synchronous_commit'), current_setting('synchronous_standby_names'),
        pg_backend_pid()::bigint
      """)
    connection.note(serverProcess: try rows.int(0, 2))
    let commit = try rows.text(0, 0)
    let risk = address.failoverRisk(commit: commit, standbys: try rows.text(0, 1))
    pool.note(failoverRisk: risk)
    if commit == "off" { throw PostgresFailure(.acknowledgesEarly) }
  }

  /// What a transaction is for.
  package enum Purpose {
    /// Reads one state of everything, for as long as it takes, and changes nothing.
    case reading
    /// Sends a state, for as long as it takes.
    case copying
    /// Some statements, of which none is large.
    case changing
  }

  /// Milliseconds that the server waits for a lock: less than the program waits for the server.
  var lockPatience: Int { max(1, Int(options.answerTimeout * 900)) }

  /// Calls inside of a transaction, and commits it. An error, or a body that returns nil, undoes it.
  ///
  /// - Parameters:
  ///   - lock: what only one transaction at a time does.
  ///   - followsAttempt: as of `call`.
  package func transaction<T>(
    _ purpose: Purpose, lock: String? = nil, followsAttempt: Bool = false,
    _ body: (PostgresConnection) throws -> T?
  ) throws -> T? {
    // The server gives up a lock earlier than the program does, and at some time also what nobody waits for
    // any more.
    let patience = lockPatience
    let beginning =
      "BEGIN "
      + (purpose == .reading
        ? "ISOLATION LEVEL REPEATABLE READ READ ONLY" : "ISOLATION LEVEL READ COMMITTED")
      + "; SET LOCAL lock_timeout = \(patience)"
      + "; SET LOCAL statement_timeout = \(purpose == .changing ? min(10 * patience, Int(Int32.max)) : 0)"
      + "; SET LOCAL idle_in_transaction_session_timeout = '120s'"
      + (lock.map { "; SELECT pg_advisory_xact_lock(\(PostgresTables.lock($0)))" } ?? "")
    // Only the beginning may be repeated, since the body may have effects of its own.
    return try call(beginning: beginning, followsAttempt: followsAttempt) { connection in
      let result = try body(connection)
      if result == nil { try connection.script("ROLLBACK") } else { try connection.commit() }
      connection.isInTransaction = false
      return result
    }
  }
}

// MARK: - Looks

extension PostgresLog {
  package func head() throws -> LogHead? {
    try call { connection in
      let rows = try connection.runOnTables(
        """
        \(tables.here)
        SELECT h.format, h.folded, f.token, f.total, n.position, n.token, n.total,
          extract(epoch FROM n.at)::float8, extract(epoch FROM f.at)::float8, h.shared
        FROM here h
        LEFT JOIN \(tables("log")) f ON f.era = h.era AND f.position = h.folded AND f.part = 0
        LEFT JOIN LATERAL (
          SELECT * FROM \(tables("log")) WHERE era = h.era AND part = 0 ORDER BY position DESC LIMIT 1
        ) n ON true
        """, [.text(store)])
      guard let rows, rows.count > 0 else { return nil }
      try checkFormat(rows, 0)
      let folded = try place(rows, 1, 2)
      let newest = try place(rows, 4, 5)
      let bytes = try rows.int(0, 6).subtractingReportingOverflow(try rows.int(0, 3))
      guard newest.position >= folded.position, bytes.partialValue >= 0, !bytes.overflow else {
        throw damage("The newest entry of the log is before its state.")
      }
      return LogHead(
        use: try rows.bool(0, 9) ? .shared : .mirrored, newest: newest, folded: folded,
        entries: Int(newest.position - folded.position),
        bytes: bytes.partialValue, time: try rows.double(0, 7), foldedTime: try rows.double(0, 8))
    }
  }

  package func expectAnswers(within seconds: Double?) { wake.endWaits(in: seconds) }

  package func wait(after position: UInt64, seconds: Double) throws {
    // Also for what is no number.
    guard position < Self.positionLimit, seconds > 0 else { return }
    do {
      try pool.watch.wait(
        for: PostgresWatch.Wanted(tables: tables, store: store, position: Int64(position)),
        of: wake, until: PostgresWake.now + seconds, look: look)
    } catch let failure as PostgresFailure {
      throw failure.error(of: name)
    }
  }

  /// Which of some stores have entries after a position.
  private func look(_ wanted: [PostgresWatch.Wanted]) throws -> [Int] {
    guard let tables = wanted.first?.tables else { return [] }
    return try call { connection in
      let rows = try connection.runOnTables(
        """
        SELECT w.n FROM unnest($1, $2) WITH ORDINALITY w(name, position, n)
        JOIN \(tables("store")) s ON s.name = w.name AND s.ended IS NULL
        WHERE EXISTS (SELECT FROM \(tables("log")) l WHERE l.era = s.era AND l.position > w.position)
        """, [.texts(wanted.map(\.store)), .ints(wanted.map(\.position))])
      guard let rows else { return [] }
      return try (0..<rows.count).map { row in
        let place = try rows.int(row, 0) - 1
        guard wanted.indices.contains(place) else {
          throw damage("The server tells of a log that nobody asked for.")
        }
        return place
      }
    }
  }

  /// - Throws: `.newerLog` if the era of the first row has another format.
  func checkFormat(_ rows: PostgresRows, _ column: Int) throws {
    let format = try rows.int(0, column)
    guard format != PostgresTables.format else { return }
    guard format > PostgresTables.format else {
      throw damage("The log has a format that does not exist.")
    }
    throw LarchError(
      .newerLog,
      "The log on the server was written by a newer version of Larch. Update this program."
    ) {
      $0.path = name
      $0.detail = "format \(format)"
    }
  }

  /// The place in two columns of the first row.
  func place(_ rows: PostgresRows, _ position: Int, _ token: Int) throws -> LogPlace {
    LogPlace(position: try self.position(rows, 0, position), token: try self.token(rows, 0, token))
  }

  func position(_ rows: PostgresRows, _ row: Int, _ column: Int) throws -> UInt64 {
    guard let position = UInt64(exactly: try rows.int(row, column)), position < Self.positionLimit
    else { throw beyond }
    return position
  }

  func token(_ rows: PostgresRows, _ row: Int, _ column: Int) throws -> LogToken {
    guard let token = LogToken(try rows.bytes(row, column)) else {
      throw damage("A token of the log has another length.")
    }
    return token
  }

  /// More than any log has, and so few that some can be added.
  static let positionLimit: UInt64 = 1 << 62

  var beyond: LarchError { damage("A position is none that a log can have.") }

  func damage(_ message: StaticString, _ detail: String? = nil) -> LarchError {
    LarchError(.damagedLog, message) {
      $0.path = name
      $0.detail = detail
    }
  }

  var neverBegun: LarchError {
    LarchError(
      .logNotFound,
      "The server has no store under this name. Check the name (`larch server list`), the database and the schema."
    ) { $0.path = name }
  }
}
