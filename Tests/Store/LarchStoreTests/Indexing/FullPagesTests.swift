import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// What is written in order fills its pages, and is the same as what is written in any order.
@Suite("Full pages")
struct FullPagesTests {
  struct Visit: Record, Equatable {
    var id: UUID
    var at: Int
    var place: String
    var mark: String?

    static let schema = Schema<Visit> {
      Index(\.at)
      Index(\.place)
      Unique(\.mark)
    }

    init(_ number: Int, _ random: inout SeededGenerator) {
      let bytes = [random.next(), random.next()]
      id = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
      at = Int(truncatingIfNeeded: random.next() >> 20)
      place = "place \(random.below(40))"
      // Longer than what a key holds, so that records must be read to compare it.
      let length = random.below(6) == 0 ? 200 : 1
      mark = random.below(4) == 0 ? nil : String(repeating: "m", count: length) + "\(number)"
    }
  }

  struct Plain: Record {
    var id: UUID
    var at: Int
    static let collectionName = "Visit"
  }

  /// Every pair of the trees of the collection.
  private func pairs(_ store: Store) throws -> [[[UInt8]]] {
    try store.read { tx throws in
      let collection = try tx.context.collection(of: Visit.self)
      return try ([collection.records] + collection.indexes.map(\.database)).map { tree in
        var cursor = try LMDBCursor(tree, in: try tx.live())
        var pairs: [[UInt8]] = []
        while let here = try cursor.next() { pairs.append(Array(here.key) + Array(here.value)) }
        return pairs
      }
    }
  }

  private func visits(_ count: Int, _ random: inout SeededGenerator) -> [Visit] {
    (0..<count).map { Visit($0, &random) }
  }

  @Test(
    "Trees filled at once have the pairs of trees filled one by one",
    arguments: [(0, 31), (0, 33), (0, 70), (10, 400), (400, 150), (150, 400), (900, 1000)])
  func equalTrees(before: Int, count: Int) throws {
    var random = SeededGenerator(seed: UInt64(before * 10_000 + count))
    let all = visits(before + count, &random)
    let single = try Store.temporary(for: Visit.self)
    for visit in all {
      try single.write { tx throws in
        var visit = visit
        try tx.insert(&visit)
      }
    }
    let bulk = try Store.temporary(for: Visit.self)
    try bulk.saveAll(Array(all[..<before]))
    try bulk.write { tx throws in
      for var visit in all[before...] { try tx.insert(&visit) }
    }
    #expect(try pairs(single) == pairs(bulk))
    #expect(try bulk.verify().isClean)
  }

  @Test("While records are held back, every read and write of the transaction sees them")
  func heldRecordsAreSeen() throws {
    for seed in 1...UInt64(30) {
      var random = SeededGenerator(seed: seed)
      let store = try Store.temporary(for: Visit.self)
      var model: [UUID: Visit] = [:]
      var number = 0
      for _ in 0..<3 {
        try store.write { tx throws in
          for _ in 0..<8 {
            for _ in 0..<(20 + random.below(60)) {
              number += 1
              var visit = Visit(number, &random)
              if random.below(2) == 0 { try tx.insert(&visit) } else { try tx.save(&visit) }
              model[visit.id] = visit
            }
            try check(tx, &model, &number, &random, "seed \(seed)")
          }
        }
        #expect(try store.everything(Visit.self).count == model.count, "seed \(seed)")
      }
      #expect(try store.verify().isClean, "seed \(seed)")
    }
  }

  private func check(
    _ tx: WriteTransaction, _ model: inout [UUID: Visit], _ number: inout Int,
    _ random: inout SeededGenerator, _ comment: Comment
  ) throws {
    let some = try #require(model.values.min { $0.at < $1.at && $0.id != $1.id })
    switch random.below(12) {
    case 0: #expect(try tx.find(Visit.self, some.id) == some, comment)
    case 1: #expect(try tx.count(Visit.all) == model.count, comment)
    case 2:
      let found = try tx.fetch(Visit.where { $0.place == some.place })
      #expect(found.count == model.values.filter { $0.place == some.place }.count, comment)
    case 3:
      let sorted = try tx.fetch(Visit.all.sorted(by: \.at)).map(\.at)
      #expect(sorted == model.values.map(\.at).sorted(), comment)
    case 4:
      var changed = some
      changed.place = "another place"
      try tx.update(changed)
      model[some.id] = changed
    case 5:
      #expect(try tx.delete(Visit.self, some.id), comment)
      model[some.id] = nil
    case 6:
      var again = some
      again.at += 1
      #expect(caught { try tx.insert(&again) }?.code == .idExists, comment)
      again.mark = nil
      try tx.save(&again)
      model[some.id] = again
    case 7:
      number += 1
      var double = Visit(number, &random)
      guard let taken = model.values.first(where: { $0.mark != nil })?.mark else { return }
      double.mark = taken
      #expect(caught { try tx.insert(&double) }?.code == .uniqueConflict, comment)
    case 8:
      struct Undone: Error {}
      let count = 40 + random.below(40)
      do {
        try tx.savepoint {
          for _ in 0..<count {
            number += 1
            var visit = Visit(number, &random)
            try tx.insert(&visit)
          }
          throw Undone()
        }
      } catch is Undone {}
    case 9:
      let count = 40 + random.below(40)
      try tx.savepoint {
        for _ in 0..<count {
          number += 1
          var visit = Visit(number, &random)
          try tx.insert(&visit)
          model[visit.id] = visit
        }
      }
    case 10:
      // Inserts during a sequence: those before its end are visited too, or were passed.
      var seen: Set<UUID> = []
      let before = Set(model.keys)
      for visit in try tx.all(Visit.self) {
        #expect(model[visit.id] == visit, comment)
        seen.insert(visit.id)
        if seen.count > 100 { continue }
        number += 1
        var visit = Visit(number, &random)
        try tx.insert(&visit)
        model[visit.id] = visit
      }
      #expect(before.isSubset(of: seen), comment)
    default:
      number += 1
      let new = Visit(number, &random)
      #expect(try !tx.exists(Visit.self, new.id), comment)
      #expect(try tx.exists(Visit.self, some.id), comment)
    }
  }

  @Test("A write that is undone leaves nothing held back for the next one")
  func undone() throws {
    struct Undone: Error {}
    var random = SeededGenerator(seed: 5)
    let store = try Store.temporary(for: Visit.self)
    let first = visits(100, &random)
    #expect(throws: Undone.self) {
      try store.write { tx throws in
        for var visit in first { try tx.insert(&visit) }
        throw Undone()
      }
    }
    #expect(try store.everything(Visit.self).isEmpty)
    let second = visits(100, &random)
    try store.saveAll(second)
    #expect(try Set(store.everything(Visit.self).map(\.id)) == Set(second.map(\.id)))
    #expect(try store.verify().isClean)
  }

  // MARK: Fill

  /// The part of the leaf pages that their entries need; for trees whose keys have one value.
  private func fills(_ store: Store) throws -> [String: Double] {
    try store.read { tx throws in
      let collection = try tx.context.collection(of: Visit.self)
      let trees =
        [("records", collection.records)] + collection.indexes.map { ($0.stored.name, $0.database) }
      var fills: [String: Double] = [:]
      for (name, tree) in trees where name != "place" {
        let statistics = try tree.statistics(in: try tx.live())
        var cursor = try LMDBCursor(tree, in: try tx.live())
        var bytes = 0
        // A node has a header of 8 bytes and begins at an even offset, which takes 2 bytes.
        while let here = try cursor.next() {
          bytes += 10 + (here.key.count + here.value.count + 1) & ~1
        }
        fills[name] = Double(bytes) / Double(statistics.leafPages * (statistics.pageSize - 16))
      }
      return fills
    }
  }

  private func expectFull(_ store: Store, _ comment: Comment) throws {
    for (name, fill) in try fills(store) { #expect(fill >= 0.9, "\(name): \(comment)") }
    #expect(try store.verify().isClean, comment)
  }

  private func marked(_ count: Int, _ random: inout SeededGenerator) -> [Visit] {
    (0..<count).map { number in
      var visit = Visit(number, &random)
      visit.mark = "\(number % 7) mark \(number)"
      return visit
    }
  }

  @Test("A load of random ids in one write fills nine tenths of the pages, also beside records")
  func randomLoad() throws {
    var random = SeededGenerator(seed: 9)
    for before in [0, 1, 1_500] {
      let store = try Store.temporary(for: Visit.self)
      let all = marked(before + 6_000, &random)
      try store.saveAll(Array(all[..<before]))
      try store.saveAll(Array(all[before...]))
      try expectFull(store, "\(before) before")
    }
  }

  @Test("Beside an observer of one record, a load fills the pages of the indexes too")
  func observedLoad() async throws {
    var random = SeededGenerator(seed: 13)
    let store = try Store.temporary(for: Visit.self)
    let all = marked(7_500, &random)
    try store.saveAll(Array(all[..<1_500]))
    let token = store.observe(Visit.self, all[0].id) { _ in }
    await token.settled()
    try store.saveAll(Array(all[1_500...]))
    for (name, fill) in try fills(store) where name != "records" {
      #expect(fill >= 0.9, "\(name)")
    }
    #expect(try await store.verify().isClean)
    #expect(try store.count(Visit.all) == all.count)
    token.cancel()
  }

  @Test("An import, and inserts after a look at their ids, fill nine tenths of the pages")
  func importedPages() throws {
    var random = SeededGenerator(seed: 12)
    let all = marked(6_000, &random)
    let text = String(decoding: try JSONEncoder().encode(all), as: UTF8.self)
    let imported = try Store.temporary(for: Visit.self)
    try imported.importJSON(Visit.self, from: .text(text))
    try expectFull(imported, "imported")
    let inserted = try Store.temporary(for: Visit.self)
    try inserted.write { tx throws in
      for var visit in all where try !tx.exists(Visit.self, visit.id) { try tx.insert(&visit) }
    }
    try expectFull(inserted, "inserted")
    #expect(try pairs(imported) == pairs(inserted))
  }

  @Test("A load of ascending ids fills nine tenths of the pages, in one write and in many")
  func sequentialLoad() throws {
    var random = SeededGenerator(seed: 10)
    for size in [50, 6_000] {
      let store = try Store.temporary(for: Visit.self)
      let all = marked(6_000, &random).sorted { $0.id.uuidString < $1.id.uuidString }
      for start in stride(from: 0, to: all.count, by: size) {
        try store.saveAll(Array(all[start..<start + size]))
      }
      let fill = try #require(try fills(store)["records"])
      #expect(fill >= 0.9, "\(size) a write")
    }
  }

  @Test("A new index, and a rebuilt one, fills nine tenths of its pages", arguments: [2_000, nil])
  func builtIndex(batch: Int?) throws {
    var random = SeededGenerator(seed: 11)
    let all = marked(6_000, &random)
    try withScratchPath { path throws in
      let options = Store.Options.quick.with { $0.indexBatchSize = batch }
      try Store.using(path, Plain.self) { store throws in
        try store.saveAll(all.map { Plain(id: $0.id, at: $0.at) })
      }
      struct Late: Record {
        var id: UUID
        var at: Int
        static let collectionName = "Visit"
        static let schema = Schema<Late> { Index(\.at) }
      }
      try Store.using(path, Late.self, options: options) { store throws in
        for isRebuilt in [false, true] {
          if isRebuilt { try store.rebuild() }
          let tree = try #require(try store.statistics().collections.first?.indexes.first?.tree)
          // A key and an id of 8 and 16 bytes, and 10 for the node.
          let least = Double(tree.entries * 34) / Double(tree.pageSize - 16)
          #expect(least / Double(tree.leafPages) >= 0.9, "rebuilt: \(isRebuilt)")
          #expect(try store.verify().isClean)
        }
      }
    }
  }
}
