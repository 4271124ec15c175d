import LarchTestSupport
import Testing

@testable import Larch

@Suite("The text of how a request is observed")
struct ExplainObservingTests {
  private let store: Store

  init() throws {
    store = try Store.temporary(for: Owner.self, Pet.self, Note.self, Tag.self, CountedItem.self)
  }

  private static let many =
    "  read again if more than 16 records and a sixteenth of the rows change at once"

  /// The lines before the plan, which is that of the request.
  private func lines<Q: Request>(_ request: Q) throws -> [String] {
    let text = try store.explain(observing: request)
    let plan = try store.explain(request).split(separator: "\n").map { "  " + $0 }
    let suffix = ["reading"] + plan
    let lines = text.split(separator: "\n").map(String.init)
    #expect(lines.suffix(suffix.count) == suffix[...], "\(text)")
    return Array(lines.dropLast(suffix.count))
  }

  @Test("names the collection, the filter, and what makes it read again")
  func patched() throws {
    let known = "rows brought up to date from the changed records"
    #expect(try lines(Owner.all) == ["changes of Owner", known, Self.many])
    #expect(
      try lines(Owner.where { $0.city == "Oslo" }.sorted(by: \.age).limit(3)) == [
        "changes of Owner", "  filter city == \"Oslo\"", known,
        "  read again if a row leaves the first 3, and none behind them is known", Self.many,
      ])
    #expect(
      try lines(Owner.where { $0.age > 3 }.select(\.name)) == [
        "changes of Owner", "  filter age > 3", known, Self.many,
      ])
  }

  @Test("names the related records, and the lists that read it again")
  func related() throws {
    let known = "rows brought up to date from the changed records, and from the related ones"
    let pets = ["changes of Pet and of related records", known]
    let many = "  read again if more than 64 records and a sixteenth of the rows change at once"
    let lists = "  read again if a list of the store changes"
    #expect(try lines(Pet.where { $0.owner.city == "Oslo" }) == pets + [many])
    #expect(try lines(Pet.all.sorted(by: \.owner.name)) == pets + [many])
    #expect(
      try lines(Pet.where { $0.tags.contains { $0.color == 1 } }) == pets + [lists, many])
    #expect(try lines(Pet.all.with(Pet.tags)) == pets + [lists, many])
    #expect(
      try lines(Owner.where { $0.age > 3 }.with(Owner.pets)) == [
        "changes of Owner and of related records", "  filter age > 3", known, many,
      ])
  }

  @Test("says why rows are read again")
  func unpatched() throws {
    func read(_ reason: String) -> [String] {
      ["changes of what is read", "rows read again: " + reason]
    }
    #expect(try lines(Owner.all.limit(2).offset(1)) == read("it has an offset"))
    #expect(try lines(Owner.all.limit(0)) == read("its limit is 0"))
    #expect(try lines(Owner.select(\.city).distinct()) == read("its values are distinct"))
    #expect(
      try lines(Pet.all.sorted(by: \.owner.name).limit(3))
        == read("its order is that of related records, with a limit"))
    #expect(
      try lines(Owner.all.with(Owner.pets, from: Pet.all.sorted(by: \.owner.name)))
        == read("the order of its related records is that of further ones"))
    let other = read("they are not the records of one query")
    #expect(try lines(Pet.all.joined(with: Owner.all, on: \.ownerID)) == other)
    for name in ["a", "b"] { try store.put(Owner(name: name, city: "Rome", age: 1)) }
    let owner = try #require(try store.first(Owner.all))
    #expect(try lines(owner.related(Owner.pets)) == other)
    let page = try store.page(Owner.all.limit(1))
    let token = try #require(page.next)
    #expect(try lines(Owner.all.after(token)) == read("it follows a page token"))
  }

  @Test("ends with the plan of the read")
  func plan() throws {
    let page = Owner.where { $0.city == "London" }.sorted(by: \.age).limit(20)
    #expect(
      try store.explain(observing: page) == """
        changes of Owner
          filter city == "London"
        rows brought up to date from the changed records
          read again if a row leaves the first 20, and none behind them is known
          read again if more than 16 records and a sixteenth of the rows change at once
        reading
          index city_age ["London"]
            order served by the index
            limit 20
        """)
  }

  @Test("throws the error of the request")
  func error() {
    let error = #expect(throws: LarchError.self) {
      try store.explain(observing: Owner.all.limit(-1))
    }
    #expect(error?.code == .invalidQuery)
  }
}
