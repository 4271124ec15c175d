import Larch
import LarchTestSupport
import Testing

// The examples of docs/live.md that change lists.

@Suite("The examples of the guide to changes of rows")
struct LiveChangesGuideTests {
  private typealias Person = LiveGuideTests.Person

  private let ada = Person(name: "Ada", city: "London", age: 36)
  private let bo = Person(name: "Bo", city: "Oslo", age: 41)

  /// A list that notes how it is changed.
  @MainActor
  private final class List {
    var changes: [RowChanges] = []
    func apply(_ changes: RowChanges) { self.changes.append(changes) }
  }

  @Test("step by step, and as a difference")
  @MainActor
  func steps() async throws {
    let store = try Store.temporary(for: Person.self)
    var (first, second) = (ada, bo)
    try await first.save(in: store)
    let values = store.observe(Person.all.sorted(by: \.name)).makeAsyncIterator()
    let shown = try #require(try await values.next()).rows
    func cell(for person: Person) -> String { "\(person.name), \(person.city)" }
    var cells = shown.map(cell)
    try await second.save(in: store)
    first.name = "Cy"
    try await first.save(in: store)
    let people = try #require(try await values.next())
    let changes = people.changes(from: shown)
    // snippet: live-steps
    for step in changes.steps {
      switch step {
      case .remove(let place): cells.remove(at: place)
      case .move(let from, let to): cells.insert(cells.remove(at: from), at: to)
      case .insert(let place): cells.insert(cell(for: people.rows[place]), at: place)
      case .update(let place): cells[place] = cell(for: people.rows[place])
      }
    }
    let difference = changes.difference(from: shown, to: people.rows)
    assert(shown.applying(difference) == people.rows)
    // end snippet
    #expect(cells == ["Bo, Oslo", "Cy, London"])
    #expect(shown.applying(difference) == people.rows)
  }

  @Test("changes of some fields")
  @MainActor
  func fields() async throws {
    let store = try Store.temporary(for: Person.self)
    var person = ada
    try await person.save(in: store)
    let table = List()
    let task = Task { @MainActor in
      // snippet: live-fields
      var shown: [Person] = []
      let request = Person.all.sorted(by: \.name).changes(of: \.name, \.city)
      for try await people in store.observe(request) {
        table.apply(people.changes(from: shown, of: \.name, \.city))
        shown = people.rows
      }
      // end snippet
    }
    while table.changes.isEmpty { await Task.yield() }
    person.age += 1
    try await person.save(in: store)
    person.city = "Paris"
    try await person.save(in: store)
    while table.changes.count < 2 { await Task.yield() }
    task.cancel()
    try await task.value
    #expect(table.changes.map(\.updates.count) == [0, 1])
  }

  /// A table view with rows of names.
  @MainActor
  private final class Table {
    var cells: [String] = []

    func show(_ people: [Person]) { cells = people.map(\.name) }

    func apply(_ changes: RowChanges, of people: [Person]) {
      for step in changes.steps {
        switch step {
        case .remove(let place): cells.remove(at: place)
        case .move(let from, let to): cells.insert(cells.remove(at: from), at: to)
        case .insert(let place): cells.insert(people[place].name, at: place)
        case .update(let place): cells[place] = people[place].name
        }
      }
    }
  }

  @Test("an object for a table view")
  @MainActor
  func table() async throws {
    let store = try Store.temporary(for: Person.self)
    let table = Table()
    var (ada, bo) = (ada, bo)
    try await bo.save(in: store)
    // snippet: live-table
    let people = LiveResults(Person.all.sorted(by: \.name), in: store)
    table.show(people.rows)
    people.apply = { change in
      change()
      if let changes = people.changes() { table.apply(changes, of: people.rows) }
    }
    // end snippet
    #expect(table.cells == ["Bo"])
    try await ada.save(in: store)
    await people.settled()
    #expect(table.cells == ["Ada", "Bo"])
    ada.name = "Cy"
    try await ada.save(in: store)
    await people.settled()
    #expect(table.cells == ["Bo", "Cy"])
  }
}
