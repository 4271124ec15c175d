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
      let buffer = RecordBuffer<Row>()
      while try rows.next(buffer.next()) { buffer.filled() }
      return buffer.takeArray()
    }
  }

  /// The rows, for an observer.
  @usableFromInline
  func observedRows(in tx: ReadTransaction, noting digest: RowDigest) throws -> [Row] {
    try tx.run(details, of: self) { rows in
      let buffer = RecordBuffer<Row>()
      while let row = try rows.run.next() {
        digest.add(id: row.leftID, row.left)
        digest.add(id: row.rightID, row.right)
        try rows.make(row, at: buffer.next())
        buffer.filled()
      }
      return buffer.takeArray()
    }
  }

  /// The first row.
  @usableFromInline
  func firstRow(in tx: ReadTransaction) throws -> Row? {
    try tx.run(details.limitedToOne, of: self) { try $0.next() }
  }

  /// The number of rows. Records are decoded only for filters that need it.
  @usableFromInline
  func rowCount(in tx: ReadTransaction) throws -> Int {
    try tx.run(details, of: self, isOrdered: false) { try $0.run.count() }
  }

  /// Whether there is a row.
  @usableFromInline
  func hasRow(in tx: ReadTransaction) throws -> Bool {
    try tx.run(details.limitedToOne, of: self, isOrdered: false) { try $0.run.count() > 0 }
  }

  /// Calls with each row; in a write all are read first, since the closure may change records.
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

  /// How the join reads the outer side, and how it finds partners on the inner side.
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
