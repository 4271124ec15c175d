import LarchTestSupport
import Testing

@testable import Larch

@Suite("Observers that are found by the ranges of what they read")
struct RoutedObserverTests {
  private struct Undone: Error {}

  /// A few changes, of which a part may be undone.
  private static func change(
    _ tx: WriteTransaction, _ random: inout SeededGenerator, depth: Int = 0
  ) throws {
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let item = RoutedItem.random(&random)
      switch Int.random(in: 0..<24, using: &random) {
      case 0: if Int.random(in: 0..<8, using: &random) == 0 { try tx.erase(RoutedItem.self) }
      case 1: try tx.update(RoutedItem.where { $0.group == item.group }) { $0.group += 1 }
      case 2: try tx.delete(RoutedItem.where { $0.tags.contains(4) && $0.group == item.group })
      case 3 where depth < 2:
        try? tx.savepoint {
          try change(tx, &random, depth: depth + 1)
          throw Undone()
        }
      case 4, 5, 6: try tx.delete(RoutedItem.self, item.id)
      case 7...11:
        // Everything but one field stays.
        guard var old = try tx.find(RoutedItem.self, item.id) else { continue }
        old.note = item.note
        if item.isOpen { old.name = item.name } else { old.half = item.half }
        try tx.put(old)
      default: try tx.put(item)
      }
    }
  }

  /// Two forms of a letter are equal texts, but not equal records.
  private static func bytes(_ value: Any) -> [UInt8] { Array("\(value)".utf8) }

  private static func state(_ store: Store) throws -> [String: RoutedItem] {
    Dictionary(uniqueKeysWithValues: try store.fetch(RoutedItem.all).map { ($0.id, $0) })
  }

  @Test(
    "each value is that of a fetch, and no observer is woken whose ranges are not hit",
    arguments: [1, 2, 5] as [UInt64])
  func differential(seed: UInt64) throws {
    var random = SeededGenerator(seed: 61_000 + seed)
    // As if each commit were a bulk write, whose written keys may be too many.
    let isBulk = seed > 4
    let store =
      try seed % 2 == 0
      ? Store.checked(for: RoutedItem.self) : Store.temporary(for: RoutedItem.self)
    if isBulk { store.environment.changes.bulk = 0 }
    try store.write { tx in for _ in 0..<40 { try tx.put(RoutedItem.random(&random)) } }
    var observers: [(RoutedObserver, pace: Int)] = []
    var last: [String] = []
    var begun = 0
    var (wakes, sleeps, values) = (0, 0, 0)
    for round in 0..<150 {
      // They come and go.
      while observers.count < min(40 + round * 3, 200) {
        let observer = RoutedObserver.random(store, &random)
        let first = try #require(try observer.poll())
        #expect(first.value == (try observer.expected()), "\(observer.name)")
        observers.append((observer, pace: 1 + begun % 3))
        last.append(first.value)
        begun += 1
      }
      if round % 5 == 4 {
        let place = Int.random(in: 0..<observers.count, using: &random)
        observers.remove(at: place)
        last.remove(at: place)
      }
      let before = try Self.state(store)
      let woken = observers.map { $0.0.wakes() }
      try? store.write { tx throws in
        try Self.change(tx, &random)
        if Int.random(in: 0..<8, using: &random) == 0 { throw Undone() }
      }
      let after = try Self.state(store)
      var changed: [RoutedItem] = []
      for id in Set(before.keys).union(after.keys)
      where Self.bytes(before[id] as Any) != Self.bytes(after[id] as Any) {
        for item in [before[id], after[id]] {
          if let item { changed.append(item) }
        }
      }
      for (place, (observer, pace)) in observers.enumerated() {
        let comment = "seed \(seed), round \(round), \(observer.name)" as Comment
        let isWoken = observer.wakes() != woken[place]
        let isConcerned = changed.contains(where: observer.isConcerned)
        #expect(!isWoken || isConcerned || isBulk, comment)
        if isWoken { wakes += 1 } else if !changed.isEmpty { sleeps += 1 }
        // Some get the changes of several rounds at once.
        if round % pace != 0 { continue }
        let reads = observer.reads()
        let expected = try observer.expected()
        if let found = try observer.poll() {
          #expect(found.value == expected, comment)
          #expect(Self.bytes(found.value) != Self.bytes(last[place]), comment)
          values += 1
        } else {
          #expect(last[place] == expected, comment)
        }
        if pace == 1, !isWoken { #expect(observer.reads() == reads, comment) }
        last[place] = expected
      }
    }
    #expect(values > 1_000 && wakes > 2_000 && sleeps > 8_000, "\(values) \(wakes) \(sleeps)")
  }

  @Test("of 10,000 observers of one collection, a commit looks at those that it concerns")
  func many() throws {
    let store = try Store.temporary(for: RoutedItem.self)
    var random = SeededGenerator(seed: 5)
    func item(_ id: String, group: Int) -> RoutedItem {
      var item = RoutedItem.random(&random)
      (item.id, item.group, item.tags) = (id, group, [])
      return item
    }
    try store.write { tx in
      for number in 0..<5_000 { try tx.put(item("\(number)", group: number)) }
    }
    let records = (0..<5_000).map { number in
      store.observe(RoutedItem.self, "\(number)").makeAsyncIterator().polled
    }
    let groups = (0..<5_000).map { number in
      store.observe(RoutedItem.where { $0.group == number }).makeAsyncIterator().polled
    }
    for observer in records { #expect(try observer.poll() != nil) }
    for observer in groups { #expect(try observer.poll()?.rows.count == 1) }
    let hub = store.environment.changes
    func visits(_ body: (WriteTransaction) throws -> Void) throws -> Int {
      let before = hub.visits
      try store.write { try body($0) }
      return hub.visits - before
    }
    // The record, its old group and its new one.
    #expect(try visits { try $0.put(item("17", group: 40)) } == 3)
    #expect(try records[17].poll() != nil)
    #expect(try groups[17].poll()?.rows == [])
    #expect(try groups[40].poll()?.rows.map(\.id) == ["17", "40"])
    #expect(try visits { try $0.put(item("new", group: 7_000)) } == 0)
    #expect(try visits { try $0.put(item("new", group: 8_000)) } == 0)
    #expect(try visits { try $0.put(item("new", group: 2)) } == 1)
    #expect(try visits { _ = try $0.delete(RoutedItem.self, "3") } == 2)
    // 40 observers that a bulk write concerns twice.
    #expect(
      try visits { tx in
        for number in 100..<120 { try tx.put(item("\(number)", group: number)) }
      } == 40)
    // A limit of records that are kept one by one.
    hub.log.limits.records = 5
    #expect(
      try visits { tx in for number in 0..<20 { try tx.put(item("\(number)", group: 1)) } }
        == 10_000)
    withExtendedLifetime((records, groups)) {}
  }

  @Test("a bulk write looks at few of a hundred observers")
  func bulk() throws {
    let store = try Store.temporary(for: RoutedItem.self)
    var random = SeededGenerator(seed: 6)
    let observers = (0..<100).map { number in
      store.observe(RoutedItem.where { $0.group == number }).makeAsyncIterator().polled
    }
    for observer in observers { #expect(try observer.poll()?.rows == []) }
    let before = store.environment.changes.visits
    try store.write { tx in
      for number in 0..<2_000 {
        var item = RoutedItem.random(&random)
        (item.id, item.group, item.tags) = ("\(number)", 98 + number, [])
        try tx.put(item)
      }
    }
    #expect(store.environment.changes.visits - before == 2)
    #expect(try observers[99].poll()?.rows.map(\.id) == ["1"])
    #expect(observers.map(\.wakes).reduce(0, +) == 2)
  }

  @Test("a bulk write wakes those whose key in the index stays the same, or is taken out of it")
  func bulkUpdate() throws {
    let store = try Store.temporary(for: RoutedItem.self)
    var random = SeededGenerator(seed: 7)
    func put(_ group: (Int) -> Int, note: Int) throws {
      try store.write { tx in
        for number in 0..<100 {
          var item = RoutedItem.random(&random)
          (item.id, item.group, item.note, item.tags) = ("\(number)", group(number), note, [])
          try tx.put(item)
        }
      }
    }
    try put({ $0 }, note: 1)
    let observers = (0..<300).map { number in
      store.observe(RoutedItem.where { $0.group == number }).makeAsyncIterator().polled
    }
    for observer in observers { _ = try observer.poll() }
    func visits(_ body: () throws -> Void) rethrows -> Int {
      let before = store.environment.changes.visits
      try body()
      return store.environment.changes.visits - before
    }
    // The keys stay.
    #expect(try visits { try put({ $0 }, note: 2) } == 100)
    #expect(try observers[40].poll()?.rows.map(\.note) == [2])
    // All keys but those of the first ten go, and others come.
    #expect(try visits { try put({ $0 < 10 ? $0 : $0 + 100 }, note: 3) } == 190)
    #expect(try observers[9].poll()?.rows.map(\.note) == [3])
    #expect(try observers[40].poll()?.rows == [])
    #expect(try observers[140].poll()?.rows.map(\.note) == [3])
    // Erased: the index is emptied, so nobody tells its keys one by one.
    #expect(try visits { try store.write { _ = try $0.erase(RoutedItem.self) } } == 100)
    #expect(try observers[9].poll()?.rows == [])
    // More keys than are kept.
    store.environment.changes.log.limits.bytes = 64 << 10
    #expect(try visits { try put({ $0 + 50 }, note: 4) } == 100)
    store.environment.changes.log.limits.bytes = 16 << 10
    #expect(try visits { try put({ $0 + 60 }, note: 4) } >= 110)
    #expect(try observers[159].poll()?.rows.map(\.note) == [4])
  }

  @Test("one wide range among many narrow ones is found, and the others are not looked at")
  func wide() throws {
    let store = try Store.temporary(for: RoutedItem.self)
    let narrow = (0..<300).map { number in
      store.observe(RoutedItem.where { $0.name.hasPrefix("n\(number) ") }).makeAsyncIterator()
        .polled
    }
    let wide = store.observe(RoutedItem.where { $0.name >= "a" }).makeAsyncIterator().polled
    for observer in narrow { #expect(try observer.poll()?.rows == []) }
    #expect(try wide.poll()?.rows == [])
    var random = SeededGenerator(seed: 3)
    var item = RoutedItem.random(&random)
    for number in [0, 7, 77, 299] {
      let before = store.environment.changes.visits
      (item.id, item.name) = ("\(number)", "n\(number) x")
      try store.put(item)
      #expect(store.environment.changes.visits - before == 2)
      #expect(try narrow[number].poll()?.rows.count == 1)
    }
    #expect(try wide.poll()?.rows.count == 4)
    withExtendedLifetime(narrow) {}
  }

  @Test("an observer of a window is woken by records that it does not show")
  func window() throws {
    let store = try Store.temporary(for: RoutedItem.self)
    var random = SeededGenerator(seed: 4)
    var item = RoutedItem.random(&random)
    func put(_ id: String, _ group: Int, _ note: Int) throws {
      (item.id, item.group, item.note) = (id, group, note)
      try store.put(item)
    }
    for number in 0..<4 { try put("\(number)", 1, number) }
    let observer = store.observe(RoutedItem.where { $0.group == 1 }.sorted(by: \.note).limit(2))
      .makeAsyncIterator().polled
    #expect(try observer.poll()?.rows.map(\.id) == ["0", "1"])
    try put("3", 1, -1)
    #expect(try observer.poll()?.rows.map(\.id) == ["3", "0"])
    // Out of the range, and then back while it does not look.
    try put("0", 2, 0)
    try put("0", 2, 5)
    try put("0", 3, 6)
    #expect(observer.wakes == 2)
    try put("0", 1, 7)
    #expect(try observer.poll()?.rows.map(\.id) == ["3", "1"])
  }

  @Test("observers that begin beside a writer end with the last state", arguments: UInt64(1)...3)
  func beside(seed: UInt64) async throws {
    let store = try Store.temporary(for: RoutedItem.self)
    let writer = Task.detached { try Self.write(to: store, times: 600, seed: seed) }
    let last = Locked<[Int: [UInt8]]>([:])
    var tokens: [(number: Int, token: ObservationToken)] = []
    for number in 0..<240 {
      let query = Self.query(number)
      tokens.append(
        (
          number,
          store.observe(query) { items in
            last.withLock { $0[number] = Self.bytes(items.rows) }
          }
        ))
      if number % 7 == 6 { tokens.remove(at: number * 5 % tokens.count).token.cancel() }
      if number % 3 == 0 { try await Task.sleep(for: .milliseconds(1)) }
    }
    try await writer.value
    for (number, token) in tokens {
      await token.settled()
      let rows = try store.fetch(Self.query(number))
      #expect(last.withLock { $0[number] } == Self.bytes(rows), "seed \(seed), \(number)")
    }
  }

  private static func query(_ number: Int) -> Query<RoutedItem> {
    switch number % 4 {
    case 0: RoutedItem.where { $0.group == number % 12 }.sorted(by: \.note)
    case 1: RoutedItem.where { $0.id == "i\(number % 60)" }
    case 2: RoutedItem.where { $0.tags.contains(number % 9) || $0.group == 3 }.limit(5)
    default: RoutedItem.where { $0.name >= "a" && $0.name < "b" && $0.note > 1 }
    }
  }

  private static func write(to store: Store, times: Int, seed: UInt64) throws {
    var random = SeededGenerator(seed: 3_300 + seed)
    for _ in 0..<times { try store.write { tx in try change(tx, &random) } }
  }

  @Test("a commit while a closure reads something else than before is not missed")
  func readsSomethingElse() throws {
    let store = try Store.temporary(for: RoutedItem.self)
    var random = SeededGenerator(seed: 6)
    func item(_ id: String, group: Int) -> RoutedItem {
      var item = RoutedItem.random(&random)
      (item.id, item.group) = (id, group)
      return item
    }
    try store.put(item("chosen", group: 1))
    let late = item("late", group: 2)
    let runs = Locked(0)
    let observer = store.observe { tx in
      let group = try tx.find(RoutedItem.self, "chosen")?.group ?? 0
      let count = try tx.count(RoutedItem.where { $0.group == group && $0.id != "chosen" })
      let run = runs.withLock { runs in
        runs += 1
        return runs
      }
      if run == 2 { HeldWriter(store) { try $0.put(late) }.end() }
      return count
    }.makeAsyncIterator().polled
    #expect(try observer.poll()?.value == 0)
    try store.put(item("chosen", group: 2))
    // Its snapshot does not have the late one.
    #expect(try observer.poll() == nil)
    #expect(try observer.poll()?.value == 1)
  }

  @Test("an observer of two collections sleeps while others of their records change")
  func twoCollections() throws {
    let store = try Store.temporary(for: Tag.self, Owner.self, Pet.self, Note.self)
    try store.put(Owner(name: "a", city: "Oslo", age: 1))
    try store.put(Pet(name: "a", weight: 1))
    let observer = store.observe { tx in
      (try tx.fetch(Owner.where { $0.city == "Oslo" }), try tx.find(Pet.self, RecordID(7)))
    }.makeAsyncIterator().polled
    #expect(try observer.poll()?.value.0.count == 1)
    let before = observer.wakes
    try store.put(Owner(name: "b", city: "Rome", age: 1))
    try store.put(Pet(name: "b", weight: 1))
    try store.write { tx in
      try tx.put(Owner(name: "c", city: "Rome", age: 1))
      try tx.put(Pet(name: "c", weight: 1))
    }
    #expect(observer.wakes == before)
    try store.put(Pet(id: RecordID(7), name: "seven", weight: 1))
    #expect(observer.wakes == before + 1)
    #expect(try observer.poll()?.value.1?.name == "seven")
    try store.put(Owner(name: "d", city: "Oslo", age: 1))
    #expect(observer.wakes == before + 2)
    #expect(try observer.poll()?.value.0.count == 2)
  }
}
