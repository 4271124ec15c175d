import Foundation
import Larch
import LarchTestSupport
import Testing

// The examples of docs/queries.md about equality, order and pages.

extension QueryGuide {
  @Suite("queries.md: what is equal, and what comes first")
  struct Semantics {
    @Test("Nil, NaN and equivalent texts are as in Swift")
    func semantics() throws {
      let (store, _) = try filled()
      let composed = "Zo\u{EB}"
      let decomposed = "Zoe\u{308}"
      #expect(try store.count(Person.where { $0.name == composed }) == 1)
      #expect(try store.count(Person.where { $0.name == decomposed }) == 1)
      #expect(try store.count(Person.where { $0.name.hasPrefix("Zoe") }) == 0)
      #expect(try store.count(Person.where { $0.height == .nan }) == 0)
      #expect(try store.count(Person.where { $0.height != .nan }) == 6)
      #expect(try store.count(Person.where { $0.height != nil }) == 4)
      #expect(
        try store.fetch(Person.all.sorted(by: \.height)).map(\.name)
          == ["Bo", "Eve", "Ada", "Émile", "alan", "Zoë"])
      #expect(
        try store.fetch(Person.all.sorted(by: \.height, .descending)).map(\.name)
          == ["Zoë", "alan", "Émile", "Ada", "Bo", "Eve"])
    }
  }

  @Suite("queries.md: order, limit and pages")
  struct Order {
    @Test("Orders")
    func orders() throws {
      let (store, _) = try filled()
      func names(_ query: Query<Person>) throws -> [String] { try store.fetch(query).map(\.name) }
      // snippet: query-order
      let byCity = Person.all.sorted(by: \.city, \.age)  // by city, then by age
      let mixed = Person.all.sorted(by: \.city).then(by: \.age, .descending)
      let byName = Person.all.sorted(by: \.name, options: .caseInsensitive)
      let inNorwegian = Person.all.sorted(by: \.name, options: .localized("nb"))
      let newest = Person.all.reversed()  // by id, the greatest first
      // end snippet
      #expect(try names(byCity) == ["Ada", "Eve", "alan", "Bo", "Zoë", "Émile"])
      #expect(try names(mixed) == ["alan", "Ada", "Eve", "Zoë", "Bo", "Émile"])
      #expect(try names(byName) == ["Ada", "alan", "Bo", "Eve", "Zoë", "Émile"])
      #expect(try names(inNorwegian) == ["Ada", "alan", "Bo", "Émile", "Eve", "Zoë"])
      #expect(try names(newest) == ["Eve", "Émile", "Zoë", "Bo", "alan", "Ada"])
      // Sorted again, as an array is; and ties by id, also where the field descends.
      #expect(
        try names(Person.all.sorted(by: \.age).sorted(by: \.city)) == names(byCity))
      #expect(
        try names(Person.where { $0.age == 36 }.sorted(by: \.age, .descending)) == ["Ada", "Eve"])
    }

    @Test("Limit and offset count last")
    func limits() throws {
      let (store, _) = try filled()
      // snippet: query-limit
      let third = Person.all.limit(1).offset(2).sorted(by: \.age)  // the third by age
      // end snippet
      #expect(try store.fetch(third).map(\.name) == ["Ada"])
      #expect(try store.fetch(Person.all.limit(1).limit(2)).count == 2)
      #expect(try store.fetch(Person.all.limit(0)).isEmpty)
      #expect(try store.fetch(Person.all.offset(100)).isEmpty)
      #expect(throws: LarchError.self) { try store.fetch(Person.all.limit(-1)) }
    }

    @Test("Pages neither skip nor repeat, and their tokens are text")
    func pages() throws {
      let (store, _) = try filled()
      var shown: [String] = []
      func show(_ people: [Person]) { shown += people.map(\.name) }
      // snippet: query-pages
      var query = Person.all.sorted(by: \.city, \.age).limit(4)
      let page = try store.page(query)
      show(page.records)

      if let token = page.next?.text {  // a text, which can be kept or sent elsewhere
        query = query.after(try PageToken(token))
        show(try store.page(query).records)
      }
      // end snippet
      #expect(shown == ["Ada", "Eve", "alan", "Bo", "Zoë", "Émile"])
      #expect(try store.page(query).next == nil)
      let other = Person.all.sorted(by: \.age).after(try #require(page.next))
      #expect(throws: LarchError.self) { try store.page(other) }
    }
  }
}
