import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A migration that removed records failed because of records that refer to them, and that only a
/// later migration gives the form of their type.
@Suite("References of records that a later migration rewrites")
struct LaterRewriteTests {
  enum Plain {
    struct Person: Record {
      var id = RecordID<Person>()
      var name: String
    }
  }

  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var first: String
    var last: String
    var companyID: V1.Company.ID?

    static let schema = Schema<Person> { BelongsTo(\.companyID, to: V1.Company.self) }
  }

  static let drop = Migration("drop") { tx in
    try tx.rewrite(V1.Company.self, from: V1.Company.self) { $0.name == "Academy" ? nil : $0 }
  }

  /// All people get this company.
  static func names(_ companyID: V1.Company.ID) -> Migration {
    Migration("names") { tx in
      try tx.rewrite(Person.self, from: Plain.Person.self) { old in
        let (first, last) = Split.parts(old.name)
        return Person(
          id: .init(old.id.rawValue), first: first, last: last, companyID: companyID)
      }
    }
  }

  static func withPlain(_ body: (String) throws -> Void) throws {
    try withScratchPath { path throws in
      try Store.using(path, Plain.Person.self, V1.Company.self) { store in
        try store.saveAll([V1.Company(name: "Engines"), V1.Company(name: "Academy")])
        try store.saveAll([Plain.Person(name: "Ada Lovelace"), Plain.Person(name: "Grace Hopper")])
      }
      try body(path)
    }
  }

  @Test("Records can be removed before the records that may refer to them are rewritten")
  func removing() throws {
    try Self.withPlain { path throws in
      try Store.using(
        path, Person.self, V1.Company.self, migrations: [Self.drop, Self.names(1)]
      ) { store throws in
        #expect(try store.everything(V1.Company.self).map(\.name) == ["Engines"])
        #expect(try store.everything(Person.self).map(\.last) == ["Lovelace", "Hopper"])
        #expect(try store.everything(Person.self).map(\.companyID) == [1, 1])
        #expect(try store.faults == [])
      }
    }
  }

  @Test("The migration that rewrites them checks their references")
  func dangling() throws {
    try Self.withPlain { path throws in
      let error = caught {
        try Store.using(
          path, Person.self, V1.Company.self, migrations: [Self.drop, Self.names(2)])
      }
      #expect(error?.code == .migrationFailed)
      #expect(error?.context.detail == "names")
      #expect((error?.underlying as? LarchError)?.code == .danglingReference)
      #expect(error?.context.otherID == "2")
    }
  }

  @Test("Without that migration the store is not opened, so that no reference is left unchecked")
  func incomplete() throws {
    try Self.withPlain { path throws in
      let error = caught {
        try Store.using(path, Person.self, V1.Company.self, migrations: [Self.drop])
      }
      #expect(error?.code == .schemaMismatch)
      try Store.using(
        path, Person.self, V1.Company.self, migrations: [Self.drop, Self.names(1)]
      ) { store throws in
        #expect(try store.migrationNames == ["drop", "names"])
        #expect(try store.faults == [])
      }
    }
  }

  /// The first such record ended the check: references of the records after it could dangle.
  @Test("The other records are checked beside one that its type cannot read yet")
  func others() throws {
    try withScratchPath { path throws in
      try Store.using(path, V3.Person.self, V3.Company.self, V3.Project.self) { store in
        try store.saveAll([V3.Company(name: "a"), V3.Company(name: "b")])
        try store.saveAll([
          V3.Person(first: "p", last: "x", months: 1),
          V3.Person(first: "q", last: "x", months: 1, companyID: 2),
        ])
      }
      let migration = Migration("half") { tx in
        try tx.rewrite("Person") { fields in
          if fields["first"] == .string("p") { fields["last"] = nil }
        }
        try tx.rewrite(V3.Company.self, from: V3.Company.self) { $0.name == "b" ? nil : $0 }
      }
      let error = caught {
        try Store.using(
          path, V3.Person.self, V3.Company.self, V3.Project.self, migrations: [migration])
      }
      #expect((error?.underlying as? LarchError)?.code == .danglingReference)
      #expect(error?.context.id == "2")
      try Store.using(path, V3.Person.self, V3.Company.self, V3.Project.self) { store throws in
        #expect(try store.count(V3.Company.all) == 2)
        #expect(try store.faults == [])
      }
    }
  }
}
