import Foundation
import Larch
import LarchTestSupport
import Testing

/// The rows of the table of features that come from OCActiveObjects, each a test.
@Suite("Table of features: OCActiveObjects")
struct ActiveObjectsTests {
  typealias Person = Product.Person

  @Test("Open, close, save, find by key; find, count and remove by criteria; all; remove all")
  func basics() throws {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "product-\(UUID().uuidString).larch").path
    defer { for end in ["", "-lock"] { try? FileManager.default.removeItem(atPath: path + end) } }
    let first = try Store(at: path, for: Product.Company.self, Person.self, Product.Project.self)
    let people = try Product.people(in: first)
    first.close()
    #expect(throws: LarchError.self) { try first.count(Person.all) }

    let store = try Store(at: path, for: Product.Company.self, Person.self, Product.Project.self)
    defer { store.close() }
    #expect(try store.find(Person.self, people[0].id)?.name == "Ada")
    let grown = Person.where { $0.age >= 18 }
    #expect(try store.fetch(grown).map(\.name) == ["Ada", "Bo", "Di", "Ed"])
    #expect(try store.count(grown) == 4)
    #expect(try store.fetch(Person.all).count == 5)
    #expect(try store.delete(Person.where { $0.city == "Oslo" }) == 2)
    #expect(try store.erase(Person.self) == 3)
    #expect(try store.count(Person.all) == 0)
  }

  struct Numbers: Record, Equatable {
    var id = UUID()
    var i8 = Int8.min
    var i16 = Int16.min
    var i32 = Int32.min
    var i64 = Int64.min
    var u8 = UInt8.max
    var u16 = UInt16.max
    var u32 = UInt32.max
    var u64 = UInt64.max
    var float = Float.leastNonzeroMagnitude
    var double = -Double.leastNormalMagnitude
    var date = Date(timeIntervalSinceReferenceDate: -1e12 / 3)
    var flag = true
    var money = Decimal(string: "1234567890.0123456789")!  // A literal of this test.
    var huge = Int128.min
  }

  @Test("Numbers of all widths, dates and booleans, lossless")
  func numbers() throws {
    let store = try Store.checked(for: Numbers.self)
    var numbers = Numbers()
    try store.insert(&numbers)
    let found = try #require(try store.find(Numbers.self, numbers.id))
    #expect(found == numbers)
    #expect(found.double.bitPattern == numbers.double.bitPattern)
  }
}
