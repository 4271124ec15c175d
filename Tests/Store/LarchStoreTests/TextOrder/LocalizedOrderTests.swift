import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Orders by language: each answer is that of an array sorted by `Collation.compare`, then by id.
@Suite("Orders by language")
struct LocalizedOrderTests {
  private func withThings<T: NamedThing>(
    _ type: T.Type, seed: UInt64, _ count: Int, _ body: (Store, [T]) throws -> Void
  ) throws {
    var random = SeededGenerator(seed: seed)
    let store = try Store.checked(for: T.self)
    try store.saveAll((0..<count).map { T($0, &random) })
    // Some are changed and deleted, so that the entries of indexes are too.
    for _ in 0..<count / 4 {
      let id = Int(random.next() % UInt64(count))
      if random.next() % 3 == 0 {
        _ = try store.delete(T.self, id)
      } else if try store.find(T.self, id) != nil {
        try store.update(T(id, &random))
      }
    }
    #expect(try store.verify().isClean)
    try body(store, try store.fetch(T.all))
  }

  /// Sorts by texts in turn; nil comes first.
  private func sorted<T: NamedThing>(
    _ things: [T], _ terms: [(collation: Collation, descends: Bool, text: (T) -> String?)]
  ) -> [Int] {
    things.sorted { a, b in
      for (collation, descends, text) in terms {
        var order: ComparisonResult
        switch (text(a), text(b)) {
        case (nil, nil): order = .orderedSame
        case (nil, _): order = .orderedAscending
        case (_, nil): order = .orderedDescending
        case (let x?, let y?): order = collation.compare(x, y)
        }
        if order == .orderedSame { continue }
        return (order == .orderedAscending) != descends
      }
      return a.id < b.id
    }.map(\.id)
  }

  private func checkOrders<T: NamedThing>(_ type: T.Type, seed: UInt64) throws {
    try withThings(T.self, seed: seed, 120) { store, things in
      for name in ["nb", "da", "sv", "fr-CA", "root", "th", "cs", "ja"] {
        let language = try Collation(name)
        for direction in [SortDirection.ascending, .descending] {
          let descends = direction == .descending
          let byName = T.all.sorted(by: \.name, options: .localized(name), direction)
          let expected = sorted(things, [(language, descends, { $0.name })])
          #expect(try store.ids(byName) == expected, "\(name)")
          #expect(
            try store.fetch(byName.limit(7).offset(3)).map(\.id)
              == Array(expected.dropFirst(3).prefix(7)))
          #expect(try store.first(byName)?.id == expected.first)
          #expect(
            try store.ids(T.all.sorted(by: \.nick, options: .localized(name), direction))
              == sorted(things, [(language, descends, { $0.nick })]), "\(name)")
          #expect(
            try store.ids(T.all.sorted(by: \.place.city, options: .localized(name), direction))
              == sorted(things, [(language, descends, { $0.place.city })]), "\(name)")
          #expect(
            try store.ids(
              T.all.sorted(by: \.group).then(by: \.name, options: .localized(name), direction))
              == (0..<4).flatMap { group in
                sorted(things.filter { $0.group == group }, [(language, descends, { $0.name })])
              }, "\(name)")
          #expect(
            try store.ids(
              T.where { $0.group == 2 }.sorted(by: \.name, options: .localized(name), direction)
                .then(by: \.nick, options: .localized("sv")))
              == sorted(
                things.filter { $0.group == 2 },
                [(language, descends, { $0.name }), (try Collation("sv"), false, { $0.nick })]),
            "\(name)")
          try checkPages(store, byName, expected)
        }
      }
    }
  }

  private func checkPages<T: NamedThing>(
    _ store: Store, _ query: Query<T>, _ expected: [Int]
  ) throws {
    var found: [Int] = []
    var next: PageToken?
    repeat {
      var query = query.limit(11)
      if let token = next { query = query.after(try PageToken(token.text)) }
      let page = try store.page(query)
      found += page.records.map(\.id)
      next = page.next
    } while next != nil
    #expect(found == expected)
  }

  @Test(arguments: [UInt64(1), 2])
  func `without an index the order is that of an array sorted by the collation`(seed: UInt64) throws
  {
    try checkOrders(Localized.Plain.self, seed: seed)
  }

  @Test(arguments: [UInt64(1), 2])
  func `with indexes the order is that of an array sorted by the collation`(seed: UInt64) throws {
    try checkOrders(Localized.Indexed.self, seed: seed)
  }

  @Test func `an index of the language serves the order, and one of another language does not`()
    throws
  {
    let store = try Store.temporary(for: Localized.Indexed.self)
    let all = Localized.Indexed.all
    #expect(
      try store.explain(all.sorted(by: \.name, options: .localized("nb-NO")).limit(3))
        == "index name_nb all entries\n  order served by the index\n  limit 3")
    #expect(
      try store.explain(all.sorted(by: \.name, options: .localized("sv"), .descending))
        .contains("sort by name localized \"sv\" descending"))
    #expect(
      try store.explain(
        Localized.Indexed.where { $0.group == 2 }.sorted(by: \.name, options: .localized("nb"))
          .limit(5)
      ) == "index group_name_nb [2]\n  order served by the index\n  limit 5")
    #expect(
      try store.explain(all.sorted(by: \.name).limit(3))
        == "index name all entries\n  order served by the index\n  limit 3")
  }

  @Test func `an index in the order of a language narrows equality, and no beginning`() throws {
    struct One: Record, Equatable {
      static let schema = Schema<One> { Index(\.name, options: .localized("nb")) }
      var id: Int
      var name: String
    }
    let store = try Store.checked(for: One.self)
    // The first two are equal in the collation, and not in Swift.
    try store.saveAll([
      One(id: 1, name: "a\u{0}b"), One(id: 2, name: "ab"), One(id: 3, name: "aa"),
      One(id: 4, name: "å"),
      One(id: 5, name: "abc"),
    ])
    #expect(try store.ids(One.where { $0.name == "ab" }) == [2])
    #expect(try store.explain(One.where { $0.name == "ab" }).contains("index name_nb"))
    #expect(try store.ids(One.where { ["ab", "å"].contains($0.name) }) == [2, 4])
    #expect(try store.ids(One.where { $0.name.hasPrefix("a") }) == [1, 2, 3, 5])
    #expect(try store.ids(One.where { $0.name >= "ab" && $0.name < "b" }) == [2, 5])
    #expect(try store.ids(One.where { $0.name != "ab" }) == [1, 3, 4, 5])
    #expect(
      try store.ids(One.all.sorted(by: \.name, options: .localized("nb"))) == [1, 2, 5, 4, 3])
  }

  @Test func `a join, a selection and the records at the other end have the order too`() throws {
    struct Owner: Record, Equatable {
      var id: Int
      var name: String
    }
    struct Pet: Record, Equatable {
      static let owner = BelongsTo<Pet, Owner>(\.ownerID)
      static let schema = Schema<Pet> { owner }
      var id: Int
      var name: String
      var ownerID: Int?
    }
    let store = try Store.checked(for: Owner.self, Pet.self)
    let names = ["Zoe", "Åse", "aa", "Ær", "ost", "Öst", "b"]
    try store.saveAll(names.enumerated().map { Owner(id: $0 + 1, name: $1) })
    try store.saveAll(names.enumerated().map { Pet(id: $0 + 1, name: $1, ownerID: 7 - $0) })
    let swedish = try Collation("sv")
    let expected = names.sorted { swedish.compare($0, $1) == .orderedAscending }
    #expect(
      try store.fetch(Pet.all.sorted(by: \.owner.name, options: .localized("sv"))).map {
        names[$0.ownerID! - 1]
      } == expected)
    let join = Pet.all.joined(with: Owner.all, on: \.ownerID)
    #expect(
      try store.fetch(join.sorted(byRight: \.name, options: .localized("sv"))).map(\.1.name)
        == expected)
    #expect(
      try store.fetch(join.sorted(byLeft: \.name, options: .localized("sv"), .descending)).map(
        \.0.name)
        == expected.reversed())
    #expect(
      try store.explain(join.sorted(byRight: \.name, options: .localized("sv")))
        .contains("right.name localized \"sv\""))
    #expect(
      try store.fetch(Owner.all.sorted(by: \.name, options: .localized("sv")).select(\.name))
        == expected)
    let unknown = caught {
      _ = try store.fetch(join.sorted(byRight: \.name, options: .localized("norwegian")))
    }
    #expect(unknown?.code == .invalidQuery)
  }

  @Test func `observed results keep the order of the language after each commit`() async throws {
    let store = try Store.temporary(for: Localized.Indexed.self)
    let language = try Collation("nb")
    var random = SeededGenerator(seed: 4)
    let first = (0..<20).map { Localized.Indexed($0, &random) }
    try await store.write { tx in
      for var thing in first { try tx.save(&thing) }
    }
    var round = 0
    let query = Localized.Indexed.all.sorted(by: \.name, options: .localized("nb"))
    for try await things in store.observe(query) {
      let expected = sorted(
        try store.fetch(Localized.Indexed.all), [(language, false, { $0.name })])
      #expect(things.rows.map(\.id) == expected)
      round += 1
      if round == 30 { break }
      var changed = Localized.Indexed(Int(random.next() % 25), &random)
      changed.group = 10 + round  // never the record as it was
      let saved = changed
      try await store.write { tx in
        var thing = saved
        try tx.save(&thing)
      }
    }
    #expect(round == 30)
  }

  @Test func `a token of another language, or of none, is refused`() throws {
    let store = try Store.temporary(for: Localized.Plain.self)
    var random = SeededGenerator(seed: 3)
    try store.saveAll((0..<10).map { Localized.Plain($0, &random) })
    let page = try store.page(
      Localized.Plain.all.sorted(by: \.name, options: .localized("nb")).limit(2))
    let token = try #require(page.next)
    for query in [
      Localized.Plain.all.sorted(by: \.name, options: .localized("sv")),
      Localized.Plain.all.sorted(by: \.name),
      Localized.Plain.all.sorted(by: \.name, options: .caseInsensitive),
    ] {
      #expect(caught { _ = try store.page(query.after(token)) }?.code == .invalidQuery)
    }
  }

  @Test func `a language that is none is an error of the query and of the schema`() throws {
    struct Wrong: Record {
      static let schema = Schema<Wrong> { Index(\.name, options: .localized("norwegian")) }
      var id: Int
      var name: String
    }
    let store = try Store.temporary(for: Localized.Plain.self)
    let error = caught {
      _ = try store.fetch(Localized.Plain.all.sorted(by: \.name, options: .localized("norwegian")))
    }
    #expect(error?.code == .invalidQuery)
    #expect(error?.context.detail == "norwegian")
    let schema = caught { _ = try Store.temporary(for: Wrong.self) }
    #expect(schema?.code == .invalidSchema)
    #expect(schema?.context.detail == "norwegian")
  }

  @Test("of a computed text that an index has only the beginning of are those of the whole texts")
  func cutKeys() throws {
    let store = try Store.checked(for: Scroll.self)
    let language = try Collation("root")
    var random = SeededGenerator(seed: 91)
    let heads = [
      String(repeating: "\u{4E2D}", count: 32), String(repeating: "a\u{301}", count: 60),
    ]
    let scrolls = (0..<60).map { id in
      let last = Unicode.Scalar(UInt32.random(in: 0x4E00..<0x4E80, using: &random)).map(String.init)
      return Scroll(id: id, stored: heads[id % 2] + (last ?? "") + "\(id % 7)")
    }
    try store.saveAll(scrolls)
    for direction in [SortDirection.ascending, .descending] {
      let query = Scroll.all.sorted(by: \.title, options: .localized("root"), direction)
      let expected = scrolls.sorted { a, b in
        let order = language.compare(a.title, b.title)
        if order == .orderedSame { return a.id < b.id }
        return (order == .orderedAscending) == (direction == .ascending)
      }.map(\.id)
      #expect(try store.first(query)?.id == expected[0])
      #expect(try store.fetch(query.limit(9).offset(4)).map(\.id) == Array(expected[4..<13]))
      #expect(try store.fetch(query).map(\.id) == expected)
      var found: [Int] = []
      var page = try store.page(query.limit(7))
      while let token = page.next, found.count < 100 {
        found += page.records.map(\.id)
        page = try store.page(query.limit(7).after(token))
      }
      #expect(found + page.records.map(\.id) == expected)
    }
  }
}

/// A record with a computed text whose index keys are cut.
private struct Scroll: Record {
  var id: Int
  var stored: String
  var title: String { stored }
  static let schema = Schema<Scroll> {
    Index(\.title, options: .localized("root"), name: "title")
  }
}
