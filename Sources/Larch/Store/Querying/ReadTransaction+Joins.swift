/// A join that is planned for the catalog of one transaction, ready to run.
struct PreparedJoin<Left: Record, Right: Record> {
  var plan: JoinPlan
  /// The query of each side.
  let leftQuery: PreparedQuery
  let rightQuery: PreparedQuery
  let left: RecordAccess<Left>
  let right: RecordAccess<Right>
  /// The incomplete index by which partners would be found if it were complete.
  var missed: String?

  var sides: JoinSides {
    JoinSides(
      left: left.collection, right: right.collection, leftTyped: left, rightTyped: right)
  }

  var text: String {
    let text = plan.text(
      left: left.collection.schema, right: right.collection.schema,
      outer: (plan.isLeftOuter ? leftQuery : rightQuery).text,
      inner: (plan.isLeftOuter ? rightQuery : leftQuery).text)
    guard let missed else { return text }
    return text + "\n  " + CollectionHandle.reason(missing: missed)
  }

  /// The cost of the run, as the last line of an `explain`.
  func text(_ run: JoinRun) -> String {
    var (outer, inner, rows, spilled) = run.counters
    if let answers = (plan.isLeftOuter ? leftQuery : rightQuery).answers {
      outer.add(answers.counters)
    }
    if let answers = (plan.isLeftOuter ? rightQuery : leftQuery).answers {
      inner.add(answers.counters)
    }
    var text = "outer examined \(outer.examinedText); inner examined \(inner.examinedText)"
    text += "; returned \(rows)"
    if spilled > 0 { text += "; sorted through a file of \(spilled) bytes" }
    return text
  }
}

extension ReadTransaction {
  /// Plans a join, runs it, and closes its cursors after `body`.
  ///
  /// No code of the program runs in `body`, except closures of filters and computed properties,
  /// which must not use the transaction.
  func run<Left: Record, Right: Record, Row, T>(
    _ details: JoinDescription, of join: Join<Left, Right, Row>, isOrdered: Bool = true,
    keepsFound: Bool = true, _ body: (JoinRows<Row>) throws -> T
  ) throws -> T {
    try storage { _ in
      let began = context.timer?.beginQuery()
      let prepared: PreparedJoin<Left, Right> = try prepare(details, isOrdered: isOrdered)
      if context.checksQueries { try guarded { try check(prepared, isOrdered: isOrdered) } }
      return try run(prepared, join.kind, keepsFound: keepsFound, since: began, body)
    }
  }

  /// Runs a join that reads one side row by row and looks up the partners of each row; nil if no index
  /// or id has them. Rows come in any order.
  func runLookingUp<Left: Record, Right: Record, Row, T>(
    _ details: JoinDescription, of join: Join<Left, Right, Row>, fromLeft: Bool,
    _ body: (JoinRows<Row>) throws -> T
  ) throws -> T? {
    try storage { _ in
      var prepared: PreparedJoin<Left, Right> = try prepare(details, isOrdered: false)
      let ways = JoinPlan.ways(
        prepared.plan.join, order: [], prepared.leftQuery.plan, prepared.left.collection,
        prepared.rightQuery.plan, prepared.right.collection)
      guard let way = ways.first(where: { $0.isLeftOuter == fromLeft && $0.access != .table })
      else { return nil }
      prepared.plan = way
      return try run(prepared, join.kind, body)
    }
  }

  func run<Left: Record, Right: Record, Row, T>(
    _ prepared: PreparedJoin<Left, Right>, _ kind: JoinKind<Left, Right, Row>,
    keepsFound: Bool = true, since began: Int64? = nil, _ body: (JoinRows<Row>) throws -> T
  ) throws -> T {
    let run = try JoinRun(prepared.plan, prepared.sides, context: context, keepsFound: keepsFound)
    defer {
      run.close()
      if let began { context.timer?.endQuery(since: began, prepared, run) }
    }
    return try guarded { try body(JoinRows(run, prepared.left, prepared.right, kind)) }
  }

  /// Chooses the plan, and writes pending changes that it reads.
  ///
  /// - Parameter isOrdered: whether the order of rows matters, and not only their number.
  func prepare<Left: Record, Right: Record>(
    _ details: JoinDescription, isOrdered: Bool
  ) throws -> PreparedJoin<Left, Right> {
    guard details.offset >= 0, details.limit.map({ $0 >= 0 }) ?? true else {
      throw LarchError(.invalidQuery, "A limit or an offset is negative; use 0 or more.")
    }
    guard !details.left.isByRelevance, !details.right.isByRelevance else {
      throw LarchError(
        .invalidQuery,
        "A join has no order by relevance; fetch the records of the search, `with` the related ones if there are associations."
      )
    }
    for term in details.order { if let error = term.term.error { throw error } }
    let left = try context.collection(of: Left.self)
    let right = try context.collection(of: Right.self)
    var join = details
    if !isOrdered {
      join.order = []
      join.left.dropOrder()
      join.right.dropOrder()
    }
    let (leftOrder, order) = join.ordersByLeft
    join.left.order = leftOrder
    let leftQuery = try prepare(join.left, for: .records, in: left)
    let rightQuery = try prepare(join.right, for: .records, in: right)
    let plan = try JoinPlan(
      join, order: order, leftQuery.plan, left, rightQuery.plan, right, context)
    var prepared = PreparedJoin<Left, Right>(
      plan: plan, leftQuery: leftQuery, rightQuery: rightQuery,
      left: RecordAccess(context, left, with: leftQuery.answers),
      right: RecordAccess(context, right, with: rightQuery.answers))
    if left.incomplete | right.incomplete != 0 {
      let wanted = try JoinPlan(
        join, order: order, leftQuery.plan, left, rightQuery.plan, right, context,
        takesIncomplete: true)
      let inner = wanted.isLeftOuter ? right : left
      if case .index(let position) = wanted.access,
        let index = inner.indexes.first(where: { $0.position == position }), !index.isReady
      {
        prepared.missed = inner.missed(index, context)
      }
    }
    try writePending(for: plan, prepared.sides)
    return prepared
  }

  /// Compares the rows of every plan with those of the simplest one, by their ids.
  private func check<Left: Record, Right: Record>(
    _ prepared: PreparedJoin<Left, Right>, isOrdered: Bool
  ) throws {
    let plan = prepared.plan
    let left = prepared.left.collection
    let right = prepared.right.collection
    let leftPlan = prepared.leftQuery.plan
    let rightPlan = prepared.rightQuery.plan
    var plain = plan
    plain.isLeftOuter = true
    plain.outer = try Planner(schema: left.schema, usable: 0).fullScan(
      plan.join.left, for: .records)
    plain.inner = try Planner(schema: right.schema, usable: 0).fullScan(
      plan.join.right, for: .records)
    plain.access = .table
    let expected = try rowIDs(plain, prepared.sides)
    for way in JoinPlan.ways(plan.join, order: plan.order, leftPlan, left, rightPlan, right) {
      try writePending(for: way, prepared.sides)
      let rows = try rowIDs(way, prepared.sides)
      if isOrdered ? rows == expected : rows.count == expected.count { continue }
      throw LarchError(
        .wrongAnswer,
        "A join gave other rows than a full scan; call `verify()`, and if the store is clean, please report this bug in Larch with the plan."
      ) {
        $0.collection = left.stored.name
        $0.detail =
          "\(rows.count) rows instead of \(expected.count)\n"
          + way.text(left: left.schema, right: right.schema)
      }
    }
  }

  private func writePending(for plan: JoinPlan, _ sides: JoinSides) throws {
    guard mayHavePendingEntries, case .index(let position) = plan.access else { return }
    let inner = plan.isLeftOuter ? sides.right : sides.left
    try writePending(for: try inner.index(at: position).database)
  }

  private func rowIDs(_ plan: JoinPlan, _ sides: JoinSides) throws -> [[UInt8]] {
    let run = try JoinRun(plan, sides, context: context)
    defer { run.close() }
    var rows: [[UInt8]] = []
    while let row = try run.next() {
      rows.append([UInt8](row.leftID) + [0, row.left == nil ? 0 : 1] + [UInt8](row.rightID))
    }
    return rows
  }
}

extension QueryDescription {
  /// Removes the parts of the order that do not affect the number of records.
  fileprivate mutating func dropOrder() {
    guard !isPart else { return }
    order = []
    idsDescend = false
  }
}

/// The rows of a run with their records decoded.
final class JoinRows<Row> {
  let run: JoinRun
  private let left: JoinSide
  private let right: JoinSide
  /// The offset of the second part of a row. Swift lays out tuples in this way on every platform:
  /// it is a part of its ABI.
  private let rightOffset: Int

  init<Left: Record, Right: Record>(
    _ run: JoinRun, _ left: RecordAccess<Left>, _ right: RecordAccess<Right>,
    _ kind: JoinKind<Left, Right, Row>
  ) {
    self.run = run
    let leftPart = kind.leftPart()
    let rightPart = kind.rightPart()
    rightOffset = (leftPart.size + rightPart.alignment - 1) & -rightPart.alignment
    self.left = TypedJoinSide(left, leftPart)
    self.right = TypedJoinSide(right, rightPart)
  }

  /// Makes the next row at an address; false after the last one.
  @inline(__always)
  func next(_ place: @autoclosure () -> UnsafeMutablePointer<Row>) throws -> Bool {
    guard let row = try run.next() else { return false }
    try make(row, at: place())
    return true
  }

  /// Makes a row of the run at an address.
  @inline(__always)
  func make(_ row: JoinRow, at place: @autoclosure () -> UnsafeMutablePointer<Row>) throws {
    try left.show(row.left, row.leftID)
    try right.show(row.right, row.rightID)
    let target = UnsafeMutableRawPointer(place())
    left.copy(to: target)
    right.copy(to: target + rightOffset)
  }

  /// The next row; nil after the last one.
  func next() throws -> Row? {
    let memory = UnsafeMutablePointer<Row>.allocate(capacity: 1)
    defer { memory.deallocate() }
    return try next(memory) ? memory.move() : nil
  }
}

/// One side of the rows, without its type.
private class JoinSide {
  /// Decodes the record of a row.
  func show(_ record: UnsafeRawBufferPointer?, _ id: UnsafeRawBufferPointer) throws {}
  func copy(to target: UnsafeMutableRawPointer) {}
}

private final class TypedJoinSide<R: Record>: JoinSide {
  private let access: RecordAccess<R>
  private let part: RowPart<R>
  /// The record of the previous row: many rows share theirs with the next one, at the same place in
  /// the map.
  @exclusivity(unchecked) private var start: UnsafeRawPointer?

  init(_ access: RecordAccess<R>, _ part: RowPart<R>) {
    self.access = access
    self.part = part
  }

  override func show(_ record: UnsafeRawBufferPointer?, _ id: UnsafeRawBufferPointer) throws {
    if part.isFilled, record?.baseAddress == start { return }
    start = record?.baseAddress
    if let record {
      part.set(try access.decode(record, id: id))
    } else {
      part.setMissing()
    }
    guard part.isFilled else {
      throw LarchError(
        .wrongAnswer,
        "A row of a join has no record where it must have one; please report this bug in Larch with the join."
      ) { $0.collection = access.collection.stored.name }
    }
  }

  override func copy(to target: UnsafeMutableRawPointer) { part.copy(to: target) }
}

extension RecordAccess {
  /// A verified record of the collection.
  func decode(
    _ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) throws -> R {
    do {
      return try context.coder.decode(R.self, from: record)
    } catch {
      throw context.described(error, id: id, in: collection)
    }
  }
}
