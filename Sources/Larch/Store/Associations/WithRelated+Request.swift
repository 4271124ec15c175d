extension WithRelated: Request {
  /// How it is run.
  @_documentation(visibility: private)
  @inlinable  // So that a verb costs nothing beside the request's own code.
  public static var _runner: _RequestRunner<Self> { _RequestRunner(RequestRuns<Self>.self) }
}

extension WithRelated: RunnableRequest {
  /// The rows.
  @usableFromInline
  func allRows(in tx: ReadTransaction) throws -> [Row] {
    try tx.run(self) { try $0.all(noting: nil) }
  }

  /// The rows, for an observer.
  @usableFromInline
  func observedRows(in tx: ReadTransaction, noting digest: RowDigest) throws -> [Row] {
    try tx.run(self) { try $0.all(noting: digest) }
  }

  /// The first row.
  @usableFromInline
  func firstRow(in tx: ReadTransaction) throws -> Row? {
    var first = self
    first.query = query.with { $0 = $0.limitedToOne }
    return try first.allRows(in: tx).first
  }

  /// The number of rows, which is that of the records of the query.
  @usableFromInline
  func rowCount(in tx: ReadTransaction) throws -> Int {
    try tx.check(form)
    return try query.rowCount(in: tx)
  }

  /// Whether there is a row.
  @usableFromInline
  func hasRow(in tx: ReadTransaction) throws -> Bool {
    try tx.check(form)
    return try query.hasRow(in: tx)
  }

  /// Calls with each row; in a write all are read first, since the closure may change records.
  @usableFromInline
  func visitRows(in tx: ReadTransaction, _ body: (Row) throws -> Void) throws {
    if tx is WriteTransaction {
      for row in try allRows(in: tx) { try body(row) }
      return
    }
    try tx.run(self) { try $0.forEach(body) }
  }

  /// The plan of the query, and how it finds the related records of each association.
  @usableFromInline
  func planText(in tx: ReadTransaction, counting: Bool, running: Bool) throws -> String {
    try tx.check(form)
    if counting { return try tx.explain(query, for: .count, running: running) }
    var lines = [try tx.explain(query, for: .records, running: false)]
    for part in form.parts { lines += part.lines(below: "") }
    guard running else { return lines.joined(separator: "\n") }
    return try tx.run(self) { rows in
      try rows.forEach { _ in }
      lines.append(rows.ownCounters.text)
      let parts = rows.parts.flatMap(\.withFurther)
      for part in parts {
        let name = parts.count == 1 ? "" : part.name + " "
        lines.append("related \(name)" + part.counters.examinedText)
      }
      return lines.joined(separator: "\n")
    }
  }
}
