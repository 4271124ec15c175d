import Foundation
import LarchTestSupport
import Synchronization
import Testing

@testable import Larch

/// Snapshots, look-ups by a field, read-only stores, incomplete indexes.
@Suite("Queries in snapshots and on incomplete stores")
struct QuerySnapshotTests {
  // MARK: find(by:)

  @Test("find(by:) agrees with the array, also in a write", arguments: OracleKind.allCases)
  func findBy(kind: OracleKind) throws { try Self.findBy(kind.indexes) }

  private static func findBy<K: OracleIndexes>(_ kind: K.Type) throws {
    typealias Thing = OracleThing<K>
    for seed in UInt64(0)..<4 {
      var random = SeededGenerator(seed: seed &+ 500)
      var made = (0..<30).map { _ in random.thing(K.self) }
      made[7].text = String(repeating: "\u{E9}x", count: 300)
      made[9].note = made[7].text
      let store = try Store.temporary(for: Thing.self)
      try store.write { tx throws in
        for place in made.indices {
          try tx.insert(&made[place])
          // Not written to the index yet.
          try expectFound(Array(made[...place]), tx, &random, "in a write, seed \(seed)")
        }
        for place in stride(from: 3, to: made.count, by: 5).reversed() {
          try tx.delete(made.remove(at: place))
          try expectFound(made, tx, &random, "in a write, seed \(seed)")
        }
      }
      try expectFound(made, store, &random, "seed \(seed)")
    }
  }

  private static func expectFound<K: OracleIndexes>(
    _ things: [OracleThing<K>], _ reading: some RecordReading, _ random: inout SeededGenerator,
    _ text: String
  ) throws {
    typealias Thing = OracleThing<K>
    typealias V = OracleValues
    let long = String(repeating: "e\u{301}x", count: 300)
    let wanted = random.chance(1, in: 8) ? long : random.pick(V.texts)
    let number = random.pick(V.numbers)
    let real = random.pick(V.reals)
    let day = random.pick(V.days)
    let version = OracleVersion(major: random.below(3), minor: random.below(3))
    let id = RecordID<Thing>(Int64(random.below(40)))
    func same(_ found: Thing?, _ matches: (Thing) -> Bool, _ name: String) {
      #expect(
        found?.fingerprint == things.first(where: matches)?.fingerprint, "\(name), \(text)")
    }
    same(try reading.find(by: \.text, equals: wanted), { $0.text == wanted }, "text")
    same(try reading.find(by: \.note, equals: wanted), { $0.note == wanted }, "note")
    same(try reading.find(by: \.note, equals: nil), { $0.note == nil }, "note nil")
    same(try reading.find(by: \.number, equals: number), { $0.number == number }, "number")
    same(try reading.find(by: \.maybe, equals: number), { $0.maybe == number }, "maybe")
    same(try reading.find(by: \.maybe, equals: nil), { $0.maybe == nil }, "maybe nil")
    same(try reading.find(by: \.real, equals: real), { $0.real == real }, "real \(real)")
    same(
      try reading.find(by: \.maybeReal, equals: real), { $0.maybeReal == real }, "maybeReal \(real)"
    )
    same(try reading.find(by: \.maybeReal, equals: nil), { $0.maybeReal == nil }, "maybeReal nil")
    same(try reading.find(by: \.flag, equals: true), { $0.flag }, "flag")
    same(try reading.find(by: \.day, equals: day), { $0.day == day }, "day")
    same(try reading.find(by: \.blob, equals: V.blobs[7]), { $0.blob == V.blobs[7] }, "blob")
    same(try reading.find(by: \.key, equals: V.keys[2]), { $0.key == V.keys[2] }, "key")
    same(try reading.find(by: \.grade, equals: .silver), { $0.grade == .silver }, "grade")
    same(try reading.find(by: \.version, equals: version), { $0.version == version }, "version")
    same(try reading.find(by: \.length, equals: 1), { $0.length == 1 }, "length")
    same(try reading.find(by: \.place.city, equals: "Oslo"), { $0.place.city == "Oslo" }, "city")
    same(
      try reading.find(by: \.place.city, equals: "Malm\u{F6}"), { $0.place.city == "Malm\u{F6}" },
      "ö")
    same(
      try reading.find(by: \.extra?.zip, equals: number), { $0.extra?.zip == number }, "extra.zip")
    same(try reading.find(by: \.extra?.zip, equals: nil), { $0.extra?.zip == nil }, "extra.zip nil")
    same(try reading.find(by: \.id, equals: id), { $0.id == id }, "id")
  }

  @Test("find(by:) over a unique index sees the changes of the running write")
  func findByUnique() throws {
    typealias Member = OracleRuleTests.Member
    let store = try Store.temporary(for: Member.self)
    let long = String(repeating: "x", count: 700)
    try store.write { tx throws in
      var ids: [RecordID<Member>] = []
      for email in ["a", nil, long, nil, "e\u{301}"] {
        var member = Member(email: email, score: nil, name: "n")
        try tx.insert(&member)
        ids.append(member.id)
      }
      #expect(try tx.find(Member.self, by: \.email, equals: "a")?.id == ids[0])
      #expect(try tx.find(Member.self, by: \.email, equals: nil)?.id == ids[1])
      #expect(try tx.find(Member.self, by: \.email, equals: long)?.id == ids[2])
      #expect(try tx.find(Member.self, by: \.email, equals: long + "x") == nil)
      #expect(try tx.find(Member.self, by: \.email, equals: "\u{E9}")?.id == ids[4])
      #expect(try tx.find(Member.self, by: \.id, equals: ids[3])?.id == ids[3])
      try tx.delete(Member.self, ids[0])
      #expect(try tx.find(Member.self, by: \.email, equals: "a") == nil)
      try tx.update(Member.where { $0.email == long }) { $0.email = "a" }
      #expect(try tx.find(Member.self, by: \.email, equals: "a")?.id == ids[2])
      #expect(try tx.find(Member.self, by: \.email, equals: long) == nil)
      try tx.erase(Member.self)
      #expect(try tx.find(Member.self, by: \.email, equals: "a") == nil)
      #expect(try tx.find(Member.self, by: \.email, equals: nil) == nil)
    }
  }

  // MARK: Filters that use the transaction

  /// The values that the closures of a filter saw.
  private final class Seen: Sendable {
    private let list = Mutex<[LarchError.Code?]>([])

    func note(_ work: () throws -> Void) {
      do {
        try work()
        list.withLock { $0.append(nil) }
      } catch { list.withLock { $0.append((error as? LarchError)?.code) } }
    }

    var codes: Set<LarchError.Code?> { Set(list.withLock { $0 }) }
  }

  @Test(
    "A filter closure that uses the write that runs it gets an error",
    arguments: OracleKind.allCases, [false, true])
  func reentered(kind: OracleKind, isChecked: Bool) throws {
    try Self.reentered(kind.indexes, isChecked)
  }

  private static func reentered<K: OracleIndexes>(_ kind: K.Type, _ isChecked: Bool) throws {
    typealias Thing = OracleThing<K>
    var options = Store.Options()
    options.checksQueries = isChecked
    let made = (0..<12).map { Thing(plain: $0) }
    let clause = try OracleClause<K>(made, options: options)
    let store = clause.store
    let first = try #require(clause.things.first)
    try store.write { tx throws in
      nonisolated(unsafe) let open = tx
      let uses: [(String, @Sendable () throws -> Void)] = [
        ("find", { _ = try open.find(Thing.self, 1) }),
        ("find by", { _ = try open.find(Thing.self, by: \.text, equals: "t1") }),
        ("exists", { _ = try open.exists(Thing.self, 1) }),
        ("delete", { try open.delete(first) }),
        ("save", { try open.update(first) }),
        (
          "insert",
          {
            var new = Thing(plain: 3)
            try open.insert(&new)
          }
        ),
        ("erase", { try open.erase(Thing.self) }),
        ("delete query", { try open.delete(Thing.where { $0.number < 3 }) }),
        ("update query", { try open.update(Thing.all) { $0.number += 1 } }),
        ("fetch", { _ = try open.fetch(Thing.where { $0.number < 3 }) }),
        ("count", { _ = try open.count(Thing.all) }),
        ("explain", { _ = try open.explain(Thing.where { $0.text == "t1" }) }),
        ("cursor", { _ = try open.cursor(Thing.all) }),
        ("savepoint", { try open.savepoint { _ = try open.delete(first) } }),
      ]
      for (name, use) in uses {
        let seen = Seen()
        let query = Thing.where { $0.number >= 0 }.filter { _ in
          seen.note(use)
          return true
        }
        let text = "\(K.name): \(name)"
        #expect(try tx.fetch(query).count == 12, "\(text)")
        #expect(try tx.count(query.sorted(by: \.number)) == 12, "\(text)")
        #expect(try tx.update(query) { $0.blob = Data([2]) } == 12, "\(text)")
        #expect(seen.codes == [.nestedWrite], "\(text): \(seen.codes)")
      }
      #expect(try tx.fetch(Thing.all).map(\.number) == clause.things.map(\.number))
    }
    #expect(try store.verify().isClean)
  }

  @Test("A filter closure may read in a read, and the answers of both are right")
  func readInFilter() throws {
    typealias Thing = OracleThing<SingleIndexes>
    let clause = try OracleClause<SingleIndexes>.of(Array(0..<20)) {
      $0.number = $1
      $0.text = "x\($1 % 4)"
    }
    let store = clause.store
    try store.read { tx throws in
      nonisolated(unsafe) let open = tx
      let query = Thing.where { $0.number > 2 || $0.text == "x1" }.filter { thing in
        let twin = (try? open.ids(Thing.where { $0.text == thing.text })) ?? []
        let found = try? open.find(Thing.self, by: \.number, equals: thing.number + 1)
        return twin.contains(thing.id) && found?.number == thing.number + 1
      }.sorted(by: \.number, .descending)
      let wanted = clause.things.filter {
        ($0.number > 2 || $0.text == "x1") && $0.number < 19
      }.map(\.number).sorted(by: >)
      #expect(try tx.fetch(query).map(\.number) == wanted)
      #expect(try tx.count(query) == wanted.count)
    }
  }

  // MARK: Snapshots

  @Test("Two reads with different snapshots give different answers", arguments: OracleKind.allCases)
  func snapshots(kind: OracleKind) throws { try Self.snapshots(kind.indexes) }

  private static func snapshots<K: OracleIndexes>(_ kind: K.Type) throws {
    typealias Thing = OracleThing<K>
    let clause = try OracleClause<K>.of(Array(0..<10)) { $0.number = $1 }
    let store = clause.store
    let query = Thing.where { $0.number >= 5 }.sorted(by: \.number)
    let before = try store.fetch(query).map(\.fingerprint)
    try store.read { old throws in
      let cursor = try old.cursor(query)
      _ = try cursor.next()
      try store.write { tx throws in
        try tx.delete(Thing.where { $0.number == 7 })
        try tx.update(Thing.where { $0.number == 9 }) { $0.number = 1 }
        var new = Thing(plain: 50)
        try tx.insert(&new)
      }
      try store.read { new throws in
        #expect(try new.fetch(query).map(\.number) == [5, 5, 6, 6, 8, 8, 50])
        #expect(try old.fetch(query).map(\.fingerprint) == before)
        #expect(try new.count(query) == 7)
        #expect(try old.count(query) == 10)
        #expect(try new.find(Thing.self, by: \.number, equals: 7) == nil)
        #expect(try old.find(Thing.self, by: \.number, equals: 7) != nil)
        #expect(try old.max(\.number, of: Thing.all) == 9)
        #expect(try new.max(\.number, of: Thing.all) == 50)
      }
      var rest = 1
      while try cursor.next() != nil { rest += 1 }
      #expect(rest == 10)
    }
  }

  // MARK: Read-only, and incomplete indexes

  struct PlainPoint: Record, Equatable {
    var id = RecordID<PlainPoint>()
    var x: Int
    var name: String

    static let collectionName = "QueryPoint"
  }

  struct IndexedPoint: Record, Equatable {
    var id = RecordID<IndexedPoint>()
    var x: Int
    var name: String

    static let collectionName = "QueryPoint"
    static let schema = Schema<IndexedPoint> {
      Index(\.name)
      Index(\.x)
      Index(\.x, \.name)
    }
  }

  private static func expectPoints(_ store: Store, _ text: String) throws {
    let names = try store.fetch(IndexedPoint.where { $0.x == 3 }.select(\.name))
    #expect(names == ["n3", "n13", "n23"], "\(text)")
    #expect(try store.ids(IndexedPoint.where { $0.name == "n7" }) == [8], "\(text)")
    #expect(try store.find(IndexedPoint.self, by: \.name, equals: "n7")?.id == 8, "\(text)")
    #expect(try store.find(IndexedPoint.self, by: \.x, equals: 2)?.id == 3, "\(text)")
    #expect(try store.count(IndexedPoint.where { $0.x > 4 && $0.name > "n2" }) == 10, "\(text)")
    #expect(try store.max(\.x, of: IndexedPoint.all) == 9, "\(text)")
    let counts = try store.counts(by: \.x, of: IndexedPoint.all)
    #expect(counts.map(\.count) == Array(repeating: 3, count: 10), "\(text)")
    let sorted = try store.fetch(
      IndexedPoint.all.sorted(by: \.x, .descending).then(by: \.name).limit(3))
    #expect(sorted.map(\.name) == ["n19", "n29", "n9"], "\(text)")
  }

  @Test("A read-only store answers without missing indexes")
  func readOnly() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let plain = try Store(at: path, for: PlainPoint.self)
    try plain.write { tx throws in
      for number in 0..<30 {
        var point = PlainPoint(x: number % 10, name: "n\(number)")
        try tx.insert(&point)
      }
    }
    plain.close()
    var options = Store.Options()
    options.isReadOnly = true
    let bare = try Store(at: path, for: IndexedPoint.self, options: options)
    try Self.expectPoints(bare, "without indexes")
    #expect(try !bare.explain(IndexedPoint.where { $0.x == 3 }).contains("index"))
    #expect(throws: LarchError.self) { try bare.delete(IndexedPoint.all) }
    #expect(throws: LarchError.self) { try bare.update(IndexedPoint.all) { $0.x = 1 } }
    bare.close()
    try Store(at: path, for: IndexedPoint.self).close()
    for checks in [false, true] {
      options.checksQueries = checks
      let full = try Store(at: path, for: IndexedPoint.self, options: options)
      try Self.expectPoints(full, "with indexes")
      #expect(try full.explain(IndexedPoint.where { $0.x == 3 }).contains("index"))
      full.close()
    }
  }

  @Test("An incomplete index is not used, and answers stay correct")
  func incomplete() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try Store(at: path, for: IndexedPoint.self)
    try store.write { tx throws in
      for number in 0..<30 {
        var point = IndexedPoint(x: number % 10, name: "n\(number)")
        try tx.insert(&point)
      }
    }
    try Self.expectPoints(store, "complete")
    // The state after a killed opening: every index is empty and incomplete.
    try store.environment.write { transaction in
      let loader = CatalogLoader(store.environment, store.schema)
      for schema in store.schema.collections {
        try loader.resetIndexes(of: schema.name, in: transaction)
      }
      try loader.raiseGeneration(in: transaction)
    }
    try Self.expectPoints(store, "incomplete")
    #expect(try !store.explain(IndexedPoint.where { $0.x == 3 }).hasPrefix("index"))
    try store.write { tx throws in
      try tx.update(IndexedPoint.where { $0.name == "n7" }) { $0.name = "changed" }
      #expect(try tx.find(IndexedPoint.self, by: \.name, equals: "changed")?.id == 8)
      #expect(try tx.update(IndexedPoint.where { $0.name == "changed" }) { $0.name = "n7" } == 1)
    }
    try Self.expectPoints(store, "incomplete, changed")
    try store.rebuild()
    try Self.expectPoints(store, "built")
    #expect(try store.explain(IndexedPoint.where { $0.x == 3 }).contains("index"))
    #expect(try store.verify().isClean)
    store.close()
  }
}
