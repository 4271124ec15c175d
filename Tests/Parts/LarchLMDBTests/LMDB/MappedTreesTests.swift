import CLMDB
import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A search on the mapped pages finds what LMDB finds, in whatever state is read.
@Suite("Searches on the mapped pages")
struct MappedTreesTests {
  /// A tree and what must be in it.
  private struct Model {
    let database: LMDBDatabase
    /// The sizes of keys; several values for a key if it is an index.
    let sizes: ClosedRange<Int>
    let isIndex: Bool
    var entries: [[UInt8]: Set<[UInt8]>] = [:]

    mutating func change(
      _ random: inout SeededGenerator, in transaction: LMDBTransaction
    ) throws {
      for _ in 0..<random.below(300) {
        let key = bytes(&random, sizes)
        if random.chance(1, in: 4), let known = entries.keys.randomElement(using: &random) {
          entries[known] = nil
          _ = try known.withUnsafeBytes { try database.delete($0, in: transaction) }
          continue
        }
        let count = random.chance(1, in: 6) ? 3_000 : 60
        let value = isIndex ? bytes(&random, 8...8) : bytes(&random, 0...random.below(count))
        _ = try key.withUnsafeBytes { key in
          try value.withUnsafeBytes { try database.put(key, $0, in: transaction) }
        }
        if isIndex { entries[key, default: []].insert(value) } else { entries[key] = [value] }
      }
    }

    private func bytes(_ random: inout SeededGenerator, _ sizes: ClosedRange<Int>) -> [UInt8] {
      let size = sizes.lowerBound + random.below(sizes.count)
      // Few values of the first bytes, so that keys are neighbours and repeat.
      return (0..<size).map { $0 < size - 2 ? UInt8(random.below(3)) : UInt8(random.below(256)) }
    }

    func check(
      _ trees: MappedTrees, _ random: inout SeededGenerator, in transaction: LMDBTransaction,
      _ text: String
    ) throws {
      let tree = try #require(
        trees.tree(of: database, in: transaction, isOften: true), "\(text)")
      let others = (0..<50).map { _ in bytes(&random, sizes) } + [[0xFF], [0]]
      for key in Array(entries.keys) + others {
        let wanted = entries[key] ?? []
        try key.withUnsafeBytes { key in
          let found = try trees.get(key, from: database, in: transaction).map { [UInt8]($0) }
          #expect(found == wanted.min { $0.lexicographicallyPrecedes($1) }, "\(text)")
          var value: UnsafeRawBufferPointer?
          if entries.isEmpty || !sizes.contains(key.count) { return }
          #expect(tree.count(of: key) == wanted.count, "\(text)")
          #expect(tree.find(key, &value) == (wanted.count < 2), "\(text)")
        }
      }
    }
  }

  private func models(of environment: LMDBEnvironment) throws -> [Model] {
    [
      Model(database: try environment.database("words"), sizes: 8...8, isIndex: false),
      Model(database: try environment.database("pairs"), sizes: 16...16, isIndex: false),
      Model(database: try environment.database("texts"), sizes: 1...30, isIndex: false),
      Model(
        database: try environment.database("index", [.duplicates, .fixedDuplicates]),
        sizes: 2...12, isIndex: true),
    ]
  }

  @Test("They find what is there and nothing else, state after state", arguments: 0..<4)
  func model(seed: Int) throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small())
    defer { environment.close() }
    var random = SeededGenerator(seed: UInt64(seed) + 500)
    var models = try models(of: environment)
    // Two contexts that do not read each state.
    let contexts = [MappedTrees(environment), MappedTrees(environment)]
    for round in 0..<40 {
      let before = models
      try environment.write { transaction in
        // It may run again in a larger map.
        models = before
        var again = SeededGenerator(seed: UInt64(seed * 1_000 + round))
        for place in models.indices where round % 3 != place {
          try models[place].change(&again, in: transaction)
        }
      }
      let trees = contexts[random.below(2)]
      for _ in 0..<2 {
        try environment.read { transaction in
          trees.begin()
          for model in models {
            try model.check(trees, &random, in: transaction, "seed \(seed), round \(round)")
          }
        }
      }
    }
    #expect(environment.map.bytes > 1 << 20)
  }

  /// The map moves, but no commit follows: the state is the same, and everything in it elsewhere.
  @Test("After the map has moved, they read the new one")
  func moved() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small())
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.write { transaction in
      for number in UInt64(0)..<500 { try database.put(number, number, in: transaction) }
    }
    let trees = MappedTrees(environment)
    func find(_ number: UInt64) throws -> (value: UInt64?, state: UInt64) {
      try environment.read { transaction in
        trees.begin()
        let tree = try #require(trees.tree(of: database, in: transaction, isOften: true))
        var value: UnsafeRawBufferPointer?
        let isKnown = withUnsafeBytes(of: number.bigEndian) { tree.find($0, &value) }
        #expect(isKnown)
        return (value.map { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) }, transaction.id)
      }
    }
    let first = try find(77)
    #expect(first.value == 77)
    struct Undone: Error {}
    for round in 0..<4 {
      let size = environment.map.bytes
      #expect(throws: Undone.self) {
        try environment.write { transaction in
          let end = UInt64(20_000) << UInt64(round)
          for number in UInt64(1_000)..<end { try database.put(number, 1, in: transaction) }
          throw Undone()
        }
      }
      #expect(environment.map.bytes > size)
      let next = try find(77)
      #expect(next.value == 77 && next.state == first.state)
      #expect(try find(1_001).value == nil)
    }
  }

  @Test("The first search in a state is LMDB's, and later ones are not")
  func worth() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    let trees = MappedTrees(environment)
    for state in UInt64(0)..<3 {
      try environment.write { try database.put(state, state, in: $0) }
      for read in 0..<3 {
        try environment.read { transaction in
          trees.begin()
          let isMade = trees.tree(of: database, in: transaction, isOften: false) != nil
          #expect(isMade == (read > 0))
        }
      }
    }
  }
}

extension MappedTreesTests {
  /// Changes the file below the map, as a damaged disk or another program does.
  private func change<T>(_ path: String, at offset: UInt64, to value: T) throws {
    let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
    defer { try? file.close() }
    try file.seek(toOffset: offset)
    try file.write(contentsOf: withUnsafeBytes(of: value) { Data($0) })
  }

  private func newestHeader(_ path: String) throws -> MetaPage {
    let pair = try #require(try MetaPage.readPair(PageFile(path: path)))
    return [pair.first, pair.second].compactMap { $0 }.max { $0.transaction < $1.transaction }!
  }

  @Test("A damaged page number does not move the map: LMDB is asked", arguments: [false, true])
  func movedByDamage(isKnown: Bool) throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    let other = try environment.database("b")
    try environment.write { transaction in
      for number in UInt64(0)..<9_000 { try database.put(number, number, in: transaction) }
      try other.put(1, 1, in: transaction)
    }
    let trees = MappedTrees(environment)
    func find() throws -> (isMapped: Bool, value: UInt64?) {
      try environment.read { transaction in
        trees.begin()
        let isMapped = trees.tree(of: database, in: transaction, isOften: true) != nil
        let value = try withUnsafeBytes(of: UInt64(77).bigEndian) {
          try trees.get($0, from: database, in: transaction)
        }
        return (isMapped, value.map { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) })
      }
    }
    if isKnown { #expect(try find() == (true, 77)) }
    // The main tree is one leaf. It says the highest number that is possible, so that its map would begin far
    // before the real one.
    let header = try newestHeader(scratch.store)
    #expect(header.main.depth == 1 && header.lastPage > header.main.root)
    try change(
      scratch.store, at: header.main.root * UInt64(header.pageSize), to: header.lastPage)
    let again = MappedTrees(environment)
    for trees in [again, MappedTrees(environment)] {
      try environment.read { transaction in
        trees.begin()
        #expect(trees.tree(of: database, in: transaction, isOften: true) == nil)
        let value = try withUnsafeBytes(of: UInt64(77).bigEndian) {
          try trees.get($0, from: database, in: transaction)
        }
        #expect(value.map { UInt64(bigEndian: $0.loadUnaligned(as: UInt64.self)) } == 77)
      }
    }
  }

  /// While a commit flushes its header, others read: the header is in the file, and its number is not told yet.
  @Test("A tree stays known while the next commit flushes its header")
  func headerAhead() throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .quick)
    defer { environment.close() }
    let database = try environment.database("a")
    try environment.write { try database.put(1, 1, in: $0) }
    let trees = MappedTrees(environment)
    func read() throws -> (id: UInt64, isMapped: Bool) {
      try environment.read { transaction in
        trees.begin()
        return (transaction.id, trees.tree(of: database, in: transaction, isOften: false) != nil)
      }
    }
    _ = try read()
    let before = try read()
    #expect(before.isMapped)
    // As a commit does, up to the moment before it tells the number.
    let header = try newestHeader(scratch.store)
    let slot = 1 - UInt64(header.slot)
    try change(
      scratch.store, at: slot * UInt64(header.pageSize) + UInt64(PageLayout.transactionOffset),
      to: header.transaction + 1)
    for _ in 0..<3 { #expect(try read() == before) }
  }
}

extension SeededGenerator {
  fileprivate mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }

  fileprivate mutating func chance(_ part: Int, in whole: Int) -> Bool { below(whole) < part }
}
