extension Join: Request {
  /// How it is run.
  @_documentation(visibility: private)
  @inlinable  // So that a verb costs nothing beside the request's own code.
  public static var _runner: _RequestRunner<Self> { _RequestRunner(RequestRuns<Self>.self) }
}

extension Join: RunnableRequest {
  /// The rows.
  @usableFromInline
  func allRows(in tx: ReadTransaction) throws -> [Row] {
    try tx.run(details, of: self) { rows in
      var buffer = RecordBuffer<Row>()
      while try rows.next(buffer.next()) { buffer.filled() }
      return buffer.takeArray()
    }
  }

  /// The first row.
  @usableFromInline
  func firstRow(in tx: ReadTransaction) throws -> Row? {
    try tx.run(details.limitedToOne, of: self) { try $0.next() }
  }

  /// How many rows there are. Nothing is decoded for it that filters need not decode.
  @usableFromInline
  func rowCount(in tx: ReadTransaction) throws -> Int {
    try tx.run(details, of: self, isOrdered: false) { try $0.run.count() }
  }

  /// Whether there is a row.
  @usableFromInline
  func hasRow(in tx: ReadTransaction) throws -> Bool {
    try tx.run(details.limitedToOne, of: self, isOrdered: false) { try $0.run.count() > 0 }
  }

  /// One row after the other; all are read first in a write, whose records the closure may change.
  @usableFromInline
  func visitRows(in tx: ReadTransaction, _ body: (Row) throws -> Void) throws {
    if tx is WriteTransaction {
      for row in try allRows(in: tx) { try body(row) }
      return
    }
    try tx.run(details, of: self, keepsFound: false) { rows in
      let memory = UnsafeMutablePointer<Row>.allocate(capacity: 1)
      defer { memory.deallocate() }
      while try rows.next(memory) {
        defer { memory.deinitialize(count: 1) }
        try body(memory.pointee)
      }
    }
  }

  /// How the outer side is gone through, and how partners are found on the inner one.
  @usableFromInline
  func planText(in tx: ReadTransaction, counting: Bool, running: Bool) throws -> String {
    try tx.storage { _ in
      let prepared: PreparedJoin<Left, Right> = try tx.prepare(details, isOrdered: !counting)
      guard running else { return prepared.text }
      return try tx.run(prepared, kind) { rows in
        if counting {
          _ = try rows.run.count()
        } else {
          while try rows.run.next() != nil {}
        }
        return prepared.text + "\n" + prepared.text(rows.run)
      }
    }
  }
}
