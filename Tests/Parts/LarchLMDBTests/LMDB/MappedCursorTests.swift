import LarchTestSupport
import Testing

@testable import Larch

/// A cursor on the mapped pages gives the keys and values that a model has, in both directions; searches for
/// several keys at once find what is there.
@Suite("Cursors and searches for several keys on the mapped pages")
struct MappedCursorTests {
  /// A tree, in which keys of an index have one id, several, or so many that they have their own tree.
  private struct Model {
    let database: LMDBDatabase
    let keySize: ClosedRange<Int>
    /// Nil for a tree that is no index.
    let idSize: Int?
    var entries: [[UInt8]: Set<[UInt8]>] = [:]
    /// The same in the order of the tree, once it is filled.
    private(set) var keys: [[UInt8]] = []
    private(set) var sorted: [[UInt8]: [[UInt8]]] = [:]

    mutating func fill(
      _ random: inout SeededGenerator, _ count: Int, in transaction: LMDBTransaction
    ) throws {
      for _ in 0..<count {
        let key = random.bytes(keySize)
        let values =
          idSize.map { size in
            (0..<random.pick([1, 1, 1, 3, 60, 900])).map { _ in random.bytes(size...size) }
          } ?? [random.value(upTo: random.pick([40, 40, 5_000]))]
        for value in values {
          _ = try key.withUnsafeBytes { key in
            try value.withUnsafeBytes { try database.put(key, $0, in: transaction) }
          }
          if idSize == nil {
            entries[key] = [value]
          } else {
            entries[key, default: []].insert(value)
          }
        }
      }
      keys = entries.keys.sorted { $0.lexicographicallyPrecedes($1) }
      sorted = entries.mapValues { $0.sorted { $0.lexicographicallyPrecedes($1) } }
    }
  }

  private func withModels(
    _ seed: Int, _ body: (Model, MappedTree, inout SeededGenerator) throws -> Void
  ) throws {
    let scratch = try ScratchDirectory()
    let environment = try LMDBEnvironment.open(path: scratch.store, options: .small())
    defer { environment.close() }
    let index: LMDBDatabase.Flags = [.duplicates, .fixedDuplicates]
    let empty = [
      Model(database: try environment.database("words"), keySize: 8...8, idSize: nil),
      Model(database: try environment.database("pairs"), keySize: 16...16, idSize: nil),
      Model(database: try environment.database("texts"), keySize: 1...30, idSize: nil),
      Model(database: try environment.database("index", index), keySize: 2...12, idSize: 8),
      Model(database: try environment.database("uuids", index), keySize: 8...8, idSize: 16),
      Model(database: try environment.database("empty"), keySize: 8...8, idSize: nil),
    ]
    var models = empty
    // Trees of one leaf, of two levels and of three.
    let count = [1, 30, 400, 4_000][seed % 4]
    try environment.write { transaction in
      models = empty
      var random = SeededGenerator(seed: UInt64(seed))
      for place in models.indices.dropLast() {
        let part = models[place].idSize == nil ? count : min(count, 300)
        try models[place].fill(&random, part, in: transaction)
      }
    }
    var random = SeededGenerator(seed: UInt64(seed) + 900)
    let trees = MappedTrees(environment)
    try environment.read { transaction in
      trees.begin()
      for model in models {
        let tree = try #require(
          trees.tree(of: model.database, in: transaction, isOften: true))
        try body(model, tree, &random)
      }
    }
  }

  private func check(_ cursor: MappedCursor, _ model: Model, _ key: [UInt8]) {
    #expect([UInt8](cursor.key) == key)
    guard model.idSize != nil else {
      // Some have pages of their own.
      let value = cursor.value.map { [UInt8]($0) }
      #expect(value != nil && value == model.entries[key]?.first)
      return
    }
    let wanted = model.sorted[key] ?? []
    switch cursor.values {
    case .one(let id): #expect(wanted == [[UInt8](id)])
    case .run(let bytes, let width):
      #expect(width == model.idSize && [UInt8](bytes) == wanted.flatMap { $0 })
    case .other: #expect(wanted.count > 60)
    }
  }

  @Test("All keys come in order, forwards and backwards", arguments: 0..<4)
  func order(seed: Int) throws {
    try withModels(seed) { model, tree, _ in
      let keys = model.keys
      var cursor = MappedCursor(tree)
      // It is at no key yet.
      #expect(cursor.next() == .end && cursor.previous() == .end)
      var move = cursor.first()
      for key in keys {
        #expect(move == .found)
        check(cursor, model, key)
        move = cursor.next()
      }
      #expect(move == .end)
      move = cursor.last()
      for key in keys.reversed() {
        #expect(move == .found)
        check(cursor, model, key)
        move = cursor.previous()
      }
      #expect(move == .end)
    }
  }

  @Test("A seek arrives at the next key, and goes on in both directions", arguments: 0..<4)
  func seek(seed: Int) throws {
    try withModels(seed) { model, tree, random in
      let keys = model.keys
      var cursor = MappedCursor(tree)
      for _ in 0..<300 {
        let near = keys.isEmpty ? [7] : random.pick(keys)
        let wanted = random.pick([
          near, near + [0], [UInt8](near.dropLast()) + [255], random.bytes(1...20), [0], [255],
        ])
        var place = keys.firstIndex { !$0.lexicographicallyPrecedes(wanted) } ?? keys.count
        let before = wanted.withUnsafeBytes { cursor.seek(before: $0) }
        #expect(before == (place > 0 ? .found : .end))
        if place > 0 { check(cursor, model, keys[place - 1]) }
        let move = wanted.withUnsafeBytes { cursor.seek(atOrAfter: $0) }
        guard place < keys.count else {
          #expect(move == .end)
          continue
        }
        #expect(move == .found)
        check(cursor, model, keys[place])
        let isNext = random.pick([true, false])
        for _ in 0..<random.below(60) {
          place += isNext ? 1 : -1
          guard keys.indices.contains(place) else {
            #expect((isNext ? cursor.next() : cursor.previous()) == .end)
            break
          }
          #expect((isNext ? cursor.next() : cursor.previous()) == .found)
          check(cursor, model, keys[place])
        }
      }
    }
  }

  @Test("Steps in both directions by turns, over the ends of leaves", arguments: 0..<4)
  func turns(seed: Int) throws {
    try withModels(seed) { model, tree, random in
      let keys = model.keys
      guard !keys.isEmpty else { return }
      var cursor = MappedCursor(tree)
      var place = random.below(keys.count)
      #expect(keys[place].withUnsafeBytes { cursor.seek(atOrAfter: $0) } == .found)
      var isNext = true
      for _ in 0..<2_000 {
        if random.below(10) == 0 { isNext.toggle() }
        let wanted = place + (isNext ? 1 : -1)
        guard keys.indices.contains(wanted) else {
          isNext.toggle()
          continue
        }
        place = wanted
        if isNext, model.idSize == nil, random.below(2) == 0 {
          guard case .entry(let key, let value) = cursor.nextEntry() else {
            Issue.record("no entry at \(place)")
            return
          }
          #expect([UInt8](key) == keys[place])
          #expect([UInt8](value) == model.entries[keys[place]]?.first)
        } else {
          #expect((isNext ? cursor.next() : cursor.previous()) == .found)
        }
        check(cursor, model, keys[place])
      }
    }
  }

  @Test("The entries of a tree of records come one after the other", arguments: 0..<4)
  func entries(seed: Int) throws {
    try withModels(seed) { model, tree, _ in
      guard model.idSize == nil else { return }
      var cursor = MappedCursor(tree)
      var found: [[UInt8]] = []
      if cursor.first() == .found { found.append([UInt8](cursor.key)) }
      while case .entry(let key, let value) = cursor.nextEntry() {
        #expect([UInt8](value) == model.entries[[UInt8](key)]?.first)
        found.append([UInt8](key))
      }
      #expect(found == model.keys)
      guard case .end = cursor.nextEntry() else {
        Issue.record("an entry after the last one")
        return
      }
    }
  }

  @Test("Several keys at once are found, and no others", arguments: 0..<4)
  func several(seed: Int) throws {
    try withModels(seed) { model, tree, random in
      guard model.idSize == nil, model.keySize.count == 1 else { return }
      let width = model.keySize.lowerBound
      #expect(MappedTree.findsAtOnce(width))
      let keys = model.keys
      for round in 0..<60 {
        var wanted = (0..<(1 + random.below(MappedTree.keysAtOnce))).map { _ in
          keys.isEmpty || random.below(4) == 0 ? random.bytes(width...width) : random.pick(keys)
        }
        if round % 2 == 0 { wanted.sort { $0.lexicographicallyPrecedes($1) } }
        var values = [UnsafeRawBufferPointer](
          repeating: UnsafeRawBufferPointer(start: UnsafeRawPointer(bitPattern: 7), count: 7),
          count: wanted.count)
        wanted.flatMap { $0 }.withUnsafeBytes { bytes in
          tree.find(bytes.baseAddress!, width: width, count: wanted.count, &values)
        }
        for (key, value) in zip(wanted, values) {
          guard let known = model.entries[key]?.first else {
            #expect(value.baseAddress == nil)
            continue
          }
          #expect(value.baseAddress != nil && [UInt8](value) == known)
        }
      }
    }
  }
}

extension SeededGenerator {
  fileprivate mutating func below(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self) }

  fileprivate mutating func pick<T>(_ list: [T]) -> T { list[below(list.count)] }

  /// Its end is of one byte, since a million random ones take seconds.
  fileprivate mutating func value(upTo size: Int) -> [UInt8] {
    let size = below(size + 1)
    let random = min(size, 16)
    return bytes(random...random)
      + [UInt8](repeating: UInt8(below(256)), count: size - random)
  }

  /// Few values of the first bytes, so that keys are neighbours.
  fileprivate mutating func bytes(_ sizes: ClosedRange<Int>) -> [UInt8] {
    let size = sizes.lowerBound + below(sizes.count)
    return (0..<size).map { $0 < size - 3 ? UInt8(below(3)) : UInt8(below(256)) }
  }
}
