import LarchTestSupport
import Testing

@testable import Larch

/// A random write, and the array with its result.
struct OwnChanges<K: OracleIndexes> {
  typealias Thing = OracleThing<K>

  let seed: UInt64
  var random: SeededGenerator
  /// In the order of their ids.
  var things: [Thing] = []

  init(seed: UInt64) {
    self.seed = seed
    random = SeededGenerator(seed: seed &* 7919)
  }

  mutating func change(_ tx: WriteTransaction, steps: Int, depth: Int) throws {
    for _ in 0..<steps {
      switch random.below(24) {
      case 0...7:
        var thing = random.thing(K.self)
        try tx.insert(&thing)
        things.append(thing)
      case 8...12:
        guard !things.isEmpty else { continue }
        let place = random.below(things.count)
        var thing = random.thing(K.self)
        thing.id = things[place].id
        try tx.save(&thing)
        things[place] = thing
      case 13...15:
        guard !things.isEmpty else { continue }
        try tx.delete(things.remove(at: random.below(things.count)))
      case 16:
        let filter = OracleFilter<K>.random(&random, depth: 2)
        let count = things.count
        things.removeAll(where: filter.matches)
        let deleted = try tx.delete(Thing.where { _ in filter.filter })
        #expect(deleted == count - things.count, "seed \(seed): \(filter.text)")
      case 17...18:
        let filter = OracleFilter<K>.random(&random, depth: 3)
        let text = random.pick(OracleValues.texts)
        let number = random.pick([-1, 0, 3])
        let count = try tx.update(Thing.where { _ in filter.filter }) {
          $0.text = text
          $0.number = number
        }
        #expect(count == things.filter(filter.matches).count, "seed \(seed): \(filter.text)")
        for place in things.indices where filter.matches(things[place]) {
          things[place].text = text
          things[place].number = number
        }
      case 19 where random.chance(1, in: 4):
        #expect(try tx.erase(Thing.self) == things.count)
        things = []
      case 20...21 where depth < 3:
        try savepoint(tx, depth: depth)
      default:
        try check(tx)
      }
    }
    try check(tx)
  }

  private mutating func savepoint(_ tx: WriteTransaction, depth: Int) throws {
    let before = things
    let isUndone = random.chance(1, in: 2)
    var inner = self
    do {
      try tx.savepoint {
        try inner.change(tx, steps: 8, depth: depth + 1)
        if isUndone { throw TakenBack() }
      }
    } catch is TakenBack { inner.things = before }
    self = inner
    try check(tx)
  }

  mutating func check(_ tx: ReadTransaction) throws {
    for _ in 0..<2 {
      let filter = OracleFilter<K>.random(&random, depth: 1 + random.below(3))
      let order = OracleOrder<K>.random(&random)
      let query = order.apply(Thing.where { _ in filter.filter })
      let expected = order.sort(things.filter(filter.matches))
      let text = "seed \(seed): \(filter.text)\(order.text)"
      let found = try tx.fetch(query)
      #expect(found.map(\.fingerprint) == expected.map(\.fingerprint), "\(text)")
      #expect(try tx.count(query) == expected.count, "\(text)")
      #expect(try tx.exists(query) == !expected.isEmpty, "\(text)")
    }
    let text = random.pick(OracleValues.texts)
    let found = try tx.find(Thing.self, by: \.text, equals: text)?.id
    #expect(found == things.first { $0.text == text }?.id, "seed \(seed): \(text)")
  }
}
