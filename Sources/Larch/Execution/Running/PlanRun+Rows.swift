extension PlanRun {
  /// The rows of the plan in its order, without offset and limit.
  ///
  /// - Parameter limit: the maximum number of rows that are read.
  func makeRows(limit: Int?) throws -> RowSource {
    guard let otherwise = plan.otherwise else { return try makeRowsOfOneWay(limit: limit) }
    reader.mostRecords = otherwise.records
    reader.mostEntries = otherwise.entries
    return BoundedRows(try makeRowsOfOneWay(limit: limit), self, otherwise, limit: limit)
  }

  private func makeRowsOfOneWay(limit: Int?) throws -> RowSource {
    switch plan.order {
    case .any:
      if case .union(let parts) = plan.source { return UnionRows(parts, self) }
      return try unorderedRows(plan.source)
    case .byID(let descends): return try rowsByID(descends: descends)
    case .byIndex(let components, let descends, let idsDescend):
      return try rowsByIndex(components, descends: descends, idsDescend: idsDescend)
    case .sorted(let terms, let idsDescend):
      return try sortedRows(terms, idsDescend: idsDescend, limit: limit)
    }
  }

  private var keepsKeys: Bool { plan.isCovering && !selection.isEmpty }

  /// The rows of a source in whatever order is cheapest.
  func unorderedRows(_ source: Plan.Source) throws -> RowSource {
    switch source {
    case .nothing: return RowSource()
    case .records(let ranges): return try RecordRows(ranges, descends: false, reader)
    case .index(let scan):
      return try IndexRows(scan, descends: false, idsDescend: false, reader)
    case .list(let scan): return try IndexRows(scan, idsDescend: false, reader)
    case .union, .intersection: return try listedRows(source, descends: false, after: nil)
    }
  }

  private func rowsByID(descends: Bool) throws -> RowSource {
    let after = plan.after?.id
    switch plan.source {
    case .nothing: return RowSource()
    case .records(let ranges):
      let rest = after.map { PlanRun.ranges(ranges, behind: $0, descends: descends) } ?? ranges
      return try RecordRows(rest, descends: descends, reader)
    case .index(let scan):
      if keepsKeys { return try sortedRows([], idsDescend: descends, limit: nil) }
      if scan.isPoints, scan.ranges.count == 1 {
        let rows = try IndexRows(
          scan, descends: false, idsDescend: descends, from: after, reader)
        return after.map { RowsBehindID(rows, $0, descends: descends) } ?? rows
      }
      return try listedRows(plan.source, descends: descends, after: after)
    case .list(let scan) where scan.ids.count == 1:
      let rows = try IndexRows(scan, idsDescend: descends, from: after, reader)
      return after.map { RowsBehindID(rows, $0, descends: descends) } ?? rows
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
    _ components: Int, descends: Bool, idsDescend: Bool
  ) throws -> RowSource {
    guard case .index(let scan) = plan.source else {
      return try rowsByID(descends: idsDescend)
    }
    let rows = try OrderedIndexRows(
      scan, components: components, descends: descends, idsDescend: idsDescend,
      keepsKeys: keepsKeys, settings: settings, reader)
    guard let after = plan.after else { return rows }
    return try RowsBehindToken(
      rows, after, scan, components: components, descends: descends, idsDescend: idsDescend,
      reader)
  }

  private func sortedRows(
    _ terms: [OrderTerm], idsDescend: Bool, limit: Int?
  ) throws -> RowSource {
    if case .nothing = plan.source { return RowSource() }
    let rows = try unorderedRows(plan.source)
    var index: IndexSchema?
    if case .index = plan.source { index = (rows as? IndexRows)?.scanner.schema }
    let key = SortKey(
      terms, idsDescend: idsDescend, idKind: collection.stored.idKind, index: index,
      context: context, typed: typed)
    return SortedRows(
      rows, key, limit: limit, after: plan.after,
      components: key.isInKeys ? (rows as? IndexRows)?.scanner.components : nil,
      keepsKeys: keepsKeys, settings: settings, reader)
  }

  /// The parts of the ranges after an id.
  static func ranges(_ ranges: [KeyRange], behind id: [UInt8], descends: Bool) -> [KeyRange] {
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

/// The rows of several sources, without duplicates, in no order.
final class UnionRows: RowSource {
  private let run: Unmanaged<PlanRun>
  private let parts: [Plan.Source]
  private var place = 0
  private var rows: RowSource?
  @exclusivity(unchecked) private var given: IDSet
  private var examined = 0

  /// The run owns its rows, and so outlives them.
  init(_ parts: [Plan.Source], _ run: PlanRun) {
    self.parts = parts
    self.run = .passUnretained(run)
    given = IDSet(width: run.collection.stored.idKind.width)
  }

  override func next() throws -> Bool {
    while true {
      if let rows {
        while try rows.next() {
          guard given.insert(rows.id) else { continue }
          id = rows.id
          record = rows.record
          stored = rows.stored
          return true
        }
        examined += rows.entriesExamined
        self.rows = nil
        rows.close()
      }
      guard place < parts.count else { return false }
      place += 1
      rows = try run._withUnsafeGuaranteedRef { try $0.unorderedRows(parts[place - 1]) }
    }
  }

  override func close() {
    examined += rows?.entriesExamined ?? 0
    rows?.close()
    rows = nil
    place = parts.count
  }

  override var entriesExamined: Int { examined + (rows?.entriesExamined ?? 0) }
}

/// Rows in the order of their ids, after an id.
final class RowsBehindID: RowSource {
  private let rows: RowSource
  private let start: [UInt8]
  private let descends: Bool
  private var isBehind = false

  init(_ rows: RowSource, _ start: [UInt8], descends: Bool) {
    self.rows = rows
    self.start = start
    self.descends = descends
  }

  override func next() throws -> Bool {
    while try rows.next() {
      if !isBehind {
        let order = start.withUnsafeBytes { compareBytes(rows.id, $0) }
        isBehind = descends ? order < 0 : order > 0
        if !isBehind { continue }
      }
      id = rows.id
      record = rows.record
      key = rows.key
      return true
    }
    return false
  }

  override func close() { rows.close() }
  override var entriesExamined: Int { rows.entriesExamined }
  override var spilledBytes: Int { rows.spilledBytes }
}

/// Rows in the order of an index, after a page token.
final class RowsBehindToken: RowSource {
  private let rows: OrderedIndexRows
  private let sortKey: SortKey
  private let token: [UInt8]
  private let components: KeyComponents
  private let reader: RowReader
  private var isBehind = false

  init(
    _ rows: OrderedIndexRows, _ token: PageToken, _ scan: Plan.IndexScan, components count: Int,
    descends: Bool, idsDescend: Bool, _ reader: RowReader
  ) throws {
    self.rows = rows
    self.reader = reader
    let schema = try reader.collection.index(at: scan.index).schema
    components = KeyComponents(schema)
    // The components before those of the order have one value each.
    let fields = schema.fields.prefix(count).suffix(token.values.count)
    sortKey = SortKey(
      OrderedIndexRows.terms(Array(fields), descends: descends), idsDescend: idsDescend,
      idKind: reader.collection.stored.idKind, index: schema, context: reader.context,
      typed: WholeIndexValues(scan.index, reader))
    guard sortKey.write(token) else { throw SortedRows.foreignToken }
    self.token = [UInt8](sortKey.bytes)
  }

  override func next() throws -> Bool {
    while try rows.next() {
      if !isBehind {
        try writeKey()
        isBehind = token.withUnsafeBytes { compareBytes(sortKey.bytes, $0) } > 0
        if !isBehind { continue }
      }
      id = rows.id
      record = rows.record
      key = rows.key
      return true
    }
    return false
  }

  private func writeKey() throws {
    if let key = rows.key {
      components.open(key)
      if try sortKey.write(components: components, id: rows.id) { return }
    }
    let record = try rows.record(reader)
    do {
      try sortKey.write(record: record, id: rows.id)
    } catch {
      throw reader.naming(error, rows.id)
    }
  }

  override func close() { rows.close() }
  override var entriesExamined: Int { rows.entriesExamined }
  override var spilledBytes: Int { rows.spilledBytes }
}
