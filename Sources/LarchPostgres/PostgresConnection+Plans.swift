internal import Larch

/// The statements of a connection whose plans the server keeps, under names.
struct KeptPlans {
  /// The number of statements that have names. A process uses few logs of different schemas.
  private static let limit = 16
  /// After so many uses, the server plans again: the first plan was for a table of another size.
  private static let usesOfPlan = 256

  private var names: [String: String] = [:]
  /// What was sent ahead, and its name.
  private var pending: (statement: String, name: String)?
  private var uses = 0

  /// The name of a statement, if the server knows it.
  func name(of statement: String) -> String? { names[statement] }

  /// The name for a statement that is now sent to the server; nil if it has enough.
  ///
  /// The name is a checksum of the statement. If there is a pooler after all, another session may know the name, but
  /// only for the same statement.
  mutating func begin(_ statement: String) -> String? {
    guard pending == nil, names.count < Self.limit else { return nil }
    let name = "larch_" + String(PostgresTables.checksum(of: statement), radix: 16)
    pending = (statement, name)
    return name
  }

  /// The server has done what was sent ahead.
  mutating func finish() {
    if let pending { names[pending.statement] = pending.name }
    pending = nil
  }

  /// Whether the failure of what was sent ahead is only that of a name: the statement is run without one.
  mutating func isOfName(_ failure: PostgresFailure) -> Bool {
    guard pending != nil, failure.state != nil, !failure.endsConnection else { return false }
    // The session has the name already, and only for the same statement.
    if failure.state == "42P05" { finish() }
    pending = nil
    return true
  }

  /// Whether the server is to plan again.
  mutating func noteUse() -> Bool {
    uses += 1
    return uses % Self.usesOfPlan == 0
  }

  mutating func forget() { self = KeptPlans() }
}

extension PostgresConnection {
  /// Runs one of the few statements that are run very often. To read and to plan it takes the server longer than
  /// to do it, so from the second time on the server keeps the plan, unless a pooler is between.
  ///
  /// - Complexity: one round trip.
  func runOften(
    _ statement: String, _ parameters: [PostgresValue]
  ) throws(PostgresFailure) -> PostgresRows {
    // An unknown name would end a transaction.
    if isPooled || isInTransaction { return try run(statement, parameters) }
    try finishAhead()
    guard let name = plans.name(of: statement) else {
      let rows = try run(statement, parameters)
      if let name = plans.begin(statement) {
        let types = parameters.map(\.type)
        do {
          try sendAhead { pq.sendPrepare(handle, name, statement, CInt(types.count), types) }
        } catch {
          // Whoever uses a lost connection next will find that.
          plans.forget()
        }
      }
      return rows
    }
    let rows: PostgresRows
    do {
      try send(parameters) { count, pointers, lengths, formats in
        pq.sendQueryPrepared(handle, name, count, pointers, lengths, formats, 1)
      }
      rows = try self.rows()
    } catch {
      guard error.state == "26000" else { throw error }
      // It is a pooler, whose session is another one now.
      isPooled = true
      plans.forget()
      return try run(statement, parameters)
    }
    if plans.noteUse() { try? sendAhead("DISCARD PLANS") }
    return rows
  }
}
