import LarchTestSupport
import Testing

@testable import Larch

/// The layout of an index that is not unique, and the rule that keeps it valid: pairs are collected
/// first and deleted one by one, never at a cursor. Decision 3 says what happens otherwise. It runs
/// against every LMDB that a user may link.
struct LMDBDuplicateLayoutTests {
  @Test("An index of sorted pairs equals its model through random changes and undone children")
  func model() throws {
    let seed: UInt64 = 20_240_617
    var generator = SeededGenerator(seed: seed)
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small(256 << 10))
    defer { environment.close() }
    let database = try environment.database("index", [.duplicates, .fixedDuplicates])
    var model: [UInt64: Set<UInt64>] = [:]
    var operations = 0
    var round = 0
    while operations < 500_000 {
      round += 1
      let isKept = Int.random(in: 0..<8, using: &generator) != 0
      let saved = (model, operations, generator)
      do {
        try environment.write { transaction in
          // The closure runs again when the map was full, so it starts from the same point.
          (model, operations, generator) = saved
          for _ in 0..<4 {
            try change(database, transaction, &model, &operations, &generator, depth: 0)
          }
          if !isKept { throw Undo() }
        }
      } catch is Undo {
        model = saved.0
      }
      if round % 16 == 0 {
        let stored = try environment.read { try contents(of: database, in: $0) }
        try #require(stored == flattened(model), "seed \(seed), after \(operations) operations")
      }
    }
    #expect(environment.map.bytes > 256 << 10)
  }

  private struct Undo: Error {}

  /// A few hundred random puts and deletes in a child that is kept or undone.
  private func change(
    _ database: LMDBDatabase, _ parent: LMDBTransaction, _ model: inout [UInt64: Set<UInt64>],
    _ operations: inout Int, _ generator: inout SeededGenerator, depth: Int
  ) throws {
    let child = try parent.beginChild()
    let saved = model
    do {
      for _ in 0..<Int.random(in: 1...200, using: &generator) {
        operations += 1
        try step(database, child, &model, &generator)
      }
      if depth < 2, Bool.random(using: &generator) {
        try change(database, child, &model, &operations, &generator, depth: depth + 1)
      }
    } catch {
      child.abortChild()
      throw error
    }
    if Int.random(in: 0..<3, using: &generator) == 0 {
      child.abortChild()
      model = saved
    } else {
      try child.commitChild()
    }
  }

  private func step(
    _ database: LMDBDatabase, _ transaction: LMDBTransaction, _ model: inout [UInt64: Set<UInt64>],
    _ generator: inout SeededGenerator
  ) throws {
    // Few keys with many values and many keys with few, so that sub-pages become trees and back.
    let isDense = Bool.random(using: &generator)
    let key = UInt64.random(in: isDense ? 0..<4 : 100..<2_000, using: &generator)
    let value = UInt64.random(in: 0..<(isDense ? 3_000 : 6), using: &generator)
    switch Int.random(in: 0..<100, using: &generator) {
    case 0..<60:
      let isNew = try database.put(key, value, in: transaction, mode: .ifPairAbsent)
      #expect(isNew == model[key, default: []].insert(value).inserted)
    case 60..<97:
      let wasThere = try database.delete(key, value, in: transaction)
      #expect(wasThere == (model[key]?.remove(value) != nil))
    case 97..<99:
      try deleteSome(database, transaction, &model, from: key, count: 6)
    default:
      let wasThere = try database.delete(key, in: transaction)
      #expect(wasThere == (model[key]?.isEmpty == false))
      model[key] = nil
    }
    if model[key]?.isEmpty == true { model[key] = nil }
  }

  /// The steps of an update of a range: scan, collect, then delete.
  private func deleteSome(
    _ database: LMDBDatabase, _ transaction: LMDBTransaction, _ model: inout [UInt64: Set<UInt64>],
    from key: UInt64, count: Int
  ) throws {
    var doomed: [(UInt64, UInt64)] = []
    do {
      var cursor = try LMDBCursor(database, in: transaction)
      var entry = try withBytes(of: key) { try cursor.seek(atOrAfter: $0) }
      while let reached = entry, doomed.count < count {
        doomed.append((UInt64(run: reached.key), UInt64(run: reached.value)))
        entry = try cursor.next()
      }
    }
    for (key, value) in doomed where value % 2 == 0 {
      #expect(try database.delete(key, value, in: transaction))
      model[key]?.remove(value)
      if model[key]?.isEmpty == true { model[key] = nil }
    }
  }

  private func flattened(_ model: [UInt64: Set<UInt64>]) -> [[UInt64]] {
    model.keys.sorted().flatMap { key in model[key, default: []].sorted().map { [key, $0] } }
  }

  private func contents(
    of database: LMDBDatabase, in transaction: LMDBTransaction
  ) throws -> [[UInt64]] {
    var cursor = try LMDBCursor(database, in: transaction)
    var found: [[UInt64]] = []
    while let entry = try cursor.next() {
      found.append([UInt64(run: entry.key), UInt64(run: entry.value)])
    }
    #expect(try database.statistics(in: transaction).entries == found.count)
    return found
  }
}
