import LarchTestSupport
import Testing

@testable import Larch

/// Random saves and deletions by each version of a type in turn, against a dictionary. Every query
/// runs by its plan, as a full scan, and in memory.
@Suite struct RandomVersionsTests {
  /// Who is in the file, and the version that wrote the record last.
  private struct Oracle {
    var people: [Int: (model: PersonModel, version: Int)] = [:]

    func expected<P: PersonVersion>(_ type: P.Type) -> [P] {
      people.values.sorted { $0.model.id < $1.model.id }.map { P($0.model, writtenBy: $0.version) }
    }
  }

  @Test(arguments: 1...8) func `Records of all versions behave like a dictionary`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(seed: seed)
    let file = try EvolutionFile()
    var oracle = Oracle()
    try work(V1.Person.self, V1.Team.self, 1, file, &oracle, &random) { queries in
      try queries.run(\.age, \.lastName)
      try queries.run(\.home.zip, \.home.town)
    }
    try work(V2.Person.self, V2.Team.self, 2, file, &oracle, &random) { queries in
      try queries.run(\.age, \.lastName)
      try queries.run(\.rating, \.home.town)
    }
    try work(V3.Person.self, V3.Team.self, 3, file, &oracle, &random) { queries in
      try queries.run(\.age, \.surname)
      try queries.run(\.rating, \.nick)
      try queries.run(\.home.zip, \.home.city)
      try queries.run(\.score, \.nick)
    }
    try work(V4.Person.self, V4.Group.self, 4, file, &oracle, &random) { queries in
      try queries.run(\.age, \.familyName)
      try queries.run(\.score, \.nick)
      try queries.run(\.age, \.level)
      try cities(queries)
    }
  }

  /// A field of a nested value that was renamed, and is optional now.
  private func cities(_ queries: QueryComparison<V4.Person>) throws {
    for city in ["Roma", "Oslo", nil] {
      let found = try queries.store.read { tx throws in
        try tx.fetch(V4.Person.where { $0.home.city == city })
      }
      #expect(found == queries.people.filter { $0.home?.city == city })
    }
    let rated = try queries.store.read { tx throws in
      try tx.fetch(V4.Person.where { $0.rating == nil })
    }
    #expect(rated == queries.people.filter { $0.rating == nil })
    let sum = try queries.store.read { tx throws in
      try tx.sum(\V4.Person.age, of: V4.Person.where { $0.nick == "none" })
    }
    #expect(sum == queries.people.filter { $0.nick == "none" }.map(\.age).reduce(0, +))
  }

  private func work<P: PersonVersion, T: TeamVersion>(
    _ person: P.Type, _ team: T.Type, _ version: Int, _ file: EvolutionFile,
    _ oracle: inout Oracle, _ random: inout SeededGenerator,
    _ queries: (QueryComparison<P>) throws -> Void
  ) throws {
    var options = Store.Options.quick
    options.checksQueries = true
    let store = try Store(
      path: file.path, types: [P.self, T.self], options: options, isTemporary: false)
    defer { store.close() }
    if version == 1 {
      try store.put((1...3).map { T(id: $0, title: "team \($0)") })
    }
    try check(P.self, store, oracle, queries)
    for _ in 0..<4 {
      for _ in 0..<10 {
        let id = Int.random(in: 1...40, using: &random)
        if Int.random(in: 0..<4, using: &random) == 0 {
          _ = try store.write { tx throws in try tx.delete(P.self, id) }
          oracle.people[id] = nil
        } else {
          var model = PersonModel(Int.random(in: 1...10_000, using: &random))
          model.id = id
          try store.put([P(model, writtenBy: version)])
          oracle.people[id] = (model, version)
        }
      }
      try check(P.self, store, oracle, queries)
    }
  }

  private func check<P: PersonVersion>(
    _ person: P.Type, _ store: Store, _ oracle: Oracle,
    _ queries: (QueryComparison<P>) throws -> Void
  ) throws {
    let people = oracle.expected(P.self)
    #expect(try store.all(P.self) == people)
    try queries(QueryComparison(store: store, people: people))
    try store.expectSound()
  }
}
