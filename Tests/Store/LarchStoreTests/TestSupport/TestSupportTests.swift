import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Test support")
struct TestSupportTests {
  struct Mixed: Record, Equatable {
    var id: String
    var counts: [String: Int]
    var kinds: Set<String>
    var date: Date
    var number: Double
    static let schema = Schema<Mixed> { Index(\.kinds) }
  }

  @Test("The generator gives the same numbers everywhere")
  func generator() {
    var random = SeededGenerator(seed: 1)
    let first = [random.next(), random.next()]
    #expect(first == [10_451_216_379_200_822_465, 13_757_245_211_066_428_519])
    var same = SeededGenerator(seed: 1)
    #expect(same.next() == 10_451_216_379_200_822_465)
    var other = SeededGenerator(seed: 2)
    #expect(other.next() != 10_451_216_379_200_822_465)
  }

  @Test("The reference store refuses exactly what a unique rule forbids")
  func reference() {
    var reference = ReferenceStore<Company> { ["name:" + $0.name] }
    let inserted = reference.save(Company(id: 1, name: "a"))
    let again = reference.save(Company(id: 1, name: "a"))
    let taken = reference.save(Company(id: 2, name: "a"))
    #expect(inserted && again && !taken)
    #expect(reference.conflict(of: Company(id: 2, name: "a")) == 1)
    #expect(reference.records.count == 1)
    let deleted = reference.delete(1)
    let deletedAgain = reference.delete(1)
    #expect(deleted && !deletedAgain)
    let free = reference.save(Company(id: 2, name: "a"))
    #expect(free)
    reference.erase()
    #expect(reference.records.isEmpty)
  }

  @Test("A dump is always the same text")
  func stable() throws {
    func record(_ names: [String]) -> Mixed {
      Mixed(
        id: "one", counts: Dictionary(uniqueKeysWithValues: names.map { ($0, $0.utf8.count) }),
        kinds: Set(names), date: Date(timeIntervalSinceReferenceDate: 0.5), number: -0.0)
    }
    let names = ["b", "a", "ä", "", "long name", "B"]
    let expected = """
      collection Mixed: 1 record
        one {"counts":{"":0,"B":1,"a":1,"b":1,"long name":9,"ä":2},"date":"2001-01-01T00:00:00.5Z",\
      "id":"one","kinds":["","B","a","b","ä","long name"],"number":-0.0}
        index kinds: 6 entries
          [""] -> one
          ["B"] -> one
          ["a"] -> one
          ["b"] -> one
          ["long name"] -> one
          ["ä"] -> one

      """
    for attempt in 0..<5 {
      try withScratchPath { path throws in
        var random = SeededGenerator(seed: UInt64(attempt))
        try Store.using(path, Mixed.self) {
          try $0.saveAll([record(names.shuffled(using: &random))])
        }
        try Store.using(path, Mixed.self) { store throws in
          let difference = TextDifference.between(expected: expected, actual: try store.dump())
          #expect(difference == nil, "\(difference ?? "")")
          // With other types or none: the file describes its contents.
          let before = try store.environment.info().lastTransactionID
          try store.saveAll([record(names.shuffled(using: &random))])
          #expect(try store.environment.info().lastTransactionID == before)
        }
        let difference = try Store.using(path, Company.self) {
          TextDifference.between(
            expected: "collection Company: 0 records\n  unique name: 0 entries\n" + expected,
            actual: try $0.dump())
        }
        #expect(difference == nil, "\(difference ?? "")")
      }
    }
  }

  @Test("A dump shows the requested parts")
  func contents() throws {
    let store = try Store.temporary(for: Company.self)
    try store.saveAll([Company(name: "A")])
    #expect(
      try store.dump(.records)
        == "collection Company: 1 record\n  1 {\"id\":1,\"name\":\"A\"}\n")
    #expect(
      try store.dump(.entries)
        == "collection Company: 1 record\n  unique name: 1 entry\n    [\"A\"] -> 1\n")
    #expect(try store.dump(.indexes) == "collection Company: 1 record\n  unique name: 1 entry\n")
    #expect(try store.dump([]) == "collection Company: 1 record\n")
    #expect(try Store.temporary().dump() == "")
  }

  /// A test of links alone had to be changed whenever a type got another index.
  @Test("A dump of a part has no line of another", arguments: [Store.DumpIDs.stored, .named])
  func parts(ids: Store.DumpIDs) throws {
    let store = try Store.temporary(for: Club.self, Fan.self)
    try store.write { tx in
      var club = Club(id: "a")
      var fan = Fan(id: "f", clubID: "a")
      try tx.save(&club)
      try tx.save(&fan)
      try tx.add(fan, to: club.related(Club.fans))
    }
    let lists = """
      lists Club/Fan/fans: Club with Fan, 1 link, on delete nullify, nullify
        a -> f

      """
    let reference = "reference Fan.clubID: Fan to Club, optional, on delete none, nullify\n"
    #expect(try store.dump(.links, ids: ids) == lists)
    #expect(
      try store.dump(.associations, ids: ids) == lists.prefix { $0 != "\n" } + "\n" + reference)
    #expect(try store.dump([.links, .associations], ids: ids) == lists + reference)
    #expect(
      try store.dump([.records, .links], ids: ids) == """
        collection Club: 1 record
          a {"id":"a"}
        collection Fan: 1 record
          f {"clubID":"a","id":"f"}

        """ + lists)
    #expect(
      try store.dump(.indexes, ids: ids) == """
        collection Club: 1 record
        collection Fan: 1 record
          index clubID: 1 entry

        """)
    #expect(try store.dump([], ids: ids) == "collection Club: 1 record\ncollection Fan: 1 record\n")
    try store.requireDump(.links, ids: ids, equals: lists)
  }

  struct Club: Record {
    var id: String
    static let fans = ManyToMany<Club, Fan>(named: "fans")
    static let schema = Schema<Club> { fans }
  }

  struct Fan: Record {
    var id: String
    var clubID: String?
    static let club = BelongsTo<Fan, Club>(\.clubID)
    static let clubs = ManyToMany<Fan, Club>(named: "fans")
    static let schema = Schema<Fan> {
      club
      clubs
    }
  }
}
