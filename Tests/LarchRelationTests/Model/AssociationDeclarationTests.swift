import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// What the declarations come to: associations in the catalog, and indexes.
@Suite("Associations as they are declared")
struct AssociationDeclarationTests {
  /// The lines of the dump that are about associations and indexes.
  private func declared(_ types: any Record.Type...) throws -> [String] {
    let store = try Store.temporary(types: types, options: .init())
    return try store.dump([.indexes, .associations]).split(separator: "\n").map {
      $0.trimmingCharacters(in: .whitespaces)
    }.filter { !$0.hasPrefix("collection") }
  }

  enum OneEnd {
    struct Firm: Record {
      var id = RecordID<Firm>()
      static let schema = Schema<Firm> { HasMany(\Clerk.firmID, onDelete: .destroy) }
    }
    struct Clerk: Record {
      var id = RecordID<Clerk>()
      var firmID: Firm.ID?
      static let schema = Schema<Clerk> {}
    }
    /// The same two, declared from the other end.
    struct PlainFirm: Record {
      var id = RecordID<PlainFirm>()
      static let collectionName = "Firm"
      static let schema = Schema<PlainFirm> {}
    }
    struct OtherClerk: Record {
      var id = RecordID<OtherClerk>()
      var firmID: PlainFirm.ID?
      static let collectionName = "Clerk"
      static let schema = Schema<OtherClerk> { BelongsTo(\.firmID, to: PlainFirm.self) }
    }
    /// And from both, with a rule at each.
    struct BothFirm: Record {
      var id = RecordID<BothFirm>()
      static let collectionName = "Firm"
      static let schema = Schema<BothFirm> { HasMany(\BothClerk.firmID, onDelete: .deny) }
    }
    struct BothClerk: Record {
      var id = RecordID<BothClerk>()
      var firmID: BothFirm.ID?
      static let collectionName = "Clerk"
      static let schema = Schema<BothClerk> {
        BelongsTo(\.firmID, to: BothFirm.self, onDelete: .destroyLast)
      }
    }
  }

  @Test("An association that one end declares is the same as one that the other or both do")
  func ends() throws {
    let one = "reference Clerk.firmID: Clerk to Firm, optional, on delete"
    let index = "index firmID: 0 entries"
    #expect(
      try declared(OneEnd.Firm.self, OneEnd.Clerk.self) == [index, "\(one) none, destroy"])
    // The order of the types plays no part.
    #expect(
      try declared(OneEnd.Clerk.self, OneEnd.Firm.self) == [index, "\(one) none, destroy"])
    #expect(
      try declared(OneEnd.PlainFirm.self, OneEnd.OtherClerk.self) == [
        index, "\(one) none, nullify",
      ])
    #expect(
      try declared(OneEnd.BothFirm.self, OneEnd.BothClerk.self) == [
        index, "\(one) destroyLast, deny",
      ])
    #expect(
      try declared(OneEnd.BothClerk.self, OneEnd.BothFirm.self, OneEnd.BothFirm.self) == [
        index, "\(one) destroyLast, deny",
      ])
  }

  enum Kinds {
    struct ISBN: RawRepresentable, RecordIdentifier {
      var rawValue: String
    }
    struct Code: RawRepresentable, RecordIdentifier {
      var rawValue: UInt16
    }
    struct Ticket: RawRepresentable, RecordIdentifier {
      var rawValue: RecordID<Ticketed>
    }
    struct Small: Record { var id: Int8 }
    struct Middle: Record { var id: UInt32 }
    struct Wide: Record { var id: Int }
    struct Keyed: Record { var id = UUID() }
    struct Text: Record { var id: String }
    struct Book: Record { var id: ISBN }
    struct Coded: Record { var id: Code }
    struct Ticketed: Record { var id = Ticket(rawValue: .init()) }

    struct Holder: Record, Equatable {
      var id = RecordID<Holder>()
      var small: Int8?
      var middle: UInt32?
      var wide: Int?
      var keyed: UUID?
      var text: String?
      var book: ISBN?
      var code: Code?
      var ticket: Ticket?
      var smalls: [Int8] = []
      var books: Set<ISBN> = []

      static let schema = Schema<Holder> {
        BelongsTo(\.small, to: Small.self)
        BelongsTo(\.middle, to: Middle.self)
        BelongsTo(\.wide, to: Wide.self)
        BelongsTo(\.keyed, to: Keyed.self)
        BelongsTo(\.text, to: Text.self)
        BelongsTo(\.book, to: Book.self)
        BelongsTo(\.code, to: Coded.self)
        BelongsTo(\.ticket, to: Ticketed.self)
        HasMany(Small.self, in: \.smalls)
        HasMany(Book.self, in: \.books)
      }
    }
    static let all: [any Record.Type] = [
      Small.self, Middle.self, Wide.self, Keyed.self, Text.self, Book.self, Coded.self,
      Ticketed.self, Holder.self,
    ]
  }

  @Test("Ids of every type are references: valid ones pass, dangling ones are reported")
  func idTypes() throws {
    let store = try Store.temporary(types: Kinds.all, options: .init())
    var ticketed = Kinds.Ticketed()
    let key = UUID()
    try store.write { tx in
      for id in [Int8.min, -1, 0, 1, .max] {
        var small = Kinds.Small(id: id)
        try tx.save(&small)
      }
      var middle = Kinds.Middle(id: .max)
      try tx.save(&middle)
      var wide = Kinds.Wide(id: .min)
      try tx.save(&wide)
      var keyed = Kinds.Keyed(id: key)
      try tx.save(&keyed)
      var text = Kinds.Text(id: "Å")
      try tx.save(&text)
      var book = Kinds.Book(id: .init(rawValue: "978"))
      try tx.save(&book)
      var coded = Kinds.Coded(id: .init(rawValue: .max))
      try tx.save(&coded)
      try tx.save(&ticketed)
    }
    let sound = Kinds.Holder(
      small: .min, middle: .max, wide: .min, keyed: key, text: "A\u{30A}",
      book: .init(rawValue: "978"), code: .init(rawValue: .max), ticket: ticketed.id,
      smalls: [-1, 0, 1, 127, -1], books: [.init(rawValue: "978")])
    var saved = sound
    try store.write { try $0.save(&saved) }
    let report = try store.verify()
    #expect(report.isClean, "\(report)")
    #expect(report.referenceCount == 8 + 4 + 1)

    let changes: [(String, (inout Kinds.Holder) -> Void)] = [
      ("small", { $0.small = 2 }), ("middle", { $0.middle = 0 }), ("wide", { $0.wide = 1 }),
      ("keyed", { $0.keyed = UUID() }), ("text", { $0.text = "" }),
      ("book", { $0.book = .init(rawValue: "") }), ("code", { $0.code = .init(rawValue: 0) }),
      ("ticket", { $0.ticket = .init(rawValue: 77) }), ("smalls", { $0.smalls.append(9) }),
      ("books", { $0.books.insert(.init(rawValue: "979")) }),
    ]
    for (name, change) in changes {
      var wrong = sound
      change(&wrong)
      let error = caught { try store.write { try $0.save(&wrong) } }
      #expect(error?.code == .danglingReference, "\(name): \(String(describing: error))")
      #expect(error?.context.field == "Holder.\(name)")
    }
    try store.lose(Kinds.Small.self, -1)
    let faults = [
      "danglingReference, collection Holder, association Holder.smalls, id 1, no record -1 of Small"
    ]
    #expect(try store.verify().faults.map(\.description) == faults)
    // Without the types ids of the program's own are not known, and that is said.
    let typeless = try store.verifyWithoutTypes()
    #expect(typeless.report.faults.map(\.description) == faults)
    #expect(
      typeless.unproved.compactMap(\.association) == [
        "Holder.book", "Holder.books", "Holder.code", "Holder.ticket",
      ])
    var back = Kinds.Small(id: -1)
    try store.write { try $0.save(&back) }
    #expect(try store.verify().isClean)
  }

  enum Shapes {
    struct Node: Record {
      var id = RecordID<Node>()
      var parentID: Node.ID?
      var link = Link()
      var renamed: Node.ID?
      var firstID: Node.ID?
      struct Link: Codable, Sendable {
        var nextID: Node.ID?
        var deep: Deep?
      }
      struct Deep: Codable, Sendable { var lastID: Node.ID? }
      enum CodingKeys: String, CodingKey {
        case id, link, firstID
        case parentID = "parent"
        case renamed = "stored.under another/name"
      }
      static let collectionName = "tree.node"
      static let schema = Schema<Node> {
        Index(\.parentID)
        Unique(\.firstID)
        BelongsTo(\.parentID, to: Node.self)
        HasMany(\Node.parentID, onDelete: .destroy)
        BelongsTo(\.link.nextID, to: Node.self)
        HasOne(\Node.link.deep?.lastID, onDelete: .deny)
        BelongsTo(\.renamed, to: Node.self)
        HasMany(\Node.firstID)
        ManyToMany(Node.self, named: "peers", onDelete: .destroy)
        ManyToMany(Node.self, named: "peers", isInverse: true, onDelete: .deny)
      }
    }
  }

  @Test("References to the own type, in nested values, under other names, over declared indexes")
  func shapes() throws {
    let ends = "tree.node to tree.node, optional"
    #expect(
      try declared(Shapes.Node.self) == [
        "unique firstID: 0 entries", "unique link.deep.lastID: 0 entries",
        "index link.nextID: 0 entries", "index parentID: 0 entries", "index renamed: 0 entries",
        "reference tree.node.firstID: \(ends), on delete none, nullify",
        "reference tree.node.link.deep.lastID: \(ends), one, on delete none, deny",
        "reference tree.node.link.nextID: \(ends), on delete none, nullify",
        "reference tree.node.parent: \(ends), on delete none, destroy",
        "reference tree.node.stored.under another/name: \(ends), on delete none, nullify",
        "lists tree.node/tree.node/peers: tree.node with tree.node, 0 links, on delete destroy, deny",
      ])
    let store = try Store.temporary(for: Shapes.Node.self)
    var nodes = [Shapes.Node(), Shapes.Node(), Shapes.Node()]
    try store.write { tx in
      for index in nodes.indices { try tx.save(&nodes[index]) }
      nodes[1].parentID = nodes[0].id
      nodes[1].link.nextID = nodes[2].id
      nodes[1].link.deep = .init(lastID: nodes[1].id)
      nodes[1].renamed = nodes[0].id
      nodes[1].firstID = nodes[0].id
      try tx.save(&nodes[1])
    }
    let report = try store.verify()
    #expect(report.isClean, "\(report)")
    #expect(report.referenceCount == 5)
    var second = Shapes.Node()
    second.link.deep = .init(lastID: nodes[1].id)
    let error = caught { try store.write { try $0.save(&second) } }
    #expect(error?.code == .uniqueConflict)
    second.link.deep?.lastID = 99
    #expect(caught { try store.write { try $0.save(&second) } }?.code == .danglingReference)
    try store.lose(Shapes.Node.self, nodes[2].id)
    #expect(
      try store.verify().faults.map(\.association).filter { $0 != nil } == [
        "tree.node.link.nextID"
      ])
    try store.rebuild()
    try store.write { tx in
      nodes[1].link.nextID = nil
      try tx.save(&nodes[1])
    }
    #expect(try store.verify().isClean)
  }

  enum Several {
    struct Person: Record {
      var id = RecordID<Person>()
      static let schema = Schema<Person> {
        ManyToMany(Team.self, named: "members")
        ManyToMany(Club.self, named: "members")
        HasMany(\Letter.fromID, onDelete: .destroy)
        HasMany(\Letter.toID, onDelete: DeleteRule.none)
      }
    }
    struct Team: Record { var id = UUID() }
    struct Club: Record {
      var id: String
      static let schema = Schema<Club> {
        ManyToMany(Person.self, named: "members", onDelete: .destroy)
        ManyToMany(Person.self, named: "guests")
      }
    }
    struct Letter: Record {
      var id = RecordID<Letter>()
      var fromID: Person.ID
      var toID: Person.ID
      static let schema = Schema<Letter> {}
    }
    struct Profile: Record {
      var id: UUID
      static let schema = Schema<Profile> { BelongsTo(\.id, to: Team.self) }
    }
  }

  @Test("Several associations between two types, and one name between several, stay apart")
  func several() throws {
    #expect(
      try declared(
        Several.Person.self, Several.Team.self, Several.Club.self, Several.Letter.self,
        Several.Profile.self) == [
          "index fromID: 0 entries", "index toID: 0 entries", "index id: 0 entries",
          "lists Club/Person/guests: Club with Person, 0 links, on delete nullify, nullify",
          "lists Club/Person/members: Club with Person, 0 links, on delete destroy, nullify",
          "reference Letter.fromID: Letter to Person, on delete none, destroy",
          "reference Letter.toID: Letter to Person, on delete none, none",
          "lists Person/Team/members: Person with Team, 0 links, on delete nullify, nullify",
          "reference Profile.id: Profile to Team, on delete none, deny",
        ])
    let store = try Store.temporary(
      for: Several.Person.self, Several.Team.self, Several.Club.self, Several.Letter.self)
    let person = try bytes(of: RecordID<Several.Person>(1))
    try store.saveAll([Several.Person(), Several.Person()])
    try store.saveAll([Several.Club(id: "c")])
    try DamagedLinks(store: store, key: "Club/Person/guests").add(try bytes(of: "c"), person)
    let dump = try store.dump()
    #expect(dump.contains("lists Club/Person/guests: Club with Person, 1 link, on delete"))
    #expect(dump.contains("1 link, on delete nullify, nullify\n  c -> 1\n"))
    #expect(dump.contains("lists Club/Person/members: Club with Person, 0 links"))
    #expect(try store.verify().isClean)
    // A reference that need not lead anywhere.
    try store.saveAll([Several.Letter(fromID: 1, toID: 50)])
    let report = try store.verify()
    #expect(report.isClean, "\(report)")
    #expect(report.looseReferenceCount == 1)
  }

  enum Joined {
    struct Student: Record {
      var id = RecordID<Student>()
      static let schema = Schema<Student> {
        HasMany(Course.self, through: \Enrolment.studentID, \Enrolment.courseID)
      }
    }
    struct Course: Record {
      var id: String
      static let schema = Schema<Course> {
        HasMany(
          Student.self, through: \Enrolment.courseID, \Enrolment.studentID, onDelete: .deny)
      }
    }
    struct Enrolment: Record {
      var id = RecordID<Enrolment>()
      var studentID: Student.ID
      var courseID: String
      static let schema = Schema<Enrolment> { Index(\.studentID, \.courseID) }
    }
  }

  @Test("A join record has two references, each with the rule of its end")
  func join() throws {
    #expect(
      try declared(Joined.Student.self, Joined.Course.self, Joined.Enrolment.self) == [
        "index courseID: 0 entries", "index studentID: 0 entries",
        "index studentID_courseID: 0 entries",
        "reference Enrolment.courseID: Enrolment to Course, on delete none, deny",
        "reference Enrolment.studentID: Enrolment to Student, on delete none, destroy",
      ])
  }

  enum OneOverIndex {
    struct User: Record {
      var id = RecordID<User>()
      static let schema = Schema<User> { HasOne(\Profile.userID, onDelete: .destroy) }
    }
    struct Profile: Record {
      var id = RecordID<Profile>()
      var userID: User.ID?
      static let schema = Schema<Profile> { Index(\.userID) }
    }
  }

  @Test("HasOne makes a declared index of its property unique")
  func hasOne() throws {
    #expect(
      try declared(OneOverIndex.User.self, OneOverIndex.Profile.self) == [
        "unique userID: 0 entries",
        "reference Profile.userID: Profile to User, optional, one, on delete none, destroy",
      ])
    let store = try Store.temporary(for: OneOverIndex.User.self, OneOverIndex.Profile.self)
    try store.saveAll([OneOverIndex.User()])
    try store.saveAll([
      OneOverIndex.Profile(userID: 1), OneOverIndex.Profile(), OneOverIndex.Profile(),
    ])
    let error = caught { try store.saveAll([OneOverIndex.Profile(userID: 1)]) }
    #expect(error?.code == .uniqueConflict)
    #expect(try store.verify().isClean)
  }
}
