import Foundation
import LarchTestSupport
import Testing

@testable import Larch

private protocol Tagged: Record {
  var tag: Int { get }
  var text: String { get }
  static func make(_ random: inout SeededGenerator) -> Self
}

private struct Named: Tagged {
  var id: String
  var tag: Int
  var text: String
  static let schema = Schema<Named> {
    Index(\.tag)
    Index(\.tag, \.text)
  }

  static func make(_ random: inout SeededGenerator) -> Named {
    // Ids that are prefixes of each other, of any length, composed and decomposed.
    let id =
      random.pick(["", "a", "aa", "a\0", "a\0\0", "é", "e\u{301}x", "z", "\u{7F}"])
      + String(repeating: random.pick(["a", "\0", "q"]), count: random.below(5))
    return Named(id: id + "!", tag: random.below(4), text: random.note())
  }
}

private struct Marked: Tagged {
  var id: UUID
  var tag: Int
  var text: String
  static let schema = Schema<Marked> {
    Index(\.tag)
    Index(\.tag, \.text)
  }

  static func make(_ random: inout SeededGenerator) -> Marked {
    let (a, b) = (random.next(), random.next())
    let bytes = withUnsafeBytes(of: (a, b)) { $0.loadUnaligned(as: uuid_t.self) }
    return Marked(id: UUID(uuid: bytes), tag: random.below(4), text: random.note())
  }
}

private struct Numbered: Tagged {
  var id: UInt16
  var tag: Int
  var text: String
  static let schema = Schema<Numbered> {
    Index(\.tag)
    Index(\.tag, \.text)
  }

  static func make(_ random: inout SeededGenerator) -> Numbered {
    Numbered(
      id: UInt16(truncatingIfNeeded: random.next()), tag: random.below(4), text: random.note())
  }
}

/// Ids of other kinds than the numbers that the store assigns.
@Suite struct IdentifierTests {
  @Test(arguments: [51, 52, 53] as [UInt64])
  func `Strings as ids`(seed: UInt64) throws { try check(Named.self, seed) }

  @Test(arguments: [54, 55] as [UInt64])
  func `UUIDs as ids`(seed: UInt64) throws { try check(Marked.self, seed) }

  @Test(arguments: [56, 57] as [UInt64])
  func `Small numbers as ids`(seed: UInt64) throws { try check(Numbered.self, seed) }

  private func bytes<R: Record>(_ record: R) throws -> [UInt8] {
    var writer = KeyWriter()
    try record.id._writeID(to: &writer)
    return [UInt8](writer.bytes)
  }

  private func check<R: Tagged>(_ type: R.Type, _ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let store = try Store.temporary(for: type)
    var byKey: [[UInt8]: R] = [:]
    for _ in 0..<80 {
      let record = R.make(&random)
      byKey[try bytes(record)] = record
    }
    let all = byKey.values.map { $0 }
    try store.write { tx throws in
      for record in all {
        var record = record
        try tx.save(&record)
      }
    }
    let rows = byKey.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    let tag = TypedField.of(\R.tag)
    let text = TypedField.of(\R.text)

    func scan(_ tags: [Int]) -> Plan.Source {
      let ranges = tags.sorted().map { tag in
        var writer = KeyWriter()
        writer.append(int64: Int64(tag))
        return KeyRange.exactly(KeyPrefix(writer))
      }
      return .index(
        Plan.IndexScan(
          index: 0, ranges: ranges, bounds: [], keyFilter: [], mayRepeat: false, isPoints: true))
    }

    for round in 0..<200 {
      let tags = Array(Set((0..<(1 + random.below(3))).map { _ in random.below(4) }))
      let sources: [(Plan.Source, Set<Int>)] = [
        (.records([.everything]), [0, 1, 2, 3]), (scan(tags), Set(tags)),
        (.union([scan([1]), scan(tags), .records([])]), Set(tags + [1])),
        (
          .intersection([scan(tags), scan([0, 1, 2]), .records([.everything])]),
          Set(tags).intersection([0, 1, 2])
        ),
      ]
      let (source, wanted) = random.pick(sources)
      let descends = random.chance(2)
      let bySort = random.chance(2)
      let term = OrderTerm(
        field: random.chance(2) ? tag : text, descends: random.chance(2))
      var expected = rows.filter { wanted.contains($0.value.tag) }
      if descends { expected.reverse() }
      func values(_ record: R) -> [KeyValue] {
        unsafeDowncast(term.field, to: TypedField<R>.self).value(of: record)
      }
      if bySort {
        // Stable, by the place before the sort.
        expected = expected.enumerated().sorted { a, b in
          let order = KeyValue.compare(values(a.element.value), values(b.element.value))
          if order != 0 { return term.descends ? order > 0 : order < 0 }
          return a.offset < b.offset
        }.map(\.element)
      }
      var plan = Plan(
        source: source, residue: [],
        order: bySort ? .sorted([term], idsDescend: descends) : .byID(descends: descends),
        isCovering: random.chance(2), after: nil, offset: random.below(3),
        limit: random.chance(2) ? random.below(30) : nil)
      if random.chance(2), !expected.isEmpty {
        let place = random.below(expected.count)
        let token = expected[place]
        plan.after = PageToken(
          order: "", values: bySort ? [values(token.value)] : [], id: token.key)
        expected.removeFirst(place + 1)
      }
      var settings = SortSettings()
      if random.chance(2) { settings.budget = random.below(2000) }
      let found = try store.run(plan, of: type, settings: settings) { run, access in
        var ids: [R.ID] = []
        while let row = try run.next() {
          let id = try access.id(of: row, run)
          #expect(id == byKey[[UInt8](row.id)]?.id)
          ids.append(id)
        }
        return ids
      }
      let page = expected.dropFirst(plan.offset).prefix(plan.limit ?? .max).map(\.value.id)
      #expect(found == page, "seed \(seed) round \(round) \(plan)")
    }
  }
}
