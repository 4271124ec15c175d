import LarchTestSupport

@testable import Larch

/// With fields of the kinds that aggregates treat differently.
struct CountedItem: Record, Equatable {
  enum Rank: Int, Codable, IndexKey { case low, middle, high }

  var id: Int
  var name: String
  var city: String
  var age: Int
  var small: Int8?
  var half: Double?
  var rank: Rank
  var big: UInt64

  var length: Int { name.count }

  static let schema = Schema<CountedItem> { Index(\.city, \.age) }
}

/// A record of another collection, whose changes concern no item.
struct Setting: Record, Equatable {
  var id: Int
  var limit: Int
}

/// Random changes of items.
struct ItemWrites {
  struct Undone: Error {}

  var generator: SeededGenerator
  private let names = ["a", "ab", "\u{E9}", "e\u{301}", "b", "\u{1F600}", ""]
  private let cities = ["London", "Oslo", "Rome"]

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  mutating func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }

  private mutating func pick<T>(_ values: [T]) -> T { values[number(values.count)] }

  mutating func item() -> CountedItem {
    CountedItem(
      id: number(120), name: pick(names) + pick(names), city: pick(cities), age: number(12),
      small: pick([nil, -128, -1, 0, 3, 127]),
      half: pick([nil, .nan, -0.0, 0, 0.5, -.infinity, 7]), rank: pick([.low, .middle, .high]),
      big: pick([0, 1, 1 << 40]))
  }

  /// A few changes in one transaction, of which a part or all may be undone.
  mutating func write(to store: Store) {
    try? store.write { tx throws in
      for _ in 0...number(3) { try change(tx, depth: 0) }
      if number(8) == 0 { throw Undone() }
    }
  }

  /// One change of one item.
  mutating func writeOne(to store: Store) {
    try? store.write { tx throws in
      if number(4) == 0 {
        try tx.delete(CountedItem.self, number(120))
      } else {
        try tx.put(item())
      }
    }
  }

  private mutating func change(_ tx: WriteTransaction, depth: Int) throws {
    switch number(24) {
    case 0 where depth < 2:
      try? tx.savepoint {
        for _ in 0...number(3) { try change(tx, depth: depth + 1) }
        if number(2) == 0 { throw Undone() }
      }
    case 1: if number(12) == 0 { try tx.erase(CountedItem.self) }
    case 2:
      let old = number(12)
      try tx.update(CountedItem.where { $0.age == old }) { $0.age = (old + 5) % 12 }
    case 3:
      let old = number(12)
      try tx.delete(CountedItem.where { $0.age == old && $0.city == "Rome" })
    case 4, 5: try tx.put(Setting(id: number(3), limit: number(8)))
    case 6...9: try tx.delete(CountedItem.self, number(120))
    case 10...13:
      guard var item = try tx.find(CountedItem.self, number(120)) else { return }
      item.big = pick([0, 1, 1 << 40])
      item.name = pick(names) + pick(names)
      try tx.put(item)
    default: try tx.put(item())
    }
  }
}
