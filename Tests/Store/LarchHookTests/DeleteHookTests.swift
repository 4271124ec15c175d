import LarchTestSupport
import Testing

@testable import Larch

@Suite("Hooks of deletions")
struct DeleteHookTests {
  private typealias Person = Office.Person
  private typealias Company = Office.Company
  private typealias Visit = Office.Visit
  private typealias Note = Office.Note
  private typealias Contract = Office.Contract

  /// A company with two people, each with a note, and a visit.
  private struct Sample {
    let store: Store
    var acme = Company(name: "acme")
    var ada = Person(name: "ada")
    var bob = Person(name: "bob")
    var visit = Visit(name: "visit")
    var club = Office.Club(name: "chess")

    init(_ options: Store.Options = .init()) throws {
      store = try Office.store(options)
      try store.save(&acme)
      ada.company = acme.id
      bob.company = acme.id
      visit.company = acme.id
      try store.save(&ada)
      try store.save(&bob)
      try store.save(&visit)
      try store.save(&club)
      for person in [ada, bob] {
        var note = Note(text: "of \(person.name)", person: person.id)
        try store.save(&note)
      }
      try store.add(club.id, to: ada.related(Person.clubs))
    }
  }

  // MARK: Order

  @Test("A deletion runs all hooks before it, what survivors have, and then all hooks after it")
  func order() throws {
    let sample = try Sample()
    let store = sample.store
    try Script.run({ step, record, tx throws in
      if step == .willDelete { #expect(try tx.count(Person.all) == 2) }
      if step == .didDelete { #expect(try tx.count(Person.all) == 0) }
    }) { script throws in
      #expect(try store.delete(sample.acme))
      #expect(
        script.events == [
          "willDelete Company acme", "willDelete Person ada", "willDelete Person bob",
          "willSave Visit visit", "willUpdate Visit visit from visit",
          "didUpdate Visit visit from visit", "didSave Visit visit",
          "didDelete Company acme", "didDelete Person ada", "didDelete Person bob",
          "didCommit Visit visit updated", "didCommit Company acme deleted",
          "didCommit Person ada deleted", "didCommit Person bob deleted",
        ])
    }
    #expect(try store.count(Note.all) == 0)
    #expect(try store.find(Visit.self, sample.visit.id)?.company == nil)
    #expect(try store.verify().isClean)
  }

  @Test("A query deletes with the same hooks, and so does a rule of a type without hooks")
  func queries() throws {
    let sample = try Sample()
    let store = sample.store
    try Script.run { script throws in
      #expect(try store.delete(Person.where { $0.name == "ada" }) == 1)
      #expect(
        script.takeEvents() == [
          "willDelete Person ada", "didDelete Person ada", "didCommit Person ada deleted",
        ])
      #expect(try !store.delete(Person.self, 77))
      #expect(try store.delete(Person.where { $0.name == "ada" }) == 0)
      #expect(try store.delete(Note.all) == 1)
      #expect(script.takeEvents() == [])
      _ = try store.deletionPlan(for: sample.acme)
      #expect(script.takeEvents() == [])
    }
    #expect(try store.verify().isClean)
  }

  @Test("Erasing runs only the hooks of other types")
  func erase() throws {
    let sample = try Sample()
    let store = sample.store
    try Script.run { script throws in
      #expect(try store.erase(Company.self) == 1)
      let events = script.takeEvents()
      #expect(!events.contains { $0.contains("Company") })
      #expect(events.contains("willDelete Person ada") && events.contains("didDelete Person bob"))
      #expect(events.contains("didUpdate Visit visit from visit"))
      #expect(try store.erase(Visit.self) == 1)
      #expect(script.takeEvents() == [])
    }
    #expect(try store.verify().isClean)
  }

  // MARK: Errors

  @Test(
    "A hook that throws undoes the deletion, and the transaction continues",
    arguments: [
      "willDelete Company", "willDelete Person", "willSave Visit", "didUpdate Visit",
      "didDelete Company", "didDelete Person",
    ])
  func thrown(at event: String) throws {
    let sample = try Sample()
    let store = sample.store
    let before = try store.dump()
    try store.write { tx in
      try Script.run({ step, record, tx throws in
        var other = Visit(name: "made by a hook")
        if step == .willDelete { try tx.save(&other) }
        if "\(step) \(type(of: record))" == event { throw Refused() }
      }) { script throws in
        var isThrown = false
        do { try tx.delete(sample.acme) } catch is Refused { isThrown = true }
        #expect(isThrown)
        isThrown = false
        do { try tx.delete(Company.all) } catch is Refused { isThrown = true }
        #expect(isThrown)
        script.action = nil
        var person = Person(name: "zoe")
        try tx.save(&person)
        #expect(person.name == "zoe")
        try tx.delete(person)
        #expect(!script.events.contains { $0.hasPrefix("didCommit") })
      }
    }
    #expect(try store.dump() == before)
    #expect(try store.verify().isClean)
  }

  @Test("A deny rule applies to the state after the hooks, which may remove its reason")
  func denied() throws {
    let sample = try Sample()
    let store = sample.store
    var contract = Contract(company: sample.acme.id)
    try store.save(&contract)
    let before = try store.dump()
    try Script.run { script throws in
      do {
        try store.delete(sample.acme)
        Issue.record("it was deleted")
      } catch let error as LarchError { #expect(error.code == .deleteDenied) }
      #expect(!script.events.contains { $0.hasPrefix("did") })
    }
    #expect(try store.dump() == before)
    try Script.run({ step, record, tx throws in
      if step == .willDelete, record is Company { try tx.erase(Contract.self) }
    }) { _ throws in #expect(try store.delete(sample.acme)) }
    #expect(try store.verify().isClean)
  }

  @Test("Hooks that never come to an end are refused")
  func endless() throws {
    let sample = try Sample()
    let store = sample.store
    let before = try store.dump()
    let acme = sample.acme.id
    // Each deleted child creates another one.
    try Script.run({ step, record, tx throws in
      guard step == .willDelete, record is Person else { return }
      var next = Person(name: "next", company: acme)
      try tx.save(&next)
    }) { _ throws in
      do {
        try store.delete(sample.acme)
        Issue.record("it ended")
      } catch let error as LarchError { #expect(error.code == .hooksTooDeep) }
    }
    // A record that stays adds a reference to the company.
    try Script.run({ step, record, tx throws in
      guard step == .willSave, var visit = record as? Visit else { return }
      visit.company = acme
      record = visit
    }) { _ throws in
      do {
        try store.delete(sample.acme)
        Issue.record("it ended")
      } catch let error as LarchError { #expect(error.code == .hooksTooDeep) }
    }
    #expect(try store.dump() == before)
  }

  // MARK: Hooks that change what is to be deleted

  @Test("Hooks may delete the record itself, its parent, and its siblings")
  func deletesOthers() throws {
    for target in ["itself", "parent", "sibling", "note", "visit"] {
      let sample = try Sample()
      let store = sample.store
      try Script.run({ step, record, tx throws in
        guard step == .willDelete, let person = record as? Person else { return }
        switch target {
        case "itself": try tx.delete(person)
        case "parent": try tx.delete(Company.self, sample.acme.id)
        case "sibling": try tx.delete(Person.where { $0.id != person.id })
        case "note": try tx.delete(Note.all)
        default: try tx.delete(sample.visit)
        }
      }) { script throws in
        #expect(try store.delete(sample.acme), "\(target)")
        let deletions = script.events.filter { $0.contains("Delete") }
        #expect(Set(deletions).count == deletions.count, "\(target): \(deletions)")
        #expect(deletions.count == (target == "visit" ? 8 : 6), "\(target): \(deletions)")
      }
      #expect(try store.count(Person.all) == 0)
      #expect(try store.count(Company.all) == 0)
      #expect(try store.count(Visit.all) == (target == "visit" ? 0 : 1))
      #expect(try store.verify().isClean)
    }
  }

  @Test("Hooks of records that stay may delete each other and the deleted records")
  func survivorsDelete() throws {
    let sample = try Sample()
    let store = sample.store
    try store.write { tx in
      for number in 0..<5 {
        var visit = Visit(name: "v\(number)", company: sample.acme.id)
        try tx.save(&visit)
      }
    }
    try Script.run({ step, record, tx throws in
      guard step == .willSave, let visit = record as? Visit else { return }
      try tx.delete(Visit.where { $0.id > visit.id })
      try tx.delete(sample.bob)
    }) { _ throws in #expect(try store.delete(sample.acme)) }
    #expect(try store.fetch(Visit.all).map(\.company) == [nil])
    #expect(try store.count(Person.all) == 0)
    #expect(try store.verify().isClean)
  }

  @Test("Records that a hook relates to a deleted record are deleted or changed too")
  func addsChildren() throws {
    let sample = try Sample()
    let store = sample.store
    try Script.run({ step, record, tx throws in
      let isFirst = step == .willDelete && record is Company
      guard isFirst || (step == .willSave && record.name == "visit") else { return }
      var person = Person(name: "late", company: sample.acme.id)
      try tx.save(&person)
      var visit = Visit(name: "late visit", company: sample.acme.id)
      try tx.save(&visit)
      var note = Note(text: "late", person: person.id)
      try tx.save(&note)
      try tx.add(sample.club.id, to: person.related(Person.clubs))
    }) { script throws in
      #expect(try store.delete(sample.acme))
      #expect(script.events.filter { $0 == "didDelete Person late" }.count == 2)
    }
    #expect(try store.count(Person.all) == 0)
    #expect(try store.count(Note.all) == 0)
    #expect(try store.fetch(Visit.all).allSatisfy { $0.company == nil })
    #expect(try store.count(Visit.all) == 3)
    #expect(try store.verify().isClean)
  }

  @Test("A hook may prevent the deletion of another record")
  func moved() throws {
    let sample = try Sample()
    let store = sample.store
    try Script.run({ step, record, tx throws in
      guard step == .willDelete, var person = record as? Person, person.name == "ada" else {
        return
      }
      person.company = nil
      try tx.save(&person)
    }) { script throws in
      #expect(try store.delete(sample.acme))
      #expect(!script.events.contains("didDelete Person ada"))
      #expect(!script.events.contains("didCommit Person ada deleted"))
    }
    #expect(try store.fetch(Person.all).map(\.name) == ["ada"])
    #expect(try store.verify().isClean)
  }

  @Test("A reference to a deleted record from a hook after it is an error at the commit")
  func dangling() throws {
    for target in ["child", "stale", "link"] {
      let sample = try Sample()
      let store = sample.store
      let before = try store.dump()
      try Script.run({ step, record, tx throws in
        guard step == .didDelete, record is Person else { return }
        switch target {
        case "child":
          var person = Person(name: "late", company: sample.acme.id)
          try tx.save(&person)
        case "stale": try tx.update(sample.visit)
        default: try tx.add(sample.club.id, to: sample.ada.related(Person.clubs))
        }
      }) { _ throws in
        do {
          try store.delete(sample.acme)
          Issue.record("\(target) dangles")
        } catch let error as LarchError { #expect(error.code == .danglingReference, "\(target)") }
      }
      #expect(try store.dump() == before)
    }
  }

  @Test("After an undone nested deletion, the hooks of the outer one still run")
  func nestedUndone() throws {
    let sample = try Sample()
    let store = sample.store
    try Script.run({ step, record, tx throws in
      guard step == .willDelete, record is Company else { return }
      do {
        try tx.savepoint {
          try tx.delete(sample.ada)
          throw Refused()
        }
      } catch is Refused {}
    }) { script throws in
      #expect(try store.delete(sample.acme))
      #expect(script.events.filter { $0 == "willDelete Person ada" }.count == 2)
      #expect(script.events.filter { $0 == "didCommit Person ada deleted" }.count == 1)
    }
    #expect(try store.verify().isClean)
  }
}
