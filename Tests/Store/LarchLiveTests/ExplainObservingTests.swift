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
        "changes of Owner", "  filter city == \"Oslo\"", "    found by index city_age", known,
        "  read again if a row leaves the first 3, and none behind them is known", Self.many,
      ])
    #expect(
      try lines(Owner.where { $0.age > 3 }.select(\.name)) == [
        "changes of Owner", "  filter age > 3", "    each change of Owner is compared", known,
        Self.many,
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
        "changes of Owner and of related records", "  filter age > 3",
        "    each change of Owner is compared", known, many,
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
    for name in ["a", "b"] { try store.put(Owner(name: name, city: "Rome", age: 1)) }
    let owner = try #require(try store.first(Owner.all))
    #expect(try lines(owner.related(Owner.pets)) == other)
    let page = try store.page(Owner.all.limit(1))
    let token = try #require(page.next)
    #expect(try lines(Owner.all.after(token)) == read("it follows a page token"))
  }

  @Test("a join: both sides, or why its rows are read again")
  func joins() throws {
    let many = "  read again if more than 64 records and a sixteenth of the rows change at once"
    let known = "rows brought up to date from the changed records of both"
    let pets = Pet.all.joined(with: Owner.all, on: \.ownerID, kind: .left)
    #expect(try lines(pets) == ["changes of Pet and of Owner", known, many])
    let tagged = Pet.where { $0.tags.contains { $0.color == 1 } }
    #expect(
      try lines(tagged.joined(with: Owner.all, on: \.ownerID)) == [
        "changes of Pet and of Owner and of related records", known,
        "  read again if a list of the store changes", many,
      ])
    func read(_ reason: String) -> [String] {
      ["changes of what is read", "rows read again: " + reason]
    }
    #expect(try lines(pets.limit(2)) == read("the join has a limit or an offset"))
    #expect(
      try lines(Pet.all.joined(with: Owner.all, on: \.ownerID, kind: .full))
        == read("they include right records without a partner"))
    #expect(
      try lines(Pet.all.limit(3).joined(with: Owner.all, on: \.ownerID))
        == read("a side has a limit, an offset or a page token"))
    #expect(
      try lines(Pet.all.sorted(by: \.owner.name).joined(with: Owner.all, on: \.ownerID))
        == read("the order of a side is that of related records"))
    #expect(
      try lines(Owner.all.joined(with: Owner.all, on: \.name, equals: \.name))
        == read("Owner has no index of name"))
  }

  @Test("ends with the plan of the read")
  func plan() throws {
    let page = Owner.where { $0.city == "London" }.sorted(by: \.age).limit(20)
    #expect(
      try store.explain(observing: page) == """
        changes of Owner
          filter city == "London"
            found by index city_age
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

  private func text<Value>(_ read: (ReadTransaction) throws -> Value) throws -> [String] {
    try store.explain(observing: read).split(separator: "\n").map(String.init)
  }

  private static let again = "run again after such a change"
  private static let more = again + ": it reads more than aggregates that are kept"

  @Test("a closure: what it has read, and how it is found")
  func closure() throws {
    try store.put(Owner(name: "a", city: "Oslo", age: 1))
    let owner = try #require(try store.first(Owner.all))
    #expect(
      try text { tx in
        (
          try tx.fetch(Owner.where { $0.city == "Oslo" && $0.age > 3 }),
          try tx.find(Owner.self, owner.id), try tx.exists(Owner.self, RecordID(9)),
          try tx.fetch(Owner.where { $0.name == "a" }),
          try tx.fetch(Owner.where { $0.name == "a" }),
          try tx.fetch(Owner.where { $0.id == 3 || $0.city == "Rome" })
        )
      } == [
        "changes of Owner", "  filter city == \"Oslo\" && age > 3", "    found by index city_age",
        "  id 1", "    found by ids", "  id 9", "    found by ids", "  filter name == \"a\"",
        "    each change of Owner is compared", "  filter id == 3 || city == \"Rome\"",
        "    found by ids or index city_age", Self.more,
      ])
    #expect(
      try text { (try $0.fetch(Owner.all), try $0.find(Pet.self, by: \.name, equals: "x")) }
        .dropLast().contains("changes of Owner: any"))
    #expect(
      try text { try $0.fetch(owner.related(Owner.pets)) } == [
        "changes of index ownerID of Pet: any", Self.more,
      ])
    try store.put(Tag(id: "a", color: 1))
    let tag = Tag(id: "a", color: 1)
    #expect(
      try text { try $0.fetch(tag.related(Tag.pets)) } == [
        "changes of lists Pet/Tag/pet_tags: any", Self.more,
      ])
    #expect(try text { _ in 1 } == ["never read again: it reads no records"])
    #expect(
      try text { tx in
        try (1...65).map { try tx.find(Owner.self, RecordID(Int64($0))) }
      } == ["changes of Owner: any", Self.more])
  }

  @Test("a closure of aggregates is not run again for each change")
  func aggregates() throws {
    let kept = [
      "aggregates brought up to date from the changed records",
      "  run again if one of them changes",
    ]
    let filter = [
      "changes of Owner", "  filter city == \"Oslo\"", "    found by index city_age",
    ]
    let oslo = Owner.where { $0.city == "Oslo" }
    #expect(try text { (try $0.count(oslo), try $0.sum(\.age, of: oslo)) } == filter + kept)
    #expect(try text { (try $0.count(oslo), try $0.fetch(oslo)) } == filter + [Self.more])
    #expect(try text { try $0.count(Owner.all) } == ["changes of Owner: any", Self.more])
    var options = Store.Options()
    options.observesOtherProcesses = false
    let alone = try Store.temporary(
      for: Owner.self, Pet.self, Note.self, Tag.self, options: options)
    #expect(
      try alone.explain { try $0.count(oslo) }.split(separator: "\n").map(String.init)
        == filter + [Self.again + ": the store does not observe other processes"])
    let rows = try alone.explain(observing: oslo).split(separator: "\n").map(String.init)
    #expect(
      Array(rows.prefix(while: { $0 != "reading" }).suffix(1))
        == ["rows read again: the store does not observe other processes"])
  }

  @Test("a closure of aggregates with related records is not run again for each change either")
  func relatedAggregates() throws {
    let kept = [
      "aggregates brought up to date from the changed records, and from the related ones",
      "  run again if one of them changes",
    ]
    let many =
      "  read again if more than 64 records and a sixteenth of the matches change at once"
    try store.put(Owner(name: "a", city: "Oslo", age: 1))
    try store.put(Pet(name: "a", weight: 1))
    let owned = Pet.where { $0.owner.city == "Oslo" }
    let both = ["changes of Owner: any", "changes of Pet: any"]
    #expect(
      try text { (try $0.count(owned), try $0.max(\.weight, of: owned)) } == both + kept + [many])
    #expect(try text { (try $0.count(owned), try $0.fetch(owned)) } == both + [Self.more])
    let tagged = Pet.where { $0.tags.contains { $0.color == 1 } }
    #expect(
      try text { try $0.count(tagged) } == [
        "changes of Pet: any", "changes of Tag: any", "changes of lists Pet/Tag/pet_tags: any",
      ] + kept + ["  read again if a list of the store changes", many])
  }

  @Test("what a closure is said to depend on is what wakes an observer of it")
  func wakes() throws {
    let oslo = Owner.where { $0.city == "Oslo" }
    let read: @Sendable (ReadTransaction) throws -> ([Owner], Pet?) = { tx in
      (try tx.fetch(oslo), try tx.find(Pet.self, RecordID(7)))
    }
    // The first record of a type changes the schema, which wakes all.
    try store.put(Owner(name: "a", city: "Kyiv", age: 1))
    try store.put(Pet(name: "first", weight: 1))
    #expect(
      try text(read) == [
        "changes of Owner", "  filter city == \"Oslo\"", "    found by index city_age",
        "changes of Pet", "  id 7", "    found by ids", Self.more,
      ])
    let observer = store.observe(read).makeAsyncIterator().polled
    #expect(try observer.poll() != nil)
    let before = observer.wakes
    try store.put(Owner(name: "a", city: "Rome", age: 1))
    try store.put(Pet(name: "a", weight: 1))
    #expect(observer.wakes == before)
    try store.put(Owner(name: "a", city: "Oslo", age: 1))
    #expect(observer.wakes == before + 1)
  }

  @Test("a single record")
  func record() throws {
    #expect(
      try store.explain(observing: Tag.self, "x") == """
        changes of Tag
          id x
            found by ids
        read again after such a change
        """)
  }

  @Test("throws the error of the closure")
  func closureError() {
    let error = #expect(throws: LarchError.self) {
      try store.explain { try $0.fetch(Owner.all.limit(-1)) }
    }
    #expect(error?.code == .invalidQuery)
  }
}
