extension Sectioned: Request {
  /// How it is run.
  @_documentation(visibility: private)
  @inlinable  // So that a verb costs nothing beside the request's own code.
  public static var _runner: _RequestRunner<Self> { _RequestRunner(RequestRuns<Self>.self) }
}

extension Sectioned: RunnableRequest {
  /// A section.
  public typealias Row = RecordSection<R, Value>

  /// The sections.
  @usableFromInline
  func allRows(in tx: ReadTransaction) throws -> [Row] { sections(of: try query.allRows(in: tx)) }

  /// The sections, for an observer.
  @usableFromInline
  func observedRows(in tx: ReadTransaction, noting digest: RowDigest) throws -> [Row] {
    sections(of: try query.observedRows(in: tx, noting: digest))
  }

  /// The first section.
  @usableFromInline
  func firstRow(in tx: ReadTransaction) throws -> Row? {
    let cursor = try tx.cursor(query)
    defer { cursor.close() }
    var section: Row?
    while let record = try cursor.next() {
      if let first = add(record, to: &section) { return first }
    }
    return section
  }

  /// The number of sections.
  @usableFromInline
  func rowCount(in tx: ReadTransaction) throws -> Int {
    // Which records count depends on the order if not all of them do.
    query.details.isPart
      ? try allRows(in: tx).count : try tx.counts(by: field, of: query).count
  }

  /// Whether there is a section.
  @usableFromInline
  func hasRow(in tx: ReadTransaction) throws -> Bool { try query.hasRow(in: tx) }

  /// Calls with each section; in a write all are read first, since the closure may change records.
  @usableFromInline
  func visitRows(in tx: ReadTransaction, _ body: (Row) throws -> Void) throws {
    if tx is WriteTransaction {
      for section in try allRows(in: tx) { try body(section) }
      return
    }
    var section: Row?
    try query.visitRows(in: tx) { record in
      if let finished = add(record, to: &section) { try body(finished) }
    }
    if let section { try body(section) }
  }

  /// The plan of the query, and by which field it is divided.
  @usableFromInline
  func planText(in tx: ReadTransaction, counting: Bool, running: Bool) throws -> String {
    let isCounted = counting && !query.details.isPart
    let need = isCounted ? QueryNeed.counts(TypedField.of(field)) : .records
    return try tx.explain(query, for: need, running: running)
      + "\nsections by \(FieldNode.of(field).name)"
  }
}

extension Sectioned {
  /// Adds a record, the next one of the query, to its section. Returns the section that is finished
  /// by that, if any.
  func add(_ record: R, to section: inout RecordSection<R, Value>?) -> RecordSection<R, Value>? {
    let value = record[keyPath: field]
    let key = order.values(Value.values(of: value).map(\.ofKey)) { value }
    if let last = section?.key, KeyValue.compare(last, key) == 0 {
      section?.records.append(record)
      return nil
    }
    defer { section = RecordSection(value: value, records: [record], key: key) }
    return section
  }

  /// The sections of records, which have the order of the query.
  func sections(of records: [R]) -> [RecordSection<R, Value>] {
    var sections: [RecordSection<R, Value>] = []
    var last: RecordSection<R, Value>?
    for record in records {
      if let finished = add(record, to: &last) { sections.append(finished) }
    }
    if let last { sections.append(last) }
    return sections
  }
}
