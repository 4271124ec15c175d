import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A migration that named a collection failed on every file without it. So no new store could be
/// created any more once a type was gone, and a type that was renamed broke its earlier migrations.
@Suite("Migrations that name a collection that a file does not have")
struct MissingCollectionTests {
  struct Company: Record {
    var id = RecordID<Company>()
    var name: String
  }

  struct Member: Record {
    var id = RecordID<Member>()
    var nick: String
    static let schema = Schema<Member> { Renamed(from: "Person") }
  }

  enum First {
    struct Client: Record {
      var id: String
      var name: String
    }
    struct Person: Record {
      var id = RecordID<Person>()
      var name: String
    }
  }

  enum Second {
    struct Person: Record {
      var id = RecordID<Person>()
      var short: String
    }
  }

  static let merge = Migration("merge") { tx in
    for fields in try tx.fields(in: "Client") {
      var company = Company(name: fields["name"]?.string ?? "")
      try tx.save(&company)
    }
    try tx.drop("Client")
  }

  static let chain = [
    Migration("short names") { tx in
      try tx.rewrite("Person", from: First.Person.self, to: Second.Person.self) { old in
        Second.Person(id: .init(old.id.rawValue), short: String(old.name.prefix(2)))
      }
    },
    Migration("nicks") { tx in
      try tx.rewrite(Member.self, from: Second.Person.self) { old in
        Member(id: .init(old.id.rawValue), nick: old.short)
      }
    },
  ]

  @Test(
    "It counts as empty on a new file, and on one that is older than the collection",
    arguments: [true, false])
  func missing(_ isNew: Bool) throws {
    try withScratchPath { path throws in
      if !isNew {
        try Store.using(path, Company.self) { store in
          try store.saveAll([Company(name: "Engines")])
        }
      }
      let notes = Notes()
      let reading = Migration("reading") { tx throws in
        let count = try tx.count(in: "Client")
        notes.add("\(count)")
        let client = try tx.find(First.Client.self, "a", in: "Client")
        notes.add(client?.name ?? "no client")
        let fields = try tx.fields(of: "a", in: "Client")
        notes.add(fields.map { "\($0.names)" } ?? "no fields")
        for old in try tx.records(of: First.Client.self, in: "Client") { notes.add(old.name) }
        try tx.rewrite("Client") { $0["name"] = "x" }
        try tx.rewrite("Client", from: First.Client.self, to: First.Client.self) { $0 }
      }
      try Store.using(path, Company.self, migrations: [reading, Self.merge]) { store throws in
        #expect(try store.migrationNames == ["reading", "merge"])
        #expect(try store.everything(Company.self).map(\.name) == (isNew ? [] : ["Engines"]))
        #expect(try store.faults == [])
      }
      #expect(notes.all == ["0", "no client", "no fields"])
    }
  }

  @Test("A misspelt name is an error if there are records under the name that was meant")
  func misspelt() throws {
    try withScratchPath { path throws in
      try Store.using(path, First.Client.self) { store in
        try store.saveAll([First.Client(id: "a", name: "Ada")])
      }
      let reading = Migration("reading") { tx in
        for fields in try tx.fields(in: "Clinet") { _ = fields }
      }
      let rewriting = Migration("rewriting") { tx in
        try tx.rewrite("client") { $0["name"] = "x" }
      }
      for migration in [reading, rewriting] {
        let error = caught { try Store.using(path, Company.self, migrations: [migration]) }
        #expect(error?.code == .migrationFailed)
        let cause = error?.underlying as? LarchError
        #expect(cause?.code == .unknownCollection)
        #expect(cause?.context.detail == "did you mean Client?")
      }
      try Store.using(path, Company.self) { store throws in
        #expect(try store.migrationNames == [])
      }
      try Store.using(path, Company.self, migrations: [Self.merge]) { store throws in
        #expect(try store.everything(Company.self).map(\.name) == ["Ada"])
        #expect(try store.faults == [])
      }
    }
  }

  @Test(
    "The older name of a renamed type is that of its collection, on old and on new files",
    arguments: [true, false])
  func renamed(_ isNew: Bool) throws {
    try withScratchPath { path throws in
      if !isNew {
        try Store.using(path, First.Person.self) { store in
          try store.saveAll([First.Person(name: "Ada"), First.Person(name: "Grace")])
        }
      }
      try Store.using(path, Member.self, migrations: Self.chain) { store throws in
        #expect(try store.everything(Member.self).map(\.nick) == (isNew ? [] : ["Ad", "Gr"]))
        #expect(try store.migrationNames == ["short names", "nicks"])
        #expect(try store.faults == [])
      }
    }
  }
}
