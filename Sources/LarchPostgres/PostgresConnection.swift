internal import Foundation
internal import Larch

/// A connection to a server, for one thread at a time. It never blocks in libpq: every wait has an end, and
/// `PostgresWake` ends it from another thread.
///
/// A pooler may give each transaction another connection to the server. So no setting is left behind, and statements
/// get names only where no pooler is between.
package final class PostgresConnection: CustomReflectable {
  let pq: LibPQ
  let handle: LibPQ.Connection
  /// That of the log which uses it.
  var wake: PostgresWake
  private let secrets: [String]
  /// Seconds that the server may be silent.
  private let answerTimeout: Double
  /// How often an answer was waited for.
  private(set) var trips = 0
  /// Whether a transaction was begun and has not ended: then nobody else may have the connection.
  var isInTransaction = false
  private var hasSentAhead = false
  /// Whether a pooler is between, which may have few connections to the server. True until the server has told the
  /// number of its process.
  var isPooled = true
  /// What the server keeps for `runOften`.
  var plans = KeptPlans()

  /// Connects to the first server that takes writes.
  init(
    to address: PostgresAddress, _ options: PostgresOptions, _ pq: LibPQ, _ wake: PostgresWake
  ) throws(PostgresFailure) {
    self.pq = pq
    self.wake = wake
    answerTimeout = options.answerTimeout
    var failure: PostgresFailure?
    // libpq's own loop over several servers would give all of the time to the first that is silent.
    for place in address.places {
      do {
        let made = try Self.connect(to: place, address, options, pq, wake)
        handle = made.handle
        secrets = made.secrets
        return
      } catch {
        if error.kind == .closed { throw error }
        // A refusal tells more than the silence of another server.
        if failure?.kind != .refused, failure?.kind != .noPassword { failure = error }
      }
    }
    throw failure ?? PostgresFailure(.connection, "no server is named")
  }

  deinit { pq.finish(handle) }

  /// `dump` shows no password.
  package var customMirror: Mirror { Mirror(self, children: []) }
}

extension PostgresConnection {
  private static func connect(
    to place: PostgresAddress.Place, _ address: PostgresAddress, _ options: PostgresOptions,
    _ pq: LibPQ, _ wake: PostgresWake
  ) throws(PostgresFailure) -> (handle: LibPQ.Connection, secrets: [String]) {
    var parameters = address.options
    parameters["host"] = place.host
    parameters["hostaddr"] = place.address
    parameters["port"] = place.port
    let handle = withParameters(parameters.map { ($0, $1) }) { pq.connectStartParams($0, $1, 0) }
    guard let handle else { throw PostgresFailure(.connection, "no memory") }
    var isWhole = false
    defer { if !isWhole { pq.finish(handle) } }
    // What the server remarks goes to nobody; libpq would print it.
    _ = pq.setNoticeProcessor(handle, { _, _ in }, nil)
    // With the code of an error, which says what it is in any language.
    _ = pq.setErrorVerbosity(handle, LibPQ.verbose)
    // A pass file may have added one.
    let secrets =
      address.secrets + (pq.pass(handle).map { [String(cString: $0)] } ?? []).filter { !$0.isEmpty }

    let deadline = PostgresWake.now + options.connectTimeout
    // libpq says that a connection which was just started waits to be written to.
    var polling =
      pq.status(handle) == LibPQ.Status.bad ? LibPQ.Polling.failed : LibPQ.Polling.writing
    var status = pq.status(handle)
    while polling != LibPQ.Polling.ok {
      guard polling != LibPQ.Polling.failed else {
        throw failure(of: handle, during: status, pq, hiding: secrets)
      }
      let events = polling == LibPQ.Polling.reading ? POLLIN : POLLOUT
      if try wake.wait(pq.socket(handle), for: Int32(events), until: deadline) == 0 {
        throw PostgresFailure(.connection, "no connection \(wake.text(options.connectTimeout))")
      }
      status = pq.status(handle)
      polling = pq.connectPoll(handle)
    }
    guard pq.serverVersion(handle) >= 130_000 else {
      throw PostgresFailure(.refused, "the server is older than PostgreSQL 13")
    }
    _ = pq.setNonBlocking(handle, 1)
    isWhole = true
    return (handle, secrets)
  }

  private static func failure(
    of handle: LibPQ.Connection, during status: CInt, _ pq: LibPQ, hiding secrets: [String]
  ) -> PostgresFailure {
    let message = pq.errorMessage(handle).map { String(cString: $0) } ?? ""
    let text = hidden(message, secrets)
    // "FATAL:  28P01: password authentication failed …"
    if let found = message.firstMatch(of: #/:  ([0-9A-Z]{5}): /#) {
      return PostgresFailure(.server(String(found.1)), text)
    }
    if pq.needsPassword(handle) == 1 { return PostgresFailure(.noPassword, text) }
    let isRefused =
      message.contains("certificate")
      || status == LibPQ.Status.tlsStartup && message.contains("SSL was required")
      || message.contains("does not support SSL")
    return PostgresFailure(isRefused ? .refused : .connection, text)
  }

  /// The first line of a message, unless a password is in it.
  fileprivate static func hidden(_ message: String, _ secrets: [String]) -> String {
    guard !secrets.contains(where: message.contains) else {
      return "(not shown: it has a password)"
    }
    let line = message.split(separator: "\n").first.map(String.init) ?? ""
    return line.trimmingCharacters(in: .whitespaces)
  }

  /// The failure of the connection itself.
  func lost() -> PostgresFailure {
    let message = pq.errorMessage(handle).map { String(cString: $0) } ?? ""
    return PostgresFailure(.connection, Self.hidden(message, secrets))
  }
}

extension PostgresConnection {
  /// Runs one statement, and returns its rows.
  ///
  /// - Parameter parameters: the values of `$1`, `$2` …
  /// - Complexity: one round trip.
  @discardableResult
  package func run(
    _ statement: String, _ parameters: [PostgresValue] = []
  ) throws(PostgresFailure) -> PostgresRows {
    try send(statement, parameters)
    return try rows()
  }

  /// Runs one statement; nil if the tables do not exist, since nobody has made them yet.
  ///
  /// - Parameter often: whether the server may keep the plan.
  func runOnTables(
    _ statement: String, _ parameters: [PostgresValue], often: Bool = false
  ) throws(PostgresFailure) -> PostgresRows? {
    do {
      return try often ? runOften(statement, parameters) : run(statement, parameters)
    } catch {
      if error.isMissingTable { return nil }
      throw error
    }
  }

  /// Notes whether the process that answers is the one that was connected to.
  func note(serverProcess pid: Int) { isPooled = pid != Int(pq.backendPID(handle)) }

  /// Runs several statements, separated by semicolons and without parameters, in one round trip.
  package func script(_ statements: String) throws(PostgresFailure) {
    _ = try lastRows(of: statements)
  }

  /// The same, with the rows of the last statement. A binary cursor makes them binary, as those of `run` are.
  func lastRows(of statements: String) throws(PostgresFailure) -> PostgresRows {
    try finishAhead()
    guard pq.sendQuery(handle, statements) == 1 else { throw lost() }
    return try rows()
  }

  /// Sends a statement without waiting for its answer, which `finishAhead` reads.
  func sendAhead(_ statement: String) throws(PostgresFailure) {
    try sendAhead { pq.sendQuery(handle, statement) }
  }

  func sendAhead(_ send: () -> CInt) throws(PostgresFailure) {
    try finishAhead()
    guard send() == 1, pq.flush(handle) >= 0 else { throw lost() }
    hasSentAhead = true
  }

  /// Reads the answer to what was sent ahead. Usually it is there already, so it counts as no round trip.
  func finishAhead() throws(PostgresFailure) {
    guard hasSentAhead else { return }
    hasSentAhead = false
    defer { trips -= 1 }
    do {
      _ = try rows()
      plans.finish()
    } catch {
      guard plans.isOfName(error) else { throw error }
    }
  }

  /// Ends the transaction. PostgreSQL takes the commit of a transaction that failed for a wish to undo it, and
  /// has no error for that.
  func commit() throws(PostgresFailure) {
    guard try lastRows(of: "COMMIT").command == "COMMIT" else {
      throw PostgresFailure(.connection, "the transaction was undone")
    }
  }

  /// Deletes the rows of a table that a query names by their `ctid`, inside of a transaction. While one statement
  /// deleted millions of rows, the server would be silent for longer than the program waits.
  ///
  /// - Complexity: two round trips for each 10,000 rows, and two.
  func deleteInSteps(
    from table: String, _ query: String, _ parameters: [PostgresValue] = []
  ) throws(PostgresFailure) {
    // A cursor passes each row once. A query with a limit would pass what was deleted before again in each step.
    try run("DECLARE gone NO SCROLL CURSOR FOR SELECT ctid::text FROM (\(query)) q", parameters)
    while true {
      let rows = try run("FETCH 10000 FROM gone")
      if rows.count == 0 { break }
      var places: [String] = []
      for row in 0..<rows.count { places.append(try rows.text(row, 0)) }
      try run("DELETE FROM \(table) WHERE ctid = ANY ($1::tid[])", [.texts(places)])
      if rows.count < 10_000 { break }
    }
    try script("CLOSE gone")
  }

  func send(
    _ statement: String, _ parameters: [PostgresValue] = []
  ) throws(PostgresFailure) {
    try send(parameters) { count, pointers, lengths, formats in
      pq.sendQueryParams(
        handle, statement, count, parameters.map(\.type), pointers, lengths, formats, 1)
    }
  }

  /// Sends what has parameters, of which the closure gets the number, the bytes, their lengths and formats.
  func send(
    _ parameters: [PostgresValue], _ send: (CInt, [LibPQ.Text?], [CInt], [CInt]) -> CInt
  ) throws(PostgresFailure) {
    try finishAhead()
    let values = parameters.map(\.binary)
    guard values.allSatisfy({ $0.count <= Int(CInt.max) }) else {
      throw PostgresFailure(.server("54000"), "a value has more than 2 GB")
    }
    let lengths = values.map { CInt($0.count) }
    let formats = values.map { _ in CInt(1) }
    // Where an empty value begins; libpq reads nothing there, but nil would be a null.
    let nothing: StaticString = ""
    let sent = withExtendedLifetime(values) {
      let pointers = values.map { bytes -> LibPQ.Text? in
        bytes.isEmpty
          ? UnsafeRawPointer(nothing.utf8Start).assumingMemoryBound(to: CChar.self)
          : bytes.withUnsafeBytes { $0.baseAddress?.assumingMemoryBound(to: CChar.self) }
      }
      return send(CInt(values.count), pointers, lengths, formats)
    }
    guard sent == 1 else { throw lost() }
  }

  /// Waits for the answer to what was sent. Of several results, the last with rows counts.
  func rows() throws(PostgresFailure) -> PostgresRows {
    var rows: PostgresRows?
    var failure: PostgresFailure?
    trips += 1
    while let result = try nextResult() {
      switch pq.resultStatus(result) {
      case LibPQ.ResultStatus.command, LibPQ.ResultStatus.tuples:
        rows = PostgresRows(result, pq)
      case let status where LibPQ.ResultStatus.copies.contains(status):
        pq.clear(result)
        throw Self.unexpectedCopy
      default:
        failure = failure ?? self.failure(result)
        pq.clear(result)
      }
    }
    if let failure { throw failure }
    guard let rows else { throw lost() }
    return rows
  }

  /// The next result of what was sent; nil after the last.
  func nextResult() throws(PostgresFailure) -> LibPQ.Result? {
    try flush()
    while pq.isBusy(handle) == 1 { try receive() }
    return pq.getResult(handle)
  }

  /// Sends what libpq still has to send. It also reads meanwhile, since a server that waits to be read would
  /// read no more.
  func flush() throws(PostgresFailure) {
    while true {
      let left = pq.flush(handle)
      if left == 0 { return }
      guard left == 1 else { throw lost() }
      let events = try wake.wait(
        pq.socket(handle), for: Int32(POLLIN) | Int32(POLLOUT), until: deadline)
      if events == 0 { throw timedOut() }
      if events & Int32(POLLIN) != 0, pq.consumeInput(handle) == 0 { throw lost() }
    }
  }

  /// Waits until the server has sent something, and reads it.
  func receive(isCopying: Bool = false) throws(PostgresFailure) {
    // libpq may have had no room for all of an encrypted record. The socket says nothing of the rest.
    let hasRest = pq.hasRest(handle)
    if hasRest != true,
      try wake.wait(pq.socket(handle), for: Int32(POLLIN), until: deadline) == 0
    {
      throw timedOut()
    }
    if pq.consumeInput(handle) == 0 { throw lost() }
    // Where nobody can tell, the rest is looked for. Of a record that came at that moment too, there may be another one.
    if hasRest == nil, isCopying || pq.isBusy(handle) == 1, pq.consumeInput(handle) == 0 {
      throw lost()
    }
  }

  private static var unexpectedCopy: PostgresFailure {
    PostgresFailure(.form, "a copy was not asked for")
  }

  private func timedOut() -> PostgresFailure {
    PostgresFailure(.timeout, "no answer \(wake.text(answerTimeout))")
  }

  /// The error in a result.
  func failure(_ result: LibPQ.Result) -> PostgresFailure {
    func field(_ field: CInt) -> String? {
      pq.resultErrorField(result, field).map { String(cString: $0) }
    }
    guard let state = field(LibPQ.Field.state) else { return lost() }
    return PostgresFailure(.server(state), Self.hidden(field(LibPQ.Field.primary) ?? "", secrets))
  }

  /// When the server must have taken or sent something. A large answer over a slow line takes its time.
  private var deadline: Double { PostgresWake.now + answerTimeout }
}

// MARK: - Copies

extension PostgresConnection {
  /// Begins `COPY … FROM STDIN` or `TO STDOUT`.
  ///
  /// - Parameter expected: which of the two, as the status of its result.
  func beginCopy(_ statement: String, _ expected: CInt) throws(PostgresFailure) {
    try finishAhead()
    guard pq.sendQuery(handle, statement) == 1 else { throw lost() }
    trips += 1
    guard let result = try nextResult() else { throw lost() }
    defer { pq.clear(result) }
    let status = pq.resultStatus(result)
    if status == expected { return }
    if LibPQ.ResultStatus.copies.contains(status) { throw Self.unexpectedCopy }
    let failure = failure(result)
    _ = try? rows()
    throw failure
  }

  /// Sends bytes of a copy, and waits until the system has taken them.
  func copy(_ bytes: [UInt8]) throws(PostgresFailure) {
    let queued = bytes.withUnsafeBytes {
      guard let base = $0.baseAddress else { return CInt(1) }
      return pq.putCopyData(handle, base.assumingMemoryBound(to: CChar.self), CInt($0.count))
    }
    guard queued == 1 else { throw try refusedCopy() }
    try flush()
  }

  /// Ends a copy to the server.
  ///
  /// - Returns: how many rows it has got.
  @discardableResult
  func endCopy() throws(PostgresFailure) -> Int {
    guard pq.putCopyEnd(handle, nil) == 1 else { throw try refusedCopy() }
    return try rows().changed
  }

  /// What the server said when it ended a copy before its end.
  private func refusedCopy() throws(PostgresFailure) -> PostgresFailure {
    while let result = try nextResult() {
      defer { pq.clear(result) }
      if pq.resultErrorField(result, LibPQ.Field.state) != nil { return failure(result) }
      if LibPQ.ResultStatus.copies.contains(pq.resultStatus(result)) { return Self.unexpectedCopy }
    }
    return lost()
  }

  /// The next message of a copy from the server; nil after the last. Valid during `body`.
  func receiveCopy(_ body: (UnsafeRawBufferPointer) throws -> Void) throws -> Bool {
    while true {
      var bytes: UnsafeMutablePointer<CChar>?
      let size = pq.getCopyData(handle, &bytes, 1)
      switch size {
      case 0: try receive(isCopying: true)
      case -1:
        _ = try rows()
        return false
      case ..<0: throw try refusedCopy()
      default:
        defer { pq.freeMemory(bytes) }
        try body(UnsafeRawBufferPointer(start: bytes, count: Int(size)))
        return true
      }
    }
  }
}
