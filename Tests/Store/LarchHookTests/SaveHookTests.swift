import LarchTestSupport
import Testing

@testable import Larch

@Suite("Hooks of saves")
struct SaveHookTests {
  private typealias Person = Office.Person
  private typealias Company = Office.Company

  // MARK: Order

  @Test("An insert runs all its hooks in order, and those of the commit last")
  func insertOrder() throws {
    let store = try Office.store()
    try Script.run { script throws in
      var ada = Person(name: "ada")
      try store.write { tx in
        try tx.save(&ada)
        script.note("end of the closure")
      }
      #expect(
        script.events == [
          "willSave Person ada", "willInsert Person ada", "didInsert Person ada",
          "didSave Person ada", "end of the closure", "didCommit Person ada inserted",
        ])
      #expect(try store.find(Person.self, ada.id) == ada)
    }
  }

  @Test("An update runs its hooks, which get the stored record")
  func updateOrder() throws {
    let store = try Office.store()
    var ada = Person(name: "ada")
    try store.save(&ada)
    try Script.run { script throws in
      ada.name = "grace"
      try store.update(ada)
      #expect(
        script.events == [
          "willSave Person grace", "willUpdate Person grace from ada",
          "didUpdate Person grace from ada", "didSave Person grace",
          "didCommit Person grace updated",
        ])
    }
  }

  @Test("Saving an unchanged record runs only willSave and writes nothing")
  func unchanged() throws {
    let store = try Office.store()
    var ada = Person(name: "ada")
    try store.save(&ada)
    let before = try store.lastTransaction()
    try Script.run { script throws in
      for _ in 0..<20 { try store.save(&ada) }
      try store.write { tx in for _ in 0..<20 { try tx.save(&ada) } }
      #expect(script.events == Array(repeating: "willSave Person ada", count: 40))
    }
    #expect(try store.lastTransaction() == before)
  }

  @Test("A change that willSave reverts is not a change")
  func takenBack() throws {
    let store = try Office.store()
    var ada = Person(name: "ada")
    try store.save(&ada)
    let before = try store.lastTransaction()
    for step in [Script.Step.willSave, .willUpdate] {
      try Script.run({ here, record, _ in if here == step { record.name = "ada" } }) {
        script throws in
        ada.name = "other"
        try store.save(&ada)
        #expect(ada.name == "ada")
        #expect(!script.events.contains { $0.hasPrefix("did") })
      }
    }
    #expect(try store.lastTransaction() == before)
  }

  @Test("Hooks before the write change the record that is stored, and the one in memory")
  func changes() throws {
    let store = try Office.store()
    var ada = Person(name: "ada")
    try Script.run({ step, record, _ in
      switch step {
      case .willSave: record.name += "-s"
      case .willInsert: record.name += "-i"
      case .willUpdate: record.name += "-u"
      default: record.name += "-lost"
      }
    }) { _ throws in
      try store.save(&ada)
      #expect(ada.name == "ada-s-i")
      try store.save(&ada)
      #expect(ada.name == "ada-s-i-s-u")
    }
    #expect(try store.find(Person.self, ada.id) == ada)
  }

  @Test("Every verb that writes runs the hooks")
  func everyPath() throws {
    let store = try Office.store()
    var acme = Company(name: "acme")
    var ada = Person(name: "ada")
    var club = Office.Club(name: "chess")
    try store.save(&acme)
    try store.save(&ada)
    try store.save(&club)
    func events(_ body: () throws -> Void) rethrows -> [String] {
      try Script.run { script throws in
        try body()
        return script.events.filter { $0.hasPrefix("did") && !$0.hasPrefix("didSave") }
      }
    }
    let updated = ["didUpdate Person ada from ada", "didCommit Person ada updated"]
    let id = ada.id
    try store.write { tx throws in
      #expect(
        try events { try tx.update(Person.all) { $0.email = "a@b" } } == [updated[0]])
    }
    #expect(try events { try store.add(id, to: acme.related(\Person.company)) } == updated)
    #expect(try events { try store.remove(id, from: acme.related(\Person.company)) } == updated)
    #expect(try events { try store.replace(acme.related(\Person.company), with: [id]) } == updated)
    #expect(
      try events {
        _ = try store.findOrCreate(by: \Person.email, equals: "new") {
          Person(name: "new", email: "new")
        }
      } == ["didInsert Person new", "didCommit Person new inserted"])
    #expect(
      try events {
        var zoe = Person(name: "zoe")
        try store.add(&zoe, to: acme.related(\Person.company))
      } == ["didInsert Person zoe", "didCommit Person zoe inserted"])
    #expect(
      try events {
        var eve = Person(name: "eve")
        try store.insert(&eve)
      } == ["didInsert Person eve", "didCommit Person eve inserted"])
  }

  // MARK: Errors

  @Test(
    "A hook that throws undoes the save and its hooks, and the transaction continues",
    arguments: [
      Script.Step.willSave, .willInsert, .willUpdate, .didInsert, .didUpdate, .didSave,
    ])
  func thrown(step: Script.Step) throws {
    let store = try Office.store()
    var bob = Person(name: "bob")
    try store.save(&bob)
    let before = bob
    try store.write { tx in
      try Script.run({ here, record, tx in
        guard let person = record as? Person else { return }
        if here == .willSave {
          var company = Company(name: "of \(person.name)")
          try tx.save(&company)
          record.name += " changed"
        }
        if here == step { throw Refused() }
      }) { script throws in
        for isNew in [true, false] {
          var person = isNew ? Person(name: "ada") : before
          if !isNew { person.name = "robert" }
          let original = person
          do { try tx.save(&person) } catch is Refused { #expect(person == original) }
        }
        script.action = nil
        var zoe = Person(name: "zoe")
        try tx.save(&zoe)
      }
    }
    let isForInsert = step == .willInsert || step == .didInsert
    let isForUpdate = step == .willUpdate || step == .didUpdate
    let people = try store.fetch(Person.all).map(\.name)
    // Each step except willSave and didSave belongs to one of the two saves; the other save
    // succeeds.
    let expected =
      isForInsert
      ? ["robert changed", "zoe"] : isForUpdate ? ["bob", "ada changed", "zoe"] : ["bob", "zoe"]
    #expect(people == expected)
    let companies = try store.fetch(Company.all).map(\.name)
    #expect(companies == (isForUpdate ? ["of ada"] : isForInsert ? ["of robert"] : []))
    #expect(try store.verify().isClean)
  }

  @Test("A hook that takes the unique value makes the save fail, and is undone")
  func uniqueTaken() throws {
    let store = try Office.store()
    try Script.run({ step, record, tx throws in
      guard step == .willInsert, record.name == "ada" else { return }
      var thief = Person(name: "thief", email: "a@b")
      try tx.save(&thief)
    }) { _ throws in
      var ada = Person(name: "ada", email: "a@b")
      #expect(throws: LarchError.self) { try store.save(&ada) }
      #expect(ada == Person(name: "ada", email: "a@b"))
    }
    #expect(try store.count(Person.all) == 0)
  }

  @Test("A hook must not change the id", arguments: [Script.Step.willSave, .willInsert])
  func changedID(step: Script.Step) throws {
    let store = try Office.store()
    try Script.run({ here, record, _ in
      guard here == step, var person = record as? Person else { return }
      person.id = 77
      record = person
    }) { _ throws in
      var ada = Person(name: "ada")
      do {
        try store.save(&ada)
        Issue.record("the id was changed")
      } catch let error as LarchError { #expect(error.code == .idChanged) }
    }
    #expect(try store.count(Person.all) == 0)
  }

  @Test("The mode of a save is refused before a hook runs")
  func modes() throws {
    let store = try Office.store()
    var ada = Person(name: "ada")
    try store.save(&ada)
    try Script.run { script throws in
      #expect(throws: LarchError.self) { try store.update(Person(id: 99, name: "nobody")) }
      var copy = ada
      #expect(throws: LarchError.self) { try store.insert(&copy) }
      #expect(script.events == [])
    }
  }

  // MARK: Hooks that change the record elsewhere

  @Test("A hook that inserts the record itself makes the save an update")
  func insertedByHook() throws {
    let store = try Office.store()
    for step in [Script.Step.willSave, .willInsert] {
      try Script.run({ here, record, tx in
        guard here == step, record.name == "ada" else { return }
        guard var person = record as? Person else { return }
        person.name = "inner"
        try tx.save(&person)
      }) { script throws in
        var ada = Person(name: "ada")
        try store.write { tx in try tx.save(&ada) }
        #expect(try store.find(Person.self, ada.id) == ada)
        #expect(ada.name == "ada")
        #expect(script.events.contains("willUpdate Person ada from inner"))
        #expect(script.events.contains("didUpdate Person ada from inner"))
        #expect(!script.events.contains("didInsert Person ada"))
        #expect(
          script.events.suffix(2) == [
            "didCommit Person inner inserted", "didCommit Person ada updated",
          ])
      }
    }
  }

  @Test("A hook that deletes the record makes the save an insert, or refuses an update")
  func deletedByHook() throws {
    let store = try Office.store()
    for step in [Script.Step.willSave, .willUpdate] {
      var ada = Person(name: "ada")
      try store.save(&ada)
      try Script.run({ here, record, tx in
        guard here == step, let person = record as? Person else { return }
        try tx.delete(person)
      }) { script throws in
        ada.name = "new"
        #expect(throws: LarchError.self) { try store.update(ada) }
        #expect(try store.find(Person.self, ada.id)?.name == "ada")
        try store.save(&ada)
        #expect(script.events.contains("didInsert Person new"))
        #expect(try store.find(Person.self, ada.id) == ada)
      }
    }
    #expect(try store.verify().isClean)
  }

  @Test("A hook after the save may save the record again, and delete it")
  func savedAgain() throws {
    let store = try Office.store()
    try Script.run({ step, record, tx throws in
      guard step == .didSave, var person = record as? Person, person.email == nil else { return }
      person.email = "again"
      try tx.save(&person)
    }) { script throws in
      var ada = Person(name: "ada")
      try store.save(&ada)
      #expect(try store.find(Person.self, ada.id)?.email == "again")
      #expect(
        script.events.suffix(2) == [
          "didCommit Person ada inserted", "didCommit Person ada updated",
        ])
    }
    try Script.run({ step, record, tx throws in
      guard step == .didInsert, let person = record as? Person else { return }
      try tx.delete(person)
    }) { script throws in
      var bob = Person(name: "bob")
      try store.save(&bob)
      #expect(try !store.exists(Person.self, bob.id))
      #expect(
        script.events.suffix(2) == [
          "didCommit Person bob inserted", "didCommit Person bob deleted",
        ])
    }
  }

  @Test("Hooks of children keep a count in their parent")
  func counters() throws {
    let store = try Office.store()
    var acme = Company(name: "acme")
    try store.save(&acme)
    let company = acme.id
    try Script.run({ step, record, tx throws in
      guard step == .didInsert || step == .didDelete, let person = record as? Person,
        let id = person.company, var company = try tx.find(Company.self, id)
      else { return }
      company.peopleCount += step == .didInsert ? 1 : -1
      try tx.update(company)
    }) { _ throws in
      try store.write { tx in
        for number in 0..<20 {
          var person = Person(name: "p\(number)", company: company)
          try tx.save(&person)
        }
        try tx.delete(Person.where { ["p3", "p4", "p5"].contains($0.name) })
      }
      #expect(try store.find(Company.self, company)?.peopleCount == 17)
      #expect(try store.delete(Company.self, company))
    }
    #expect(try store.count(Person.all) == 0)
    #expect(try store.verify().isClean)
  }

  // MARK: Running sequences

  @Test("Sequences and cursors continue while their records are saved and deleted with hooks")
  func sequences() throws {
    let store = try Office.store()
    try store.write { tx in
      for number in 0..<300 {
        var person = Person(name: "p\(number)")
        try tx.save(&person)
      }
    }
    try Script.run { _ throws in
      try store.write { tx in
        var seen = 0
        for var person in try tx.all(Person.self) {
          seen += 1
          person.email = "e\(seen)"
          if seen % 3 == 0 { try tx.delete(person) } else { try tx.save(&person) }
          _ = try? tx.savepoint {
            try tx.delete(person)
            throw Refused()
          }
        }
        #expect(seen == 300)
        let cursor = try tx.cursor(Person.where { $0.email != nil })
        var count = 0
        while var person = try cursor.next() {
          count += 1
          person.email = nil
          try tx.save(&person)
        }
        #expect(count == 200)
        try tx.forEach(Person.all) { person in
          var person = person
          person.name += "!"
          try tx.save(&person)
        }
      }
    }
    #expect(try store.fetch(Person.all).allSatisfy { $0.name.hasSuffix("!") && $0.email == nil })
    #expect(try store.verify().isClean)
  }
}
