import Foundation
import Larch
import LarchTestSupport
import Testing

/// The rows of the table of features that come from iActiveRecord, each a test.
@Suite("Table of features: iActiveRecord")
struct ActiveRecordTests {
  typealias Company = Product.Company
  typealias Person = Product.Person
  typealias Project = Product.Project

  @Test("Entities from the class alone; ignored properties; custom property types")
  func entities() throws {
    let store = try Store.checked(
      for: Person.self, Company.self, Project.self, Product.Address.self)
    var person = Person(name: "Flo", number: 6)
    person.isSelected = true
    try store.save(&person)
    #expect(try store.find(Person.self, person.id)?.isSelected == false)

    for number in 1...3 {
      var address = Product.Address(postcode: Product.Postcode(area: "SW", number: number))
      try store.save(&address)
    }
    let wanted = Product.Postcode(area: "SW", number: 2)
    let query = Product.Address.where { $0.postcode == wanted }
    #expect(try store.fetch(query).map(\.postcode) == [wanted])
    #expect(try store.explain(query).hasPrefix("index postcode"))
  }

  struct Account: Record {
    var id = RecordID<Account>()
    var login: String
    var password: String
    var plan = "free"

    static let schema = Schema<Account> {
      Validate(\.login, .presence, .uniqueness)
      Validate(\.password, .length(8...))
      Validate(\.plan, .inclusion(["free", "paid"]))
      Validate("same_as_login") { $0.login != $0.password }
    }
  }

  @Test("Validations with (model, field, keyword) for the application to localise, all at once")
  func validations() throws {
    let store = try Store.checked(for: Account.self)
    var ada = Account(login: "ada", password: "correct horse")
    try store.save(&ada)
    var other = Account(login: "ada", password: "ada", plan: "gold")
    do {
      try store.save(&other)
      Issue.record("what is invalid was saved")
    } catch let error as LarchError {
      #expect(error.code == .invalid)
      #expect(error.validationErrors.allSatisfy { $0.model == "Account" })
      #expect(error.validationErrors.map(\.field) == ["login", "password", "plan", nil])
      #expect(
        error.validationErrors.map(\.keyword.rawValue)
          == ["already_exists", "too_short", "not_included", "same_as_login"])
    }
    #expect(try store.count(Account.all) == 1)
    #expect(try store.isValid(ada))
    #expect(try !store.isValid(Account(login: " ", password: "long enough")))
  }

  @Test("Only changed fields are written; an unchanged save writes nothing")
  func unchanged() throws {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "product-\(UUID().uuidString).larch").path
    defer { for end in ["", "-lock"] { try? FileManager.default.removeItem(atPath: path + end) } }
    let store = try Store(at: path, for: Person.self, Company.self, Project.self)
    defer { store.close() }
    var person = Person(name: "Flo", number: 6)
    try store.save(&person)
    let before = try Data(contentsOf: URL(filePath: path))
    for _ in 0..<10 { try store.save(&person) }
    #expect(try Data(contentsOf: URL(filePath: path)) == before)
    person.age += 1
    #expect(try store.changes(of: person).map(\.field) == ["age"])
    try store.save(&person)
    #expect(try Data(contentsOf: URL(filePath: path)) != before)
  }

  struct Early: Record {
    static let collectionName = "Grown"
    var id = RecordID<Early>()
    var name: String
  }

  struct Late: Record {
    static let collectionName = "Grown"
    var id = RecordID<Late>()
    var name: String
    var nickname: String?
    var level: Int
    static let schema = Schema<Late> {
      Default(\.level, 1)
      Index(\.level)
    }
  }

  @Test("Tables and new fields appear by themselves; that can be turned off")
  func evolution() throws {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "product-\(UUID().uuidString).larch").path
    defer { for end in ["", "-lock"] { try? FileManager.default.removeItem(atPath: path + end) } }
    let early = try Store(at: path, for: Early.self)
    var first = Early(name: "Ada")
    try early.save(&first)
    early.close()

    var strict = Store.Options()
    strict.evolution = .check
    do {
      _ = try Store(at: path, for: Late.self, Project.self, options: strict)
      Issue.record("a file that would have to change was opened")
    } catch let error as LarchError {
      #expect(error.code == .schemaMismatch)
    }

    let late = try Store(at: path, for: Late.self, Project.self)
    defer { late.close() }
    let found = try late.fetch(Late.where { $0.level == 1 })
    #expect(found.map(\.name) == ["Ada"] && found[0].nickname == nil)
    #expect(try late.count(Project.all) == 0)
  }

  @Test("Transactions with rollback")
  func rollback() throws {
    let store = try Product.store()
    try Store.with(store) { () throws in
      var ada = Person(name: "Ada", number: 1)
      try ada.save()
      let done: Void? = try Store.transaction {
        var bo = Person(name: "Bo", number: 2)
        try bo.save()
        try ada.delete()
        throw Rollback()
      }
      #expect(done == nil)
      #expect(try Person.all.fetch().map(\.name) == ["Ada"])
      try store.write { tx throws in
        var cy = Person(name: "Cy", number: 3)
        try? tx.savepoint {
          try tx.save(&cy)
          throw Rollback()
        }
        #expect(try tx.count(Person.all) == 1)
      }
    }
  }

  @Test("Belongs-to, has-many, has-many-through; nullify and destroy; add and remove helpers")
  func associations() throws {
    let store = try Product.store()
    try Store.with(store) { () throws in
      var acme = Company(name: "Acme")
      try acme.save()
      var ada = Person(name: "Ada", number: 1)
      try ada.save()
      try acme.related(Company.people).add(&ada)
      #expect(try acme.related(Company.people).fetch().map(\.name) == ["Ada"])
      #expect(try Person.where { $0.company.name == "Acme" }.count() == 1)

      var engine = Project(title: "Engine")
      try engine.save()
      try acme.related(Company.projects).add(engine)
      #expect(try acme.related(Company.projects).contains(engine))
      try acme.related(Company.projects).remove(engine)
      #expect(try acme.related(Company.projects).count() == 0)

      try acme.delete()
      #expect(try Person.find(ada.id)?.companyID == nil)
    }
  }

  @Test("Lazy query: limit, offset, only and except, =, not =, in, like, between, and, or, order")
  func queries() throws {
    let store = try Product.store()
    _ = try Product.people(in: store)
    func names(_ query: Query<Person>) throws -> [String] { try store.fetch(query).map(\.name) }
    #expect(try names(Person.all.sorted(by: \.age, \.name).limit(2).offset(1)) == ["Di", "Ada"])
    #expect(try names(Person.where { $0.number == 2 }) == ["Bo"])
    #expect(try names(Person.where { $0.city != "London" }) == ["Bo", "Di"])
    #expect(try names(Person.where { [1, 5].contains($0.number) }) == ["Ada", "Ed"])
    #expect(try names(Person.where { ![1, 5].contains($0.number) }) == ["Bo", "Cy", "Di"])
    #expect(try names(Person.where { $0.name.like("_d") }) == ["Ed"])
    #expect(try names(Person.where { !$0.name.like("%d%") }) == ["Bo", "Cy", "Di"])
    #expect(try names(Person.where { (29...36).contains($0.age) }) == ["Ada", "Di", "Ed"])
    #expect(try names(Person.where { $0.age < 18 || $0.role == .admin }) == ["Cy", "Ed"])
    #expect(try names(Person.where { $0.age > 30 && $0.city == "London" }) == ["Ada", "Ed"])
    let only = try store.fetch(Person.where { $0.age > 36 }.select(\.name, \.age))
    #expect(only.count == 1 && only[0] == ("Bo", 41))
  }

  @Test("Joins: inner, left, right and outer")
  func joins() throws {
    let store = try Product.store()
    var acme = Company(name: "Acme")
    var idle = Company(name: "Idle")
    try store.save(&acme)
    try store.save(&idle)
    for var person in try Product.people(in: store) where person.number <= 2 {
      person.companyID = acme.id
      try store.save(&person)
    }
    let people = Person.where { $0.number <= 3 }
    func count<Row>(_ join: Join<Person, Company, Row>) throws -> Int { try store.count(join) }
    #expect(try count(people.joined(with: Company.all, on: \.companyID)) == 2)
    #expect(try count(people.joined(with: Company.all, on: \.companyID, kind: .left)) == 3)
    #expect(try count(people.joined(with: Company.all, on: \.companyID, kind: .right)) == 3)
    #expect(try count(people.joined(with: Company.all, on: \.companyID, kind: .full)) == 4)
  }

  @Test("Created-at and updated-at are set automatically")
  func timestamps() throws {
    let clock = TestClock()
    var options = Store.Options()
    options.clock = { clock.now }
    let store = try Store.checked(
      for: Company.self, Person.self, Project.self, options: options)
    var ada = Person(name: "Ada", number: 1)
    try store.save(&ada)
    let born = clock.now
    #expect(ada.createdAt == born && ada.updatedAt == born)
    clock.now += 60
    try store.save(&ada)
    #expect(ada.updatedAt == born, "nothing changed")
    ada.age += 1
    try store.save(&ada)
    #expect(ada.createdAt == born && ada.updatedAt == born + 60)
    #expect(try store.find(Person.self, ada.id)?.updatedAt == born + 60)
  }

  final class TestClock: @unchecked Sendable {
    var now = Date(timeIntervalSinceReferenceDate: 700_000_000)
  }
}
