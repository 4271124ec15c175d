import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Dumps with names for ids")
struct NamedDumpTests {
  struct Firm: Record {
    var id = UUID()
    var name: String
    var chiefID: RecordID<Clerk>?
    var founded: Date?

    static let clerks = HasMany<Firm, Clerk>(\.firmID, onDelete: .nullify)
    static let clubs = ManyToMany<Firm, Club>(named: "clubs")
    static let chief = BelongsTo<Firm, Clerk>(\.chiefID)
    static let schema = Schema<Firm> {
      clerks
      clubs
      chief
      Index(\.founded)
      Index(\.name)
    }
  }

  struct Clerk: Record {
    var id = RecordID<Clerk>()
    var name: String
    var firmID: UUID?
    var friendIDs: [RecordID<Clerk>] = []
    var ticket: UUID?

    static let firm = BelongsTo<Clerk, Firm>(\.firmID)
    static let friends = HasMany<Clerk, Clerk>(in: \.friendIDs)
    static let schema = Schema<Clerk> {
      firm
      friends
      Index(\.name, \.ticket)
    }
  }

  struct Club: Record {
    var id: String
    static let firms = ManyToMany<Club, Firm>(named: "clubs")
    static let schema = Schema<Club> { firms }
  }

  /// The same contents in another store, with other UUIDs and other assigned ids, created in
  /// another order.
  private func store(seed: UInt64) throws -> Store {
    var random = SeededGenerator(seed: seed)
    let store = try Store.temporary(for: Firm.self, Clerk.self, Club.self)
    try store.write { tx throws in
      for number in 0..<Int(seed % 5) {
        var gone = Clerk(name: "gone \(number)")
        try tx.save(&gone)
        try tx.delete(gone)
      }
      var firms = [
        Firm(name: "Oak", founded: Date(timeIntervalSinceReferenceDate: 0.25)),
        Firm(name: "Elm"), Firm(name: "Elm"), Firm(name: "Elm"),
      ]
      for place in firms.indices.shuffled(using: &random) { try tx.insert(&firms[place]) }
      let ticket = UUID()
      var ada = Clerk(name: "Ada", firmID: firms[0].id, ticket: ticket)
      try tx.save(&ada)
      var bo = Clerk(name: "Bo", firmID: firms[2].id, friendIDs: [ada.id], ticket: UUID())
      try tx.save(&bo)
      var cy = Clerk(name: "Bo", firmID: firms[2].id, friendIDs: [bo.id, ada.id], ticket: ticket)
      try tx.save(&cy)
      firms[0].chiefID = cy.id
      try tx.update(firms[0])
      for name in ["chess", "golf"] {
        var club = Club(id: name)
        try tx.insert(&club)
      }
      try tx.add("golf", to: firms[0].related(Firm.clubs))
      try tx.add("golf", to: firms[3].related(Firm.clubs))
      try tx.add("chess", to: firms[0].related(Firm.clubs))
    }
    return store
  }

  @Test(
    "Equal contents have the same text, whatever their ids and their order of creation")
  func stable() throws {
    let expected = """
      collection Clerk: 3 records
        Clerk#1 {"firmID":"Firm#1","friendIDs":[],"id":"Clerk#1","name":"Ada","ticket":"UUID#1"}
        Clerk#2 {"firmID":"Firm#3","friendIDs":["Clerk#1"],"id":"Clerk#2","name":"Bo","ticket":"UUID#2"}
        Clerk#3 {"firmID":"Firm#3","friendIDs":["Clerk#2","Clerk#1"],"id":"Clerk#3","name":"Bo","ticket":"UUID#1"}
        index firmID: 3 entries
          [Firm#1] -> Clerk#1
          [Firm#3] -> Clerk#2
          [Firm#3] -> Clerk#3
        index friendIDs: 3 entries
          [Clerk#1] -> Clerk#2
          [Clerk#1] -> Clerk#3
          [Clerk#2] -> Clerk#3
        index name_ticket: 3 entries
          ["Ada", UUID#1] -> Clerk#1
          ["Bo", UUID#1] -> Clerk#3
          ["Bo", UUID#2] -> Clerk#2
      collection Club: 2 records
        chess {"id":"chess"}
        golf {"id":"golf"}
      collection Firm: 4 records
        Firm#1 {"chiefID":"Clerk#3","founded":"2001-01-01T00:00:00.25Z","id":"Firm#1","name":"Oak"}
        Firm#2 {"id":"Firm#2","name":"Elm"}
        Firm#3 {"id":"Firm#3","name":"Elm"}
        Firm#4 {"id":"Firm#4","name":"Elm"}
        index chiefID: 4 entries
          [nil] -> Firm#2
          [nil] -> Firm#3
          [nil] -> Firm#4
          [Clerk#3] -> Firm#1
        index founded: 4 entries
          [nil] -> Firm#2
          [nil] -> Firm#3
          [nil] -> Firm#4
          ["2001-01-01T00:00:00.25Z"] -> Firm#1
        index name: 4 entries
          ["Elm"] -> Firm#2
          ["Elm"] -> Firm#3
          ["Elm"] -> Firm#4
          ["Oak"] -> Firm#1
      reference Clerk.firmID: Clerk to Firm, optional, on delete none, nullify
      reference Clerk.friendIDs: Clerk to Clerk, optional, list, on delete none, nullify
      lists Club/Firm/clubs: Club with Firm, 3 links, on delete nullify, nullify
        chess -> Firm#1
        golf -> Firm#1, Firm#4
      reference Firm.chiefID: Firm to Clerk, optional, on delete none, nullify
      """
    for seed in UInt64(1)...25 {
      let dump = try store(seed: seed).dump(ids: .named)
      let difference = TextDifference.between(expected: expected + "\n", actual: dump)
      #expect(difference == nil, "seed \(seed)\n\(difference ?? "")")
    }
    let one = try store(seed: 1).dump()
    #expect(try store(seed: 2).dump() != one, "the control: ids as they are differ")
  }

  @Test("Without records the names are the same, and the contents are the requested ones")
  func contents() throws {
    let store = try store(seed: 3)
    let whole = try store.dump(ids: .named).split(separator: "\n")
    for contents in [Store.DumpContents.records, .entries, .links, []] {
      let shown = try store.dump(contents, ids: .named).split(separator: "\n")
      #expect(Set(shown).isSubset(of: Set(whole)))
      #expect(shown.count == (try store.dump(contents)).split(separator: "\n").count)
    }
    #expect(try store.dump(.all, ids: .stored) == store.dump())
  }

  @Test("An id without a record is named as missing, and a chosen id stays")
  func others() throws {
    struct Leaf: Record {
      var id: Int
      var nextID: Int?
      var trunkID: RecordID<Trunk>?
      static let trunk = BelongsTo<Leaf, Trunk>(\.trunkID)
      static let schema = Schema<Leaf> { trunk }
    }
    struct Trunk: Record {
      var id = RecordID<Trunk>()
      static let leaves = HasMany<Trunk, Leaf>(\.trunkID, onDelete: .none)
      static let schema = Schema<Trunk> { leaves }
    }
    let store = try Store.temporary(for: Leaf.self, Trunk.self)
    try store.write { tx throws in
      var trunks = [Trunk(), Trunk()]
      for place in trunks.indices { try tx.save(&trunks[place]) }
      for number in 1...3 {
        var leaf = Leaf(id: number * 10, nextID: 10, trunkID: trunks[number % 2].id)
        try tx.insert(&leaf)
      }
      try tx.delete(trunks[0])
    }
    #expect(
      try store.dump(ids: .named) == """
        collection Leaf: 3 records
          10 {"id":10,"nextID":10,"trunkID":"Trunk#1"}
          20 {"id":20,"nextID":10,"trunkID":"Trunk#missing1"}
          30 {"id":30,"nextID":10,"trunkID":"Trunk#1"}
          index trunkID: 3 entries
            [Trunk#1] -> 10
            [Trunk#1] -> 30
            [Trunk#missing1] -> 20
        collection Trunk: 1 record
          Trunk#1 {"id":"Trunk#1"}
        reference Leaf.trunkID: Leaf to Trunk, optional, on delete none, none

        """)
  }

  /// A ring and a chain of records with equal contents are distinguished only by their references.
  @Test("Records with equal contents are distinguished by their references")
  func ties() throws {
    struct Bead: Record {
      var id = UUID()
      var colour: String
      var nextID: UUID?
    }
    var texts: Set<String> = []
    for seed in UInt64(0)..<20 {
      var random = SeededGenerator(seed: seed)
      var beads = (0..<30).map { Bead(colour: $0 == 0 ? "red" : "blue") }
      for place in 0..<11 { beads[place].nextID = beads[place + 1].id }
      for place in 12..<30 { beads[place].nextID = beads[place == 29 ? 12 : place + 1].id }
      let store = try Store.temporary(for: Bead.self)
      try store.saveAll(beads.shuffled(using: &random))
      texts.insert(try store.dump(ids: .named))
    }
    #expect(texts.count == 1)
    // A change of the ring into two is a change of the text.
    var beads = (0..<12).map { _ in Bead(colour: "blue") }
    func dump(_ rings: [Range<Int>]) throws -> String {
      for ring in rings {
        for place in ring {
          beads[place].nextID = beads[place + 1 == ring.upperBound ? ring.lowerBound : place + 1].id
        }
      }
      let store = try Store.temporary(for: Bead.self)
      try store.saveAll(beads)
      return try store.dump(ids: .named)
    }
    let one = try dump([0..<12])
    #expect(try dump([0..<6, 6..<12]) != one)
    #expect(try dump([0..<12]) == one)
  }

  @Test("A UUID that is the id of two records has one name")
  func shared() throws {
    struct Head: Record {
      var id = UUID()
      var name: String
    }
    struct Tail: Record {
      var id: UUID
      var headID: UUID
    }
    let head = Head(name: "head")
    let store = try Store.temporary(for: Head.self, Tail.self)
    try store.saveAll([head])
    try store.saveAll([Tail(id: head.id, headID: head.id)])
    #expect(
      try store.dump(ids: .named) == """
        collection Head: 1 record
          Head#1 {"id":"Head#1","name":"head"}
        collection Tail: 1 record
          Head#1 {"headID":"Head#1","id":"Head#1"}

        """)
  }

  @Test("10,000 pairs of alike records with UUIDs are named")
  func many() throws {
    struct Half: Record {
      var id = UUID()
      var otherID: UUID?
    }
    var halves = (0..<10_000).map { _ in Half() }
    for place in halves.indices { halves[place].otherID = halves[place ^ 1].id }
    let store = try Store.temporary(for: Half.self)
    try store.saveAll(halves)
    let lines = try store.dump(ids: .named).split(separator: "\n")
    #expect(lines.count == 10_001)
    #expect(Set(lines.dropFirst().map { $0.split(separator: " ")[0] }).count == 10_000)
  }
}
