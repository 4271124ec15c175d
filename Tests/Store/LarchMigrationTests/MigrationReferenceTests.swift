import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// The people of the first version, whose company is an association now.
private enum Associated {
  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name: String
    var age: Int32
    var companyID: V1.Company.ID?

    static let schema = Schema<Person> {
      Index(\.age)
      BelongsTo(\.companyID, to: V1.Company.self)
    }
  }

  /// Without an index that is complete in the migration.
  enum Only {
    struct Person: Record, Equatable {
      var id = RecordID<Person>()
      var name: String
      var age: Int32
      var companyID: V1.Company.ID?

      static let schema = Schema<Person> { BelongsTo(\.companyID, to: V1.Company.self) }
    }
  }
}

@Suite("References that a migration saves, of an association that is new")
struct MigrationReferenceTests {
  private func open<R: Record>(
    _ person: R.Type, _ path: String,
    _ migration: @escaping @Sendable (MigrationTransaction) throws -> Void
  ) throws {
    let store = try Store(
      path: path, types: [person, V1.Company.self],
      options: .quick.with { $0.migrations = [Migration("new") { try migration($0) }] },
      isTemporary: false)
    store.close()
  }

  private func withFirst(_ work: (String) throws -> Void) throws {
    try withScratchPath { path throws in
      // The third refers to nothing, as it may where the number is no association.
      try Split.makeFirst(path, Split.people + [V1.Person(name: "Nobody", age: 1, companyID: 99)])
      try work(path)
    }
  }

  @Test("A saved record whose target does not exist undoes the migration")
  func dangling() throws {
    try withFirst { path throws in
      let error = caught {
        try open(Associated.Person.self, path) { tx throws in
          var person = Associated.Person(name: "Bob", age: 3, companyID: 77)
          try tx.save(&person)
        }
      }
      #expect((error?.underlying as? LarchError)?.code == .danglingReference)
      #expect(error?.context.otherID == "77")
      let second = caught {
        try open(Associated.Only.Person.self, path) { tx throws in
          var person = try #require(try tx.find(Associated.Only.Person.self, 1))
          person.companyID = 78
          try tx.save(&person)
        }
      }
      #expect((second?.underlying as? LarchError)?.code == .danglingReference)
      #expect(second?.context.otherID == "78")
      try Store.using(path, V1.Person.self, V1.Company.self) { store throws in
        #expect(try store.count(V1.Person.all) == 4)
        #expect(try store.find(V1.Person.self, 1)?.companyID == 1)
      }
    }
  }

  @Test("The target may be saved later, and what the migration did not save is not checked")
  func later() throws {
    try withFirst { path throws in
      try open(Associated.Person.self, path) { tx throws in
        var person = Associated.Person(name: "Bob", age: 3, companyID: 3)
        try tx.save(&person)
        var known = try #require(try tx.find(Associated.Person.self, 1))
        known.name = "Augusta"
        try tx.save(&known)
        var other = Associated.Person(name: "Eve", age: 4, companyID: 98)
        try tx.save(&other)
        try tx.delete(other)
        var company = V1.Company(name: "Later")
        try tx.save(&company)
        #expect(company.id == 3)
      }
      try Store.using(path, Associated.Person.self, V1.Company.self) { store throws in
        #expect(try store.find(Associated.Person.self, 1)?.name == "Augusta")
        let later = try store.fetch(Associated.Person.where { $0.name == "Bob" })
        #expect(later.map(\.companyID) == [3])
        // That of the record that was not saved; as it was before there was an association.
        #expect(try store.faults.count == 1)
      }
    }
  }
}
