/// A row of a result, valid until the next one.
package struct QueryRow {
  package var id: UnsafeRawBufferPointer
  /// The verified bytes of the record, or the same bytes made of a key; nil if the plan reads
  /// neither.
  package var record: UnsafeRawBufferPointer?
}

/// Executes a plan on a snapshot of the store, row by row.
///
/// Rows point into the map: use each before the next one, and change nothing during the run.
/// `close()` it before its transaction ends.
package final class PlanRun {
  let plan: Plan
  let collection: CollectionHandle
  let context: TransactionContext
  let typed: TypedAccess
  let selection: [FieldReference]
  /// For tests, which sort few rows with less memory.
  var settings = SortSettings()

  let reader: RowReader
  @exclusivity(unchecked) private(set) var source: RowSource?
  @exclusivity(unchecked) private var current: Unmanaged<RowSource>?
  @exclusivity(unchecked) private var left: Int
  @exclusivity(unchecked) private var toSkip: Int
  @exclusivity(unchecked) private var rowsReturned = 0
  /// The counters of closed sources.
  private var entriesExamined = 0
  private var recordsExaminedElsewhere = 0
  private var spilledBytes = 0
  private var isClosed = false
  /// The run of the alternative, once it has replaced the plan.
  var other: PlanRun?
  /// The records that each alternative read for a count.
  var countedOfAlternatives: [Int] = []
  private let isCovering: Bool
  /// Whether rows have their records, made of keys.
  private let makesRecords: Bool
  private var ownedMaker: KeyedRecords?
  @exclusivity(unchecked) private var maker: Unmanaged<KeyedRecords>?
  private var ownedSelector: RowSelector?
  @exclusivity(unchecked) private var selector: Unmanaged<RowSelector>?

  init(
    _ plan: Plan, in collection: CollectionHandle, context: TransactionContext,
    typed: TypedAccess, selecting selection: [FieldReference] = [], makingRecords: Bool = false
  ) throws {
    self.plan = plan
    self.collection = collection
    self.context = context
    self.typed = typed
    self.selection = selection
    isCovering = plan.isCovering
    makesRecords = makingRecords && isCovering
    left = plan.limit ?? .max
    toSkip = plan.offset
    reader = try RowReader(collection, residue: plan.residue, context: context, typed: typed)
    if let relevance = plan.relevance, typed.scores == nil {
      typed.scores = SearchScores(relevance, collection, context, typed)
    }
  }

  /// The run of a plan with the same residue, for a part of the work of another run. It reads by the
  /// reader of that run, which counts the records.
  init(_ plan: Plan, partOf run: PlanRun) {
    self.plan = plan
    collection = run.collection
    context = run.context
    typed = run.typed
    selection = []
    settings = run.settings
    isCovering = plan.isCovering
    makesRecords = false
    left = plan.limit ?? .max
    toSkip = plan.offset
    reader = run.reader
  }

  /// The next row; nil after the last one.
  package func next() throws -> QueryRow? {
    do {
      guard left > 0 else { return nil }
      guard let current = try self.current ?? begin() else { return nil }
      // `source` keeps it alive; holding it again would count references for every row.
      return try current._withUnsafeGuaranteedRef { try nextRow(of: $0) }
    } catch {
      throw noted(error)
    }
  }

  @inline(__always)
  private func nextRow(of source: RowSource) throws -> QueryRow? {
    while toSkip > 0 {
      guard try source.next() else { return end() }
      toSkip -= 1
    }
    guard try source.next() else { return end() }
    left -= 1
    rowsReturned += 1
    return QueryRow(
      id: source.id,
      record: !isCovering
        ? try source.record(reader) : makesRecords ? try makeRecord(of: source) : source.record)
  }

  /// The record of a row, made of its key if that determines every bit.
  @inline(__always)
  private func makeRecord(of source: RowSource) throws -> UnsafeRawBufferPointer {
    if source.record == nil, let key = source.key, let maker,
      let made = try maker._withUnsafeGuaranteedRef({ try $0.record(key, source.id) })
    {
      return made
    }
    return try source.record(reader)
  }

  private func begin() throws -> Unmanaged<RowSource>? {
    if isClosed { return nil }
    let wanted = plan.limit.map { $0.addingReportingOverflow(plan.offset) }
    let source = try lookingAhead(
      makeRows(limit: wanted.flatMap { $0.overflow ? nil : $0.partialValue }))
    self.source = source
    current = Unmanaged.passUnretained(source)
    if makesRecords { try beginRecords() }
    return current
  }

  /// So few rows are found one by one.
  private static let fewRows = 3

  /// The rows, with their records found several at once if each is read by an id from elsewhere.
  private func lookingAhead(_ rows: RowSource) throws -> RowSource {
    let width = collection.stored.idKind.width
    guard !isCovering, !reader.isFiltering, plan.otherwise == nil, left > PlanRun.fewRows,
      let width, MappedTree.findsAtOnce(width), !(rows is RecordRows), context.isReading,
      let tree = try context.mappedTree(collection.records)
    else { return rows }
    return RecordsAhead(
      rows, tree, width: width, skipping: plan.offset, limit: plan.limit)
  }

  private func beginRecords() throws {
    guard case .index(let scan) = plan.source else { return }
    let made = try KeyedRecords.of(
      collection.index(at: scan.index).schema, collection, context)
    ownedMaker = made
    maker = made.map(Unmanaged.passUnretained)
  }

  private func end() -> QueryRow? {
    left = 0
    return nil
  }

  /// Whether rows may have the same selected values as rows before them.
  var mayRepeatValues: Bool { source?.mayRepeatValues ?? true }

  /// The record of the last row; reads it if the plan did not.
  package func record() throws -> UnsafeRawBufferPointer {
    guard let source, rowsReturned > 0 else { throw TransactionContext.ended }
    do {
      return try source.record(reader)
    } catch {
      throw noted(error)
    }
  }

  /// The values of a selected field in the last row; nil if only the decoded record determines
  /// every bit.
  func values(of place: Int) throws -> [KeyValue]? { try value(of: place).map { [$0] } }

  /// The same; a field that bytes determine has one value.
  func value(of place: Int) throws -> KeyValue? {
    // As in `next`. The run keeps the selector too.
    guard source != nil, rowsReturned > 0, let current else { throw TransactionContext.ended }
    let selector = self.selector ?? begunSelector()
    do {
      return try current._withUnsafeGuaranteedRef { source in
        try selector._withUnsafeGuaranteedRef {
          try $0.value(of: place, in: source, rowsReturned)
        }
      }
    } catch {
      throw noted(error)
    }
  }

  /// The same in the form of keys, which is that of groups: then more values are in keys.
  func keyValue(of place: Int) throws -> KeyValue? {
    guard source != nil, rowsReturned > 0, let current else { throw TransactionContext.ended }
    let selector = self.selector ?? begunSelector()
    do {
      return try current._withUnsafeGuaranteedRef { source in
        try selector._withUnsafeGuaranteedRef {
          try $0.keyValue(of: place, in: source, rowsReturned)
        }
      }
    } catch {
      throw noted(error)
    }
  }

  /// Makes the value of a selected field of the last row from its key; false if that does not determine
  /// every bit.
  @inline(__always)
  func make<Value>(
    _ place: Int, _ coding: KeyCoding<Value>, at target: UnsafeMutablePointer<Value>
  ) throws -> Bool {
    guard isCovering, source != nil, rowsReturned > 0, let current else { return false }
    let selector = self.selector ?? begunSelector()
    do {
      return try current._withUnsafeGuaranteedRef { source in
        try selector._withUnsafeGuaranteedRef {
          try $0.make(place, in: source, rowsReturned, coding, at: target)
        }
      }
    } catch {
      throw noted(error)
    }
  }

  /// The key of the last row, if keys have what is selected and no record of the row was read.
  @inline(__always)
  var keyOfRow: UnsafeRawBufferPointer? {
    guard isCovering, let current else { return nil }
    return current._withUnsafeGuaranteedRef { $0.record == nil ? $0.key : nil }
  }

  private func begunSelector() -> Unmanaged<RowSelector> {
    let made = RowSelector(self)
    ownedSelector = made
    let selector = Unmanaged.passUnretained(made)
    self.selector = selector
    return selector
  }

  /// Closes the cursors. There are no rows after that.
  package func close() {
    isClosed = true
    left = 0
    guard let source else { return }
    entriesExamined += source.entriesExamined
    spilledBytes += source.spilledBytes
    source.close()
    self.source = nil
    current = nil
    maker = nil
    ownedMaker?.end(in: context)
    ownedMaker = nil
  }

  /// The cost of the run so far.
  package var counters: ExecutionCounters {
    ExecutionCounters(
      entriesExamined: entriesExamined + (source?.entriesExamined ?? 0),
      recordsExamined: recordsExaminedElsewhere + reader.recordsExamined
        + (other?.reader.recordsExamined ?? 0),
      rowsReturned: rowsReturned, groupsSkipped: reader.groupsSkipped,
      spilledBytes: spilledBytes + (source?.spilledBytes ?? 0))
  }

  /// The records that each alternative of the plan read, among all that were.
  var recordsOfAlternatives: [Int] {
    other.map { [$0.reader.recordsExamined] } ?? countedOfAlternatives
  }

  /// Counts work that is not done row by row.
  func add(entriesExamined count: Int) { entriesExamined += count }

  /// Adds the cost of another run that did a part of the work.
  func add(_ other: ExecutionCounters) {
    entriesExamined += other.entriesExamined
    recordsExaminedElsewhere += other.recordsExamined
    spilledBytes += other.spilledBytes
  }

  /// An error as users see it.
  func noted(_ error: any Error) -> any Error {
    (error as? LMDBError).map(context.note) ?? error
  }
}

// MARK: - Rows

extension PlanRun {
  /// The rows of the plan in its order, without offset and limit.
  ///
  /// - Parameter limit: the maximum number of rows that the caller needs.
  func makeRows(limit: Int?) throws -> RowSource {
    guard let otherwise = plan.otherwise else { return try makeRowsOfOneWay(limit: limit) }
    reader.mostRecords = otherwise.records
    reader.mostEntries = otherwise.entries
    return BoundedRows(try makeRowsOfOneWay(limit: limit), self, otherwise, limit: limit)
  }

  private func makeRowsOfOneWay(limit: Int?) throws -> RowSource {
    switch plan.order {
    case .any:
      switch plan.source {
      case .union(let parts): return UnionRows(parts, self)
      // The first ones are found without the others in the order of ids only.
      case .search: return try rowsByID(descends: false, limit: limit)
      default: return try unorderedRows(plan.source)
      }
    case .byID(let descends): return try rowsByID(descends: descends, limit: limit)
    case .byIndex(let components, let descends, let idsDescend):
      return try rowsByIndex(
        components, descends: descends, idsDescend: idsDescend, limit: limit)
    case .sorted(let terms, let idsDescend):
      return try sortedRows(terms, idsDescend: idsDescend, limit: limit)
    }
  }

  private var keepsKeys: Bool { plan.isCovering && (makesRecords || !selection.isEmpty) }

  /// The rows of a source in whatever order is cheapest.
  func unorderedRows(_ source: Plan.Source) throws -> RowSource {
    switch source {
    case .nothing: return RowSource()
    case .records(let ranges): return try RecordRows(bounded(ranges), descends: false, reader)
    case .index(let scan):
      if let groups = plan.groups, groups.reading != .counting {
        return try GroupRows(scan, groups, idsDescend: plan.order.idsDescend, reader)
      }
      return try IndexRows(scan, descends: false, idsDescend: false, reader)
    case .list(let scan): return try IndexRows(scan, idsDescend: false, reader)
    case .search, .union, .intersection:
      return try listedRows(source, descends: false, after: nil)
    }
  }

  private func rowsByID(descends: Bool, limit: Int?) throws -> RowSource {
    let after = plan.after?.id
    switch plan.source {
    case .nothing: return RowSource()
    case .records(let ranges):
      let rest = after.map { PlanRun.ranges(ranges, after: $0, descends: descends) } ?? ranges
      return try RecordRows(bounded(rest), descends: descends, reader)
    case .index(let scan):
      let isOneKey = scan.isPoints && scan.ranges.count == 1
      if keepsKeys, !isOneKey { return try sortedRows([], idsDescend: descends, limit: limit) }
      if isOneKey {
        let rows = try IndexRows(
          scan, descends: false, idsDescend: descends, from: after, reader)
        return after.map { RowsAfterID(rows, $0, descends: descends) } ?? rows
      }
      return try listedRows(plan.source, descends: descends, after: after)
    case .list(let scan) where scan.ids.count == 1:
      let rows = try IndexRows(scan, idsDescend: descends, from: after, reader)
      return after.map { RowsAfterID(rows, $0, descends: descends) } ?? rows
    case .search(let scan):
      if let limit,
        let rows = try SearchRows(scan, descends: descends, after: after, wanted: limit, reader)
      {
        return rows
      }
      return try listedRows(plan.source, descends: descends, after: after)
    case .list, .union, .intersection:
      return try listedRows(plan.source, descends: descends, after: after)
    }
  }

  private func listedRows(
    _ source: Plan.Source, descends: Bool, after: [UInt8]?
  ) throws -> RowSource {
    let collector = IDCollector(reader)
    let list = try collector.collect(source)
    return IDRows(
      list, descends: descends, after: after,
      entriesExamined: collector.entriesExamined, reader)
  }

  private func rowsByIndex(
    _ components: Int, descends: Bool, idsDescend: Bool, limit: Int?
  ) throws -> RowSource {
    guard case .index(let scan) = plan.source else {
      return try rowsByID(descends: idsDescend, limit: nil)
    }
    let rows = try OrderedIndexRows(
      scan, components: components, descends: descends, idsDescend: idsDescend,
      keepsKeys: keepsKeys, groups: plan.groups,
      // The rows up to a token are read, and skipped.
      limit: plan.after == nil ? limit : nil, settings: settings, reader)
    guard let after = plan.after else { return rows }
    return try RowsAfterToken(
      rows, after, scan, components: components, descends: descends, idsDescend: idsDescend,
      reader)
  }

  private func sortedRows(
    _ terms: [OrderTerm], idsDescend: Bool, limit: Int?
  ) throws -> RowSource {
    if case .nothing = plan.source { return RowSource() }
    if let scores = plan.scoresInOrder(terms, typed) {
      return RankedRows(
        scores, descends: terms[0].descends, idsDescend: idsDescend, after: plan.after,
        limit: limit, reader)
    }
    let rows = try unorderedRows(plan.source)
    let scanner = (rows as? IndexRows ?? (rows as? GroupRows)?.rows)?.scanner
    var index: IndexSchema?
    if case .index = plan.source { index = scanner?.schema }
    let key = SortKey(
      terms, idsDescend: idsDescend, idKind: collection.stored.idKind, index: index,
      context: context, typed: typed)
    return SortedRows(
      rows, key, limit: limit, after: plan.after,
      components: key.isInKeys ? scanner?.components : nil,
      keepsKeys: keepsKeys, settings: settings, reader)
  }

  /// The parts of the ranges after an id.
  static func ranges(_ ranges: [KeyRange], after id: [UInt8], descends: Bool) -> [KeyRange] {
    ranges.compactMap { range in
      var range = range
      if descends {
        if range.upper.map({ id.lexicographicallyPrecedes($0) }) ?? true { range.upper = id }
      } else {
        let next = id + [0]
        if range.lower.lexicographicallyPrecedes(next) { range.lower = next }
      }
      return range.isEmpty ? nil : range
    }
  }
}
