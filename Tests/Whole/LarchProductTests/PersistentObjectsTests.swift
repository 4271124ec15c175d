import Foundation
import Larch
import LarchTestSupport
import Testing

/// The rows of the table of features that come from SQLitePersistentObjects, each a test.
@Suite("Table of features: SQLitePersistentObjects")
struct PersistentObjectsTests {
  typealias Company = Product.Company
  typealias Person = Product.Person

  @Test("Collections as properties; references to other records")
  func collections() throws {
    let store = try Product.store()
    _ = try Product.people(in: store)
    let maths = Person.where { $0.tags.contains("maths") }
    #expect(try store.fetch(maths).map(\.name) == ["Ada", "Cy"])
    #expect(try store.explain(maths).hasPrefix("index tags"))
    var acme = Company(name: "Acme")
    try store.save(&acme)
    var ada = try #require(try store.find(Person.self, by: \.number, equals: 1))
    ada.companyID = acme.id
    try store.save(&ada)
    let company = try #require(try store.find(Person.self, ada.id)?.companyID)
    #expect(try store.find(Company.self, company)?.name == "Acme")
  }

  @Test("Indexes over one or several properties")
  func indexes() throws {
    let store = try Product.store()
    _ = try Product.people(in: store)
    let one = Person.where { $0.number == 2 }
    let several = Person.where { $0.city == "London" && $0.age > 18 }
    #expect(try store.explain(one).hasPrefix("index number"))
    #expect(try store.explain(several).hasPrefix("index city_age"))
    #expect(try store.fetch(several).map(\.name) == ["Ada", "Ed"])
  }

  @Test("Find by a property, and first by criteria")
  func finders() throws {
    let store = try Product.store()
    _ = try Product.people(in: store)
    try Store.with(store) { () throws in
      #expect(try Person.find(by: \.name, equals: "Di")?.number == 4)
      #expect(try Person.where { $0.age > 30 }.sorted(by: \.age, .descending).first()?.name == "Bo")
      #expect(try Person.all.first()?.name == "Ada")
    }
  }

  @Test("Sum, average, minimum, maximum; columns without objects, from an index if possible")
  func aggregates() throws {
    let store = try Product.store()
    _ = try Product.people(in: store)
    #expect(try store.sum(\.age, of: Person.all) == 159)
    #expect(try store.average(\.age, of: Person.all) == 31.8)
    #expect(try store.min(\.age, of: Person.all) == 17)
    #expect(try store.max(\.age, of: Person.where { $0.city == "Oslo" }) == 41)
    let ages = Person.where { $0.city == "Oslo" }.sorted(by: \.age).select(\.age)
    #expect(try store.fetch(ages) == [29, 41])
    #expect(try store.explain(ages, running: true).contains("examined 2 index entries, 0 records"))
  }

  @Test("Revert to what is stored")
  func revert() throws {
    let store = try Product.store()
    try Store.with(store) { () throws in
      var ada = Person(name: "Ada", number: 1)
      try ada.save()
      ada.name = "Somebody"
      try ada.reload()
      #expect(ada.name == "Ada")

      var tracked = try ada.tracked()
      tracked.name = "Somebody"
      tracked.age = 99
      tracked.revert(\.name)
      #expect(tracked.name == "Ada" && tracked.age == 99)
      tracked.revert()
      #expect(tracked.age == 30)
    }
  }
}
