import Foundation
import Larch
import LarchTestSupport
import Testing

/// The rows of the table of features that come from MagicalRecord, each a test.
@Suite("Table of features: MagicalRecord")
struct MagicalRecordTests {
  typealias Person = Product.Person

  @Test("One line of set-up: default, named, in memory, self-migrating; clean up")
  func setUp() throws {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "product-\(UUID().uuidString).larch").path
    defer { for end in ["", "-lock"] { try? FileManager.default.removeItem(atPath: path + end) } }
    let named = try Store(at: path, for: Person.self, Product.Company.self, Product.Project.self)
    let memory = try Store.temporary(for: Person.self, Product.Company.self, Product.Project.self)
    try Store.with(named) {
      var ada = Person(name: "Ada", number: 1)
      try ada.save()
      #expect(try Person.all.count() == 1)
    }
    try Store.with(memory) { () throws in #expect(try Person.all.count() == 0) }
    let place = memory.path
    #expect(FileManager.default.fileExists(atPath: place))
    memory.close()
    named.close()
    #expect(!FileManager.default.fileExists(atPath: place))
    #expect(FileManager.default.fileExists(atPath: path))
  }

  @Test(
    "Find all, sorted by several attributes, first, by attribute, by predicate; distinct; groups")
  func finding() throws {
    let store = try Product.store()
    _ = try Product.people(in: store)
    try Store.with(store) { () throws in
      #expect(try Person.all.fetch().count == 5)
      let sorted = try Person.all.sorted(by: \.city).then(by: \.age, .descending).fetch()
      #expect(sorted.map(\.name) == ["Ada", "Ed", "Cy", "Bo", "Di"])
      #expect(try Person.where { $0.city == "Oslo" }.first()?.name == "Bo")
      #expect(try Person.where { $0.role == .admin }.count() == 1)
      #expect(
        try Person.all.sorted(by: \.city).select(\.city).distinct().fetch() == ["London", "Oslo"])
      let counts = try store.counts(by: \.city, of: Person.all)
      #expect(counts.map(\.value) == ["London", "Oslo"] && counts.map(\.count) == [3, 2])
    }
  }

  @Test("Save in the background with completion; contexts")
  func background() async throws {
    let store = try Product.store()
    let saved = try await store.write { tx in
      var ada = Person(name: "Ada", number: 1)
      try tx.save(&ada)
      return ada
    }
    #expect(try store.find(Person.self, saved.id)?.name == "Ada")
    // What a snapshot sees stays, whatever others save.
    try store.read { tx in
      var bo = Person(name: "Bo", number: 2)
      try store.save(&bo)
      #expect(try tx.count(Person.all) == 1)
    }
    #expect(try store.count(Person.all) == 2)
    try await Store.with(store) {
      var cy = Person(name: "Cy", number: 3)
      try await cy.save()
      #expect(cy.id.isAssigned)
    }
    #expect(try store.count(Person.all) == 3)
  }

  @Test("Truncate, and delete what matches")
  func deleting() throws {
    let store = try Product.store()
    _ = try Product.people(in: store)
    try Store.with(store) { () throws in
      #expect(try Person.where { $0.age > 36 }.delete() == 1)
      #expect(try Person.all.delete() == 4)
      _ = try Product.people(in: store)
      #expect(try Person.erase() == 5)
      #expect(try Person.all.count() == 0)
    }
  }

  @Test("Logging by one hook, with levels")
  func logging() throws {
    let messages = Messages()
    var options = Store.Options()
    options.log = { message in
      if message.level > .debug { messages.add(message.event) }
    }
    try Store.temporary(
      for: Person.self, Product.Company.self, Product.Project.self, options: options
    ).close()
    #expect(messages.events == [.schemaChanged])
  }

  final class Messages: @unchecked Sendable {
    private let lock = NSLock()
    private var list: [LogMessage.Event] = []
    func add(_ event: LogMessage.Event) { lock.withLock { list.append(event) } }
    var events: [LogMessage.Event] { lock.withLock { list } }
  }
}
