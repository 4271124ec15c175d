import LarchTestSupport
import Testing

@testable import Larch

/// Keys that reach the limit of keys although no component reaches its own.
private struct Wide: Record {
  var id = RecordID<Wide>()
  var a: String
  var b: String
  var c: String?
  var d: String
  var age: Int
  var e: String
  static let schema = Schema<Wide> { Index(\.a, \.b, \.c, \.d, \.age, \.e) }
}

private struct Many: Record {
  var id: String
  var kind: Int
  static let schema = Schema<Many> { Index(\.kind) }
}

private struct ManyNumbers: Record {
  var id = RecordID<ManyNumbers>()
  var kind: Int
  static let schema = Schema<ManyNumbers> { Index(\.kind) }
}

@Suite struct LargeKeyTests {
  @Test(arguments: [81, 82, 83] as [UInt64])
  func `Cut keys are checked and sorted by their records`(seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    func text() -> String {
      String(repeating: random.pick(["x", "y", "\0"]), count: random.pick([0, 1, 40, 122, 126]))
        + random.pick(["", "a", "b"])
    }
    let store = try Store.temporary(for: Wide.self)
    let made = (0..<150).map { _ in
      Wide(
        a: random.pick(["", String(repeating: "a", count: 126)]), b: text(),
        c: random.chance(4) ? nil : text(), d: text(), age: random.below(3), e: text())
    }
    let records = try store.write { tx throws in
      try made.map { record throws in
        var record = record
        try tx.save(&record)
        return record
      }
    }
    let fields = [
      TypedField.of(\Wide.a), TypedField.of(\Wide.b), TypedField.of(\Wide.c),
      TypedField.of(\Wide.d), TypedField.of(\Wide.age), TypedField.of(\Wide.e),
    ]
    for round in 0..<120 {
      let descends = random.chance(2)
      let idsDescend = random.chance(2)
      let count = 1 + random.below(6)
      var filters: [FilterNode] = []
      if random.chance(2) {
        filters.append(.field(FieldFilter(fields[4], .equal([.signed(Int64(random.below(3)))]))))
      }
      if random.chance(2) {
        let test = TextTest(
          kind: .contains, text: random.pick(["a", "xb", "y"]), .caseInsensitive)
        filters.append(
          .field(FieldFilter(random.pick([fields[1], fields[3], fields[5]]), .text(test))))
      }
      let scan = Plan.IndexScan(
        index: 0, ranges: [.everything], bounds: [], keyFilter: filters, mayRepeat: false,
        isPoints: false)
      let plan = Plan(
        source: .index(scan), residue: [],
        order: .byIndex(components: count, descends: descends, idsDescend: idsDescend),
        isCovering: true, after: nil, offset: 0, limit: nil)
      func values(_ record: Wide) -> [KeyValue] {
        fields.prefix(count).flatMap { $0.value(of: record) }
      }
      let expected = records.filter { FilterNode.all(filters).matches($0) }.sorted { left, right in
        let order = KeyValue.compare(values(left), values(right))
        if order != 0 { return descends ? order > 0 : order < 0 }
        return idsDescend
          ? left.id.rawValue > right.id.rawValue : left.id.rawValue < right.id.rawValue
      }
      let found = try store.run(plan, of: Wide.self) { run, access in
        var ids: [Int64] = []
        while let row = try run.next() { ids.append(try access.id(of: row, run).rawValue) }
        return ids
      }
      #expect(found == expected.map(\.id.rawValue), "seed \(seed) round \(round)")
      let counted = try store.run(plan, of: Wide.self) { run, _ in try run.count() }
      #expect(counted == expected.count)
    }
  }

  /// So many ids that LMDB keeps those of one key in a separate tree.
  private func check<R: Record>(_ records: [R], kind: (R) -> Int) throws {
    let store = try Store.temporary(for: R.self)
    let saved = try store.write { tx throws in
      try records.map { record throws in
        var record = record
        try tx.save(&record)
        return record
      }
    }
    func bytes(_ record: R) throws -> [UInt8] {
      var writer = KeyWriter()
      try record.id._writeID(to: &writer)
      return [UInt8](writer.bytes)
    }
    let rows = try saved.map { (id: try bytes($0), kind: kind($0)) }
      .sorted { $0.id.lexicographicallyPrecedes($1.id) }
    let scan = Plan.IndexScan(
      index: 0, ranges: [.everything], bounds: [], keyFilter: [], mayRepeat: false,
      isPoints: false)
    for descends in [false, true] {
      for idsDescend in [false, true] {
        let plan = Plan(
          source: .index(scan), residue: [],
          order: .byIndex(components: 1, descends: descends, idsDescend: idsDescend),
          isCovering: true, after: nil, offset: 0, limit: nil)
        var expected: [[UInt8]] = []
        for kind in descends ? [2, 1, 0] : [0, 1, 2] {
          let ids = rows.filter { $0.kind == kind }.map(\.id)
          expected += idsDescend ? ids.reversed() : ids
        }
        let found = try store.run(plan, of: R.self) { run, _ in
          var ids: [[UInt8]] = []
          while let row = try run.next() { ids.append([UInt8](row.id)) }
          return ids
        }
        #expect(found == expected, "\(descends) \(idsDescend)")
      }
    }
  }

  @Test func `Thousands of ids of one key are read in both directions`() throws {
    var random = SeededGenerator(seed: 84)
    try check((0..<4000).map { _ in ManyNumbers(kind: random.pick([0, 0, 0, 1, 2])) }) { $0.kind }
    try check(
      (0..<3000).map { Many(id: "id \($0 * 7919 % 3001)", kind: random.pick([0, 0, 0, 1, 2])) }
    ) { $0.kind }
  }
}
