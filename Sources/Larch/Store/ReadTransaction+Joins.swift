/// A join that is planned for the catalog of one transaction, and can be run there.
struct PreparedJoin<Left: Record, Right: Record> {
  let plan: JoinPlan
  let left: RecordAccess<Left>
  let right: RecordAccess<Right>

  var sides: JoinSides {
    JoinSides(
      left: left.collection, right: right.collection, leftTyped: left, rightTyped: right)
  }

  var text: String {
    plan.text(left: left.collection.schema, right: right.collection.schema)
  }
}

extension ReadTransaction {
  /// Plans a join, runs it, and closes its cursors when `body` is done.
  ///
  /// No code of the user runs in `body`, but for closures of filters and computed properties, which
  /// must not use the transaction.
  func run<Left: Record, Right: Record, Row, T>(
    _ details: JoinDescription, of join: Join<Left, Right, Row>, isOrdered: Bool = true,
    keepsFound: Bool = true, _ body: (JoinRows<Left, Right, Row>) throws -> T
  ) throws -> T {
    try storage { _ in
      let prepared: PreparedJoin<Left, Right> = try prepare(details, isOrdered: isOrdered)
      if context.checksQueries { try guarded { try check(prepared, isOrdered: isOrdered) } }
      return try run(prepared, join.kind, keepsFound: keepsFound, body)
    }
  }

  func run<Left: Record, Right: Record, Row, T>(
    _ prepared: PreparedJoin<Left, Right>, _ kind: JoinKind<Left, Right, Row>,
    keepsFound: Bool = true, _ body: (JoinRows<Left, Right, Row>) throws -> T
  ) throws -> T {
    let run = try JoinRun(prepared.plan, prepared.sides, context: context, keepsFound: keepsFound)
    defer { run.close() }
    return try guarded { try body(JoinRows(run, prepared.left, prepared.right, kind)) }
  }

  /// Chooses the plan, and writes what it reads, where that is still gathered.
  ///
  /// - Parameter isOrdered: rows are wanted in their order, not only how many there are.
  func prepare<Left: Record, Right: Record>(
    _ details: JoinDescription, isOrdered: Bool
  ) throws -> PreparedJoin<Left, Right> {
    guard details.offset >= 0, details.limit.map({ $0 >= 0 }) ?? true else {
      throw LarchError(.invalidQuery, "A limit or an offset is negative; give 0 or more.")
    }
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
    let prepared = PreparedJoin<Left, Right>(
      plan: plan, left: RecordAccess(context, left, with: leftQuery.answers),
      right: RecordAccess(context, right, with: rightQuery.answers))
    try writeGathered(for: plan, prepared.sides)
    return prepared
  }

  /// Compares the rows of every way with those of the plainest one, by their ids.
  private func check<Left: Record, Right: Record>(
    _ prepared: PreparedJoin<Left, Right>, isOrdered: Bool
  ) throws {
    let plan = prepared.plan
    let left = prepared.left.collection
    let right = prepared.right.collection
    let leftPlan = plan.isLeftOuter ? plan.outer : plan.inner
    let rightPlan = plan.isLeftOuter ? plan.inner : plan.outer
    var plain = plan
    plain.isLeftOuter = true
    plain.outer = try Planner(schema: left.schema, usable: 0).fullScan(
      plan.join.left, for: .records)
    plain.inner = try Planner(schema: right.schema, usable: 0).fullScan(
      plan.join.right, for: .records)
    plain.access = .table
    let expected = try rowIDs(plain, prepared.sides)
    for way in JoinPlan.ways(plan.join, order: plan.order, leftPlan, left, rightPlan, right) {
      try writeGathered(for: way, prepared.sides)
      let rows = try rowIDs(way, prepared.sides)
      if isOrdered ? rows == expected : rows.count == expected.count { continue }
      throw LarchError(
        .wrongAnswer,
        "A join gave other rows than a look at every record; call `verify()`, and report the plan as a fault of Larch if the store is clean."
      ) {
        $0.collection = left.stored.name
        $0.detail =
          "\(rows.count) rows instead of \(expected.count)\n"
          + way.text(left: left.schema, right: right.schema)
      }
    }
  }

  private func writeGathered(for plan: JoinPlan, _ sides: JoinSides) throws {
    guard gathersEntries, case .index(let position) = plan.access else { return }
    let inner = plan.isLeftOuter ? sides.right : sides.left
    try writeGathered(for: try inner.index(at: position).database)
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
  /// What is left of the order where only the number of records counts.
  fileprivate mutating func dropOrder() {
    guard !isPart else { return }
    order = []
    idsDescend = false
  }
}

/// The rows of a run with their records decoded.
final class JoinRows<Left: Record, Right: Record, Row> {
  let run: JoinRun
  private let leftAccess: RecordAccess<Left>
  private let rightAccess: RecordAccess<Right>
  private let kind: JoinKind<Left, Right, Row>
  /// The records of the row before. Many rows share one of theirs with the next, and it is at the
  /// same place of the map.
  @exclusivity(unchecked) private var leftStart: UnsafeRawPointer?
  @exclusivity(unchecked) private var left: Left?
  @exclusivity(unchecked) private var rightStart: UnsafeRawPointer?
  @exclusivity(unchecked) private var right: Right?

  init(
    _ run: JoinRun, _ left: RecordAccess<Left>, _ right: RecordAccess<Right>,
    _ kind: JoinKind<Left, Right, Row>
  ) {
    self.run = run
    leftAccess = left
    rightAccess = right
    self.kind = kind
  }

  /// The next row; nil behind the last one.
  func next() throws -> Row? {
    guard let row = try run.next() else { return nil }
    if row.left?.baseAddress != leftStart {
      left = try row.left.map { try leftAccess.decode($0, id: row.leftID) }
      leftStart = row.left?.baseAddress
    }
    if row.right?.baseAddress != rightStart {
      right = try row.right.map { try rightAccess.decode($0, id: row.rightID) }
      rightStart = row.right?.baseAddress
    }
    return kind.row(left, right)
  }
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
