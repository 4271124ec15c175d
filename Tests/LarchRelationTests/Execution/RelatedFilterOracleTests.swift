import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Filters across associations equal closures over arrays")
struct RelatedFilterOracleTests {
  static let count =
    ProcessInfo.processInfo.environment["LARCH_RELATED_QUERIES"].flatMap(Int.init) ?? 20_000
  static let queriesAStore = 200

  @Test("Random filters without further indexes", arguments: 0..<4)
  func plain(part: Int) throws { try check(PlainGraph.self, part) }

  @Test("Random filters with further indexes", arguments: 0..<4)
  func indexed(part: Int) throws { try check(IndexedGraph.self, part) }

  private func check<K: FilterGraphKind>(_ kind: K.Type, _ part: Int) throws {
    var done = 0
    var seed = UInt64(part) &* 1_000_003 &+ 5
    while done < Self.count / 8 {
      seed &+= 1
      let graph = try FilterGraph<K>(
        seed: seed, size: [4, 12, 40][Int(seed % 3)], isChecked: seed % 4 == 0)
      var checker = RelatedQueryChecker(graph, seed)
      for number in 0..<Self.queriesAStore { try checker.check(number) }
      done += Self.queriesAStore
    }
  }
}

private struct UndoneWrite: Error {}

/// Runs random queries over one graph.
struct RelatedQueryChecker<K: FilterGraphKind> {
  private let graph: FilterGraph<K>
  private let seed: UInt64
  private var maker: RandomRelatedFilters<K>

  init(_ graph: FilterGraph<K>, _ seed: UInt64) {
    self.graph = graph
    self.seed = seed
    maker = RandomRelatedFilters(world: graph.world, random: SeededGenerator(seed: seed))
  }

  mutating func check(_ number: Int) throws {
    let depth = 1 + maker.below(3)
    let world = graph.world
    switch maker.below(6) {
    case 0: try check(maker.company(depth), world.companies, by: \.size, number)
    case 1, 2: try check(maker.person(depth), world.people, by: \.age, number)
    case 3: try check(maker.project(depth), world.projects, by: \.title, number)
    case 4: try check(maker.tag(depth), world.tags, by: \.weight, number)
    default: try check(maker.category(depth), world.categories, by: \.label, number)
    }
  }

  private mutating func check<R: Record & Equatable, Value: IndexKey & Comparable>(
    _ sample: RelatedSample<R>, _ records: [R], by field: any KeyPath<R, Value> & Sendable,
    _ number: Int
  ) throws {
    var query = R.where { _ in sample.filter }
    var expected = records.filter(sample.matches).sorted {
      KeyValue.compare(R.ID.values(of: $0.id), R.ID.values(of: $1.id)) < 0
    }
    switch maker.below(4) {
    case 0:
      query = query.sorted(by: field)
      expected = Self.sorted(expected, by: field)
    case 1:
      query = query.reversed()
      expected.reverse()
    default: break
    }
    let all = expected
    if maker.below(4) == 0 {
      let offset = maker.below(3)
      query = query.offset(offset)
      expected = Array(expected.dropFirst(offset))
    }
    if maker.below(3) == 0 {
      let limit = maker.below(6)
      query = query.limit(limit)
      expected = Array(expected.prefix(limit))
    }
    let text = "seed \(seed), query \(number): \(R.self) \(sample.text)"
    do {
      try graph.store.read { try compare(query, expected, text, $0) }
      if number % 5 == 0 { try comparePages(R.where { _ in sample.filter }, field, all, text) }
      if number % 10 == 0 { try compareWrites(sample, records, text) }
    } catch let error as LarchError {
      Issue.record("\(text)\n\(error)")
    }
  }

  private static func sorted<R: Record, Value: IndexKey>(
    _ records: [R], by field: KeyPath<R, Value>
  ) -> [R] {
    records.enumerated().sorted { a, b in
      let order = KeyValue.compare(
        Value.values(of: a.element[keyPath: field]), Value.values(of: b.element[keyPath: field]))
      return order == 0 ? a.offset < b.offset : order < 0
    }.map(\.element)
  }

  private func compare<R: Record & Equatable>(
    _ query: Query<R>, _ expected: [R], _ text: String, _ tx: ReadTransaction
  ) throws {
    let ids = expected.map(\.id)
    let found = try tx.fetch(query).map(\.id)
    guard found == ids else {
      Issue.record("\(text)\n\(try tx.explain(query))\ngives \(found)\ninstead of \(ids)")
      return
    }
    #expect(try tx.count(query) == ids.count, "\(text)")
    #expect(try tx.exists(query) == !ids.isEmpty, "\(text)")
    #expect(try tx.first(query)?.id == ids.first, "\(text)")
    #expect(try tx.ids(query) == ids, "\(text)")
    var seen: [R.ID] = []
    try tx.forEach(query) { seen.append($0.id) }
    #expect(seen == ids, "\(text)")
    for strategy in [RelatedAnswers.Strategy.first, .eachRow, .once] {
      let answer = try answer(query, strategy, tx)
      #expect(answer.ids == ids, "\(strategy): \(text)\n\(answer.plan)")
      #expect(answer.count == ids.count, "\(strategy): \(text)\n\(answer.plan)")
    }
  }

  /// Answers found in one way, whatever it costs.
  private func answer<R: Record>(
    _ query: Query<R>, _ strategy: RelatedAnswers.Strategy, _ tx: ReadTransaction
  ) throws -> (ids: [R.ID], count: Int, plan: String) {
    let collection = try tx.context.collection(of: R.self)
    let prepared = try tx.prepare(query.details, for: .ids, in: collection, strategy)
    let found = try tx.run(
      prepared, RecordAccess<R>(tx.context, collection, with: prepared.answers)
    ) { run, access in
      var ids: [R.ID] = []
      while let row = try run.next() { ids.append(try access.id(of: row, run)) }
      return ids
    }
    let counted = try tx.prepare(query.details, for: .count, in: collection, strategy)
    let count = try tx.run(
      counted, RecordAccess<R>(tx.context, collection, with: counted.answers)
    ) { run, _ in try run.count() }
    return (found, count, prepared.text)
  }

  private func comparePages<R: Record, Value: IndexKey>(
    _ query: Query<R>, _ field: any KeyPath<R, Value> & Sendable, _ all: [R], _ text: String
  ) throws {
    let wanted = Self.sorted(
      all.sorted { KeyValue.compare(R.ID.values(of: $0.id), R.ID.values(of: $1.id)) < 0 },
      by: field
    ).map(\.id)
    var found: [R.ID] = []
    var query = query.sorted(by: field).limit(3)
    while true {
      let page = try graph.store.page(query)
      found += page.records.map(\.id)
      guard let token = page.next else { break }
      query = query.after(token)
    }
    #expect(found == wanted, "pages of \(text)")
  }

  /// Deletes and updates by a query, also after changes that are still pending.
  private func compareWrites<R: Record>(
    _ sample: RelatedSample<R>, _ records: [R], _ text: String
  ) throws {
    let query = R.where { _ in sample.filter }
    let ids = Set(records.filter(sample.matches).map(\.id))
    do {
      try graph.store.write { tx in
        try compareInWrite(query, ids, text, tx)
        var updated: Set<R.ID> = []
        try tx.update(query) { updated.insert($0.id) }
        #expect(updated == ids, "update of \(text)")
        #expect(try tx.delete(query) == ids.count, "delete of \(text)")
        let rest = Set(try tx.ids(R.all))
        #expect(rest == Set(records.map(\.id)).subtracting(ids), "delete of \(text)")
        throw UndoneWrite()
      }
    } catch is UndoneWrite {}
  }

  /// With people that come and go, so that lists are read which are not written yet.
  private func compareInWrite<R: Record>(
    _ query: Query<R>, _ ids: Set<R.ID>, _ text: String, _ tx: WriteTransaction
  ) throws {
    var moved: [FilterGraph<K>.Person] = []
    for person in graph.world.people.prefix(3) {
      var other = person
      other.companyID = nil
      other.tagIDs = []
      other.age += 1
      try tx.update(other)
      moved.append(person)
    }
    for person in moved { try tx.update(person) }
    #expect(Set(try tx.ids(query)) == ids, "in a write: \(text)")
  }
}
