import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("A record with a version")
struct VersionedTests {
  struct Topic: Record, Equatable {
    var id = RecordID<Topic>()
    var name: String

    static let entries = HasMany<Topic, Entry>(\.topicID, onDelete: .nullify)
    static let schema = Schema<Topic> { entries }
  }

  struct Entry: Record, Equatable {
    var id = RecordID<Entry>()
    var text = ""
    var count = 0
    var key: String?
    var topicID: Topic.ID?
    var version = 0

    static let topic = BelongsTo<Entry, Topic>(\.topicID)
    static let schema = Schema<Entry> {
      topic
      Versioned(\.version)
      Unique(\.key)
      Validate(\.text, .length(...10))
    }
  }

  private func store(_ change: (inout Store.Options) -> Void = { _ in }) throws -> Store {
    var options = Store.Options()
    options.durability = .none
    change(&options)
    return try Store.temporary(for: Entry.self, Topic.self, options: options)
  }

  private func saved(_ store: Store, _ entry: Entry = Entry(text: "a")) throws -> Entry {
    var entry = entry
    try store.save(&entry)
    return entry
  }

  private func expectConflict(
    _ entry: Entry, _ detail: String, _ location: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
  ) {
    let error = caught(body)
    #expect(error?.code == .conflict, sourceLocation: location)
    #expect(error?.context.collection == "Entry", sourceLocation: location)
    #expect(error?.context.id == "\(entry.id)", sourceLocation: location)
    #expect(error?.context.detail == detail, sourceLocation: location)
  }

  @Test("It begins at 1, rises with each save that changes something, and refuses stale records")
  func rises() throws {
    let store = try store()
    var entry = try saved(store)
    #expect(entry.version == 1)
    var stale = entry
    try store.save(&entry)
    #expect(entry.version == 1, "nothing was changed")
    entry.text = "b"
    try store.save(&entry)
    #expect(entry.version == 2)
    entry.text = "c"
    try store.update(&entry)
    #expect(entry.version == 3)

    let before = stale
    stale.count = 9
    let changed = stale
    expectConflict(stale, "version 1, stored 3") { try store.save(&stale) }
    expectConflict(stale, "version 1, stored 3") { try store.update(stale) }
    expectConflict(stale, "version 1, stored 3") { try store.update(&stale) }
    #expect(stale == changed)
    stale = before
    expectConflict(stale, "version 1, stored 3") { try store.save(&stale) }
    #expect(try store.find(Entry.self, entry.id) == entry)

    // The one that is not inout is stale after it.
    entry.text = "d"
    try store.update(entry)
    expectConflict(entry, "version 3, stored 4") { try store.update(entry) }
    #expect(try store.find(Entry.self, entry.id)?.version == 4)
  }

  @Test("A broken rule leaves the version as it was")
  func rules() throws {
    let store = try store()
    var entry = try saved(store)
    entry.text = "much too long a text"
    #expect(caught { try store.save(&entry) }?.code == .invalid)
    #expect(entry.version == 1)
    entry.text = "b"
    try store.save(&entry)
    #expect(entry.version == 2)
  }

  @Test("Updates by queries and through associations raise it, and are never stale")
  func otherPaths() throws {
    let store = try store()
    var topic = Topic(name: "t")
    try store.save(&topic)
    let entry = try saved(store, Entry(text: "a", topicID: topic.id))
    try store.update(Entry.all) { $0.count += 1 }
    #expect(try store.find(Entry.self, entry.id)?.version == 2)
    try store.delete(topic)
    let now = try #require(try store.find(Entry.self, entry.id))
    #expect(now.version == 3 && now.topicID == nil && now.count == 1)
    let found = try store.findOrCreate(by: \.key, equals: "k") { Entry(key: "k") }
    #expect(found.version == 1)
    try store.delete(entry)  // compares nothing
    #expect(try !store.exists(Entry.self, entry.id))
    var again = now
    try store.save(&again)
    #expect(again.version == 4, "an old holder of version 3 is stale")
  }

  @Test("A stale tracked record is a conflict, whatever field it changed")
  func tracked() throws {
    let store = try store()
    let id = try saved(store).id
    var first = try #require(try store.tracked(Entry.self, id))
    var second = try #require(try store.tracked(Entry.self, id))
    first.text = "b"
    second.count = 1
    try first.persist(in: store)
    #expect(first.version == 2 && first.state == .unchanged)
    expectConflict(second.value, "version 1, stored 2") { _ = try second.persist(in: store) }
    #expect(second.count == 1 && second.state == .changed)
    try second.reload(in: store)
    second.count = 1
    try second.persist(in: store)
    #expect(second.text == "b" && second.version == 3)
  }

  @Test("A record of an undone write can be saved again, and no other save gets its number")
  func undone() throws {
    let store = try store()
    var mine = try saved(store)
    let read = mine
    mine.text = "b"
    _ = try? store.write { tx in
      try tx.save(&mine)
      mine.count = 1
      try tx.save(&mine)
      throw Stop()
    }
    #expect(mine.version == 3, "a value in memory stays as the save made it")
    // Nobody else saved it, so it is not stale.
    var copy = mine
    try store.save(&copy)
    #expect(try store.find(Entry.self, mine.id) == copy && copy.version > 3)
    // Now it is.
    #expect(caught { try store.save(&mine) }?.code == .conflict)

    // The undone number is not assigned again.
    var a = copy
    var b = copy
    a.text = "x"
    b.text = "y"
    _ = try? store.write { tx in
      try tx.save(&a)
      throw Stop()
    }
    try store.save(&b)
    #expect(b.version != a.version)
    #expect(caught { try store.save(&a) }?.code == .conflict)
    #expect(try store.find(Entry.self, read.id) == b)
  }

  @Test("A closure that runs twice can save the record that it changed in the first run")
  func twice() throws {
    let store = try store { $0.runsWritesTwice = true }
    var entry = Entry(text: "a")
    try store.write { tx in try tx.save(&entry) }
    for text in ["b", "c"] {
      entry.text = text
      try store.write { tx in try tx.save(&entry) }
      #expect(try store.find(Entry.self, entry.id) == entry)
    }
  }

  @Test("If two programs assigned a number, and one is undone, the stale record is refused")
  func twoStores() throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let one = try Store(at: path, for: Entry.self, Topic.self)
    let other = try Store(at: path, for: Entry.self, Topic.self)
    var mine = try saved(one)
    var theirs = mine
    mine.text = "b"
    _ = try? one.write { tx in
      try tx.save(&mine)
      throw Stop()
    }
    theirs.text = "c"
    try other.save(&theirs)
    #expect(mine.version == 2 && theirs.version == 2)
    #expect(caught { try one.save(&mine) }?.code == .conflict)
    var fresh = try #require(try one.find(Entry.self, mine.id))
    fresh.text = "d"
    try one.save(&fresh)
    #expect(fresh.version == 3)
  }

  @Test("An import replaces and merges matched records of any version")
  func imports() throws {
    let store = try store()
    var entry = try saved(store, Entry(text: "a", key: "k"))
    entry.text = "b"
    try store.save(&entry)
    let lines = #"{"id": 0, "text": "c", "count": 4, "key": "k", "version": 1}"#
    let report = try store.importJSON(Entry.self, from: .text(lines), matching: \.key)
    #expect(report.updated == 1)
    let now = try #require(try store.find(Entry.self, entry.id))
    #expect(now.text == "c" && now.version == 3)
    _ = try store.importJSON(
      Entry.self, from: .text(#"{"key": "k", "count": 5}"#), matching: \.key, existing: .merge)
    #expect(try store.find(Entry.self, entry.id).map { [$0.count, $0.version] } == [5, 4])
  }

  struct Small: Record, Equatable {
    var id: Int
    var n = 0
    var version: UInt8 = 0
    static let schema = Schema<Small> { Versioned(\.version) }
  }

  @Test("After the highest number of its type, a version starts again at 1")
  func wraps() throws {
    let store = try Store.temporary(for: Small.self)
    try store.write { tx in
      var small = Small(id: 1)
      for n in 1...600 {
        small.n = n
        try tx.save(&small)
      }
      #expect(try tx.find(Small.self, 1) == small && small.n == 600)
    }
    // An undone write may have assigned all numbers.
    var small = try #require(try store.find(Small.self, 1))
    _ = try? store.write { tx in
      for n in 1...600 {
        small.n = n
        try tx.save(&small)
      }
      throw Stop()
    }
    var fresh = try #require(try store.find(Small.self, 1))
    fresh.n = -1
    try store.save(&fresh)
    #expect(try store.find(Small.self, 1) == fresh)
  }

  struct Two: Record {
    var id: Int
    var a = 0
    var b = 0
    static let schema = Schema<Two> {
      Versioned(\.a)
      Versioned(\.b)
    }
  }

  struct Identity: Record {
    var id: Int
    static let schema = Schema<Identity> { Versioned(\.id) }
  }

  struct Computed: Record {
    var id: Int
    var a = 0
    var next: Int {
      get { a + 1 }
      set { a = newValue - 1 }
    }
    static let schema = Schema<Computed> { Versioned(\.next) }
  }

  @Test("Two versions, the id and a computed property are refused when the store is opened")
  func refused() throws {
    #expect(caught { _ = try Store.temporary(for: Two.self) }?.code == .invalidSchema)
    #expect(caught { _ = try Store.temporary(for: Identity.self) }?.context.field == "id")
    #expect(caught { _ = try Store.temporary(for: Computed.self) }?.code == .invalidSchema)
  }
}
