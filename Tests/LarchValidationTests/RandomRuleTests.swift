import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Random rules over random values, against plain Swift")
struct RandomRuleTests {
  private struct Stop: Error {}

  @Test("Saves report exactly the failures of a plain Swift check, or succeed")
  func oracle() throws {
    var counts = (kept: 0, refused: 0)
    for seed in UInt64(7_300)..<7_340 { try run(seed, &counts) }
    #expect(counts.kept > 500 && counts.refused > 500, "\(counts)")
  }

  private func run(_ seed: UInt64, _ counts: inout (kept: Int, refused: Int)) throws {
    var generator = SeededGenerator(seed: seed)
    let rules = RandomRule.some(using: &generator)
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    var options = Store.Options()
    options.durability = .none
    let store = try Item.$rules.withValue(rules) {
      try Store(path: path, types: [Item.self], options: options, isTemporary: false)
    }
    defer { store.close() }
    var items: [Int: Item] = [:]
    for _ in 0..<25 {
      try write(to: store, rules, &items, &counts, seed, &generator)
      #expect(try contents(of: store) == texts(items), "seed \(seed)")
    }
    #expect(try store.verify().isClean, "seed \(seed)")
  }

  /// Some saves and deletions in one transaction, some of them undone.
  private func write(
    to store: Store, _ rules: [RandomRule], _ items: inout [Int: Item],
    _ counts: inout (kept: Int, refused: Int), _ seed: UInt64,
    _ generator: inout SeededGenerator
  ) throws {
    let before = items
    do {
      var now = before
      try store.write { tx in
        now = before
        for _ in 0..<Int.random(in: 1...8, using: &generator) {
          let inside = now
          if Int.random(in: 0..<6, using: &generator) == 0 {
            do {
              try tx.savepoint {
                try step(in: tx, rules, &now, &counts, seed, &generator)
                try step(in: tx, rules, &now, &counts, seed, &generator)
                throw Stop()
              }
            } catch is Stop { now = inside }
          } else {
            try step(in: tx, rules, &now, &counts, seed, &generator)
          }
        }
        if Int.random(in: 0..<8, using: &generator) == 0 { throw Stop() }
      }
      items = now
    } catch is Stop {}
  }

  private func step(
    in tx: WriteTransaction, _ rules: [RandomRule], _ items: inout [Int: Item],
    _ counts: inout (kept: Int, refused: Int), _ seed: UInt64,
    _ generator: inout SeededGenerator
  ) throws {
    let id = Int.random(in: 1...12, using: &generator)
    if Int.random(in: 0..<6, using: &generator) == 0 {
      try tx.delete(Item.self, id)
      items[id] = nil
      return
    }
    var item = items[id] ?? Item(id: id)
    RandomItems.change(&item, using: &generator)
    let expected = RandomRule.errors(rules, of: item, in: items)
    #expect(
      try told(tx.validationErrors(of: item))
        == rules.compactMap { $0.oracle(item, items.values.filter { $0.id != id }) },
      "seed \(seed)")
    let found = refused {
      switch Int.random(in: 0..<3, using: &generator) {
      case 0 where items[id] == nil: try tx.insert(&item)
      case 0: try tx.update(item)
      case 1 where items[id] != nil:
        let changed = item
        try tx.update(Item.where { $0.id == id }) { $0 = changed }
      default: try tx.save(&item)
      }
    }
    #expect((found ?? []) == expected, "seed \(seed), \(item)")
    if found == nil {
      items[id] = item
      counts.kept += 1
    } else {
      counts.refused += 1
    }
  }

  private func contents(of store: Store) throws -> [String] {
    try store.read { tx in try tx.all(Item.self).map { "\($0)" } }
  }

  private func texts(_ items: [Int: Item]) -> [String] {
    items.values.sorted { $0.id < $1.id }.map { "\($0)" }
  }
}
