import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Records that are rewritten, by type and by fields, and collections that are dropped.
@Suite("Rewriting records")
struct RewriteTests {
  @Test("Two versions on the way from the first program to the third")
  func chain() throws {
    try withScratchPath { path throws in
      try Split.makeFirst(path)
      try Store.using(
        path, V3.Person.self, V3.Company.self, V3.Project.self,
        migrations: [Split.names, Split.months]
      ) { store throws in
        var people = Split.people
        for place in people.indices { people[place].id = .init(Int64(place + 1)) }
        #expect(try store.everything(V3.Person.self) == people.map { Split.v3(Split.v2($0)) })
        #expect(try store.faults == [])
        let query = V3.Person.where { $0.last == "Lovelace" }
        #expect(try store.fetch(query).map(\.first) == ["Ada"])
        #expect(try "\(store.explain(query))".contains("index last_months"))
      }
    }
  }

  @Test("Types that cannot read the records are refused without the migrations, and not with them")
  func refusal() throws {
    try withScratchPath { path throws in
      try Split.makeFirst(path)
      let error = caught {
        try Store.using(path, V3.Person.self, V3.Company.self, V3.Project.self)
      }
      #expect(error?.code == .schemaMismatch)
      // The chain of migrations is not complete, so the rest is still refused.
      let half = caught {
        try Store.using(
          path, V3.Person.self, V3.Company.self, V3.Project.self, migrations: [Split.names])
      }
      #expect(half?.code == .schemaMismatch)
      try Store.using(
        path, V3.Person.self, V3.Company.self, V3.Project.self,
        migrations: [Split.names, Split.months]
      ) { store throws in #expect(try store.faults == []) }
      // The first program does not read the new records.
      let old = caught { try Store.using(path, V1.Person.self) }
      #expect(old?.code == .schemaMismatch)
    }
  }

  @Test("By fields: the result is decoded as the type and written as by a save")
  func fields() throws {
    try withScratchPath { path throws in
      try Split.makeFirst(path)
      let migration = Migration("fields") { tx throws in
        try tx.rewrite(V3.Person.self) { fields in
          let (first, last) = Split.parts(fields["name"]?.string ?? "")
          fields["first"] = .string(first)
          fields["last"] = .string(last)
          fields["months"] = .int((fields["age"]?.int ?? 0) * 12)
          fields["name"] = nil
          fields["age"] = nil
        }
      }
      try Store.using(
        path, V3.Person.self, V3.Company.self, V3.Project.self, migrations: [migration]
      ) { store throws in
        var people = Split.people
        for place in people.indices { people[place].id = .init(Int64(place + 1)) }
        let expected = people.map { Split.v3(Split.v2($0)) }
        #expect(try store.everything(V3.Person.self) == expected)
        #expect(try store.faults == [])
        // The bytes are those of a save: saving writes nothing.
        let transaction = try store.write { tx throws in tx.context.current?.id }
        try store.saveAll(expected)
        let later = try store.write { tx throws in tx.context.current?.id }
        #expect(later.map { $0 - (transaction ?? 0) }! <= 2)
      }
    }
  }

  @Test("Fields that do not fit the type are an error with collection, field and id")
  func wrongFields() throws {
    try withScratchPath { path throws in
      try Split.makeFirst(path)
      let migration = Migration("wrong") { tx throws in
        try tx.rewrite(V1.Person.self) { $0["age"] = "old" }
      }
      let error = caught { try Store.using(path, V1.Person.self, migrations: [migration]) }
      #expect(error?.code == .migrationFailed)
      #expect((error?.underlying as? LarchError)?.code == .decodingFailed)
      #expect(error?.context.collection == "Person")
      #expect(error?.context.field == "age")
      #expect(error?.context.id == "1")
    }
  }

  @Test("Another id is refused, and so is an inner savepoint")
  func refused() throws {
    try withScratchPath { path throws in
      try Split.makeFirst(path)
      let other = Migration("ids") { tx throws in
        try tx.rewrite(V1.Person.self, from: V1.Person.self) { old in
          var new = old
          new.id = .init(old.id.rawValue + 100)
          return new
        }
      }
      let error = caught { try Store.using(path, V1.Person.self, migrations: [other]) }
      #expect((error?.underlying as? LarchError)?.code == .idExists)
      #expect(error?.context.id == "1")
      let inside = Migration("inside") { tx throws in
        try tx.savepoint { try tx.rewrite(V1.Person.self, from: V1.Person.self) { $0 } }
      }
      let second = caught { try Store.using(path, V1.Person.self, migrations: [inside]) }
      #expect((second?.underlying as? LarchError)?.code == .invalidSchema)
    }
  }

  @Test("Dropped records are removed from lists, and their ids are not assigned again")
  func dropping() throws {
    try withScratchPath { path throws in
      try Store.using(path, V3.Person.self, V3.Company.self, V3.Project.self) { store throws in
        try store.write { tx throws in
          var project = V3.Project(title: "Engine")
          try tx.save(&project)
          for place in 1...4 {
            var person = V3.Person(first: "p\(place)", last: "x", months: place)
            try tx.save(&person)
            try tx.add(person, to: project.related(V3.Project.members))
          }
        }
      }
      let migration = Migration("drop") { tx throws in
        try tx.rewrite(V3.Person.self, from: V3.Person.self) { $0.months % 2 == 0 ? nil : $0 }
        var next = V3.Person(first: "new", last: "x", months: 9)
        try tx.save(&next)
        #expect(next.id == 5)
      }
      try Store.using(
        path, V3.Person.self, V3.Company.self, V3.Project.self, migrations: [migration]
      ) { store throws in
        #expect(try store.everything(V3.Person.self).map(\.first) == ["p1", "p3", "new"])
        #expect(try store.faults == [])
      }
    }
  }

  @Test(
    "A reference to a removed record undoes the migration also if a later record ended the rewrite")
  func referencesAfterAnError() throws {
    struct Stop: Error {}
    try withScratchPath { path throws in
      let types: [any Record.Type] = [V3.Person.self, V3.Company.self, V3.Project.self]
      func open(_ migrations: [Migration]) throws -> Store {
        try Store(
          path: path, types: types, options: .quick.with { $0.migrations = migrations },
          isTemporary: false)
      }
      let store = try open([])
      try store.saveAll([V3.Company(name: "a"), V3.Company(name: "b")])
      try store.saveAll([V3.Person(first: "p", last: "x", months: 1, companyID: 1)])
      store.close()
      let error = caught {
        try open([
          Migration("half") { tx throws in
            do {
              try tx.rewrite(V3.Company.self, from: V3.Company.self) { company -> V3.Company? in
                if company.name == "b" { throw Stop() }
                return nil
              }
            } catch is Stop {}
          }
        ]).close()
      }
      #expect((error?.underlying as? LarchError)?.code == .danglingReference)
      let again = try open([])
      defer { again.close() }
      #expect(try again.count(V3.Company.all) == 2)
    }
  }

  @Test("A reference to a removed record undoes the migration")
  func references() throws {
    try withScratchPath { path throws in
      let types: [any Record.Type] = [V3.Person.self, V3.Company.self, V3.Project.self]
      func open(_ migrations: [Migration]) throws -> Store {
        try Store(
          path: path, types: types, options: .quick.with { $0.migrations = migrations },
          isTemporary: false)
      }
      let store = try open([])
      try store.saveAll([V3.Company(name: "a"), V3.Company(name: "b")])
      try store.saveAll([V3.Person(first: "p", last: "x", months: 1, companyID: 2)])
      store.close()
      let drop = Migration("drop") { tx throws in
        try tx.rewrite(V3.Company.self, from: V3.Company.self) { $0.name == "b" ? nil : $0 }
      }
      let error = caught { try open([drop]).close() }
      #expect((error?.underlying as? LarchError)?.code == .danglingReference)
      #expect(error?.context.collection == "Person")
      let wrong = Migration("wrong") { tx throws in
        try tx.rewrite(V3.Person.self) { $0["companyID"] = 7 }
      }
      let second = caught { try open([wrong]).close() }
      #expect((second?.underlying as? LarchError)?.code == .danglingReference)
      let both = Migration("both") { tx throws in
        try tx.rewrite(V3.Person.self) { $0["companyID"] = nil }
        try tx.rewrite(V3.Company.self, from: V3.Company.self) { $0.name == "b" ? nil : $0 }
      }
      let last = try open([both])
      #expect(try last.faults == [])
      #expect(try last.everything(V3.Person.self).map(\.companyID) == [nil])
      last.close()
    }
  }

  @Test("A collection without a type is read, copied and dropped")
  func copying() throws {
    try withScratchPath { path throws in
      try Store.using(path, V1.Customer.self, V1.Person.self) { store throws in
        try store.saveAll([
          V1.Customer(id: "a", fullName: "Ada"), V1.Customer(id: "b", fullName: "Bob"),
        ])
      }
      let notes = Notes()
      let migration = Migration("merge") { tx throws in
        notes.add("\(try tx.collectionNames())")
        notes.add("\(try tx.count(in: "Customer"))")
        notes.add(try tx.find(V1.Customer.self, "b", in: "Customer")?.fullName ?? "")
        notes.add(try tx.fields(of: "a", in: "Customer")?["fullName"]?.string ?? "")
        notes.add("\(try tx.fields(of: "c", in: "Customer") == nil)")
        for old in try tx.records(of: V1.Customer.self, in: "Customer") {
          var person = V1.Person(name: old.fullName, age: 0)
          try tx.save(&person)
        }
        try tx.drop("Customer")
        notes.add("\(try tx.collectionNames())")
        try tx.drop("Customer")
      }
      try Store.using(path, V1.Person.self, migrations: [migration]) { store throws in
        #expect(try store.everything(V1.Person.self).map(\.name) == ["Ada", "Bob"])
        #expect(try store.faults == [])
      }
      #expect(
        notes.all == [
          #"["Customer", "Person"]"#, "2", "Bob", "Ada", "true", #"["Person"]"#,
        ])
      // The name is free again.
      try Store.using(path, V1.Customer.self) { store throws in
        #expect(try store.count(V1.Customer.all) == 0)
        try store.saveAll([V1.Customer(id: "z", fullName: "Zed")])
        #expect(try store.faults == [])
      }
      let declared = Migration("declared") { tx throws in try tx.drop("Person") }
      let error = caught { try Store.using(path, V1.Person.self, migrations: [declared]) }
      #expect((error?.underlying as? LarchError)?.code == .invalidSchema)
    }
  }

  @Test(
    "Saves, finds, queries and deletions around a rewrite are correct without indexes")
  func around() throws {
    try withScratchPath { path throws in
      try Split.makeFirst(path, (0..<2000).map { V1.Person(name: "n\($0) l", age: Int32($0 % 90)) })
      let migration = Migration("around") { tx throws in
        #expect(try tx.count(V1.Person.where { $0.age == 5 }) == 23)
        var early = V1.Person(name: "early x", age: 5)
        try tx.save(&early)
        #expect(try tx.count(V1.Person.where { $0.age == 5 }) == 24)
        try tx.rewrite(V1.Person.self) { fields in
          fields["age"] = .int((fields["age"]?.int ?? 0) + 1)
        }
        #expect(try tx.count(V1.Person.where { $0.age == 6 }) == 24)
        #expect(try tx.delete(V1.Person.where { $0.age == 7 }) == 23)
        var late = V1.Person(name: "late x", age: 6)
        try tx.save(&late)
        late.age = 1000
        try tx.save(&late)
        try tx.savepoint { () throws -> Void in
          var undone = V1.Person(name: "undone", age: 1000)
          try tx.save(&undone)
          let count = try tx.count(V1.Person.where { $0.age == 1000 })
          #expect(count == 2)
          throw MigrationTests.Stop()
        }
      }
      let undone = caught { try Store.using(path, V1.Person.self, migrations: [migration]) }
      #expect(undone?.underlying is MigrationTests.Stop)
      let whole = Migration("around") { tx throws in
        do { try migration.body(tx) } catch is MigrationTests.Stop {}
      }
      try Store.using(path, V1.Person.self, V1.Company.self, migrations: [whole]) { store throws in
        #expect(try store.count(V1.Person.where { $0.age == 1000 }) == 1)
        #expect(try store.count(V1.Person.where { $0.age == 6 }) == 24)
        #expect(try store.count(V1.Person.all) == 2000 + 2 - 23)
        #expect(try store.faults == [])
      }
    }
  }

  @Test("Rules of associations need complete indexes, which can be built in the middle")
  func building() throws {
    try withScratchPath { path throws in
      try Split.makeFirst(path)
      func migration(_ builds: Bool) -> Migration {
        Migration("delete") { tx in
          try Split.names.body(tx)
          try Split.months.body(tx)
          if builds { try tx.buildIndexes(of: V3.Person.self) }
          try tx.delete(V3.Company.self, 1)
          let ada = try tx.find(V3.Person.self, 1)
          #expect(ada?.companyID == nil)
          let plan = try tx.explain(V3.Person.where { $0.last == "Lovelace" })
          #expect("\(plan)".contains("index last_months"))
          var late = V3.Person(first: "Late", last: "One", months: 1, companyID: 2)
          try tx.save(&late)
          if builds {
            var again = V3.Company(name: "Academy")
            try tx.buildIndexes(of: V3.Company.self)
            #expect(caught { try tx.save(&again) }?.code == .uniqueConflict)
          }
        }
      }
      func open(_ builds: Bool, _ body: (Store) throws -> Void = { _ in }) throws {
        try Store.using(
          path, V3.Person.self, V3.Company.self, V3.Project.self, migrations: [migration(builds)],
          body)
      }
      let error = caught { try open(false) }
      #expect((error?.underlying as? LarchError)?.code == .unknownAssociation)
      try open(true) { store throws in
        #expect(try store.everything(V3.Person.self).map(\.companyID) == [nil, nil, 2, 2])
        #expect(try store.fetch(V3.Person.where { $0.last == "One" }).count == 1)
        #expect(try store.faults == [])
      }
    }
  }

  struct Named: Record {
    var id = RecordID<Named>()
    var name: String
    static let collectionName = "Person"
    static let schema = Schema<Named> { Unique(\.name) }
  }

  @Test(
    "Conflicting records after a migration are reported, and another migration can resolve the conflict"
  )
  func conflict() throws {
    try withScratchPath { path throws in
      try Split.makeFirst(path)
      let same = Migration("same") { tx throws in try tx.rewrite(Named.self) { $0["name"] = "x" } }
      let error = caught { try Store.using(path, Named.self, migrations: [same]) }
      #expect(error?.code == .uniqueConflict)
      #expect(error?.context.index == "name")
      let again = caught { try Store.using(path, Named.self, migrations: [same]) }
      #expect(again?.code == .uniqueConflict)
      let early = Migration("early") { tx in try tx.buildIndexes(of: Named.self) }
      let undone = caught { try Store.using(path, Named.self, migrations: [same, early]) }
      #expect(undone?.code == .migrationFailed)
      #expect((undone?.underlying as? LarchError)?.code == .uniqueConflict)
      let better = Migration("better") { tx throws in
        try tx.rewrite(Named.self) { fields in
          fields["name"] = .string("x\(fields["id"]?.int ?? 0)")
        }
      }
      try Store.using(path, Named.self, migrations: [same, better]) { store throws in
        #expect(try store.everything(Named.self).map(\.name) == ["x1", "x2", "x3"])
        #expect(try store.faults == [])
      }
    }
  }
}
