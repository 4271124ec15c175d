extension Grouped: Request {
  /// How it is run.
  @_documentation(visibility: private)
  @inlinable  // So that a verb costs nothing beside the request's own code.
  public static var _runner: _RequestRunner<Self> { _RequestRunner(RequestRuns<Self>.self) }
}

extension Grouped: RunnableRequest {
  /// The groups.
  @usableFromInline
  func allRows(in tx: ReadTransaction) throws -> [Row] {
    guard try mayHaveRows else { return [] }
    return try rows(of: groups(in: tx))
  }

  /// The rows of all groups: conditions, order and limit are those of rows, so no plan depends on them.
  func rows(of run: GroupRun<R, Row>) throws -> [Row] {
    var rows: [Row] = []
    for group in run.table.inOrder {
      let row = try run.row(group)
      if try conditions.allSatisfy({ try $0(row) }) { rows.append(row) }
    }
    if let areInOrder { rows = try stablySorted(rows, by: areInOrder) }
    return Array(rows.dropFirst(offset).prefix(limit ?? .max))
  }

  /// The groups, for an observer, which compares them.
  @usableFromInline
  func observedRows(in tx: ReadTransaction, noting digest: RowDigest) throws -> [Row] {
    try allRows(in: tx)
  }

  /// The first group.
  @usableFromInline
  func firstRow(in tx: ReadTransaction) throws -> Row? { try allRows(in: tx).first }

  /// The number of groups.
  @usableFromInline
  func rowCount(in tx: ReadTransaction) throws -> Int {
    guard try mayHaveRows else { return 0 }
    if !conditions.isEmpty { return try allRows(in: tx).count }
    return min(max(0, try groups(in: tx).table.count - offset), limit ?? .max)
  }

  /// Whether there is a group.
  @usableFromInline
  func hasRow(in tx: ReadTransaction) throws -> Bool {
    guard try mayHaveRows else { return false }
    // Each record is in a group.
    return conditions.isEmpty && offset == 0
      ? try query.hasRow(in: tx) : try rowCount(in: tx) > 0
  }

  /// Calls with each group.
  @usableFromInline
  func visitRows(in tx: ReadTransaction, _ body: (Row) throws -> Void) throws {
    for row in try allRows(in: tx) { try body(row) }
  }

  /// The plan of the query, and what the groups are.
  @usableFromInline
  func planText(in tx: ReadTransaction, counting: Bool, running: Bool) throws -> String {
    let names = parts.fields.map(\.name).joined(separator: ", ")
    let aggregates = parts.aggregates.map(\.name).joined(separator: ", ")
    let text =
      try tx.explain(query, for: need, running: false) + "\ngroups by \(names): \(aggregates)"
    guard running, try mayHaveRows else { return text }
    let run = try groups(in: tx)
    var counters = run.counters
    counters.rowsReturned = run.table.count
    return text + "\n" + counters.text
  }

  private var mayHaveRows: Bool {
    get throws {
      guard limit ?? 0 >= 0, offset >= 0 else {
        throw LarchError(.invalidQuery, "A limit or an offset is negative; use 0 or more.")
      }
      return limit != 0
    }
  }

  /// What of the records is needed, which the plan is chosen for.
  var need: QueryNeed {
    // Counts of one field can jump from group to group.
    if parts.fields.count == 1, parts.aggregates.allSatisfy({ $0.field == nil }),
      !query.details.isPart
    {
      return .counts(parts.fields[0])
    }
    let fields = parts.fields + parts.aggregates.compactMap(\.field)
    return parts.needsOrder || query.details.isPart ? .fields(fields) : .values(fields)
  }

  /// All groups of the query, with their aggregates.
  private func groups(in tx: ReadTransaction) throws -> GroupRun<R, Row> {
    try tx.run(
      query.details, of: R.self, for: need, selecting: selected, isAll: true
    ) { run, access in
      var groups = try self.groups(of: run, access)
      groups.counters = run.counters
      return groups
    }
  }

  /// The fields of the groups, and then those of the aggregates.
  var selected: [FieldReference] { parts.fields + parts.aggregates.compactMap(\.field) }

  /// The groups of a plan that selects all these fields.
  func groups(of run: PlanRun, _ access: RecordAccess<R>) throws -> GroupRun<R, Row> {
    let selected = selected
    // The place of the field of each aggregate among those that are selected.
    var next = parts.fields.count
    let places: [Int?] = parts.aggregates.map { aggregate in
      guard aggregate.field != nil else { return nil }
      next += 1
      return next - 1
    }
    let groups = parts.make()
    if run.plan.groups != nil {
      let decoded = DecodedRecord<R>()
      try run.forEachCountedGroup(of: 0) { values, count, id in
        decoded.drop()
        try groups.table.add(values, count) {
          try decoded.address {
            try access.decode(QueryRow(id: id, record: run.reader.read(id)), of: run)
          }
        }
      }
      return groups
    }
    if !parts.needsOrder, run.plan.limit == nil,
      let keys = try run.wholeKeys(of: Array(selected.indices), isComparing: false)
    {
      let groups = parts.make()
      let isWhole = try groups.table.addKeys(keys, places)
      run.add(entriesExamined: keys.count)
      run.reader.add(groupsSkipped: keys.groupsSkipped)
      if isWhole {
        run.close()
        return groups
      }
    }
    try groups.table.addRows(run, access, places)
    return groups
  }
}

/// Elements in an order; those of which neither comes first stay in their order.
private func stablySorted<Element>(
  _ elements: [Element], by areInOrder: (Element, Element) throws -> Bool
) rethrows -> [Element] {
  try elements.enumerated().sorted { a, b in
    if try areInOrder(a.element, b.element) { return true }
    if try areInOrder(b.element, a.element) { return false }
    return a.offset < b.offset
  }.map(\.element)
}
