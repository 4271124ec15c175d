import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Counts by an enum decoded every record, and the distinct values of a field read each entry of an
/// index: what groups read is kept here.
@Suite("What groups read")
struct GroupedWorkTests {
  enum Kind: String, Codable, CaseIterable, IndexKey, Sendable { case a, b, c, d, e }

  /// Counts how often its record is decoded.
  struct Decodings: Codable, Hashable {
    @TaskLocal static var count = Locked(0)

    init() {}
    init(from decoder: any Decoder) throws {
      _ = try decoder.singleValueContainer().decode(Int.self)
      Decodings.count.withLock { $0 += 1 }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(0)
    }
  }

  struct Event: Record {
    var id = UUID()
    var kind: Kind
    var maybe: Kind?
    var day: Date
    var owner: RecordID<Event.Owner>
    var key: UUID
    var name: String
    var at: Int
    var amount: Int
    var decodings = Decodings()

    enum Owner {}

    static let schema = Schema<Event> {
      Index(\.kind, \.at)
      Index(\.maybe, \.at)
      Index(\.day, \.at)
      Index(\.owner, \.at)
      Index(\.key, \.at)
      Index(\.name, \.at)
    }
  }

  struct Document: Record {
    var id: String
    var size: Int
    var price: Decimal
    var discount: Decimal?
    var decodings = Decodings()
    static let schema = Schema<Document> { Index(\.size) }
  }

  private static let count = 10_000

  private static func events() throws -> Store {
    let store = try Store.temporary(for: Event.self)
    try store.write { tx throws in
      for number in 0..<count {
        let group = number % 5
        var event = Event(
          id: UUID(
            uuid: (
              UInt8(number * 37 & 255), UInt8(number >> 8), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
              UInt8(number & 255)
            )),
          kind: Kind.allCases[group], maybe: group == 0 ? nil : Kind.allCases[group],
          day: Date(timeIntervalSinceReferenceDate: Double(group + 1)),
          owner: RecordID(Int64(group + 1)),
          key: UUID(uuid: (UInt8(group), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)),
          name: "name \(number)", at: number, amount: number % 7)
        try tx.insert(&event)
      }
    }
    return store
  }

  /// What a query reads, and how many records it decodes.
  private static func work<T>(
    _ body: () throws -> T
  ) rethrows -> (result: T, decoded: Int) {
    let count = Locked(0)
    let result = try Decodings.$count.withValue(count) { try body() }
    return (result, count.withLock { $0 })
  }

  private static func counters(
    _ field: FieldReference, _ query: Query<Event> = Event.all, for need: QueryNeed, _ store: Store
  ) throws -> ExecutionCounters {
    try store.read { tx in
      try tx.run(query.details, of: Event.self, for: need, selecting: [field]) { run, _ in
        if case .counts = need {
          try run.forEachCountedGroup(of: 0) { _, _, _ in }
        } else {
          while try run.next() != nil {}
        }
        return run.counters
      }
    }
  }

  @Test("Counts by a field read the keys that they count, and no record")
  func counts() throws {
    let store = try GroupedWorkTests.events()
    func check<Value: IndexKey>(_ keyPath: any KeyPath<Event, Value> & Sendable) throws {
      let (groups, decoded) = try GroupedWorkTests.work { try store.counts(by: keyPath) }
      #expect(groups.map(\.count) == [2000, 2000, 2000, 2000, 2000], "\(keyPath)")
      #expect(decoded == 0, "\(keyPath)")
      let field = TypedField.of(keyPath)
      let counters = try GroupedWorkTests.counters(field, for: .counts(field), store)
      #expect(counters.recordsExamined == 0, "\(keyPath)")
      #expect(counters.entriesExamined <= GroupedWorkTests.count + 20, "\(keyPath)")
    }
    try check(\.kind)
    try check(\.maybe)
    try check(\.day)
    try check(\.owner)
    try check(\.key)
  }

  @Test("Distinct values of few large groups are found by a few steps and a seek for each")
  func distinct() throws {
    let store = try GroupedWorkTests.events()
    func check<Value: IndexKey & Hashable & Sendable>(
      _ keyPath: any KeyPath<Event, Value> & Sendable
    ) throws {
      let selection = Event.select(keyPath).distinct()
      let sorted = Event.all.sorted(by: keyPath).select(keyPath).distinct()
      let backward = Event.all.sorted(by: keyPath, .descending).select(keyPath).distinct()
      let (result, decoded) = try GroupedWorkTests.work { () throws in
        #expect(try store.count(selection) == 5, "\(keyPath)")
        #expect(try store.exists(selection), "\(keyPath)")
        let forward = try store.fetch(sorted)
        #expect(try store.fetch(backward) == forward.reversed(), "\(keyPath)")
        #expect(try Set(store.fetch(selection)) == Set(forward), "\(keyPath)")
        return forward
      }
      #expect(result.count == 5 && decoded == 0, "\(keyPath)")
      let field = TypedField.of(keyPath)
      let counting = try GroupedWorkTests.counters(field, for: .distinctCount([field]), store)
      let forward = try GroupedWorkTests.counters(
        field, sorted.query, for: .distinct([field]), store)
      let back = try GroupedWorkTests.counters(
        field, backward.query, for: .distinct([field]), store)
      let byID = try GroupedWorkTests.counters(field, for: .distinct([field]), store)
      for counters in [counting, forward, back] {
        #expect(counters.entriesExamined <= 60 && counters.recordsExamined == 0, "\(keyPath)")
      }
      // The least id of a group is known when all its keys were read, once each.
      #expect(byID.recordsExamined == 0, "\(keyPath)")
      #expect(byID.entriesExamined <= 2 * GroupedWorkTests.count, "\(keyPath)")
    }
    try check(\.kind)
    try check(\.maybe)
    try check(\.day)
    try check(\.owner)
    try check(\.key)
  }

  @Test("Groups of one row cost a step each")
  func small() throws {
    let store = try GroupedWorkTests.events()
    let field = TypedField.of(\Event.name)
    let sorted = Event.all.sorted(by: \.name)
    for (query, need) in [
      (Event.all, QueryNeed.counts(field)), (Event.all, .distinctCount([field])),
      (sorted, .distinct([field])),
    ] {
      let counters = try GroupedWorkTests.counters(field, query, for: need, store)
      #expect(counters.recordsExamined == 0)
      #expect(counters.entriesExamined <= 2 * GroupedWorkTests.count)
    }
    #expect(try store.counts(by: \Event.name).count == GroupedWorkTests.count)
    #expect(try store.count(Event.select(\.name).distinct()) == GroupedWorkTests.count)
  }

  @Test("Counts by a field behind one that the filter sets read the keys of that value")
  func behind() throws {
    let store = try GroupedWorkTests.events()
    let query = Event.where { $0.kind == .c && $0.at < 5000 }
    let field = TypedField.of(\Event.at)
    let counters = try GroupedWorkTests.counters(field, query, for: .counts(field), store)
    #expect(counters.recordsExamined == 0)
    #expect(counters.entriesExamined <= 1010)
    let (groups, decoded) = try GroupedWorkTests.work { try store.counts(by: \.at, of: query) }
    #expect(groups.count == 1000 && decoded == 0)
    // The filter is on the second field: the keys decide it.
    let later = Event.where { $0.at >= 9000 }
    let (kinds, others) = try GroupedWorkTests.work { try store.counts(by: \.kind, of: later) }
    #expect(kinds.map(\.count) == [200, 200, 200, 200, 200] && others == 0)
  }

  @Test("The plan says how groups are read")
  func plans() throws {
    let store = try GroupedWorkTests.events()
    #expect(
      try store.explain(Event.all.sorted(by: \.kind).select(\.kind).distinct(), running: true)
        == """
        index kind_at all entries
          order served by the index
          skips from group to group
          answered from the index alone
        examined 17 index entries, 0 records; returned 5
        """)
    #expect(
      try store.explain(Event.select(\.kind).distinct()) == """
        index kind_at all entries
          sort by id
          reads keys group by group
          answered from the index alone
        """)
    #expect(
      try store.explain(Event.select(\.kind).distinct(), counting: true) == """
        index kind_at all entries
          skips from group to group
          answered from the index alone
        """)
    let field = TypedField.of(\Event.kind)
    try store.read { tx in
      let collection = try tx.context.collection(of: Event.self)
      let prepared = try tx.prepare(Event.all.details, for: .counts(field), in: collection)
      #expect(
        prepared.text == """
          index kind_at all entries
            counts group by group
            answered from the index alone
          """)
    }
  }

  @Test("Filters of the id read no record, alone and beside an index")
  func ids() throws {
    let store = try Store.temporary(for: Document.self)
    try store.write { tx throws in
      for number in 0..<1000 {
        var document = Document(
          id: "\(number % 10)/\(number)", size: number % 4, price: Decimal(number) / 4,
          discount: number % 3 == 0 ? nil : Decimal(-number))
        try tx.insert(&document)
      }
    }
    let query = Document.where { $0.id.hasPrefix("3/") }
    let both = Document.where { $0.size == 1 && $0.id.hasSuffix("5") }
    let (_, decoded) = try GroupedWorkTests.work { () throws in
      #expect(try store.count(query) == 100)
      #expect(try store.exists(query))
      #expect(try store.ids(query).count == 100)
      #expect(try store.fetch(query.select(\.id)).count == 100)
      #expect(try store.count(both) == 50)
      #expect(try store.ids(both).count == 50)
    }
    #expect(decoded == 0)
    #expect(
      try store.explain(query, counting: true, running: true) == """
        records ["3/"*]
          id filter id.hasPrefix("3/")
          answered from the ids alone
        examined 0 index entries, 0 records; returned 0
        """)
    let text = try store.explain(both, counting: true, running: true)
    #expect(text.hasSuffix(", 0 records; returned 0"), "\(text)")
    // A decimal is compared on its stored bytes.
    let (_, other) = try GroupedWorkTests.work { () throws in
      #expect(try store.count(Document.where { $0.price > 200 }) == 199)
      #expect(try store.count(Document.where { $0.price == 2.25 && $0.size == 1 }) == 1)
      #expect(try store.count(Document.where { $0.discount == nil }) == 334)
      #expect(
        try store.count(Document.where { $0.discount < -990 || (1..<2).contains($0.price) }) == 10)
    }
    #expect(other == 0)
    // A record is read only where it is returned.
    let (first, one) = try GroupedWorkTests.work { try store.first(query) }
    #expect(first?.id == "3/103" && one == 1)
  }
}
