import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Aggregates that are brought up to date from changed records")
struct KeptAggregateTests {
  private struct Read: Sendable {
    let name: String
    /// Whether a change may need a read: the first value or the extreme may leave.
    var mayRead = false
    let read: @Sendable (ReadTransaction) throws -> String
  }

  private static let adults = CountedItem.where { $0.age > 3 }

  private static let reads: [Read] = [
    Read(name: "count by an index") { "\(try $0.count(CountedItem.where { $0.city == "Oslo" }))" },
    Read(name: "count by a scan") {
      "\(try $0.count(CountedItem.where { $0.name.hasPrefix("a") }))"
    },
    Read(name: "count of a kept query") { "\(try $0.count(adults.sorted(by: \.name)))" },
    Read(name: "count of a calculation") {
      "\(try $0.count(CountedItem.where { $0.age * 2 + 1 > 9 }))"
    },
    Read(name: "count of a computed property") {
      "\(try $0.count(CountedItem.where { $0.length > 1 }))"
    },
    Read(name: "exists") {
      "\(try $0.exists(CountedItem.where { $0.age == 7 && $0.city == "Rome" }))"
    },
    Read(name: "sum") { "\(try $0.sum(\.age, of: adults))" },
    Read(name: "sum of optional numbers") { "\(try $0.sum(\.small, of: CountedItem.all))" },
    Read(name: "sum of ids") { "\(try $0.sum(\.id, of: CountedItem.where { $0.city == "Oslo" }))" },
    Read(name: "sum without an index") {
      "\(try $0.sum(\.big, of: CountedItem.where { $0.age < 6 }))"
    },
    Read(name: "average") { "\(String(describing: try $0.average(\.small, of: adults)))" },
    Read(name: "least", mayRead: true) { "\(String(describing: try $0.min(\.name, of: adults)))" },
    Read(name: "greatest", mayRead: true) {
      "\(String(describing: try $0.max(\.half, of: CountedItem.where { $0.age < 9 })))"
    },
    Read(name: "greatest of an index", mayRead: true) {
      "\(String(describing: try $0.max(\.age, of: CountedItem.where { $0.city == "Oslo" })))"
    },
    Read(name: "both ends", mayRead: true) {
      "\(String(describing: try $0.min(\.age, of: adults))) \(String(describing: try $0.max(\.age, of: adults)))"
    },
    Read(name: "groups by texts") { "\(try $0.counts(by: \.name, of: adults))" },
    Read(name: "groups by an index") { "\(try $0.counts(by: \.city, of: CountedItem.all))" },
    Read(name: "groups by numbers") {
      "\(try $0.counts(by: \.half, of: CountedItem.where { $0.age < 9 }))"
    },
    Read(name: "groups by cases") { "\(try $0.counts(by: \.rank, of: adults))" },
    Read(name: "several", mayRead: true) { tx in
      [
        "\(try tx.count(adults))", "\(try tx.sum(\.age, of: adults))", "\(try tx.count(adults))",
        "\(try tx.count(CountedItem.where { $0.age > 4 }))",
        "\(try tx.counts(by: \.age, of: adults))",
        "\(String(describing: try tx.average(\.age, of: adults)))",
      ].joined(separator: " ")
    },
  ]

  @Test("equal those of a read after each commit, and few are read again", arguments: 1...4)
  func differential(seed: UInt64) throws {
    let store =
      try seed % 2 == 0
      ? Store.checked(for: CountedItem.self, Setting.self)
      : Store.temporary(for: CountedItem.self, Setting.self)
    var writes = ItemWrites(seed: 71_000 + seed)
    try store.write { tx in for _ in 0..<80 { try tx.put(writes.item()) } }
    let observers = Self.reads.map { store.observe($0.read).makeAsyncIterator().polled }
    var last: [String] = []
    for (observer, read) in zip(observers, Self.reads) {
      let first = try #require(try observer.poll())
      #expect(first.value == (try store.read(read.read)), "\(read.name)")
      last.append(first.value)
    }
    var values = 0
    for round in 0..<250 {
      for _ in 0...writes.number(3) { writes.write(to: store) }
      for (place, observer) in observers.enumerated() {
        // Some get the changes of several rounds at once.
        if round % (1 + place % 3) != 0 { continue }
        let comment = "seed \(seed), round \(round), \(Self.reads[place].name)" as Comment
        let known = try store.read(Self.reads[place].read)
        guard let found = try observer.poll() else {
          #expect(last[place] == known, comment)
          continue
        }
        values += 1
        #expect(found.value == known, comment)
        #expect(found.value != last[place], comment)
        let version = try store.version
        #expect(found.version == version, comment)
        last[place] = found.value
      }
    }
    let (patches, reads) = observers.reduce((0, 0)) { ($0.0 + $1.patches, $0.1 + $1.reads) }
    #expect(values > 1_000)
    #expect(Double(patches) > 0.8 * Double(patches + reads), "\(patches) and \(reads)")
    for (observer, read) in zip(observers, Self.reads) where !read.mayRead {
      if read.name == "exists" { continue }
      #expect(observer.reads == 1, "\(read.name)")
    }
  }

  @Test("a change of a constant is another query", arguments: 1...3)
  func constants(seed: UInt64) throws {
    let store = try Store.checked(for: CountedItem.self, Setting.self)
    var writes = ItemWrites(seed: 72_000 + seed)
    let read: @Sendable (ReadTransaction) throws -> [Int] = { tx in
      let limit = try tx.find(Setting.self, 1)?.limit ?? 0
      let more = try tx.find(Setting.self, 2)?.limit ?? 0
      return [
        try tx.count(CountedItem.where { $0.age > limit }),
        try tx.count(CountedItem.where { $0.age >= limit }),
        try tx.sum(\.age, of: CountedItem.where { $0.age + more < limit * 2 }),
        try tx.count(CountedItem.where { $0.name.hasPrefix(more > 3 ? "a" : "\u{E9}") }),
      ]
    }
    let observer = store.observe(read).makeAsyncIterator().polled
    var last = try #require(try observer.poll()).value
    for round in 0..<300 {
      writes.write(to: store)
      let known = try store.read(read)
      if let found = try observer.poll()?.value {
        #expect(found == known && found != last, "seed \(seed), round \(round)")
        last = found
      } else {
        #expect(last == known, "seed \(seed), round \(round)")
      }
    }
  }

  @Test("a closure whose queries differ from run to run takes none for another")
  func alternating() throws {
    let store = try Store.checked(for: CountedItem.self, Setting.self)
    var writes = ItemWrites(seed: 73_000)
    let runs = Locked(0)
    @Sendable func read(_ tx: ReadTransaction, _ run: Int) throws -> [String] {
      let ages = run % 2 == 0 ? [1, 2, 3] : [3, 1, 2, 1]
      return try ages.map { age in
        let query = CountedItem.where { $0.age > age }
        return age == 2 && run % 3 == 0
          ? "\(String(describing: try tx.max(\.age, of: query)))"
          : "\(try tx.count(query)) \(String(describing: try tx.min(\.age, of: query)))"
      }
    }
    let observer = store.observe { tx in
      try read(
        tx,
        runs.withLock {
          $0 += 1; return $0
        })
    }.makeAsyncIterator().polled
    _ = try observer.poll()
    for _ in 0..<200 {
      writes.write(to: store)
      let before = runs.withLock { $0 }
      guard let found = try observer.poll()?.value else { continue }
      let run = runs.withLock { $0 }
      #expect(run == before + 1)
      #expect(found == (try store.read { try read($0, run) }))
    }
  }

  @Test("all values of a closure are of one snapshot while others write")
  func oneSnapshot() throws {
    let store = try Store.temporary(for: CountedItem.self, Setting.self)
    try store.write { tx in
      var first = ItemWrites(seed: 74_000)
      for _ in 0..<60 { try tx.put(first.item()) }
    }
    let differing = Locked(0)
    let query = CountedItem.where { $0.age > 2 }
    let observer = store.observe { tx in
      let items = try tx.fetch(query)
      let values = [
        try tx.count(query), try tx.sum(\.age, of: query),
        try tx.counts(by: \.city, of: query).reduce(0) { $0 + $1.count },
      ]
      if values != [items.count, items.reduce(0) { $0 + $1.age }, items.count] {
        differing.withLock { $0 += 1 }
      }
      return values
    }.makeAsyncIterator().polled
    // The same aggregates alone, so that no read shows the state.
    let alone = store.observe { [try $0.count(query), try $0.sum(\.age, of: query)] }
      .makeAsyncIterator().polled
    // A thread of its own: the threads of tasks may all be blocked by other tests.
    let isDone = Locked(false)
    let hasEnded = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      var writes = ItemWrites(seed: 74_001)
      while !isDone.withLock({ $0 }) { writes.write(to: store) }
      hasEnded.signal()
    }
    var values = 0
    while values < 300 {
      if try observer.poll() != nil { values += 1 }
      _ = try alone.poll()
    }
    isDone.withLock { $0 = true }
    hasEnded.wait()
    _ = try observer.poll()
    _ = try alone.poll()
    #expect(differing.withLock { $0 } == 0)
    // After the last commit both have what a read has.
    try store.write { tx in try tx.put(CountedItem.known) }
    let known = try store.read { [try $0.count(query), try $0.sum(\.age, of: query)] }
    let last = try alone.poll()?.value
    #expect(last == known)
    #expect(alone.patches > 0)
  }

  @Test("a record that comes into an index without rows is observed with all its fields")
  func noRowsAtFirst() throws {
    let store = try Store.temporary(for: CountedItem.self)
    // Only the index is read while no record is of this city.
    let query = CountedItem.where { $0.city == "Paris" && $0.name.hasPrefix("n") }
    let count = store.observe { try $0.count(query) }.makeAsyncIterator().polled
    let sum = store.observe { try $0.sum(\.age, of: query) }.makeAsyncIterator().polled
    let ids = store.observe { try $0.ids(query) }.makeAsyncIterator().polled
    let state = { [try count.poll()?.value, try sum.poll()?.value, try ids.poll()?.value.count] }
    #expect(try state() == [0, 0, 0])
    var item = CountedItem.known
    try store.put(item)
    #expect(try state() == [nil, nil, nil])
    item.name = "new"
    try store.put(item)
    #expect(try state() == [1, 5, 1])
    item.name = "other"
    try store.put(item)
    #expect(try state() == [0, 0, 0])
    try store.write { try $0.delete(CountedItem.self, item.id) }
    item.name = "n"
    try store.put(item)
    #expect(try state() == [1, 5, 1])
    item.name = "m"
    try store.put(item)
    #expect(try state() == [0, 0, 0])
  }

  @Test("commits of other collections do not make it read again")
  func otherCollections() throws {
    let store = try Store.temporary(for: CountedItem.self, Setting.self)
    let observer = store.observe { try $0.count(CountedItem.where { $0.age > 2 }) }
      .makeAsyncIterator().polled
    #expect(try observer.poll()?.value == 0)
    for number in 1...20 {
      var item = CountedItem.known
      item.id = number
      try store.put(item)
      try store.put(Setting(id: 1, limit: number))
      #expect(try observer.poll()?.value == number)
    }
    #expect(observer.reads == 1 && observer.patches == 20)
  }

  @Test("a change that leaves all aggregates of a closure as they are does not run it")
  func unchanged() throws {
    let store = try Store.temporary(for: CountedItem.self)
    try store.put(CountedItem.known)
    let runs = Locked(0)
    let observer = store.observe { tx in
      runs.withLock { $0 += 1 }
      // A tuple is not `Equatable`, so each run would give a value.
      return (
        try tx.count(CountedItem.where { $0.age > 2 }), try tx.sum(\.age, of: CountedItem.all)
      )
    }.makeAsyncIterator().polled
    #expect(try observer.poll()?.value.0 == 1)
    var item = CountedItem.known
    item.name = "other"
    try store.put(item)
    #expect(try observer.poll() == nil)
    #expect(runs.withLock { $0 } == 1)
    item.age += 1
    try store.put(item)
    #expect(try observer.poll()?.value.1 == CountedItem.known.age + 1)
    #expect(observer.reads == 1 && observer.patches == 1)
  }

  @Test("a sum that overflows ends the observation with the error of a read")
  func overflow() throws {
    let store = try Store.temporary(for: CountedItem.self)
    var item = CountedItem.known
    item.big = .max
    try store.put(item)
    let observer = store.observe { try $0.sum(\.big, of: CountedItem.all) }.makeAsyncIterator()
      .polled
    #expect(try observer.poll()?.value == .max)
    item.id += 1
    item.big = 1
    try store.put(item)
    let error = #expect(throws: LarchError.self) { _ = try observer.poll() }
    #expect(error?.code == .overflow)
  }

  @Test("what a closure filters by code of the program is read again")
  func closures() throws {
    let store = try Store.temporary(for: CountedItem.self)
    let query = CountedItem.all.filter { $0.age > 2 }
    let observer = store.observe { [try $0.count(query), try $0.count(CountedItem.all.limit(2))] }
      .makeAsyncIterator().polled
    #expect(try observer.poll()?.value == [0, 0])
    try store.put(CountedItem.known)
    #expect(try observer.poll()?.value == [1, 1])
    #expect(observer.reads == 2 && observer.patches == 0)
  }
}

extension CountedItem {
  fileprivate static var known: CountedItem {
    CountedItem(
      id: 1_000, name: "known", city: "Paris", age: 5, small: nil, half: nil, rank: .low, big: 3)
  }
}
