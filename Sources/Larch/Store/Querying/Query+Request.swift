extension Query: Request {
  /// A record.
  public typealias Row = R

  /// How it is run.
  @_documentation(visibility: private)
  @inlinable  // So that a verb costs nothing beside the request's own code.
  public static var _runner: _RequestRunner<Self> { _RequestRunner(RequestRuns<Self>.self) }
}

extension Query: RunnableRequest {
  /// The records.
  @usableFromInline
  func allRows(in tx: ReadTransaction) throws -> [R] {
    if let records = try tx.rowsOfKey(details, of: R.self) { return records }
    return try tx.run(details, of: R.self, for: tx.needOfValues, isAll: true) { run, access in
      let records = RecordBuffer<R>(limit: details.limit)
      while let row = try run.next() {
        try access.decode(row, of: run, into: records.next())
        records.filled()
      }
      return records.takeArray()
    }
  }

  /// The records, for an observer.
  @usableFromInline
  func observedRows(in tx: ReadTransaction, noting digest: RowDigest) throws -> [R] {
    try tx.run(details, of: R.self, for: .records, isAll: true) { run, access in
      let records = RecordBuffer<R>(limit: details.limit)
      while let row = try run.next() {
        try access.decode(row, of: run, into: records.next(), noting: digest)
        records.filled()
      }
      return records.takeArray()
    }
  }

  /// The first record.
  @usableFromInline
  func firstRow(in tx: ReadTransaction) throws -> R? {
    let first = details.limitedToOne
    if let records = try tx.rowsOfKey(first, of: R.self) { return records.first }
    return try tx.run(first, of: R.self, for: tx.needOfValues, isAll: true) { run, access in
      guard let row = try run.next() else { return nil }
      return try access.decode(row, of: run)
    }
  }

  /// The number of records.
  @usableFromInline
  func rowCount(in tx: ReadTransaction) throws -> Int {
    // The tree knows its count, so no plan is needed.
    if details.filter.isAlways, !details.isPart {
      return try tx.traced("count", R.self, results: { $0 }) {
        try tx.storage { transaction in
          try tx.context.collection(of: R.self).records.statistics(in: transaction).entries
        }
      }
    }
    if let count = try tx.countOfKey(details, of: R.self) { return count }
    if let count = try tx.countOfRange(details, of: R.self) { return count }
    func read(isAll: Bool) throws -> Int {
      try tx.run(details, of: R.self, for: .count, isAll: isAll) { run, _ in try run.count() }
    }
    return tx.mayKeepAggregates
      ? try tx.kept(details, nil, CountAggregate<R>.init, read: read) : try read(isAll: true)
  }

  /// Whether there is a record.
  @usableFromInline
  func hasRow(in tx: ReadTransaction) throws -> Bool {
    if let count = try tx.countOfKey(details, of: R.self, for: .exists) { return count > 0 }
    func read(isAll: Bool) throws -> Bool {
      try tx.run(details, of: R.self, for: .exists, isAll: isAll) { run, _ in try run.exists() }
    }
    return tx.mayKeepAggregates
      ? try tx.kept(details, nil, ExistsAggregate<R>.init, read: read) : try read(isAll: true)
  }

  /// Calls with each record.
  @usableFromInline
  func visitRows(in tx: ReadTransaction, _ body: (R) throws -> Void) throws {
    let cursor = try tx.cursor(self)
    defer { cursor.close() }
    while let record = try cursor.next() { try body(record) }
  }

  /// The plan as text.
  @usableFromInline
  func planText(in tx: ReadTransaction, counting: Bool, running: Bool) throws -> String {
    try tx.explain(self, for: counting ? .count : tx.needOfValues, running: running)
  }
}

extension ReadTransaction {
  /// The plan of a query for the parts of it that are needed, as text.
  func explain<R: Record>(
    _ query: Query<R>, for need: QueryNeed, running: Bool
  ) throws -> String {
    try storage { _ in
      let collection = try context.collection(of: R.self)
      var prepared = try prepare(query.details, for: need, in: collection)
      switch need {
      case .fields(let fields), .values(let fields): prepared.selecting = fields
      case .records, .recordValues, .ids, .count, .exists, .counts, .distinct, .distinctCount: break
      }
      if let fields = need.groupedFields { prepared.selecting = fields }
      guard running else { return prepared.text }
      let access = RecordAccess<R>(context, collection, with: prepared.answers)
      return try run(prepared, access) { run, _ in
        switch need {
        case .count: _ = try run.count()
        case .exists: _ = try run.exists()
        case .counts where run.plan.groups != nil:
          try run.forEachCountedGroup(of: 0) { _, _, _ in }
        case .records, .recordValues, .ids, .fields, .values, .counts, .distinct, .distinctCount:
          while try run.next() != nil {}
        }
        var counters = run.counters
        if let answers = prepared.answers { counters.add(answers.counters) }
        return prepared.text + "\n" + counters.text
      }
    }
  }
}
