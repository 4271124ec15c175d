import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A database that changes at random, and states of it that stay readable.
private final class ChangingTree {
  struct State {
    let roots: TreeRoots
    let held: LMDBHeldRead
    let entries: [StoredChange]
  }

  static let name = "records"

  private let scratch: ScratchDirectory
  let environment: LMDBEnvironment
  let database: LMDBDatabase
  var random: SeededGenerator
  /// The longest key; 0 for numbers.
  private let keySize: Int

  init(seed: UInt64, keySize: Int = 0) throws {
    scratch = try ScratchDirectory()
    var options = LMDBEnvironment.Options.quick
    options.reservedMapSize = 1 << 30
    environment = try LMDBEnvironment.open(path: scratch.store, options: options)
    database = try environment.database(Self.name)
    // The header of this one is between those of others, as in a store.
    for number in 0..<5 { _ = try environment.database("other \(number)") }
    random = SeededGenerator(seed: seed)
    self.keySize = keySize
  }

  func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &random) }

  func key(_ number: Int) -> [UInt8] {
    if keySize == 0 { return SampleFile.key(number) }
    // Of any length, and with long beginnings that many have.
    let size = number &* 7919 % keySize
    return [UInt8](repeating: UInt8(97 + number % 5), count: size) + SampleFile.key(number)
  }

  private func value(_ size: Int) -> [UInt8] {
    var value = [UInt8](repeating: UInt8(below(256)), count: size)
    if size > 0 { value[below(size)] = UInt8(below(256)) }
    return value
  }

  /// Sizes of values that fit a leaf, or need pages of their own.
  private func size() -> Int {
    switch below(40) {
    case 0: 2_000 + below(20_000)
    case 1: 0
    case 2: 1_500 + below(500)
    default: below(120)
    }
  }

  func put(_ number: Int, _ value: [UInt8], _ transaction: LMDBTransaction) throws {
    try key(number).withUnsafeBytes { key in
      _ = try value.withUnsafeBytes { try database.put(key, $0, in: transaction) }
    }
  }

  /// One commit of up to so many changes among keys below a limit.
  func change(upTo count: Int, keys: Int) throws {
    try environment.write { transaction in
      let changes = 1 + below(count)
      switch below(12) {
      case 0: if below(4) == 0 { try database.empty(in: transaction) }
      case 1:
        // A part is deleted, so that pages are merged.
        let start = below(keys)
        for number in start..<min(keys, start + changes) { try delete(number, transaction) }
      case 2, 3:
        // A part is filled in order.
        let start = below(keys)
        for number in start..<min(keys, start + changes) {
          try put(number, value(below(100)), transaction)
        }
      case 4:
        // Nothing changes, but the pages do.
        for _ in 0..<changes {
          let key = self.key(below(keys))
          let same = try key.withUnsafeBytes {
            try database.get($0, in: transaction).map { [UInt8]($0) }
          }
          guard let same else { continue }
          try key.withUnsafeBytes { key in
            _ = try database.delete(key, in: transaction)
            _ = try same.withUnsafeBytes { try database.put(key, $0, in: transaction) }
          }
        }
      default:
        for _ in 0..<changes {
          let number = below(keys)
          if below(3) == 0 {
            try delete(number, transaction)
          } else {
            try put(number, value(size()), transaction)
          }
        }
      }
    }
  }

  private func delete(_ number: Int, _ transaction: LMDBTransaction) throws {
    _ = try key(number).withUnsafeBytes { try database.delete($0, in: transaction) }
  }

  /// The state of now.
  func state() throws -> State {
    let reader = try environment.beginRead()
    var entries: [StoredChange] = []
    var cursor = try LMDBCursor(database, in: reader.transaction)
    var entry = try cursor.first()
    while let here = entry {
      entries.append(
        StoredChange(id: [UInt8](here.key), before: nil, after: [UInt8](here.value)))
      entry = try cursor.next()
    }
    let roots = try environment.treeNames.withLock { try TreeRoots(of: $0, in: reader.transaction) }
    let held = environment.hold(reader, owner: ObjectIdentifier(self), deadline: nil)
    return State(roots: roots, held: held, entries: entries)
  }

  func end(_ state: State) { environment.endHeldRead(state.held) }

  /// What the pages say has changed between two states, and the number of pages that were read.
  func found(
    _ old: State, _ new: State, _ limits: ChangeLog.Limits = .init(records: .max, bytes: 1 << 40)
  ) throws -> (changes: [StoredChange]?, pages: Int) {
    let transaction = try #require(try environment.beginUse(of: new.held, isBounded: false))
    _ = try environment.beginUse(of: old.held, isBounded: false)
    defer {
      environment.endUse(of: old.held)
      environment.endUse(of: new.held)
    }
    var changes = TreeChanges(since: old.roots, in: transaction, limits)
    return (changes.records(of: database.handle, named: Self.name), changes.pages)
  }

  func close() { environment.close() }
}

/// The difference of two lists of entries, by a plain walk.
private func difference(_ old: [StoredChange], _ new: [StoredChange]) -> [StoredChange] {
  var before: [[UInt8]: [UInt8]?] = [:]
  for entry in old { before[entry.id] = entry.after }
  var changes: [StoredChange] = []
  for entry in new {
    let known = before.removeValue(forKey: entry.id) ?? nil
    if known != entry.after {
      changes.append(StoredChange(id: entry.id, before: known, after: entry.after))
    }
  }
  for (id, value) in before { changes.append(StoredChange(id: id, before: value, after: nil)) }
  return changes.sorted { $0.id.lexicographicallyPrecedes($1.id) }
}

@Suite("The difference of two snapshots of a tree, by its pages")
struct TreeComparisonTests {
  private func withTree(
    seed: UInt64, keySize: Int = 0, _ body: (ChangingTree) throws -> Void
  ) throws {
    let tree = try ChangingTree(seed: seed, keySize: keySize)
    defer { tree.close() }
    try body(tree)
  }

  @Test(
    "it is the difference of a walk of both, whatever was changed in between",
    arguments: [(1, 0, 3000), (2, 0, 400), (3, 60, 2000), (4, 400, 600), (5, 0, 5000), (6, 12, 40)])
  func random(seed: Int, keySize: Int, keys: Int) throws {
    try withTree(seed: UInt64(seed), keySize: keySize) { tree in
      var old = try tree.state()
      var changes = 0
      for round in 0..<50 {
        let comment: Comment = "seed \(seed), round \(round)"
        let limit = [1, 5, 50, 500, 5_000][tree.below(5)]
        for _ in 0...[0, 0, 1, 4][tree.below(4)] { try tree.change(upTo: limit, keys: keys) }
        let new = try tree.state()
        let known = difference(old.entries, new.entries)
        #expect(try tree.found(old, new).changes == known, comment)
        // Backwards too: what was inserted is deleted.
        let back = try #require(try tree.found(new, old).changes)
        #expect(back.map(\.id) == known.map(\.id), comment)
        #expect(back.map(\.before) == known.map(\.after), comment)
        changes += known.count
        tree.end(old)
        old = new
      }
      #expect(changes > 500)
      tree.end(old)
    }
  }

  @Test("one change costs the pages of its paths, and another depth costs no more than that")
  func cost() throws {
    try withTree(seed: 1) { tree in
      func fill(_ range: Range<Int>) throws {
        try tree.environment.write { transaction in
          for number in range {
            try tree.put(number * 2, [UInt8](repeating: 1, count: 60), transaction)
          }
        }
      }
      try fill(0..<30_000)
      var old = try tree.state()
      let record = try #require(old.roots.record(of: tree.database.handle))
      let depth = try #require(record).depth
      #expect(depth == 3)
      for number in [0, 1, 2, 29_999, 30_001, 59_998, 60_001, 77_777] {
        try tree.environment.write { try tree.put(number, [9], $0) }
        let new = try tree.state()
        let (changes, pages) = try tree.found(old, new)
        #expect(changes == difference(old.entries, new.entries))
        // A split adds a page, and a leaf that follows it.
        #expect(pages <= 2 * depth + 3)
        tree.end(old)
        old = new
      }
      // Nothing has changed.
      #expect(try tree.found(old, old) == ([], 0))
      tree.end(old)
    }
  }

  @Test("trees that are empty, become empty, or grow from nothing")
  func empty() throws {
    try withTree(seed: 2) { tree in
      let none = try tree.state()
      try tree.environment.write { transaction in
        for number in 0..<5_000 { try tree.put(number, [1, 2], transaction) }
      }
      let full = try tree.state()
      try tree.environment.write { try tree.database.empty(in: $0) }
      let emptied = try tree.state()
      #expect(try tree.found(none, full).changes == full.entries)
      #expect(
        try tree.found(full, emptied).changes
          == full.entries.map { StoredChange(id: $0.id, before: $0.after, after: nil) })
      #expect(try tree.found(none, emptied) == ([], 0))
      for state in [none, full, emptied] { tree.end(state) }
    }
  }

  @Test("a tree that did not exist has only new entries, and an unknown one no answer")
  func names() throws {
    try withTree(seed: 3) { tree in
      let handle = tree.database.handle
      let absent = try tree.environment.read { try TreeRoots(of: [handle: "absent"], in: $0) }
      try tree.environment.write { try tree.put(1, [1], $0) }
      let new = try tree.state()
      defer { tree.end(new) }
      let transaction = try #require(try tree.environment.beginUse(of: new.held, isBounded: false))
      defer { tree.environment.endUse(of: new.held) }
      var changes = TreeChanges(since: absent, in: transaction, .init())
      #expect(changes.records(of: handle, named: ChangingTree.name) == new.entries)
      #expect(changes.records(of: handle, named: "absent") == nil)
      #expect(changes.records(of: handle + 1, named: ChangingTree.name) == nil)
    }
  }

  @Test("more than the limits is no answer, and costs no more than they do")
  func limits() throws {
    try withTree(seed: 4) { tree in
      let old = try tree.state()
      try tree.environment.write { transaction in
        for number in 0..<20_000 {
          try tree.put(number, [UInt8](repeating: 7, count: 100), transaction)
        }
      }
      let new = try tree.state()
      #expect(
        try tree.found(old, new, .init(records: 20_000, bytes: 4 << 20)).changes?.count == 20_000)
      let (many, pages) = try tree.found(old, new, .init(records: 10_000, bytes: 4 << 20))
      #expect(many == nil)
      #expect(pages < 400)
      // The new values are twice as many bytes as a log keeps of the old ones.
      #expect(try tree.found(old, new, .init(records: 20_000, bytes: 1_000_000)).changes == nil)
      // The old ones count by themselves.
      #expect(try tree.found(new, old, .init(records: 20_000, bytes: 1_500_000)).changes == nil)
      #expect(try tree.found(new, old, .init(records: 20_000, bytes: 2_500_000)).changes != nil)
      tree.end(old)
      tree.end(new)
    }
  }

  @Test("an index has no answer, since its keys have several values")
  func index() throws {
    try withTree(seed: 5) { tree in
      let index = try tree.environment.database("index", [.duplicates, .fixedDuplicates])
      func put(_ number: Int) throws {
        try tree.environment.write { transaction in
          try [UInt8(1)].withUnsafeBytes { key in
            _ = try tree.key(number).withUnsafeBytes { try index.put(key, $0, in: transaction) }
          }
        }
      }
      try put(1)
      let old = try tree.state()
      try put(2)
      let new = try tree.state()
      let transaction = try #require(try tree.environment.beginUse(of: new.held, isBounded: false))
      var changes = TreeChanges(since: old.roots, in: transaction, .init())
      #expect(changes.records(of: index.handle, named: "index") == nil)
      tree.environment.endUse(of: new.held)
      tree.end(old)
      tree.end(new)
    }
  }

  @Test("damaged pages lead to any entries, or to an error", arguments: 0..<6)
  func damaged(seed: UInt64) throws {
    try ChildProgram.withDirectory { directory in
      let path = directory + "/a.larch"
      _ = try SampleFile(path: path)
      let file = try MappedFile(path: path)
      var random = SeededGenerator(seed: seed)
      let whole = [UInt8](file.memory)
      let headers = file.headers(named: "records") + file.headers(named: "index")
      var (refused, sum) = (0, 0)
      for _ in 0..<100 {
        file.memory.copyBytes(from: whole)
        for _ in 0...Int.random(in: 0..<30, using: &random) {
          let page =
            Int.random(in: 0..<(whole.count / file.pageSize), using: &random) * file.pageSize
          let isHeader = Bool.random(using: &random)
          let place = page + Int.random(in: 0..<(isHeader ? 64 : file.pageSize), using: &random)
          file.memory[place] = UInt8(truncatingIfNeeded: random.next())
        }
        let trees = headers.compactMap(file.tree(at:))
        for old in trees {
          for new in trees + [old.with(.empty)] {
            do {
              var comparison = try TreeComparison(old, new, pages: 500)
              var last: [UInt8] = []
              _ = try comparison.forEachChange { key, before, after in
                // Every byte is readable, and each key comes once.
                sum += [before, after].reduce(0) { $0 + ($1.map { [UInt8]($0).count } ?? 0) }
                let key = [UInt8](key)
                #expect(last.lexicographicallyPrecedes(key))
                last = key
                return true
              }
            } catch {
              refused += 1
            }
          }
        }
      }
      #expect(refused > 0 && sum != 0)
    }
  }
}
