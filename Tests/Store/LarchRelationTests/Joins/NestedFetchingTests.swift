import LarchTestSupport
import Testing

@testable import Larch

@Suite("Several associations, at any depth, are fetched in one pass")
struct NestedFetchingTests {
  private typealias Graph = NestedGraph

  @Test("Every shape gives the rows of arrays, in reads and in writes", arguments: 0..<12)
  func arrays(number: UInt64) throws {
    var random = SeededGenerator(seed: 33_100 + number)
    let store = try Graph.store(checks: number % 2 == 0)
    try Graph.fill(store, &random)
    for round in 0..<4 {
      let place = "seed \(33_100 + number), round \(round)"
      let shapes = NestedShape.all(&random)
      let graph = try Graph(store)
      for shape in shapes { try shape.check(store, graph, place) }
      try store.write { tx in
        for _ in 0..<12 { try Graph.change(tx, &random) }
        let pending = try Graph(tx)
        for shape in shapes { try shape.check(tx, pending, place + ", pending") }
      }
    }
  }

  @Test("What is observed is always what is fetched", arguments: 0..<8)
  func observed(number: UInt64) throws {
    var random = SeededGenerator(seed: 33_200 + number)
    let store = try Graph.store(checks: number % 2 == 0)
    try Graph.fill(store, &random)
    let observers = NestedShape.all(&random).map { $0.observe(store) }
    var patches = 0
    for round in 0..<30 {
      try store.write { tx in
        for _ in 0..<Int.random(in: 1..<4, using: &random) { try Graph.change(tx, &random) }
      }
      let graph = try Graph(store)
      patches = 0
      for observer in observers {
        patches += try observer(graph, "seed \(33_200 + number), round \(round)")
      }
    }
    #expect(patches > 20, "rows must be brought up to date, not only read again")
  }

  @Test("A change of a record far from the rows is seen by each row that has it")
  func sharedContent() throws {
    let store = try Graph.store(checks: true)
    var firm = Graph.Firm(rank: 1)
    try store.write { tx in
      try tx.save(&firm)
      for rank in 0..<3 {
        var person = Graph.Person(rank: rank, firmID: firm.id)
        try tx.save(&person)
      }
    }
    let request = Graph.Person.all.with(
      Graph.Person.firm, from: Graph.Firm.all.with(Graph.Firm.people))
    let observer = store.observe(request).makeAsyncIterator().polled
    _ = try observer.poll()
    try store.write { tx in
      _ = try tx.update(Graph.Person.where { $0.rank == 2 }) { $0.rank = 7 }
    }
    let rows = try #require(try observer.poll()).value
    #expect(rows.map { $0.1?.1.map(\.rank) } == [[0, 1, 7], [0, 1, 7], [0, 1, 7]] as [[Int]?])
    #expect(observer.patches == 1)
  }

  @Test("Records that several rows share are read once at each association")
  func shared() throws {
    var random = SeededGenerator(seed: 33_300)
    let store = try Graph.store()
    for _ in 0..<4 { try Graph.fill(store, &random) }
    let graph = try Graph(store)
    let request = Graph.Person.all.with(Graph.Person.firm)
      .with(Graph.Person.tags, from: Graph.Tag.all.with(Graph.Tag.people))
    try store.read { tx in
      try tx.run(request) { rows in
        try rows.forEach { _ in }
        let tags = Set(graph.people.flatMap(\.tagIDs)).intersection(graph.tags.map(\.id))
        let tagged = graph.people.filter { !tags.isDisjoint(with: $0.tagIDs) }
        #expect(
          rows.parts.flatMap(\.withFurther).map(\.counters.recordsExamined) == [
            Set(graph.people.compactMap(\.firmID)).count, tags.count, tagged.count,
          ])
        #expect(tagged.count > 3)
      }
    }
  }

  @Test("The plan shows each association below the one that it belongs to")
  func plan() throws {
    let store = try Graph.store()
    var random = SeededGenerator(seed: 33_301)
    try Graph.fill(store, &random)
    let people = Graph.Person.where { $0.rank >= 2 }.limit(3).with(Graph.Person.badge)
      .with(Graph.Person.tags, from: Graph.Tag.all.sorted(by: \.rank).offset(1))
    let request = Graph.Firm.all.with(Graph.Firm.people, from: people)
      .with(Graph.Firm.people)
    #expect(
      try store.explain(request) == """
        all records
        with Person
          filter rank >= 2
          limit 3 for each record
          with Badge
          with Tag
            sort those of each record
            offset 1 of each record
        with Person
        """)
    let run = try store.explain(request, running: true)
    #expect(run.contains("\nrelated Badge ") && run.contains("\nrelated Tag "), "\(run)")
    #expect(try store.explain(observing: request).contains("related ones"))
  }

  @Test("An unknown association or a page token is refused at any depth, by each verb")
  func refusals() throws {
    let store = try Graph.store()
    var random = SeededGenerator(seed: 33_302)
    for _ in 0..<3 { try Graph.fill(store, &random) }
    try store.write { tx in
      for rank in 0..<2 {
        var tag = Graph.Tag(rank: rank)
        try tx.save(&tag)
      }
    }
    let token = try #require(try store.page(Graph.Tag.all.limit(1)).next)
    let unknown = ManyToMany<Graph.Person, Graph.Club>(named: "unknown")
    func refused<Q: Request>(_ request: Q, _ code: LarchError.Code) {
      let verbs: [(Store) throws -> Void] = [
        { _ = try $0.fetch(request) }, { _ = try $0.first(request) }, { _ = try $0.count(request) },
        { _ = try $0.exists(request) }, { try $0.forEach(request) { _ in } },
        { _ = try $0.explain(request) },
      ]
      for verb in verbs {
        let error = #expect(throws: LarchError.self) { try verb(store) }
        #expect(error?.code == code)
      }
    }
    refused(Graph.Person.all.with(Graph.Person.firm).with(unknown), .unknownAssociation)
    refused(
      Graph.Firm.all.with(Graph.Firm.people, from: Graph.Person.all.with(unknown)),
      .unknownAssociation)
    refused(
      Graph.Firm.all.with(
        Graph.Firm.people,
        from: Graph.Person.all.with(Graph.Person.tags, from: Graph.Tag.all.after(token))),
      .invalidQuery)
  }
}
