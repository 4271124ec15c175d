import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Changed records that concern no observer are left out")
struct RecordSieveTests {
  private struct Undone: Error {}

  /// How many records of the collection a commit has, and whether others are left out.
  private struct Kept: Equatable {
    let count: Int?
    let leavesOut: Bool

    init(_ count: Int?, leavesOut: Bool) {
      self.count = count
      self.leavesOut = leavesOut
    }
  }

  /// Shows what commits publish, and passes it on.
  private final class Commits: ForeignCommits {
    private let hub: ChangeHub
    private let seen = Locked<[CommittedChanges]>([])
    let hasCompany: Bool

    /// The store must have no observer yet. It does not see other processes any more.
    init(_ store: Store, hasCompany: Bool = false) {
      hub = store.environment.changes
      self.hasCompany = hasCompany
      hub.foreign = self
    }

    /// The last commit.
    func last() throws -> CommittedChanges {
      guard let last = seen.withLock({ $0.last }) else { throw Undone() }
      return last
    }

    func last(of store: Store) throws -> Kept {
      let tree = try store.read { try $0.context.collection(of: RoutedItem.self).records.handle }
      let last = try last()
      return Kept(
        last.records.changes(of: tree)?.count, leavesOut: last.sifting.leftOut.contains(tree))
    }

    func publish(_ event: ChangeEvent?, transaction: UInt64) -> Bool {
      guard let event else { return true }
      if case .commit(_, let changes) = event { seen.withLock { $0.append(changes) } }
      hub.resume(hub.file(event))
      return true
    }

    func begin() -> UInt64? { nil }
    func end() {}
    func endThread() {}
    func willCommit() {}
    func didEndCommit() {}
    func reset() {}
  }

  private static func item(_ id: String, group: Int, note: Int = 0) -> RoutedItem {
    RoutedItem(
      id: id, group: group, half: nil, name: "n", nick: nil, label: "l", tags: [], isOpen: false,
      note: note)
  }

  private static func observer(
    _ group: Int, _ store: Store
  ) throws -> Observer<[RoutedItem]> {
    let observer = store.observe(RoutedItem.where { $0.group == group }).makeAsyncIterator().polled
    _ = try observer.poll()
    return observer
  }

  @Test("a record is kept only if its id or a key is in a range, before or after the change")
  func kept() throws {
    let store = try Store.temporary(for: RoutedItem.self)
    let commits = Commits(store)
    try store.write { tx in
      for number in 0..<100 { try tx.put(Self.item("\(number)", group: number)) }
    }
    let observers = [try Self.observer(3, store), try Self.observer(4, store)]
    let record = store.observe(RoutedItem.self, "50").makeAsyncIterator().polled
    _ = try record.poll()
    func kept(_ body: (WriteTransaction) throws -> Void) throws -> Kept {
      try store.write { try body($0) }
      return try commits.last(of: store)
    }
    #expect(try kept { try $0.put(Self.item("new", group: 1_000)) } == Kept(0, leavesOut: true))
    #expect(try kept { try $0.put(Self.item("new", group: 1_001)) } == Kept(0, leavesOut: true))
    #expect(try kept { _ = try $0.delete(RoutedItem.self, "new") } == Kept(0, leavesOut: true))
    // In, within, out.
    #expect(try kept { try $0.put(Self.item("7", group: 3)) } == Kept(1, leavesOut: false))
    #expect(try kept { try $0.put(Self.item("7", group: 3, note: 1)) } == Kept(1, leavesOut: false))
    #expect(try kept { try $0.put(Self.item("7", group: 8)) } == Kept(1, leavesOut: false))
    #expect(try kept { _ = try $0.delete(RoutedItem.self, "4") } == Kept(1, leavesOut: false))
    // By its id.
    #expect(try kept { try $0.put(Self.item("50", group: 51)) } == Kept(1, leavesOut: false))
    // One of many.
    #expect(
      try kept { tx in
        for number in 0..<100 { try tx.put(Self.item("\(number)", group: 200 - number)) }
        try tx.put(Self.item("one", group: 3))
      } == Kept(3, leavesOut: true))
    #expect(try observers[0].poll()?.rows.map(\.id) == ["one"])
    #expect(try observers[1].poll()?.rows == [])
    #expect(try record.poll()?.value?.group == 150)
    // An emptied collection has no announcements.
    #expect(try kept { _ = try $0.erase(RoutedItem.self) } == Kept(101, leavesOut: false))
    #expect(try observers[0].poll()?.rows == [])
  }

  @Test("all are kept for an observer of all records, of authors, and beside other processes")
  func allKept() throws {
    func kept(
      hasCompany: Bool = false, _ begin: (Store) throws -> Any
    ) throws -> Kept {
      let store = try Store.temporary(for: RoutedItem.self)
      let commits = Commits(store, hasCompany: hasCompany)
      let observer = try Self.observer(3, store)
      let other = try begin(store)
      try store.put(Self.item("new", group: 9))
      defer { withExtendedLifetime((observer, other)) {} }
      return try commits.last(of: store)
    }
    #expect(try kept { try Self.observer(4, $0) } == Kept(0, leavesOut: true))
    #expect(try kept(hasCompany: true) { try Self.observer(4, $0) } == Kept(1, leavesOut: false))
    #expect(
      try kept { store in
        let all = store.observe(RoutedItem.all).makeAsyncIterator().polled
        _ = try all.poll()
        return all
      } == Kept(1, leavesOut: false))
    #expect(
      try kept { store in
        let each = store.observe(RoutedItem.where { $0.group == 5 }, delivery: .each)
          .makeAsyncIterator().polled
        _ = try each.poll()
        return each
      }.count == 1)
    // When the last one that wants all is gone, they are left out again.
    let store = try Store.temporary(for: RoutedItem.self)
    let commits = Commits(store)
    let observer = try Self.observer(3, store)
    let all = store.observe(RoutedItem.all).makeAsyncIterator().polled
    _ = try all.poll()
    all.end()
    try store.put(Self.item("new", group: 9))
    #expect(try commits.last(of: store) == Kept(0, leavesOut: true))
    withExtendedLifetime(observer) {}
  }

  @Test("a record that concerns somebody only after its second change, or is undone in between")
  func severalChanges() throws {
    let store = try Store.temporary(for: RoutedItem.self)
    let observer = try Self.observer(3, store)
    try store.write { tx in
      try tx.put(Self.item("a", group: 1))
      try tx.put(Self.item("a", group: 2))
      try tx.put(Self.item("a", group: 3))
    }
    #expect(try observer.poll()?.rows.map(\.id) == ["a"])
    try store.write { tx in
      try tx.put(Self.item("a", group: 5))
      try tx.put(Self.item("a", group: 6))
    }
    #expect(try observer.poll()?.rows == [])
    try store.write { tx in
      try? tx.savepoint {
        try tx.put(Self.item("a", group: 3))
        throw Undone()
      }
      try tx.put(Self.item("a", group: 7))
    }
    #expect(try observer.poll() == nil)
    try store.write { tx in
      try tx.put(Self.item("a", group: 8))
      try? tx.savepoint {
        try tx.put(Self.item("a", group: 3))
        throw Undone()
      }
      try tx.savepoint { try tx.put(Self.item("a", group: 3, note: 1)) }
    }
    #expect(try observer.poll()?.rows.map(\.note) == [1])
  }

  @Test("an observer that begins while a write runs misses nothing that was left out")
  func late() throws {
    let store = try Store.temporary(for: RoutedItem.self)
    let commits = Commits(store)
    let first = try Self.observer(3, store)
    let late = Locked<[Observer<[RoutedItem]>]>([])
    let written = DispatchSemaphore(value: 0)
    let begun = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      written.wait()
      if let observer = try? Self.observer(6, store) { late.withLock { $0 = [observer] } }
      begun.signal()
    }
    try store.write { tx in
      try tx.put(Self.item("a", group: 6))
      written.signal()
      begun.wait()
    }
    // It was left out, for those who were there.
    #expect(try commits.last(of: store) == Kept(0, leavesOut: true))
    let observer = try #require(late.withLock { $0.first })
    #expect(try observer.poll()?.rows.map(\.id) == ["a"])
    #expect(first.wakes == 0)
    // The next write asks it.
    try store.put(Self.item("b", group: 6))
    #expect(try commits.last(of: store) == Kept(1, leavesOut: false))
    #expect(try observer.poll()?.rows.map(\.id) == ["a", "b"])
  }

  @Test("random changes beside observers that all have ranges", arguments: UInt64(1)...6)
  func differential(seed: UInt64) throws {
    var random = SeededGenerator(seed: 77_000 + seed)
    let store =
      try seed % 2 == 0
      ? Store.checked(for: RoutedItem.self) : Store.temporary(for: RoutedItem.self)
    let commits = Commits(store)
    var observers: [(query: Query<RoutedItem>, observer: Observer<[RoutedItem]>, last: [UInt8])] =
      []
    var (leftOut, values) = (0, 0)
    for round in 0..<400 {
      while observers.count < 6 {
        let query = Self.query(&random)
        let observer = store.observe(query).makeAsyncIterator().polled
        let first = try #require(try observer.poll())
        observers.append((query, observer, Self.bytes(first.rows)))
      }
      try? store.write { tx throws in
        try Self.change(tx, &random)
        if Int.random(in: 0..<8, using: &random) == 0 { throw Undone() }
      }
      if (try? commits.last(of: store).leavesOut) == true { leftOut += 1 }
      for place in observers.indices where Int.random(in: 0..<3, using: &random) > 0 {
        let comment = "seed \(seed), round \(round), \(observers[place].query)" as Comment
        let expected = Self.bytes(try store.fetch(observers[place].query))
        if let value = try observers[place].observer.poll() {
          #expect(Self.bytes(value.rows) == expected, comment)
          values += 1
        } else {
          #expect(observers[place].last == expected, comment)
        }
        observers[place].last = expected
      }
      if round % 4 == 3 { observers.remove(at: Int.random(in: 0..<6, using: &random)) }
    }
    #expect(leftOut > 100 && values > 200, "\(leftOut) \(values)")
  }

  private static func bytes(_ value: Any) -> [UInt8] { Array("\(value)".utf8) }

  private static func query(_ random: inout SeededGenerator) -> Query<RoutedItem> {
    let group = Int.random(in: 0..<12, using: &random)
    let tag = Int.random(in: 0..<9, using: &random)
    let name = RoutedItem.names.randomElement(using: &random)!
    switch Int.random(in: 0..<6, using: &random) {
    case 0: return RoutedItem.where { $0.group == group }.sorted(by: \.note)
    case 1: return RoutedItem.where { $0.id == "i\(group)" || $0.id == "i\(group + 20)" }
    case 2: return RoutedItem.where { $0.tags.contains(tag) && $0.group > 2 }.limit(3)
    case 3: return RoutedItem.where { $0.name == name && $0.note > 1 }
    case 4: return RoutedItem.where { $0.group >= group && $0.group < group + 2 }.limit(4)
    default: return RoutedItem.where { $0.nick == name }
    }
  }

  private static func change(
    _ tx: WriteTransaction, _ random: inout SeededGenerator, depth: Int = 0
  ) throws {
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let item = RoutedItem.random(&random)
      switch Int.random(in: 0..<20, using: &random) {
      case 0: if Int.random(in: 0..<8, using: &random) == 0 { try tx.erase(RoutedItem.self) }
      case 1: try tx.update(RoutedItem.where { $0.group == item.group }) { $0.group += 1 }
      case 2: try tx.delete(RoutedItem.where { $0.tags.contains(4) && $0.group == item.group })
      case 3, 4,
        5 where depth < 2:
        try? tx.savepoint {
          try change(tx, &random, depth: depth + 1)
          if Bool.random(using: &random) { throw Undone() }
        }
      case 6, 7, 8: try tx.delete(RoutedItem.self, item.id)
      case 9...12:
        guard var old = try tx.find(RoutedItem.self, item.id) else { continue }
        old.note = item.note
        if item.isOpen { old.name = item.name } else { old.half = item.half }
        try tx.put(old)
      default: try tx.put(item)
      }
    }
  }
}
