import Larch
import LarchTestSupport
import Testing

// The examples of docs/live.md.

@Suite("The examples of the guide to results that follow changes")
struct LiveGuideTests {
  // snippet: live-types
  struct Person: Record, Equatable {
    var id = RecordID<Person>()
    var name: String
    var city: String
    var age: Int

    static let schema = Schema<Person> { Index(\.city, \.age) }
  }
  // end snippet

  struct Summary: Equatable {
    var count: Int
    var oldest: String?
  }

  /// What an app would show.
  @MainActor
  private final class View {
    var names: [[String]] = []
    var summaries: [Summary] = []
    var changes: [RowChanges] = []
    var sections: [SectionChanges] = []

    func show(_ people: [Person]) { names.append(people.map(\.name)) }
    func show(_ summary: Summary) { summaries.append(summary) }
    func apply(_ changes: RowChanges) { self.changes.append(changes) }
    func apply(_ changes: SectionChanges) { sections.append(changes) }
  }

  private let ada = Person(name: "Ada", city: "London", age: 36)
  private let bo = Person(name: "Bo", city: "Oslo", age: 41)

  private func save(_ person: Person, in store: Store) async throws {
    try await store.write { tx in
      var person = person
      try tx.save(&person)
    }
  }

  @Test("a loop")
  @MainActor
  func loop() async throws {
    let store = try Store.temporary(for: Person.self)
    let list = View()
    let task = Task { @MainActor in
      // snippet: live-loop
      let londoners = Person.where { $0.city == "London" }.sorted(by: \.age)
      for try await people in store.observe(londoners) {
        list.show(people.rows)
      }
      // end snippet
    }
    while list.names.isEmpty { await Task.yield() }
    try await save(bo, in: store)
    try await save(ada, in: store)
    while list.names.count < 2 { await Task.yield() }
    task.cancel()
    try await task.value
    #expect(list.names == [[], ["Ada"]])
  }

  @Test("what has changed")
  @MainActor
  func changes() async throws {
    let store = try Store.temporary(for: Person.self)
    let table = View()
    let task = Task { @MainActor in
      // snippet: live-changes
      var shown: [Person] = []
      for try await people in store.observe(Person.all.sorted(by: \.name)) {
        table.apply(people.changes(from: shown))
        shown = people.rows
      }
      // end snippet
    }
    while table.changes.isEmpty { await Task.yield() }
    try await save(bo, in: store)
    while table.changes.count < 2 { await Task.yield() }
    try await save(ada, in: store)
    while table.changes.count < 3 { await Task.yield() }
    task.cancel()
    try await task.value
    #expect(table.changes.map(\.insertions) == [[], [0], [0]])
  }

  @Test("what has changed in sections")
  @MainActor
  func sectionChanges() async throws {
    let store = try Store.temporary(for: Person.self)
    let table = View()
    let task = Task { @MainActor in
      // snippet: live-sections
      var shown: [RecordSection<Person, String>] = []
      for try await cities in store.observe(Person.all.sectioned(by: \.city)) {
        table.apply(cities.changes(from: shown))
        shown = cities.rows
      }
      // end snippet
    }
    while table.sections.isEmpty { await Task.yield() }
    try await save(bo, in: store)
    while table.sections.count < 2 { await Task.yield() }
    try await save(ada, in: store)
    while table.sections.count < 3 { await Task.yield() }
    task.cancel()
    try await task.value
    #expect(table.sections.map(\.insertedSections.count) == [0, 1, 1])
  }

  @Test("a closure on the main actor")
  @MainActor
  func closure() async throws {
    let store = try Store.temporary(for: Person.self)
    let list = View()
    let token: ObservationToken
    // snippet: live-closure
    token = store.observe(Person.all.sorted(by: \.name)) { people in
      list.show(people.rows)
    }
    // end snippet
    while list.names.isEmpty { await Task.yield() }
    try await save(bo, in: store)
    while list.names.count < 2 { await Task.yield() }
    token.cancel()
    try await save(ada, in: store)
    #expect(list.names == [[], ["Bo"]])
  }

  @Test("a closure that is called at once")
  @MainActor
  func closureNow() async throws {
    let store = try Store.temporary(for: Person.self)
    let list = View()
    let token: ObservationToken
    // snippet: live-now
    token = store.observe(Person.all.sorted(by: \.name), first: .now) { people in
      list.show(people.rows)
    }
    // end snippet
    #expect(list.names == [[]])
    try await save(bo, in: store)
    await token.settled()
    #expect(list.names == [[], ["Bo"]])
  }

  @Test("not too often")
  @MainActor
  func every() async throws {
    let store = try Store.temporary(for: Person.self)
    let list = View()
    let token: ObservationToken
    // snippet: live-every
    token = store.observe(Person.all, every: .milliseconds(200)) { people in
      list.show(people.rows)
    }
    // end snippet
    try await save(ada, in: store)
    await token.settled()
    #expect(list.names.last == ["Ada"])
  }

  @Test("whose writes")
  @MainActor
  func authors() async throws {
    let store = try Store.temporary(for: Person.self)
    let list = View()
    let token: ObservationToken
    var (first, second) = (ada, bo)
    try await first.save(in: store)
    try await second.save(in: store)
    first.age = 50
    second.age = 20
    let (dragged, fetched) = (first, second)
    // snippet: live-authors
    token = store.observe(Person.all.sorted(by: \.age), ignoring: "ui") { people in
      list.show(people.rows)
    }
    try await store.write(author: "ui") { try $0.update(dragged) }  // No call.
    try await store.write(author: "sync") { try $0.update(fetched) }  // A call with both.
    // end snippet
    await token.settled()
    #expect(list.names.last == ["Bo", "Ada"])
  }

  @Test("each write by itself")
  @MainActor
  func each() async throws {
    let store = try Store.temporary(for: Person.self)
    var history: [(Int, Set<String?>)] = []
    let token: ObservationToken
    // snippet: live-each
    token = store.observe(Person.all, delivery: .each) { people in
      history.append((people.rows.count, people.authors))
    }
    // end snippet
    await token.settled()
    try await save(ada, in: store)
    try await save(bo, in: store)
    await token.settled()
    #expect(history.map(\.0) == [0, 1, 2])
  }

  @Test("an object for a view")
  @MainActor
  func results() async throws {
    let store = try Store.temporary(for: Person.self)
    let list = View()
    let show = list.show as ([Person]) -> Void
    var ada = ada
    // snippet: live-results
    let people = LiveResults(Person.all.sorted(by: \.name), in: store)
    show(people.rows)

    try await ada.save(in: store)
    await people.settled()
    show(people.rows)
    // end snippet
    #expect(list.names == [[], ["Ada"]])

    let views = SwiftUIViews()
    #expect(Store.with(store) { views.names() } == ["Ada"])
  }

  /// Enough of SwiftUI to compile its example where SwiftUI is not.
  @MainActor
  private struct SwiftUIViews {
    func names() -> [String] {
      (PeopleList().body as? List)?.texts ?? []
    }

    // snippet: live-swiftui
    struct PeopleList: View {
      @State private var people = LiveResults(Person.all.sorted(by: \.name))

      var body: some View {
        List(people.rows) { person in Text(person.name) }
      }
    }
    // end snippet

    @MainActor protocol View {}

    struct Text: View {
      var text: String
      init(_ text: String) { self.text = text }
    }

    struct List: View {
      var texts: [String] = []
      init(_ rows: [Person], _ row: (Person) -> Text) { texts = rows.map { row($0).text } }
    }

    @MainActor @propertyWrapper struct State<Value> {
      var wrappedValue: Value
    }
  }

  @Test("how a request is observed")
  func explain() throws {
    let store = try Store.temporary(for: Person.self)
    var printed = ""
    func print(_ text: String) { printed = text }
    // snippet: live-explain
    let page = Person.where { $0.city == "London" }.sorted(by: \.age).limit(20)
    print(try store.explain(observing: page))
    // end snippet
    #expect(printed.hasPrefix("changes of Person"))
    let guide = try SnippetTests.lines(of: "docs/live.md").joined(separator: "\n")
    #expect(guide.contains("```text\n" + printed + "\n```"), "\(printed)")
  }

  @Test("how a closure and a record are observed")
  func explainRead() throws {
    let store = try Store.temporary(for: Person.self)
    var printed: [String] = []
    func print(_ text: String) { printed.append(text) }
    // snippet: live-explain-read
    let counted = try store.explain { tx in
      try tx.count(Person.where { $0.city == "London" })
    }
    print(counted)
    print(try store.explain(observing: Person.self, 7))
    // end snippet
    let text = printed.joined(separator: "\n")
    let guide = try SnippetTests.lines(of: "docs/live.md").joined(separator: "\n")
    #expect(guide.contains("```text\n" + text + "\n```"), "\(text)")
  }

  @Test("any read, with closures")
  @MainActor
  func readWithClosures() async throws {
    let store = try Store.temporary(for: Person.self)
    let header = View()
    var token: ObservationToken?
    // snippet: live-read-closures
    token = store.observe { tx -> Summary in
      let people = try tx.fetch(Person.all.sorted(by: \.age, .descending))
      return Summary(count: people.count, oldest: people.first?.name)
    } onError: { error in
      print("No more values: \(error)")
    } onChange: { now in
      header.show(now.value)
    }
    // end snippet
    await token?.settled()
    try await save(bo, in: store)
    await token?.settled()
    #expect(header.summaries == [Summary(count: 0), Summary(count: 1, oldest: "Bo")])
  }

  @Test("any read")
  @MainActor
  func read() async throws {
    let store = try Store.temporary(for: Person.self)
    let header = View()
    let task = Task { @MainActor in
      // snippet: live-read
      let summary = store.observe { tx in
        Summary(
          count: try tx.count(Person.all),
          oldest: try tx.first(Person.all.sorted(by: \.age, .descending))?.name)
      }
      for try await now in summary { header.show(now.value) }
      // end snippet
    }
    while header.summaries.isEmpty { await Task.yield() }
    try await save(bo, in: store)
    while header.summaries.count < 2 { await Task.yield() }
    task.cancel()
    try await task.value
    #expect(header.summaries == [Summary(count: 0), Summary(count: 1, oldest: "Bo")])
  }
}
