import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Fields and types under another name.
@Suite struct RenamedTests {
  struct Old: Record {
    static let collectionName = "Thing"
    var id: Int
    var first: String
    var size: Int32
    var other: Int?
  }
  struct New: Record, Equatable {
    static let collectionName = "Thing"
    static let schema = Schema<New> {
      Renamed(\.title, from: "first")
      Renamed(\.width, from: "size")
      Unique(\.title)
      Index(\.width)
    }
    var id: Int
    var title: String
    var width: Int
    var other: Int?
  }
  struct NewMemberwise: Record, Equatable, MemberwiseCoded {
    static let collectionName = "Thing"
    static let schema = Schema<NewMemberwise> { Renamed(\.title, from: "first") }
    var id: Int
    var title: String
    var other: Int?
  }

  @Test func `A renamed field works in every query, in old records and in new ones`() throws {
    let file = try EvolutionFile()
    try file.save(Old(id: 1, first: "a", size: 9, other: 1), Old(id: 2, first: "b", size: 3))
    let all = [
      New(id: 1, title: "a", width: 9, other: 1), New(id: 2, title: "b", width: 3, other: nil),
      New(id: 3, title: "c", width: 5_000_000_000, other: nil),
    ]
    var options = Store.Options.quick
    options.checksQueries = true
    try file.open(New.self, options: options) { store throws in
      try store.put([all[2]])
      #expect(try store.all(New.self) == all)
      try store.read { tx throws in
        #expect(try tx.fetch(New.where { $0.title == "b" }) == [all[1]])
        #expect(try tx.fetch(New.where { $0.title.contains("a") }) == [all[0]])
        #expect(try tx.fetch(New.where { $0.width > 4 }) == [all[0], all[2]])
        #expect(try tx.fetch(New.all.sorted(by: \.width)) == [all[1], all[0], all[2]])
        #expect(try tx.find(New.self, by: \.title, equals: "a") == all[0])
        #expect(try tx.sum(\.width, of: New.where { $0.other == nil }) == 5_000_000_003)
        #expect(try tx.fetch(New.all.select(\.title)) == ["a", "b", "c"])
      }
      var taken = New(id: 4, title: "a", width: 0)
      #expect(throws: LarchError.self) { try store.write { tx throws in try tx.save(&taken) } }
      try store.put([New(id: 1, title: "z", width: 1)])
      #expect(try store.all(New.self).map(\.title) == ["z", "b", "c"])
      try store.expectSound()
    }
    try file.open(NewMemberwise.self) { store throws in
      #expect(try store.all(NewMemberwise.self).map(\.id) == [1, 2, 3])
      #expect(try store.all(NewMemberwise.self).map(\.title) == ["z", "b", "c"])
    }
  }

  struct Later: Record {
    static let collectionName = "Thing"
    static let schema = Schema<Later> { Index(\.title) }
    var id: Int
    var title: String?
  }
  struct LaterRenamed: Record {
    static let collectionName = "Thing"
    static let schema = Schema<LaterRenamed> {
      Index(\.title)
      Renamed(\.title, from: "first")
    }
    var id: Int
    var title: String?
  }
  @Test func `An index that is older than the declaration of a rename is rebuilt`() throws {
    let file = try EvolutionFile()
    try file.save(Old(id: 1, first: "a", size: 9))
    try file.open(Later.self) { store throws in
      #expect(try store.all(Later.self).map(\.title) == [nil])
    }
    try file.open(LaterRenamed.self) { store throws in
      let found = try store.read { tx throws in
        try tx.fetch(LaterRenamed.where { $0.title == "a" })
      }
      #expect(found.map(\.id) == [1])
      try store.expectSound()
    }
    try file.open(Later.self) { store throws in
      let found = try store.read { tx throws in try tx.fetch(Later.where { $0.title == nil }) }
      #expect(found.map(\.id) == [1])
      try store.expectSound()
    }
  }

  enum Hand: CodingKey { case id, title }
  struct Reused: Record {
    static let collectionName = "Thing"
    static let schema = Schema<Reused> { Renamed(\.title, from: "first") }
    var id: Int
    var title: String
    var first: String
  }
  struct Twice: Record {
    static let collectionName = "Thing"
    static let schema = Schema<Twice> {
      Renamed(\.title, from: "first")
      Renamed(\.label, from: "first")
    }
    var id: Int
    var title: String
    var label: String
  }
  struct Computed: Record {
    static let schema = Schema<Computed> { Renamed(\.shout, from: "first") }
    var id: Int
    var title: String
    var shout: String { title.uppercased() }
  }
  @Test func `An ambiguous name is refused`() throws {
    let file = try EvolutionFile()
    #expect(file.refusal(Reused.self)?.code == .invalidSchema)
    #expect(file.refusal(Reused.self)?.context.detail == "first")
    #expect(file.refusal(Twice.self)?.code == .invalidSchema)
    #expect(file.refusal(Computed.self)?.code == .invalidSchema)
  }

  struct Owner: Record {
    static let schema = Schema<Owner> {
      BelongsTo(\.thingID, to: Zebra.self)
      ManyToMany(Zebra.self, named: "lists", onDelete: .destroy)
    }
    var id: Int
    var thingID: Int?
    var zebras: Related<Owner, Zebra> { related(ManyToMany(named: "lists")) }
  }
  struct Zebra: Record {
    static let schema = Schema<Zebra> { Index(\.name) }
    var id: Int
    var name: String
  }
  struct OwnerLater: Record {
    static let collectionName = "Owner"
    static let schema = Schema<OwnerLater> {
      BelongsTo(\.thingID, to: Ape.self)
      ManyToMany(Ape.self, named: "lists", onDelete: .destroy)
    }
    var id: Int
    var thingID: Int?
    var apes: Related<OwnerLater, Ape> { related(ManyToMany(named: "lists")) }
  }
  struct Ape: Record, Equatable {
    static let schema = Schema<Ape> {
      Index(\.name)
      Renamed(from: "Zebra")
    }
    var id: Int
    var name: String
    var owners: Related<Ape, OwnerLater> { related(ManyToMany(named: "lists")) }
  }

  private func zebras(_ file: EvolutionFile) throws {
    try file.open(Owner.self, Zebra.self) { store throws in
      try store.put([Zebra(id: 1, name: "x"), Zebra(id: 2, name: "y"), Zebra(id: 3, name: "z")])
      try store.put([Owner(id: 1, thingID: 2), Owner(id: 2, thingID: nil)])
      try store.write { tx throws in
        try Owner(id: 1).zebras.add(contentsOf: [1, 3], in: tx)
        try Owner(id: 2).zebras.add(contentsOf: [3], in: tx)
      }
    }
  }

  @Test(arguments: [false, true])
  func `A renamed type keeps its records, references and lists`(isReadOnly: Bool) throws {
    let file = try EvolutionFile()
    try zebras(file)
    let options = Store.Options.quick { $0.isReadOnly = isReadOnly }
    for _ in 0..<2 {
      try file.open(OwnerLater.self, Ape.self, options: options) { store throws in
        #expect(try store.all(Ape.self).map(\.name) == ["x", "y", "z"])
        #expect(try OwnerLater(id: 1).apes.ids(in: store) == [1, 3])
        #expect(try OwnerLater(id: 2).apes.ids(in: store) == [3])
        #expect(try Ape(id: 3, name: "").owners.ids(in: store) == [1, 2])
        let found = try store.read { tx throws in
          try tx.fetch(OwnerLater.where { $0.thingID == 2 })
        }
        #expect(found.map(\.id) == [1])
        try store.expectSound()
      }
    }
    guard !isReadOnly else { return }
    try file.open(OwnerLater.self, Ape.self) { store throws in
      // The rule of the lists was removed with them.
      try store.write { tx throws in try tx.delete(OwnerLater.self, 2) }
      #expect(try store.all(Ape.self).map(\.id) == [1, 2])
      #expect(throws: LarchError.self) { try store.put([OwnerLater(id: 5, thingID: 77)]) }
      try store.expectSound()
      #expect(try !store.dump(.all).contains("Zebra"))
    }
    #expect(file.refusal(Zebra.self) == nil)
  }

  struct Plain: Record {
    static let collectionName = "Ape"
    var id: Int
    var name: String
  }
  @Test func `A type cannot take the name of another one that has records`() throws {
    let file = try EvolutionFile()
    try zebras(file)
    // It was opened once before the rename was declared. It is empty, so it is replaced.
    try file.open(Plain.self)
    try file.open(Ape.self, OwnerLater.self) { store throws in
      #expect(try store.all(Ape.self).count == 3)
      try store.expectSound()
    }
    try file.open(Zebra.self) { try $0.put([Zebra(id: 9, name: "again")]) }
    let error = file.refusal(Ape.self, OwnerLater.self)
    #expect(error?.code == .schemaMismatch)
    #expect(error?.context.collection == "Ape")
    #expect(error?.context.detail == "Zebra")
    #expect(file.refusal(Ape.self, OwnerLater.self, Zebra.self)?.code == .invalidSchema)
  }
}
