import Foundation
import Testing

@testable import Larch

/// Records and the entries of their indexes in memory, to run plans and to count for them.
final class PlanSimulator<R: Record>: PlanStatistics {
  struct Entry {
    var key: [UInt8]
    var id: [UInt8]
  }

  let schema: CollectionSchema
  let planner: Planner
  private(set) var records: [(id: [UInt8], record: R)] = []
  private(set) var indexes: [[Entry]] = []
  private var byID: [[UInt8]: R] = [:]
  /// How often statistics were read.
  private(set) var questions = 0
  /// The entries and records that a plan read.
  var examined = 0

  init(_ list: [R], unreadable: Set<String> = []) throws {
    let schema = try SchemaCompiler.compile(R.self)
    self.schema = schema
    planner = Planner(schema: schema) { !unreadable.contains(schema.indexes[$0].name) }
    for record in list {
      var writer = KeyWriter()
      try record.id._writeID(to: &writer)
      let id = [UInt8](writer.bytes)
      records.append((id, record))
      byID[id] = record
    }
    records.sort { KeyRange.compare($0.id, $1.id) < 0 }
    for declaration in R.schema.indexes {
      var entries: [Entry] = []
      for (id, record) in records {
        var keys: Set<[UInt8]> = []
        var writer = KeyWriter()
        try declaration.forEachKey(of: record, in: &writer) { keys.insert([UInt8]($0.bytes)) }
        for key in keys { entries.append(Entry(key: key, id: id)) }
      }
      entries.sort {
        let order = KeyRange.compare($0.key, $1.key)
        return order < 0 || (order == 0 && KeyRange.compare($0.id, $1.id) < 0)
      }
      indexes.append(entries)
    }
  }

  // MARK: Figures

  func recordCount() -> Int {
    questions += 1
    return records.count
  }

  func estimate(index: Int, ranges: [KeyRange]) -> Int {
    questions += 1
    return indexes[index].count { entry in
      entry.key.withUnsafeBytes { key in ranges.contains { $0.contains(key) } }
    }
  }

  func estimate(ids ranges: [KeyRange]) -> Int {
    questions += 1
    return records.count { record in
      record.id.withUnsafeBytes { id in ranges.contains { $0.contains(id) } }
    }
  }

  func estimate(_ lists: Plan.ListScan) throws -> Int { throw NotSimulated() }

  /// Lists and searches are not simulated, only records and indexes.
  private struct NotSimulated: Error {}

  // MARK: Plans

  func plan(_ query: Query<R>, for need: QueryNeed = .records) throws -> Plan {
    try planner.plan(query.details, for: need, statistics: self)
  }

  func text(_ query: Query<R>, for need: QueryNeed = .records) throws -> String {
    try plan(query, for: need).text(in: schema)
  }

  // MARK: Following a plan

  /// The ids of the rows of a plan, as an executor must return them.
  func rows(_ plan: Plan) throws -> [[UInt8]] {
    var rows = try rows(plan.source).filter { row in
      plan.residue.allSatisfy { $0.matches(byID[row.id]!) }
    }
    switch plan.order {
    case .any: break
    case .byID(let descends):
      rows.sort { isBefore($0, $1, [], idsDescend: descends) }
      if let after = plan.after {
        rows.removeAll { compare($0, after, [], idsDescend: descends) <= 0 }
      }
    case .byIndex(let components, let descends, let idsDescend):
      let index = schema.indexes[scan(plan)!.index]
      // One value of a field with several values was required, which is the same in all rows.
      let terms = index.fields[..<components].filter { !$0.isMultiple }.map {
        OrderTerm(field: field(of: $0), descends: descends, textForm: $0.textForm)
      }
      rows = inOrderOfIndex(rows, terms, idsDescend: idsDescend)
      if let after = plan.after {
        let last = Array(terms.suffix(after.values.count))
        rows.removeAll { compare($0, after, last, idsDescend: idsDescend) <= 0 }
      }
    case .sorted(let terms, let idsDescend):
      rows.sort { isBefore($0, $1, terms, idsDescend: idsDescend) }
      if let after = plan.after {
        rows.removeAll { compare($0, after, terms, idsDescend: idsDescend) <= 0 }
      }
    }
    let rest = rows.dropFirst(plan.offset)
    return (plan.limit.map { rest.prefix($0) } ?? rest).map(\.id)
  }

  /// The result of the query, without any plan.
  func expected(_ query: QueryDescription) -> [[UInt8]] {
    var rows = records.filter { query.filter.matches($0.record) }.map { Row(id: $0.id) }
    rows.sort { isBefore($0, $1, query.order, idsDescend: query.idsDescend) }
    if let after = query.after {
      rows.removeAll { compare($0, after, query.order, idsDescend: query.idsDescend) <= 0 }
    }
    let rest = rows.dropFirst(query.offset)
    return (query.limit.map { rest.prefix($0) } ?? rest).map(\.id)
  }

  /// The position of a record in an order.
  func token(_ id: [UInt8], _ order: [OrderTerm]) -> PageToken {
    PageToken(order: "", values: order.map { values(of: $0.field, byID[id]!) }, id: id)
  }

  private func scan(_ plan: Plan) -> Plan.IndexScan? {
    if case .index(let scan) = plan.source { scan } else { nil }
  }

  struct Row {
    var id: [UInt8]
    var key: [UInt8] = []
  }

  private func rows(_ source: Plan.Source) throws -> [Row] {
    switch source {
    case .nothing: return []
    case .records(let ranges):
      expectApart(ranges)
      let found = records.filter { record in
        record.id.withUnsafeBytes { id in ranges.contains { $0.contains(id) } }
      }
      examined += found.count
      return found.map { Row(id: $0.id) }
    case .index(let scan): return try rows(scan)
    case .list, .search: throw NotSimulated()
    case .union(let parts):
      var seen: Set<[UInt8]> = []
      return try parts.flatMap { try rows($0) }.filter { seen.insert($0.id).inserted }
    case .intersection(let parts):
      let sets = try parts.map { Set(try rows($0).map(\.id)) }
      return try rows(parts[0]).filter { row in sets.allSatisfy { $0.contains(row.id) } }
    }
  }

  private func rows(_ scan: Plan.IndexScan) throws -> [Row] {
    expectApart(scan.ranges)
    let index = schema.indexes[scan.index]
    var rows: [Row] = []
    var seen: Set<[UInt8]> = []
    var keys: [Set<[UInt8]>] = scan.ranges.map { _ in [] }
    for entry in indexes[scan.index] {
      let place = entry.key.withUnsafeBytes { key in
        scan.ranges.firstIndex { $0.contains(key) }
      }
      guard let place else { continue }
      examined += 1
      keys[place].insert(entry.key)
      let decoded = try entry.key.withUnsafeBytes { try KeyReader.read($0, as: index.form) }
      let passes = scan.keyFilter.allSatisfy { node in
        #expect(index.decides(node))
        return decoded.isCut
          ? node.matches(byID[entry.id]!) : matches(node, decoded.values, index)
      }
      guard passes else { continue }
      if seen.insert(entry.id).inserted {
        rows.append(Row(id: entry.id, key: entry.key))
      } else {
        #expect(scan.mayRepeat, "a record came twice from \(index.name)")
      }
    }
    if scan.isPoints { #expect(keys.allSatisfy { $0.count <= 1 }) }
    return rows
  }

  private func expectApart(_ ranges: [KeyRange]) {
    for (a, b) in zip(ranges, ranges.dropFirst()) {
      #expect(a.upper.map { KeyRange.compare($0, b.lower) <= 0 } ?? false)
    }
    for range in ranges { #expect(!range.isEmpty) }
  }

  /// A filter on the values of a key; each field of the index has one.
  private func matches(_ node: FilterNode, _ values: [KeyValue], _ index: IndexSchema) -> Bool {
    switch node {
    case .all(let nodes): nodes.allSatisfy { matches($0, values, index) }
    case .any(let nodes): nodes.contains { matches($0, values, index) }
    case .not(let node): !matches(node, values, index)
    case .field(let filter): filter.test.matches([values[index.component(for: filter)!]])
    case .pair, .words, .record, .related: false
    }
  }

  // MARK: Orders

  private func values(of field: FieldReference, _ record: R) -> [KeyValue] {
    unsafeDowncast(field, to: TypedField<R>.self).value(of: record)
  }

  private func field(of component: IndexFieldSchema) -> FieldReference {
    PlanFields.field(component, of: R.self)
  }

  private func compare(_ a: Row, _ b: Row, _ terms: [OrderTerm], idsDescend: Bool) -> Int {
    compare(a, token(b.id, terms), terms, idsDescend: idsDescend)
  }

  private func isBefore(_ a: Row, _ b: Row, _ terms: [OrderTerm], idsDescend: Bool) -> Bool {
    compare(a, b, terms, idsDescend: idsDescend) < 0
  }

  private func compare(
    _ row: Row, _ token: PageToken, _ terms: [OrderTerm], idsDescend: Bool
  ) -> Int {
    for (term, wanted) in zip(terms, token.values) {
      let own = values(of: term.field, byID[row.id]!)
      let order =
        term.textForm.isFolded
        ? KeyValue.compare(own.map(\.folded), wanted.map(\.folded)) : KeyValue.compare(own, wanted)
      if order != 0 { return term.descends ? -order : order }
    }
    let order = KeyRange.compare(row.id, token.id)
    return idsDescend ? -order : order
  }

  /// Only runs of keys with equal fields are sorted.
  private func inOrderOfIndex(_ rows: [Row], _ terms: [OrderTerm], idsDescend: Bool) -> [Row] {
    guard let first = terms.first else { return rows }
    var runs: [[Row]] = []
    var last: [UInt8]?
    for row in first.descends ? rows.reversed() : rows {
      var writer = KeyWriter()
      for term in terms {
        writer.textForm = term.textForm
        _ = writer.append(
          values(of: term.field, byID[row.id]!), as: term.field.form, isLast: false)
      }
      let prefix = [UInt8](writer.bytes)
      if prefix == last { runs[runs.count - 1].append(row) } else { runs.append([row]) }
      last = prefix
    }
    return runs.flatMap { run in
      run.sorted { isBefore($0, $1, terms, idsDescend: idsDescend) }
    }
  }
}

extension KeyValue {
  fileprivate var folded: KeyValue {
    if case .string(let text) = self { return .string(NFC.foldedForIndex(text)) }
    return self
  }
}

/// The fields of indexes that keep an order.
enum PlanFields {
  static func field<R: Record>(_ component: IndexFieldSchema, of type: R.Type) -> FieldReference {
    let fields: [FieldReference]
    if type == PlanPerson.self {
      fields = [
        TypedField.of(\PlanPerson.name), TypedField.of(\PlanPerson.email),
        TypedField.of(\PlanPerson.age), TypedField.of(\PlanPerson.city),
        TypedField.of(\PlanPerson.country), TypedField.of(\PlanPerson.score),
        TypedField.of(\PlanPerson.height), TypedField.of(\PlanPerson.isActive),
        TypedField.of(\PlanPerson.role), TypedField.of(\PlanPerson.joined),
        TypedField.of(\PlanPerson.company), TypedField.of(\PlanPerson.address.city),
        TypedField.of(\PlanPerson.address.street), TypedField.of(\PlanPerson.version),
        TypedField.of(\PlanPerson.initial), TypedField.of(\PlanPerson.id),
      ]
    } else {
      fields = [
        TypedField.of(\PlanDocument.title), TypedField.of(\PlanDocument.subtitle),
        TypedField.of(\PlanDocument.year), TypedField.of(\PlanDocument.rank),
        TypedField.of(\PlanDocument.id),
      ]
    }
    return fields.first { component.holds($0) }!
  }
}
