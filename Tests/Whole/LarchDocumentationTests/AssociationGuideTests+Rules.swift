import Foundation
import Larch
import LarchTestSupport
import Testing

// The examples of the second half of docs/associations.md: join records, rules, errors.

/// The records of the examples about rules.
enum AssociationRules {
  // snippet: association-through
  struct Enrolment: Record {
    var id = RecordID<Enrolment>()
    var pupilID: Pupil.ID
    var lessonID: Lesson.ID
    var mark: Int?
  }

  struct Pupil: Record {
    var id = RecordID<Pupil>()
    var name: String

    static let lessons = HasMany<Pupil, Lesson>(
      through: \Enrolment.pupilID, \Enrolment.lessonID)
    static let schema = Schema<Pupil> { lessons }
  }

  struct Lesson: Record {
    var id = RecordID<Lesson>()
    var title: String
  }
  // end snippet

  // snippet: association-rules
  struct Company: Record {
    var id = RecordID<Company>()
    var name: String

    static let schema = Schema<Company> {
      HasMany(\Person.companyID, onDelete: .nullify)
      HasMany(\Invoice.companyID, onDelete: .deny)
      HasOne(\Address.companyID, onDelete: .destroy)
    }
  }

  struct Person: Record {
    var id = RecordID<Person>()
    var name: String
    var companyID: Company.ID?
  }

  struct Invoice: Record {
    var id = RecordID<Invoice>()
    var companyID: Company.ID
    var cents: Int
  }

  struct Address: Record {
    var id = RecordID<Address>()
    var companyID: Company.ID
    var city: String
  }
  // end snippet
}

@Suite("The guide to associations: rules")
struct AssociationRuleGuideTests {
  typealias Pupil = AssociationRules.Pupil
  typealias Lesson = AssociationRules.Lesson
  typealias Enrolment = AssociationRules.Enrolment
  typealias Company = AssociationRules.Company
  typealias Person = AssociationRules.Person
  typealias Invoice = AssociationRules.Invoice
  typealias Address = AssociationRules.Address

  @Test("A join record has its own fields")
  func through() throws {
    let store = try Store.checked(for: Pupil.self, Lesson.self, Enrolment.self)
    // snippet: association-through-use
    var ada = Pupil(name: "Ada")
    var logic = Lesson(title: "Logic")
    try store.write { tx in
      try tx.save(&ada)
      try tx.save(&logic)
      var enrolment = Enrolment(pupilID: ada.id, lessonID: logic.id, mark: 1)
      try tx.save(&enrolment)
    }

    let lessons = try store.fetch(ada.related(Pupil.lessons))
    let best = try store.fetch(
      Pupil.where { $0.related(\Enrolment.pupilID).contains { $0.mark == 1 } })
    // end snippet
    #expect(lessons.map(\.title) == ["Logic"])
    #expect(best.map(\.name) == ["Ada"])
    try store.write { tx in try tx.delete(ada) }
    #expect(try store.read { try $0.count(Enrolment.all) } == 0)
    #expect(try store.read { try $0.count(Lesson.all) } == 1)
  }

  private func companies() throws -> (Store, Company, Person) {
    let store = try Store.checked(
      for: Company.self, Person.self, Invoice.self, Address.self)
    var acme = Company(name: "Acme")
    var ada = Person(name: "Ada")
    try store.write { tx in
      try tx.save(&acme)
      ada.companyID = acme.id
      try tx.save(&ada)
      var address = Address(companyID: acme.id, city: "Oslo")
      try tx.save(&address)
    }
    return (store, acme, ada)
  }

  @Test("A plan shows the effects of a deletion beforehand")
  func plan() throws {
    let (store, acme, ada) = try companies()
    // snippet: association-plan
    let plan = try store.deletionPlan(for: acme)
    print(plan)
    if plan.isAllowed {
      try store.write { tx in try tx.delete(acme) }
    }
    // end snippet
    #expect(plan.isAllowed)
    #expect(plan.ids(Company.self) == [acme.id])
    #expect(try store.read { try $0.find(Person.self, ada.id) }?.companyID == nil)
    #expect(try store.read { try $0.count(Address.all) } == 0)
    #expect(try store.verify().isClean)
  }

  @Test("A deletion that a rule denies changes nothing")
  func denied() throws {
    let (store, acme, _) = try companies()
    var invoice = Invoice(companyID: acme.id, cents: 100)
    try store.write { try $0.save(&invoice) }
    // snippet: association-denied
    do {
      try store.write { tx in try tx.delete(acme) }
    } catch let error as LarchError where error.code == .deleteDenied {
      print(error.context.field ?? "", error.context.otherID ?? "")  // Invoice.companyID 1
    }
    // end snippet
    #expect(try store.read { try $0.count(Company.all) } == 1)
    #expect(try store.read { try $0.count(Address.all) } == 1)
    #expect(throws: LarchError.self) { try store.write { tx throws in try tx.delete(acme) } }
  }

  @Test("A reference must not dangle")
  func dangling() throws {
    let (store, _, _) = try companies()
    // snippet: association-dangling
    var bo = Person(name: "Bo", companyID: Company(name: "New").id)
    do {
      try store.write { tx in try tx.save(&bo) }
    } catch let error as LarchError where error.code == .unsavedReference {
      print(error.context.field ?? "")  // Person.companyID
    }
    // end snippet
    #expect(try store.read { try $0.count(Person.all) } == 1)
  }
}
