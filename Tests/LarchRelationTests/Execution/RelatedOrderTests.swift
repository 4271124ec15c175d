import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Orders across associations equal sorted arrays")
struct RelatedOrderTests {
  @Test("Random orders without further indexes", arguments: 0..<3)
  func plain(part: Int) throws { try check(PlainGraph.self, part) }

  @Test("Random orders with further indexes", arguments: 0..<3)
  func indexed(part: Int) throws { try check(IndexedGraph.self, part) }

  private func check<K: FilterGraphKind>(_ kind: K.Type, _ part: Int) throws {
    for round in 0..<6 {
      let seed = UInt64(part * 1000 + round + 17)
      let graph = try FilterGraph<K>(
        seed: seed, size: [4, 12, 40][round % 3], isChecked: round % 2 == 0)
      var checker = RelatedOrderChecker(graph, seed)
      for number in 0..<60 { try checker.check(number) }
    }
  }
}

/// A field of a related record: in a query, and in an array.
private struct RelatedTerm<R: Record> {
  let text: String
  let apply: (Query<R>, _ direction: SortDirection, _ isFirst: Bool) -> Query<R>
  let value: (R) -> [KeyValue]
}

private func term<R: Record, Value: IndexKey>(
  _ text: String, _ field: KeyPath<RelatedFields<R>, Field<R, Value?>>,
  _ value: @escaping (R) -> Value?
) -> RelatedTerm<R> {
  RelatedTerm(
    text: text,
    apply: { $2 ? $0.sorted(by: field, $1) : $0.then(by: field, $1) },
    value: { Value?.values(of: value($0)) })
}

private struct Undone: Error {}

private struct RelatedOrderChecker<K: FilterGraphKind> {
  typealias Person = FilterGraph<K>.Person
  typealias Company = FilterGraph<K>.Company
  typealias Profile = FilterGraph<K>.Profile

  let graph: FilterGraph<K>
  let seed: UInt64
  private var maker: RandomRelatedFilters<K>
  private let people: [RelatedTerm<Person>]
  private let profiles: [RelatedTerm<Profile>]

  init(_ graph: FilterGraph<K>, _ seed: UInt64) {
    self.graph = graph
    self.seed = seed
    maker = RandomRelatedFilters(world: graph.world, random: SeededGenerator(seed: seed))
    let world = graph.world
    func company(_ id: Company.ID?) -> Company? { world.companies.first { $0.id == id } }
    func person(_ profile: Profile) -> Person? {
      world.people.first { $0.id == profile.personID }
    }
    func profile(_ person: Person) -> Profile? {
      world.profiles.first { $0.personID == person.id }
    }
    people = [
      term("company.name", \.company.name) { company($0.companyID)?.name },
      term("company.size", \.company.size) { company($0.companyID)?.size },
      term("company.id", \.company.id) { company($0.companyID)?.id },
      term("company.name.count", \.company.name.count) { company($0.companyID)?.name.count },
      term("company.parentID", \.company.parentID) { company($0.companyID)?.parentID },
      term("company.parent.name", \.company.parent.name) {
        company(company($0.companyID)?.parentID)?.name
      },
      term("profile.score", \.profile.score) { profile($0)?.score },
      RelatedTerm(
        text: "company.name, options: .caseInsensitive",
        apply: {
          $2
            ? $0.sorted(by: \.company.name, options: .caseInsensitive, $1)
            : $0.then(by: \.company.name, options: .caseInsensitive, $1)
        },
        value: { String?.values(of: company($0.companyID).map { NFC.foldedForIndex($0.name) }) }),
    ]
    profiles = [
      term("person.nickname", \.person.nickname) { person($0)?.nickname },
      term("person.company.size", \.person.company.size) {
        company(person($0)?.companyID)?.size
      },
    ]
  }

  mutating func check(_ number: Int) throws {
    if maker.below(4) > 0 {
      try check(
        maker.person(1), graph.world.people, people, \.age, { Int.values(of: $0.age) }, number)
    } else {
      let all = RelatedSample<Profile>(filter: .always, matches: { _ in true }, text: "all")
      try check(
        all, graph.world.profiles, profiles, \.score, { Double.values(of: $0.score) }, number)
    }
  }

  private mutating func check<R: Record & Equatable, Own: IndexKey>(
    _ sample: RelatedSample<R>, _ records: [R], _ terms: [RelatedTerm<R>],
    _ own: any KeyPath<R, Own> & Sendable, _ ownValue: @escaping (R) -> [KeyValue], _ number: Int
  ) throws {
    var query = R.where { _ in sample.filter }
    var order: [(value: (R) -> [KeyValue], descends: Bool)] = []
    var text = "seed \(seed), query \(number): \(R.self) \(sample.text)"
    for place in 0..<1 + maker.below(3) {
      let descends = maker.below(2) == 0
      let direction: SortDirection = descends ? .descending : .ascending
      if place > 0, maker.below(2) == 0 {
        query = query.then(by: own, direction)
        order.append((ownValue, descends))
        text += " own \(direction)"
      } else {
        let term = terms[maker.below(terms.count)]
        query = term.apply(query, direction, place == 0)
        order.append((term.value, descends))
        text += " \(term.text) \(direction)"
      }
    }
    var expected = records.filter(sample.matches).sorted {
      KeyValue.compare(R.ID.values(of: $0.id), R.ID.values(of: $1.id)) < 0
    }.enumerated().sorted { a, b in
      for term in order {
        let result = KeyValue.compare(term.value(a.element), term.value(b.element))
        if result != 0 { return term.descends ? result > 0 : result < 0 }
      }
      return a.offset < b.offset
    }.map(\.element)
    if maker.below(4) == 0 {
      query = query.reversed()
      expected.reverse()
    }
    let ordered = (query: query, ids: expected.map(\.id))
    if maker.below(4) == 0 {
      let offset = maker.below(3)
      query = query.offset(offset)
      expected = Array(expected.dropFirst(offset))
    }
    if maker.below(2) == 0 {
      let limit = maker.below(6)
      query = query.limit(limit)
      expected = Array(expected.prefix(limit))
    }
    let ids = expected.map(\.id)
    do {
      try graph.store.read { try compare(query, ids, text, $0) }
      try comparePages(ordered.query, ordered.ids, text)
      if number % 10 == 0 { try compareInWrite(query, ids, text) }
    } catch let error as LarchError {
      Issue.record("\(text)\n\(error)")
    }
  }

  private func compare<R: Record>(
    _ query: Query<R>, _ ids: [R.ID], _ text: String, _ tx: ReadTransaction
  ) throws {
    let found = try tx.fetch(query).map(\.id)
    guard found == ids else {
      Issue.record("\(text)\n\(try tx.explain(query))\ngives \(found)\ninstead of \(ids)")
      return
    }
    #expect(try tx.count(query) == ids.count, "\(text)")
    #expect(try tx.exists(query) == !ids.isEmpty, "\(text)")
    #expect(try tx.first(query)?.id == ids.first, "\(text)")
    #expect(try tx.ids(query) == ids, "\(text)")
    #expect(try tx.fetch(query.select(\.id)) == ids, "\(text)")
    var seen: [R.ID] = []
    try tx.forEach(query) { seen.append($0.id) }
    #expect(seen == ids, "\(text)")
    let cursor = try tx.cursor(query)
    var stepped: [R.ID] = []
    while let record = try cursor.next() { stepped.append(record.id) }
    #expect(stepped == ids, "\(text)")
    _ = try tx.explain(query, running: true)
  }

  private func comparePages<R: Record>(
    _ query: Query<R>, _ ids: [R.ID], _ text: String
  ) throws {
    for offset in [0, 2] {
      var found: [R.ID] = []
      var query = query.limit(3).offset(offset)
      while true {
        let page = try graph.store.page(query)
        found += page.records.map(\.id)
        guard let token = page.next else { break }
        // As text, the way it goes to a client and back.
        query = query.after(try PageToken(token.text))
      }
      #expect(found == Array(ids.dropFirst(offset)), "pages of \(text), offset \(offset)")
    }
  }

  /// After changes of related records that are only gathered yet.
  private func compareInWrite<R: Record>(
    _ query: Query<R>, _ ids: [R.ID], _ text: String
  ) throws {
    do {
      try graph.store.write { tx in
        for company in graph.world.companies {
          var other = company
          other.name = "other"
          other.size += 1
          try tx.update(other)
        }
        for profile in graph.world.profiles {
          var other = profile
          other.personID = nil
          try tx.update(other)
        }
        _ = try tx.ids(query)
        for company in graph.world.companies { try tx.update(company) }
        for profile in graph.world.profiles { try tx.update(profile) }
        #expect(try tx.ids(query) == ids, "in a write: \(text)")
        throw Undone()
      }
    } catch is Undone {}
  }
}
