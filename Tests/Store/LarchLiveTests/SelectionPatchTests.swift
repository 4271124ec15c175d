import LarchTestSupport
import Testing

@testable import Larch

@Suite("Selections that are brought up to date from changed records")
struct SelectionPatchTests {
  /// An observer of a selection, whose rows are compared as texts.
  private struct Observed {
    let name: String
    let poll: () throws -> String?
    let expected: () throws -> String
    let counts: () -> (reads: Int, patches: Int)
    /// Whether each value is known without a read.
    var isWhole = true
    /// Whether a row may have a value that does not equal itself.
    var hasNaN = false

    init<Row: Sendable>(_ name: String, _ store: Store, _ selection: Selection<CountedItem, Row>) {
      let observer = store.observe(selection).makeAsyncIterator().polled
      self.name = name
      poll = { try observer.poll().map { "\($0.value)" } }
      expected = { "\(try store.fetch(selection))" }
      counts = { (observer.reads, observer.patches) }
    }

    func with(isWhole: Bool = true, hasNaN: Bool = false) -> Observed {
      var copy = self
      (copy.isWhole, copy.hasNaN) = (isWhole, hasNaN)
      return copy
    }
  }

  private static func observers(_ store: Store) -> [Observed] {
    [
      Observed("names", store, CountedItem.select(\.name)),
      Observed("names and ages", store, CountedItem.select(\.name, \.age)),
      Observed("ids", store, CountedItem.where { $0.age > 3 }.select(\.id)),
      Observed("from an index", store, CountedItem.where { $0.city == "Oslo" }.select(\.age)),
      Observed(
        "by an index", store,
        CountedItem.where { $0.city == "Oslo" }.sorted(by: \.age).select(\.age)),
      Observed(
        "sorted", store, CountedItem.all.sorted(by: \.name, .descending).select(\.name, \.city)),
      Observed("by another field", store, CountedItem.all.sorted(by: \.age).select(\.rank)),
      Observed("computed", store, CountedItem.where { $0.age < 8 }.select(\.length, \.small)),
      Observed("optional", store, CountedItem.all.sorted(by: \.small).select(\.small)),
      Observed("reversed", store, CountedItem.all.reversed().select(\.city)),
      Observed("numbers", store, CountedItem.select(\.half, \.big)).with(hasNaN: true),
      Observed("window", store, CountedItem.all.sorted(by: \.age).select(\.name, \.age).limit(6))
        .with(isWhole: false),
      Observed("window of ids", store, CountedItem.select(\.city).limit(3)).with(isWhole: false),
      Observed(
        "window of an index", store,
        CountedItem.where { $0.city == "Rome" }.sorted(by: \.age, .descending).select(\.age).limit(
          2)
      ).with(isWhole: false),
      Observed(
        "window of equal values", store,
        CountedItem.all.sorted(by: \.age).select(\.city).limit(12)
      ).with(isWhole: false),
    ]
  }

  @Test("equal those of a fetch after each commit, and few are read again", arguments: 1...4)
  func differential(seed: UInt64) throws {
    let store =
      try seed % 2 == 0
      ? Store.checked(for: CountedItem.self, Setting.self)
      : Store.temporary(for: CountedItem.self, Setting.self)
    var writes = ItemWrites(seed: 75_000 + seed)
    try store.write { tx in for _ in 0..<100 { try tx.put(writes.item()) } }
    let observers = Self.observers(store)
    var last = try observers.map { try #require(try $0.poll()) }
    for (place, observer) in observers.enumerated() {
      #expect(last[place] == (try observer.expected()), "\(observer.name)")
    }
    var values = 0
    for round in 0..<250 {
      for _ in 0...writes.number(2) { writes.write(to: store) }
      for (place, observer) in observers.enumerated() {
        if round % (1 + place % 3) != 0 { continue }
        let comment = "seed \(seed), round \(round), \(observer.name)" as Comment
        let known = try observer.expected()
        guard let found = try observer.poll() else {
          #expect(last[place] == known, comment)
          continue
        }
        values += 1
        #expect(found == known, comment)
        if !observer.hasNaN { #expect(found != last[place], comment) }
        last[place] = found
      }
    }
    let counts = observers.reduce((reads: 0, patches: 0)) {
      ($0.reads + $1.counts().reads, $0.patches + $1.counts().patches)
    }
    #expect(values > 1_000)
    #expect(Double(counts.patches) > 0.8 * Double(counts.patches + counts.reads), "\(counts)")
  }

  @Test("a change of other fields reads nothing, and gives no value")
  func otherFields() throws {
    let store = try Store.temporary(for: CountedItem.self)
    var items: [CountedItem] = []
    var writes = ItemWrites(seed: 76_000)
    for number in 0..<5 {
      var item = writes.item()
      item.id = number
      item.age = number
      items.append(item)
      try store.put(item)
    }
    let observer = store.observe(CountedItem.where { $0.age >= 0 }.sorted(by: \.age).select(\.name))
      .makeAsyncIterator().polled
    #expect(try observer.poll()?.rows == items.map(\.name))
    items[2].big += 1
    try store.put(items[2])
    #expect(try observer.poll() == nil)
    items[2].name = "new"
    try store.put(items[2])
    #expect(try observer.poll()?.rows == items.map(\.name))
    #expect(observer.reads == 1 && observer.patches == 1)
  }

  @Test("a row before equal values of a window moves the last one out of it")
  func movedWindow() throws {
    let store = try Store.temporary(for: CountedItem.self)
    var writes = ItemWrites(seed: 78_000)
    func put(_ id: Int, age: Int, _ city: String) throws {
      var item = writes.item()
      (item.id, item.age, item.city) = (id, age, city)
      try store.put(item)
    }
    for number in 1...30 { try put(number, age: number, number < 6 ? "Oslo" : "Rome") }
    let observer = store.observe(CountedItem.all.sorted(by: \.age).select(\.city).limit(6))
      .makeAsyncIterator().polled
    let before = Array(repeating: "Oslo", count: 5) + ["Rome"]
    #expect(try observer.poll()?.rows == before)
    try put(31, age: 0, "Oslo")
    #expect(try observer.poll()?.rows == Array(repeating: "Oslo", count: 6))
    try store.write { tx in _ = try tx.delete(CountedItem.self, 31) }
    #expect(try observer.poll()?.rows == before)
  }

  @Test("rows that change places and look the same give no value")
  func sameLook() throws {
    let store = try Store.temporary(for: CountedItem.self)
    var writes = ItemWrites(seed: 77_000)
    var item = writes.item()
    item.name = "same"
    for number in 0..<6 {
      (item.id, item.age) = (number, number)
      try store.put(item)
    }
    let observer = store.observe(CountedItem.all.sorted(by: \.age).select(\.name))
      .makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.count == 6)
    (item.id, item.age) = (0, 9)
    try store.put(item)
    #expect(try observer.poll() == nil)
    try store.write { tx in
      try tx.delete(CountedItem.self, 3)
      item.id = 7
      try tx.put(item)
    }
    #expect(try observer.poll() == nil)
    item.name = "another"
    try store.put(item)
    #expect(try observer.poll()?.rows == Array(repeating: "same", count: 5) + ["another"])
    #expect(observer.reads == 1 && observer.patches == 1)
  }

  @Test("distinct values are read again")
  func distinct() throws {
    let store = try Store.temporary(for: CountedItem.self)
    var writes = ItemWrites(seed: 78_000)
    let observer = store.observe(CountedItem.select(\.city).distinct()).makeAsyncIterator().polled
    #expect(try observer.poll()?.rows == [])
    let item = writes.item()
    try store.put(item)
    #expect(try observer.poll()?.rows == [item.city])
    #expect(observer.reads == 2 && observer.patches == 0)
  }
}
