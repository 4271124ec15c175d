import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Stored bytes have the value of an enum only if Swift synthesized its coding and its order.
@Suite("Enums with raw values and a custom coding or order")
struct OwnRawEnumTests {
  /// Unknown values are read as a case.
  enum Lenient: String, Codable, CaseIterable, IndexKey {
    case known, unknown

    init(from decoder: any Decoder) throws {
      let raw = try decoder.singleValueContainer().decode(String.self)
      self = Lenient(rawValue: raw) ?? .unknown
    }
  }

  /// An older raw value is read as a case.
  enum Renamed: String, Codable, CaseIterable, IndexKey {
    case color, shape

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      let raw = try container.decode(String.self)
      guard let value = raw == "colour" ? .color : Renamed(rawValue: raw) else {
        throw DecodingError.dataCorruptedError(in: container, debugDescription: "no case \(raw)")
      }
      self = value
    }
  }

  /// Raw values of any case are taken.
  enum Folded: String, Codable, CaseIterable, IndexKey {
    case small, large

    init?(rawValue: String) {
      switch rawValue.lowercased() {
      case "small": self = .small
      case "large": self = .large
      default: return nil
      }
    }
    var rawValue: String { self == .small ? "small" : "large" }
  }

  /// Written as something else.
  enum Coded: Int, Codable, CaseIterable, IndexKey {
    case first = 1
    case second = 2

    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(rawValue * 10)
    }
    init(from decoder: any Decoder) throws {
      let raw = try decoder.singleValueContainer().decode(Int.self)
      guard let value = Coded(rawValue: raw / 10) else {
        throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "\(raw)"))
      }
      self = value
    }
  }

  /// In an index as another value.
  enum Ordered: String, Codable, CaseIterable, IndexKey {
    case small, large
    var indexValue: Int { self == .small ? 1 : 2 }
  }

  /// A `<` that goes by the order of the cases.
  enum Priority: String, Codable, CaseIterable, IndexKey, Comparable {
    case low, normal, high

    static func < (a: Self, b: Self) -> Bool {
      allCases.firstIndex(of: a)! < allCases.firstIndex(of: b)!
    }
  }

  struct Written: Record {
    var id = RecordID<Written>()
    var lenient: String
    var renamed: String
    var folded: String
    var coded: Int
    var ordered: String
    static let collectionName = "Own"
  }

  struct Own: Record {
    var id = RecordID<Own>()
    var lenient: Lenient
    var renamed: Renamed
    var folded: Folded
    var coded: Coded
    var ordered: Ordered
  }

  struct IndexedOwn: Record {
    var id = RecordID<IndexedOwn>()
    var lenient: Lenient
    var renamed: Renamed
    var folded: Folded
    var coded: Coded
    var ordered: Ordered
    static let collectionName = "Own"
    static let schema = Schema<IndexedOwn> {
      Index(\.lenient)
      Index(\.renamed)
      Index(\.folded)
      Index(\.coded)
      Index(\.ordered)
    }
  }

  @Test("An enum with custom coding is read through it, with an index and without")
  func ownCoding() throws {
    try withScratchPath { path throws in try OwnRawEnumTests.checkOwnCoding(path) }
  }

  private static func checkOwnCoding(_ path: String) throws {
    do {
      let store = try Store(at: path, for: Written.self)
      try store.write { tx throws in
        for (lenient, renamed, folded) in [
          ("known", "color", "small"), ("odd", "colour", "LARGE"), ("unknown", "shape", "Small"),
        ] {
          var record = Written(
            lenient: lenient, renamed: renamed, folded: folded, coded: 20, ordered: "large")
          try tx.insert(&record)
        }
      }
      store.close()
    }
    do {
      let store = try Store(at: path, for: Own.self)
      let all = try store.fetch(Own.all)
      #expect(all.map(\.lenient) == [.known, .unknown, .unknown])
      #expect(
        try store.ids(Own.where { $0.lenient == .unknown })
          == all.filter { $0.lenient == .unknown }.map(\.id))
      #expect(
        try store.ids(Own.where { $0.renamed == .color })
          == all.filter { $0.renamed == .color }.map(\.id))
      #expect(
        try store.ids(Own.where { $0.folded == .small })
          == all.filter { $0.folded == .small }.map(\.id))
      #expect(try store.count(Own.where { $0.coded == .second }) == 3)
      #expect(try store.count(Own.where { $0.ordered == .large }) == 3)
      #expect(try store.counts(by: \Own.lenient).map(\.count) == [1, 2])
      store.close()
    }
    let store = try Store(at: path, for: IndexedOwn.self)
    let all = try store.fetch(IndexedOwn.all)
    #expect(
      try store.ids(IndexedOwn.where { $0.lenient == .unknown })
        == all.filter { $0.lenient == .unknown }.map(\.id))
    #expect(
      try store.ids(IndexedOwn.where { $0.renamed == .color })
        == all.filter { $0.renamed == .color }.map(\.id))
    #expect(
      try store.ids(IndexedOwn.where { $0.folded == .small })
        == all.filter { $0.folded == .small }.map(\.id))
    #expect(try store.count(IndexedOwn.where { $0.coded == .second }) == 3)
    #expect(try store.count(IndexedOwn.where { $0.ordered == .large }) == 3)
    #expect(try store.counts(by: \IndexedOwn.lenient).map(\.count) == [1, 2])
    #expect(try store.verify().isClean)
  }

  /// The index value of a case is the raw value of another one.
  enum Reversed: Int, Codable, CaseIterable, IndexKey {
    case one = 1
    case two = 2
    case three = 3

    var indexValue: Int { 4 - rawValue }
  }

  /// The same of a type whose values cannot be listed.
  struct Negated: RawRepresentable, Codable, Hashable, IndexKey {
    var rawValue: Int
    var indexValue: Int { -rawValue }
  }

  struct Turned: Record {
    var id = RecordID<Turned>()
    var place: Reversed
    var other: Reversed?
    var number: Negated
    static let schema = Schema<Turned> {
      Index(\.place, \.number)
      Index(\.other)
      Index(\.number)
    }
  }

  @Test("A value is never taken from an index value that is another raw value")
  func ownIndexValue() throws {
    let store = try Store.checked(for: Turned.self)
    try store.write { tx throws in
      for number in 0..<30 {
        var record = Turned(
          place: Reversed.allCases[number % 3],
          other: number % 4 == 0 ? nil : Reversed.allCases[number % 5 % 3],
          number: Negated(rawValue: number * 7 % 11 - 5))
        try tx.insert(&record)
      }
    }
    let all = try store.fetch(Turned.all)
    func counts<Value: Hashable>(_ values: [Value]) -> [Value: Int] {
      values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
    }
    func found<Value: Hashable>(_ list: [(value: Value, count: Int)]) -> [Value: Int] {
      Dictionary(uniqueKeysWithValues: list.map { ($0.value, $0.count) })
    }
    #expect(try found(store.counts(by: \Turned.place)) == counts(all.map(\.place)))
    #expect(try found(store.counts(by: \Turned.other)) == counts(all.map(\.other)))
    #expect(try found(store.counts(by: \Turned.number)) == counts(all.map(\.number)))
    let selected = try store.fetch(
      Turned.where { $0.place == .one }.select(\.place, \.number))
    #expect(selected.allSatisfy { $0.0 == .one })
    #expect(selected.map(\.1) == all.filter { $0.place == .one }.map(\.number))
    #expect(
      try store.fetch(Turned.all.sorted(by: \.number).select(\.number))
        == all.map(\.number).sorted { $0.rawValue > $1.rawValue })
    #expect(
      try Set(store.fetch(Turned.all.select(\.other).distinct())) == Set(all.map(\.other)))
    #expect(try store.min(\Turned.place) == .three && store.max(\Turned.place) == .one)
    #expect(try store.max(\Turned.other) == .one)
    #expect(try store.min(\Turned.number) == Negated(rawValue: all.map(\.number.rawValue).max()!))
    let groups = try store.fetch(
      Turned.all.grouped(by: \.place).select(.count, .min(\.number), .max(\.number)))
    for group in groups {
      let numbers = all.filter { $0.place == group.key }.map(\.number.rawValue)
      #expect(group.1 == numbers.count)
      #expect(group.2?.rawValue == numbers.max() && group.3?.rawValue == numbers.min())
    }
    #expect(
      try store.fetch(Turned.all.sectioned(by: \.place)).map(\.value) == [.three, .two, .one])
    // A text goes by what is stored.
    #expect(
      try store.ids(Turned.query(text: "place = 1")) == all.filter { $0.place == .one }.map(\.id))
  }

  struct Task<Layout: TaskLayout>: Record {
    var id = RecordID<Self>()
    var priority: Priority
    var other: Priority?
    static var collectionName: String { Layout.name }
    static var schema: Schema<Self> { Layout.schema }
  }

  protocol TaskLayout: Sendable {
    static var name: String { get }
    static var schema: Schema<Task<Self>> { get }
  }

  enum BareTasks: TaskLayout {
    static let name = "bare"
    static var schema: Schema<Task<Self>> { Schema() }
  }

  enum IndexedTasks: TaskLayout {
    static let name = "indexed"
    static var schema: Schema<Task<Self>> {
      Schema {
        Index(\.priority)
        Index(\.other)
      }
    }
  }

  private static func checkOrder<Layout: TaskLayout>(_: Layout.Type) throws {
    typealias R = Task<Layout>
    let store = try Store.temporary(for: R.self)
    try store.write { tx throws in
      for priority in Priority.allCases {
        for other in [nil] + Priority.allCases.map(Optional.some) {
          var task = R(priority: priority, other: other)
          try tx.insert(&task)
        }
      }
    }
    let all = try store.fetch(R.all)
    let questions: [(Query<R>, (R) -> Bool)] = [
      (R.where { $0.priority < .high }, { $0.priority < .high }),
      (R.where { $0.priority >= .normal }, { $0.priority >= .normal }),
      (R.where { (Priority.low ... .normal).contains($0.priority) }, { $0.priority <= .normal }),
      (R.where { $0.other > .low }, { $0.other.map { $0 > .low } ?? false }),
      (
        R.where { (Priority.normal...).contains($0.other) },
        { $0.other.map { $0 >= .normal } ?? false }
      ),
      (R.where { $0.priority < $0.other }, { a in a.other.map { a.priority < $0 } ?? false }),
      (R.where { $0.priority == .normal }, { $0.priority == .normal }),
    ]
    for (place, (query, closure)) in questions.enumerated() {
      #expect(try store.ids(query) == all.filter(closure).map(\.id), "\(Layout.name) \(place)")
    }
  }

  @Test("A custom `<` decides, whatever the order of the raw values")
  func ownOrder() throws {
    try OwnRawEnumTests.checkOrder(BareTasks.self)
    try OwnRawEnumTests.checkOrder(IndexedTasks.self)
  }
}
