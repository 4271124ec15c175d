import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// A commit looks on its own thread whether the values of a few observers can be others now.
@Suite("Looks of a commit at its observers")
struct LookTests {
  /// An observer with a closure, whose values are compared as texts.
  private struct Follower {
    let name: String
    let begin: () -> ObservationToken
    let last: Locked<String>
    let looks: () -> Int
    let reads: () -> Int
    let calls: () -> Int
    let expected: (ReadTransaction) throws -> String

    init<Value: Sendable>(
      _ name: String, _ store: Store, _ read: ObservedRead<Value>,
      _ expected: @escaping (ReadTransaction) throws -> Value
    ) {
      let (last, count) = (Locked("nothing"), Locked(0))
      let observer = Observer(store, read, nil)
      self.name = name
      self.last = last
      begin = {
        .begin(observer, .later, on: nil, at: CodePlace(), nil) { value in
          last.withLock { $0 = "\(value.value)" }
          count.withLock { $0 += 1 }
        }
      }
      looks = { observer.looks }
      reads = { observer.reads }
      calls = { count.withLock { $0 } }
      self.expected = { "\(try expected($0))" }
    }

    init<Q: Request>(_ name: String, _ store: Store, _ request: Q) where Q.Row: Sendable {
      self.init(name, store, request.observedRead()) { try $0.fetch(request) }
    }

    init<Value: Sendable>(
      _ name: String, _ store: Store, _ read: @escaping @Sendable (ReadTransaction) throws -> Value
    ) {
      self.init(name, store, ObservedClosure(read), read)
    }
  }

  private static let adults = CountedItem.where { $0.age > 3 }

  private static func followers(_ store: Store) -> [Follower] {
    [
      Follower("page", store, CountedItem.where { $0.city == "Oslo" }.sorted(by: \.age).limit(5)),
      Follower("last page", store, adults.sorted(by: \.name, .descending).limit(3)),
      Follower("rows", store, CountedItem.where { $0.big == 1 }),
      Follower("sections", store, adults.sorted(by: \.name).limit(5).sectioned(by: \.city)),
      Follower("fields", store, adults.sorted(by: \.age).limit(4).select(\.name, \.age)),
      Follower("order of half", store, CountedItem.all.sorted(by: \.half).limit(6)),
      Follower("of a computed property", store, CountedItem.where { $0.length > 2 }.limit(4)),
      Follower("by a closure", store, CountedItem.all.filter { $0.age == 5 }),
      Follower("count", store) { try $0.count(adults) },
      Follower("count of a computed property", store) {
        try $0.count(CountedItem.where { $0.length > 2 })
      },
      Follower("exists", store) { try $0.exists(CountedItem.where { $0.age == 7 && $0.big == 1 }) },
      Follower("sum", store) { try $0.sum(\.age, of: CountedItem.where { $0.city == "Oslo" }) },
      Follower("sum of optional numbers", store) { try $0.sum(\.small, of: adults) },
      Follower("least and greatest", store) { tx in
        [try tx.min(\.age, of: adults), try tx.max(\.age, of: adults)]
      },
      Follower("groups", store) { try $0.counts(by: \.rank, of: adults).map(\.count) },
      Follower("two counts", store) { tx in
        [try tx.count(CountedItem.where { $0.rank == .high }), try tx.count(Setting.all)]
      },
      Follower("a count and rows", store) { tx in
        [try tx.count(CountedItem.all)] + (try tx.fetch(adults.limit(2)).map(\.id))
      },
    ]
  }

  @Test("the value that came last is that of a fetch after each write", arguments: UInt64(1)...4)
  func random(seed: UInt64) async throws {
    let store = try Store.temporary(for: CountedItem.self, Setting.self)
    defer { store.close() }
    var writes = ItemWrites(seed: 700 + seed)
    for _ in 0..<30 { writes.write(to: store) }
    // A commit that concerns more than a few of them looks at none.
    var all = Self.followers(store)
    all.shuffle(using: &writes.generator)
    var looks: Set<String> = []
    while !all.isEmpty {
      let few = Array(all.prefix(3))
      all.removeFirst(few.count)
      let tokens = few.map { $0.begin() }
      for token in tokens { await token.settled() }
      for round in 0..<150 {
        // A commit of more than a few records is left to a task.
        if round % 3 == 0 { writes.write(to: store) } else { writes.writeOne(to: store) }
        for token in tokens { await token.settled() }
        let expected = try store.read { tx in try few.map { try $0.expected(tx) } }
        for (follower, expected) in zip(few, expected) {
          #expect(
            follower.last.withLock { $0 } == expected,
            "\(follower.name), seed \(seed), round \(round)")
        }
      }
      for token in tokens { token.cancel() }
      looks.formUnion(few.filter { $0.looks() > 0 }.map(\.name))
    }
    #expect(
      looks.isSuperset(of: [
        "page", "last page", "rows", "sections", "count", "groups", "sum of optional numbers",
      ]))
    // These need the decoded record, or have read more than aggregates.
    #expect(looks.isDisjoint(with: ["by a closure", "a count and rows"]))
  }

  @Test("changes of rows beyond the limit come with the next value")
  func hiddenRows() async throws {
    let store = try Store.temporary(for: CountedItem.self, Setting.self)
    defer { store.close() }
    var writes = ItemWrites(seed: 1)
    var items = (0..<30).map { number in
      var item = writes.item()
      (item.id, item.age) = (number, number)
      return item
    }
    for item in items { try store.put(item) }
    let page = Follower("page", store, CountedItem.all.sorted(by: \.age).limit(3))
    let token = page.begin()
    await token.settled()
    // A first row that leaves makes it read a reserve.
    items[0].age = 100
    try store.put(items[0])
    await token.settled()
    let calls = page.calls()
    for number in 10..<20 {
      items[number].age = 50 - number
      // A store for calls that name none is no transaction.
      if number % 2 == 0 {
        try store.put(items[number])
      } else {
        try Store.with(store) { try store.put(items[number]) }
      }
      await token.settled()
    }
    #expect(page.calls() == calls)
    #expect(page.looks() == 10)
    for number in [1, 2, 4] {
      items[number].age = 200 + number
      try store.put(items[number])
      await token.settled()
      let expected = try store.read { try page.expected($0) }
      #expect(page.last.withLock { $0 } == expected)
    }
    #expect(page.calls() == calls + 3)
  }

  @Test("many changes of rows beyond the limit cause no new read")
  func manyHiddenRows() async throws {
    let store = try Store.temporary(for: CountedItem.self, Setting.self)
    defer { store.close() }
    var writes = ItemWrites(seed: 2)
    func put(_ numbers: Range<Int>) throws {
      try store.write { tx throws in
        for number in numbers {
          var item = writes.item()
          (item.id, item.age) = (number, number)
          try tx.put(item)
        }
      }
    }
    try put(0..<10)
    let page = Follower("page", store, CountedItem.all.sorted(by: \.age).limit(3))
    let token = page.begin()
    await token.settled()
    for number in 0..<40 {
      try put(10 + 4 * number..<10 + 4 * number + 1 + number % 4)
      await token.settled()
    }
    #expect(page.reads() == 1)
    #expect(page.calls() == 1)
    #expect(page.looks() > 20)
    try await store.write { tx throws in try tx.delete(CountedItem.self, 1) }
    await token.settled()
    let expected = try store.read { try page.expected($0) }
    #expect(page.last.withLock { $0 } == expected)
  }

  @Test("no code of the program runs on the thread of the commit")
  func ownThread() async throws {
    let store = try Store.temporary(for: Decoded.self)
    defer { store.close() }
    try store.put(Decoded(id: 1, name: "a", age: 1))
    let token = store.observe(Decoded.where { $0.age > 3 && $0.length > 1 }) { _ in }
    let other = store.observe(Decoded.where { $0.age > 3 }.sorted(by: \.length).limit(1)) { _ in }
    for token in [token, other] { await token.settled() }
    for age in [2, 5, 6, 1, 7] {
      let thread = ThreadIdentity.current
      Decoded.forbidden.withLock { $0 = (thread, 0) }
      // The thread of the commit is this one.
      try Self.write(Decoded(id: 1, name: "ab", age: age), to: store)
      let count = Decoded.forbidden.withLock { forbidden in
        defer { forbidden = (0, 0) }
        return forbidden.count
      }
      #expect(count == 0, "age \(age)")
      for token in [token, other] { await token.settled() }
    }
    withExtendedLifetime((token, other)) {}
  }

  private static func write(_ record: Decoded, to store: Store) throws {
    try store.write { tx throws in
      var record = record
      try tx.save(&record)
    }
  }

  /// Notes on which thread it is decoded.
  struct Decoded: Record, CustomCoded {
    static let forbidden = Locked<(thread: UInt, count: Int)>((0, 0))

    var id: Int
    var name: String
    var age: Int

    var length: Int { name.count }

    static let schema = Schema<Decoded> {}

    init(id: Int, name: String, age: Int) { (self.id, self.name, self.age) = (id, name, age) }

    private enum CodingKeys: CodingKey { case id, name, age }

    init(from decoder: any Decoder) throws {
      let values = try decoder.container(keyedBy: CodingKeys.self)
      id = try values.decode(Int.self, forKey: .id)
      name = try values.decode(String.self, forKey: .name)
      age = try values.decode(Int.self, forKey: .age)
      Self.forbidden.withLock { if $0.thread == ThreadIdentity.current { $0.count += 1 } }
    }
  }
}
