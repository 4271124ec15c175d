import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The clauses of the Swift oracle about unique values, deletion and misuse.
@Suite("The Swift oracle: rules and misuse")
struct OracleRuleTests {
  struct Member: Record, Equatable {
    var id = RecordID<Member>()
    var email: String?
    var score: Double?
    var name: String

    static let collectionName = "RuleMember"
    static let schema = Schema<Member> {
      Unique(\.email)
      Unique(\.score)
      Index(\.name)
    }
  }

  private static func store(_ members: [Member]) throws -> (Store, [Member]) {
    let store = try Store.checked(for: Member.self)
    let saved = try store.write { tx in
      var saved = members
      for place in saved.indices { try tx.insert(&saved[place]) }
      return saved
    }
    return (store, saved)
  }

  private static func code(_ work: () throws -> Void) -> LarchError.Code? {
    do {
      try work()
      return nil
    } catch { return (error as? LarchError)?.code }
  }

  @Test("A unique index allows many nils and many NaN, and all are found")
  func uniqueNils() throws {
    let (store, saved) = try Self.store(
      (0..<6).map { Member(email: nil, score: $0 % 2 == 0 ? nil : .nan, name: "n\($0)") }
        + [Member(email: "a", score: 1, name: "a")])
    let ids = saved.map(\.id)
    #expect(try store.ids(Member.where { $0.email == nil }) == Array(ids[0..<6]))
    #expect(try store.ids(Member.where { $0.score == nil }) == [ids[0], ids[2], ids[4]])
    #expect(try store.ids(Member.where { $0.score == .nan }) == [])
    #expect(try store.ids(Member.where { $0.score != .nan }) == ids)
    #expect(
      try store.ids(Member.where { $0.score != nil && $0.email == nil }) == [
        ids[1], ids[3], ids[5],
      ])
    let sorted = try store.ids(Member.all.sorted(by: \.score))
    #expect(sorted == [ids[0], ids[2], ids[4], ids[6], ids[1], ids[3], ids[5]])
    #expect(try store.find(Member.self, by: \.email, equals: nil)?.id == ids[0])
    #expect(try store.find(Member.self, by: \.score, equals: .nan) == nil)
    #expect(try store.counts(by: \.email, of: Member.all).map(\.count) == [6, 1])
  }

  @Test("A conflict, also by canonical equivalence, names index and id and changes nothing")
  func conflict() throws {
    let (store, saved) = try Self.store([
      Member(email: "\u{E9}", score: 0.0, name: "a"), Member(email: "b", score: 1, name: "b"),
    ])
    for other in [Member(email: "e\u{301}", name: "c"), Member(score: -0.0, name: "c")] {
      do {
        try store.write { tx throws in
          var other = other
          try tx.insert(&other)
        }
        Issue.record("no conflict")
      } catch let error as LarchError {
        #expect(error.code == .uniqueConflict)
        #expect(error.context.otherID == "\(saved[0].id)")
        #expect(error.context.index != nil)
      }
    }
    #expect(try store.fetch(Member.all) == saved)
  }

  @Test("Deleting a missing record is not an error; saving a deleted one inserts it under its id")
  func deletion() throws {
    let (store, saved) = try Self.store((0..<4).map { Member(email: "\($0)", name: "n\($0)") })
    try store.write { tx throws in
      #expect(try tx.delete(saved[1]))
      #expect(try !tx.delete(saved[1]))
      #expect(try tx.delete(Member.where { $0.name == "n1" }) == 0)
      #expect(try tx.delete(Member.where { $0.name == "n2" || $0.name == "n1" }) == 1)
      var again = saved[1]
      try tx.save(&again)
      #expect(again.id == saved[1].id)
      #expect(try tx.ids(Member.where { $0.name >= "n1" }) == [saved[1].id, saved[3].id])
    }
    #expect(try store.ids(Member.all) == [saved[0].id, saved[1].id, saved[3].id])
    #expect(try store.find(Member.self, by: \.email, equals: "1") == saved[1])
    #expect(try store.delete(Member.all) == 3)
    #expect(try store.delete(Member.all) == 0)
    #expect(try store.exists(Member.all) == false)
    #expect(try store.verify().isClean)
  }

  @Test("A negative limit or offset is an invalid query for every verb")
  func negative() throws {
    let (store, _) = try Self.store([Member(name: "a")])
    for query in [
      Member.all.limit(-1), Member.all.offset(-1), Member.where { $0.name == "a" }.limit(.min),
      Member.all.sorted(by: \.name).offset(.min).limit(3), Member.all.limit(-1).offset(-1),
      Member.where { $0.name > "b" && $0.name < "a" }.limit(-1),
    ] {
      let ways: [(String, () throws -> Void)] = [
        ("fetch", { _ = try store.fetch(query) }), ("first", { _ = try store.first(query) }),
        ("count", { _ = try store.count(query) }), ("exists", { _ = try store.exists(query) }),
        ("ids", { _ = try store.ids(query) }), ("forEach", { try store.forEach(query) { _ in } }),
        ("page", { _ = try store.page(query) }), ("explain", { _ = try store.explain(query) }),
        ("select", { _ = try store.fetch(query.select(\.name)) }),
        ("distinct", { _ = try store.fetch(query.select(\.name).distinct()) }),
        ("first selected", { _ = try store.first(query.select(\.name)) }),
        ("count of distinct", { _ = try store.count(query.select(\.name).distinct()) }),
        ("min", { _ = try store.min(\.name, of: query) }),
        ("sum", { _ = try store.sum(\.score, of: query) }),
        ("average", { _ = try store.average(\.score, of: query) }),
        ("counts", { _ = try store.counts(by: \.name, of: query) }),
        ("delete", { try store.delete(query) }), ("update", { try store.update(query) { _ in } }),
        ("cursor", { try store.read { tx in _ = try tx.cursor(query) } }),
      ]
      for (name, way) in ways { #expect(Self.code(way) == .invalidQuery, "\(name)") }
    }
    #expect(try store.count(Member.all) == 1)
  }

  @Test("A broken pattern is an invalid query, a valid one is not")
  func patterns() throws {
    let (store, saved) = try Self.store([Member(email: "ab", name: "a"), Member(name: "(")])
    #expect(
      Self.code { _ = try store.fetch(Member.where { $0.name.contains(pattern: "(") }) }
        == .invalidQuery)
    #expect(
      Self.code { _ = try store.count(Member.where { !$0.email.wholeMatch(ofPattern: "[") }) }
        == .invalidQuery)
    #expect(
      Self.code {
        try store.delete(Member.where { $0.name == "a" || $0.name.contains(pattern: "*") })
      } == .invalidQuery)
    #expect(try store.ids(Member.where { $0.email.contains(pattern: "b$") }) == [saved[0].id])
    #expect(try store.ids(Member.where { !$0.email.contains(/a/) }) == [saved[1].id])
    #expect(try store.count(Member.all) == 2)
  }

  @Test("A page token of another order, collection or field, and any garbage, is an invalid query")
  func tokens() throws {
    let (store, _) = try Self.store((0..<5).map { Member(email: "\($0)", name: "n\($0)") })
    func token(_ query: Query<Member>) throws -> PageToken {
      try #require(try store.page(query.limit(2)).next)
    }
    let byName = try token(Member.all.sorted(by: \.name))
    #expect(try store.ids(Member.all.sorted(by: \.name).after(byName)).count == 3)
    for query in [
      Member.all, Member.all.reversed(), Member.all.sorted(by: \.name, .descending),
      Member.all.sorted(by: \.name).reversed(), Member.all.sorted(by: \.email),
      Member.all.sorted(by: \.name, \.email),
      Member.all.sorted(by: \.name, options: .caseInsensitive),
    ] {
      let text = try store.explain(query)
      #expect(
        Self.code { _ = try store.fetch(query.after(byName)) } == .invalidQuery, "\(text)")
      #expect(Self.code { _ = try store.count(query.after(byName)) } == .invalidQuery)
    }
    for text in [
      "", "garbage", "A", "AAAA", "////", byName.text + "A", String(byName.text.dropLast()),
      String(byName.text.dropFirst()), "\u{E9}", String(repeating: "A", count: 10_000), "=", " ",
      "AQ", "_____w",
    ] {
      #expect(Self.code { _ = try PageToken(text) } == .invalidQuery, "\(text)")
    }
  }

  @Test("The damaged text of a token never traps: it is refused or is a position")
  func damagedTokens() throws {
    let (store, _) = try Self.store((0..<5).map { Member(score: Double($0), name: "n\($0)") })
    let queries = [
      Member.all, Member.all.sorted(by: \.name), Member.all.sorted(by: \.score).then(by: \.email),
    ]
    var random = SeededGenerator(seed: 31)
    var accepted = 0
    for round in 0..<3_000 {
      let query = queries[round % queries.count]
      let token = try #require(try store.page(query.limit(1 + round % 4)).next)
      var base = token.text.replacingOccurrences(of: "-", with: "+")
        .replacingOccurrences(of: "_", with: "/")
      while base.utf8.count % 4 != 0 { base += "=" }
      var bytes = [UInt8](try #require(Data(base64Encoded: base)))
      for _ in 0..<(1 + random.below(3)) {
        switch random.below(4) {
        case 0: bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
        case 1:
          bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: random.below(bytes.count))
        case 2: if bytes.count > 1 { bytes.remove(at: random.below(bytes.count)) }
        default: bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8))
        }
      }
      let text = Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-")
        .replacingOccurrences(of: "/", with: "_").replacingOccurrences(of: "=", with: "")
      do {
        let found = try store.ids(query.after(try PageToken(text)))
        #expect(found.count <= 5)
        accepted += 1
      } catch let error as LarchError {
        #expect(error.code == .invalidQuery, "seed 31, round \(round): \(error)")
      }
    }
    print("damaged page tokens: 3000, of which \(accepted) are a place nevertheless")
  }

  @Test("Changing the id in an update, and a new record without the value, are invalid queries")
  func changedID() throws {
    let (store, saved) = try Self.store((0..<3).map { Member(email: "\($0)", name: "n\($0)") })
    #expect(
      Self.code {
        try store.update(Member.all) {
          $0.name = "changed"
          if $0.email == "2" { $0.id = saved[0].id }
        }
      } == .invalidQuery)
    #expect(try store.fetch(Member.all) == saved)
    #expect(
      Self.code {
        _ = try store.findOrCreate(by: \.email, equals: "new") { Member(email: "other", name: "x") }
      } == .invalidQuery)
    #expect(
      Self.code {
        _ = try store.findOrCreate(by: \.score, equals: .nan) { Member(score: .nan, name: "x") }
      } == .invalidQuery)
    #expect(try store.fetch(Member.all) == saved)
  }

  @Test("A type that the store was not opened for is a typed error")
  func unknown() throws {
    typealias Other = OracleThing<NoIndexes>
    let (store, _) = try Self.store([])
    #expect(Self.code { _ = try store.fetch(Other.all) } == .unknownCollection)
    #expect(Self.code { try store.delete(Other.where { $0.flag }) } == .unknownCollection)
    #expect(
      Self.code { _ = try store.find(Other.self, by: \.number, equals: 1) } == .unknownCollection)
  }
}
