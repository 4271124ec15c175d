import Foundation
import Larch
import LarchTestSupport
import Testing

/// The examples of docs/operations.md on many processes.
@Suite("Guide: many processes")
struct ProcessGuideTests {
  struct Person: Record {
    var id = RecordID<Person>()
    var name: String
  }

  /// What a program shows.
  final class PeopleList: Sendable {
    private let names = LockedNames()
    var shown: [String] { names.all }
    func show(_ people: [Person]) { names.set(people.map(\.name)) }
  }

  /// Unchecked: the lock guards what is in it.
  final class LockedNames: @unchecked Sendable {
    private let lock = NSLock()
    private var names: [String] = []
    var all: [String] { lock.withLock { names } }
    func set(_ new: [String]) { lock.withLock { names = new } }
  }

  private static func add(_ name: String, to store: Store) throws {
    var person = Person(name: name)
    try store.write { tx in try tx.save(&person) }
  }

  @Test("A new version shows that something was committed")
  func version() throws {
    let store = try Store.temporary(for: Person.self)
    defer { store.close() }
    var people: [Person] = []
    var shown = try store.version
    func refresh() throws {
      // snippet: store-version
      if try store.version != shown {
        (people, shown) = try store.read { tx in
          (try tx.fetch(Person.all.sorted(by: \.name)), try tx.version)
        }
      }
      // end snippet
    }
    try refresh()
    #expect(people.isEmpty)
    try Self.add("Grace", to: store)
    try Self.add("Ada", to: store)
    try refresh()
    #expect(people.map(\.name) == ["Ada", "Grace"])
    #expect(try shown == store.version)
  }

  @Test("A task gets new versions")
  func versions() async throws {
    let store = try Store.temporary(for: Person.self)
    let list = PeopleList()
    let task = Task {
      // snippet: store-versions
      for await _ in store.versions(every: .milliseconds(200)) {
        list.show(try store.fetch(Person.all.sorted(by: \.name)))
      }
      // end snippet
    }
    try await store.write { tx in
      var person = Person(name: "Ada")
      try tx.save(&person)
    }
    while list.shown != ["Ada"] { try await Task.sleep(for: .milliseconds(5)) }
    store.close()
    try await task.value
  }
}
