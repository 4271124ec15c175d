import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The planner keeps what it knows of the outline of a query. So queries of the same outline are
/// asked again and again, with other constants, while all that a plan depends on changes: how many
/// records have a value, and which indexes there are.
@Suite("Queries that are asked again with other constants")
struct KnownOutlineTests {
  @Test(
    "Every answer is that of the array, and every plan that of planning anew", arguments: 0..<6)
  func again(seed: Int) throws {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "larch-outlines-\(UUID().uuidString).larch").path
    defer { _ = try? Store.destroy(at: path) }
    var random = SeededGenerator(seed: UInt64(seed) &* 7_001 &+ 11)
    var items: [RegretItem] = []
    for _ in 0..<4 {
      // Other indexes than before: some are dropped, others are built over the records.
      let store = try RegretItem.$indexes.withValue(random.knownIndexes()) {
        try Store(at: path, for: RegretItem.self)
      }
      defer { store.close() }
      for _ in 0..<4 {
        try store.write { try random.change(&items, in: $0) }
        for number in 0..<KnownOutline.count {
          for _ in 0..<2 {
            let asked = KnownOutline(number, &random)
            try store.read { try asked.check(in: $0, items, "seed \(seed)") }
          }
        }
        try store.write { tx in
          try random.change(&items, in: tx)
          let asked = KnownOutline(random.below(KnownOutline.count), &random)
          let ids = asked.expected(items).map(\.id)
          #expect(try tx.fetch(asked.query).map(\.id) == ids, "seed \(seed), \(asked.text)")
          #expect(try tx.count(asked.query) == ids.count, "seed \(seed), \(asked.text)")
        }
      }
    }
  }
}

/// A query of one of a few outlines, and the same closure over an array.
private struct KnownOutline {
  static let count = 16

  var query: Query<RegretItem>
  let matches: (RegretItem) -> Bool
  private var isOrdered = false
  private var descends = false

  init(_ number: Int, _ random: inout SeededGenerator) {
    typealias Item = RegretItem
    let (a, b) = (random.below(400), random.below(400))
    let (low, high) = (Swift.min(a, b), Swift.max(a, b))
    let group = random.below(6)
    let word = Item.text(random.below(12))
    let team = random.chance(1, in: 3) ? nil : random.below(8)
    let grade = random.pick(Item.Grade.allCases)
    let id = Item.ID(Int64(random.below(600)))
    switch number {
    case 0: (query, matches) = (Item.where { $0.group == group }, { $0.group == group })
    case 1:
      query = Item.where { $0.number >= low && $0.number < high }
      matches = { $0.number >= low && $0.number < high }
    case 2: (query, matches) = (Item.where { $0.word == word }, { $0.word == word })
    case 3:
      let prefix = String(word.prefix(1 + random.below(5)))
      (query, matches) = (Item.where { $0.word.hasPrefix(prefix) }, { $0.word.hasPrefix(prefix) })
    case 4: (query, matches) = (Item.where { $0.team == team }, { $0.team == team })
    case 5:
      query = Item.where { $0.group == group && $0.number >= low }
      matches = { $0.group == group && $0.number >= low }
    case 6:
      query = Item.where { $0.group == group && $0.word == word }
      matches = { $0.group == group && $0.word == word }
    case 7: (query, matches) = (Item.where { $0.id > id }, { $0.id > id })
    case 8: (query, matches) = (Item.where { $0.grade == grade }, { $0.grade == grade })
    case 9:
      (query, matches) = (Item.where { $0.tags.contains(word) }, { $0.tags.contains(word) })
    case 10: (query, matches) = (Item.where { $0.number != a }, { $0.number != a })
    case 11:
      let groups = [group, random.below(6)]
      (query, matches) = (
        Item.where { groups.contains($0.group) }, { groups.contains($0.group) }
      )
    case 12:
      query = Item.where { $0.team == team || $0.group == group }
      matches = { $0.team == team || $0.group == group }
    case 13:
      query = Item.where { $0.word == word && $0.isOpen }
      matches = { $0.word == word && $0.isOpen }
    case 14:
      query = Item.where { $0.id == id && $0.group >= group }
      matches = { $0.id == id && $0.group >= group }
    default: (query, matches) = (Item.all, { _ in true })
    }
    if random.chance(1, in: 2) {
      isOrdered = true
      descends = random.chance(1, in: 2)
      query = query.sorted(by: \.number, descends ? .descending : .ascending)
    }
    if random.chance(1, in: 2) { query = query.limit(random.pick([1, 5, 40, 2000])) }
    if random.chance(1, in: 6) { query = query.offset(random.below(5)) }
  }

  var text: String {
    """
    \(query.details.filter.text), ordered \(isOrdered), descends \(descends), \
    limit \(query.details.limit ?? -1), offset \(query.details.offset)
    """
  }

  private func all(_ items: [RegretItem]) -> [RegretItem] {
    let found = items.filter(matches).sorted { $0.id < $1.id }
    guard isOrdered else { return found }
    return found.enumerated().sorted { a, b in
      if a.element.number == b.element.number { return a.offset < b.offset }
      return (a.element.number < b.element.number) != descends
    }.map(\.element)
  }

  func expected(_ items: [RegretItem]) -> [RegretItem] {
    Array(all(items).dropFirst(query.details.offset).prefix(query.details.limit ?? .max))
  }

  func check(in tx: ReadTransaction, _ items: [RegretItem], _ name: String) throws {
    let wanted = expected(items)
    let text = "\(name), \(text)\n\(try tx.explain(query))"
    let fetched = try tx.fetch(query)
    #expect(fetched.map(\.id) == wanted.map(\.id), "\(text)")
    #expect(fetched.map(\.number) == wanted.map(\.number), "\(text)")
    #expect(try tx.count(query) == wanted.count, "\(text)")
    #expect(try tx.exists(query) == !wanted.isEmpty, "\(text)")
    #expect(try tx.first(query)?.id == wanted.first?.id, "\(text)")
    #expect(try tx.ids(query) == wanted.map(\.id), "\(text)")
    #expect(try tx.sum(\.number, of: query) == wanted.reduce(0) { $0 + $1.number }, "\(text)")
    if let limit = query.details.limit, query.details.offset == 0,
      let next = try tx.page(query).next
    {
      let rest = Array(all(items).dropFirst(limit).prefix(limit))
      #expect(try tx.fetch(query.after(next)).map(\.id) == rest.map(\.id), "\(text)")
      try comparePlans(query.after(next), .records, in: tx, text)
    }
    let number = TypedField.of(\RegretItem.number)
    for need in [QueryNeed.records, .ids, .count, .exists, .fields([number]), .values([number])] {
      try comparePlans(query, need, in: tx, text)
    }
  }

  private func comparePlans(
    _ query: Query<RegretItem>, _ need: QueryNeed, in tx: ReadTransaction, _ text: String
  ) throws {
    let collection = try tx.context.collection(of: RegretItem.self)
    let planner = Planner(schema: collection.schema, usable: collection.answering)
    let statistics = IndexStatistics(collection, tx.context)
    let plan = try tx.prepare(query.details, for: need, in: collection).plan
    let anew = try planner.plan(query.details, for: need, statistics: statistics)
    // With every byte of the bounds.
    #expect("\(plan)" == "\(anew)", "\(need), \(text)")
    #expect(plan.text(in: collection.schema) == anew.text(in: collection.schema), "\(text)")
  }
}

extension SeededGenerator {
  fileprivate mutating func knownIndexes() -> [RegretIndex] {
    let all: [[RegretField]] = [
      [.group], [.number], [.word], [.team], [.group, .number], [.group, .word], [.grade], [.tags],
      [.word, .isOpen], [.number, .group], [.team, .number],
    ]
    return all.filter { _ in chance(1, in: 2) }.map { RegretIndex(fields: $0) }
  }

  /// Inserts, changes or deletes so many records that values become frequent or rare.
  fileprivate mutating func change(_ items: inout [RegretItem], in tx: WriteTransaction) throws {
    let level = below(6)
    switch items.isEmpty ? 0 : below(5) {
    case 0, 1:
      for _ in 0..<pick([5, 60, 300]) {
        var item = RegretItem()
        item.group = chance(1, in: 3) ? below(6) : level
        item.number = below(400)
        item.word = RegretItem.text(chance(1, in: 3) ? below(12) : level)
        item.team = chance(1, in: 3) ? nil : below(8)
        item.isOpen = chance(1, in: 4)
        item.tags = (0..<below(3)).map { _ in RegretItem.text(below(12)) }
        item.grade = pick(RegretItem.Grade.allCases)
        try tx.insert(&item)
        items.append(item)
      }
    case 2:
      for place in items.indices where chance(1, in: 2) {
        items[place].group = level
        items[place].word = RegretItem.text(level)
        try tx.update(items[place])
      }
    default:
      for place in items.indices.reversed() where chance(2, in: 3) {
        try tx.delete(items.remove(at: place))
      }
    }
  }
}
