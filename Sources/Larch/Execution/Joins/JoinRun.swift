/// A row of a join, valid until the next one. A missing side is nil.
struct JoinRow {
  var left: UnsafeRawBufferPointer?
  var leftID = UnsafeRawBufferPointer(start: nil, count: 0)
  var right: UnsafeRawBufferPointer?
  var rightID = UnsafeRawBufferPointer(start: nil, count: 0)
}

/// The two sides of a join in one transaction.
struct JoinSides {
  let left: CollectionHandle
  let right: CollectionHandle
  let leftTyped: TypedAccess
  let rightTyped: TypedAccess
}

/// Executes the plan of a join on a snapshot, row by row.
///
/// Rows point into the map: use each before the next one, and change nothing during the run.
/// `close()` it before its transaction ends.
final class JoinRun {
  private enum State { case outer, partners, alone, end }

  let plan: JoinPlan
  private let context: TransactionContext
  private let outer: PlanRun
  private let partners: JoinPartners
  private let isLeftOuter: Bool
  private let keepsOuter: Bool
  private let keepsInner: Bool
  @exclusivity(unchecked) private var state = State.outer
  @exclusivity(unchecked) private var place = 0
  @exclusivity(unchecked) private var row = JoinRow()
  @exclusivity(unchecked) private var left: Int
  @exclusivity(unchecked) private var toSkip: Int
  @exclusivity(unchecked) private var rowsReturned = 0
  private var sorter: JoinSorter?
  private let sides: JoinSides
  private let settings: SortSettings

  /// - Parameter keepsFound: whether to keep records that are looked up by id for other rows, so
  ///   that each is read once; the memory grows with them.
  init(
    _ plan: JoinPlan, _ sides: JoinSides, context: TransactionContext, keepsFound: Bool = true,
    settings: SortSettings = SortSettings()
  ) throws {
    self.plan = plan
    self.sides = sides
    self.context = context
    self.settings = settings
    left = plan.join.limit ?? .max
    toSkip = plan.join.offset
    isLeftOuter = plan.isLeftOuter
    keepsOuter = isLeftOuter ? plan.join.keepsLeft : plan.join.keepsRight
    keepsInner = isLeftOuter ? plan.join.keepsRight : plan.join.keepsLeft
    let leftKeys = JoinKeyReader(plan.join.leftField, context: context, typed: sides.leftTyped)
    let rightKeys = JoinKeyReader(plan.join.rightField, context: context, typed: sides.rightTyped)
    let inner = isLeftOuter ? sides.right : sides.left
    let innerTyped = isLeftOuter ? sides.rightTyped : sides.leftTyped
    let outerKeys = isLeftOuter ? leftKeys : rightKeys
    let innerKeys = isLeftOuter ? rightKeys : leftKeys
    switch plan.access {
    case .table:
      let run = try PlanRun(plan.inner, in: inner, context: context, typed: innerTyped)
      partners = TablePartners(outerKeys, innerKeys, run, keepsAlone: keepsInner)
    case .id, .index:
      partners = try KeyedPartners(
        outerKeys, innerKeys, plan.access, plan.innerQuery, in: inner, context: context,
        typed: innerTyped, keepsFound: keepsFound)
    }
    outer = try PlanRun(
      plan.outer, in: isLeftOuter ? sides.left : sides.right, context: context,
      typed: isLeftOuter ? sides.leftTyped : sides.rightTyped)
  }

  /// The next row; nil after the last one.
  func next() throws -> JoinRow? {
    do {
      guard left > 0 else { return nil }
      while true {
        guard let row = try nextInOrder() else {
          left = 0
          return nil
        }
        if toSkip > 0 {
          toSkip -= 1
          continue
        }
        left -= 1
        rowsReturned += 1
        return row
      }
    } catch {
      throw outer.noted(error)
    }
  }

  private func nextInOrder() throws -> JoinRow? {
    guard plan.isSorting else { return try nextUnsorted() }
    if let sorter { return try sorter.next() }
    let wanted = plan.join.limit.map { $0.addingReportingOverflow(plan.join.offset) }
    let sorter = JoinSorter(
      plan, sides, limit: wanted.flatMap { $0.overflow ? nil : $0.partialValue }, settings,
      context)
    self.sorter = sorter
    while let row = try nextUnsorted() { try sorter.add(row) }
    try sorter.finish()
    return try sorter.next()
  }

  @inline(__always)
  private func nextUnsorted() throws -> JoinRow? {
    while true {
      switch state {
      case .partners:
        if place < partners.count {
          setInner(partners.record(at: place), partners.id(at: place))
          place &+= 1
          return row
        }
        state = .outer
      case .outer:
        if try nextOuter() { return row }
      case .alone:
        guard try partners.nextAlone() else {
          state = .end
          return nil
        }
        row = JoinRow()
        setInner(partners.record(at: 0), partners.id(at: 0))
        return row
      case .end: return nil
      }
    }
  }

  /// True if the row has no partner and is still a row of the join.
  private func nextOuter() throws -> Bool {
    guard let outerRow = try outer.next() else {
      state = keepsInner ? .alone : .end
      return false
    }
    let record = try outerRow.record ?? outer.record()
    if isLeftOuter {
      row.left = record
      row.leftID = outerRow.id
    } else {
      row.right = record
      row.rightID = outerRow.id
    }
    try partners.find(record, id: outerRow.id)
    if partners.count > 0 {
      place = 0
      state = .partners
      return false
    }
    setInner(nil, UnsafeRawBufferPointer(start: nil, count: 0))
    return keepsOuter
  }

  @inline(__always)
  private func setInner(_ record: UnsafeRawBufferPointer?, _ id: UnsafeRawBufferPointer) {
    if isLeftOuter {
      row.right = record
      row.rightID = id
    } else {
      row.left = record
      row.leftID = id
    }
  }

  /// The number of rows, in any order. The run cannot be used after that.
  func count() throws -> Int {
    do {
      var count = 0
      let wanted = plan.join.limit.map { $0.addingReportingOverflow(plan.join.offset) }
      let most = wanted.map { $0.overflow ? .max : $0.partialValue } ?? .max
      while count < most, try nextUnsorted() != nil { count += 1 }
      left = 0
      return max(0, count - plan.join.offset)
    } catch {
      throw outer.noted(error)
    }
  }

  /// Closes the cursors. There are no rows after it.
  func close() {
    left = 0
    state = .end
    outer.close()
    partners.close()
  }

  /// The cost of the outer side and of the inner side so far.
  var counters: (outer: ExecutionCounters, inner: ExecutionCounters, rows: Int, spilled: Int) {
    (outer.counters, partners.counters, rowsReturned, sorter?.spilledBytes ?? 0)
  }
}
