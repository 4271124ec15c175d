import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Whole records made of the keys of an index, where older records have other fields, and where the
/// keys are not enough.
@Suite("Records from keys, of types that changed and of types that need more")
struct CoveredShapeTests {
  private static let line = "answered from the index alone"

  struct First: Record {
    static let collectionName = "Reading"
    var id: Int
    var sensor: Int32
    var label: String?
    var unit: String
    var removed: [Int]
  }

  /// A field less, a new one with a default, one that was renamed, and one of another type.
  struct Second: Record, Equatable {
    static let collectionName = "Reading"
    static let schema = Schema<Second> {
      Default(\.value, 0.5)
      Default(\.label, "none")
      Renamed(\.measure, from: "unit")
      Index(\.sensor, \.measure, \.value, \.label)
    }
    var id: Int
    var sensor: Int
    var label: String
    var measure: String
    var value: Double
  }

  struct SecondMemberwise: Record, Equatable, MemberwiseCoded {
    static let collectionName = "Reading"
    static let schema = Schema<SecondMemberwise> {
      Default(\.value, 0.5)
      Default(\.label, "none")
      Renamed(\.measure, from: "unit")
      Index(\.sensor, \.measure, \.value, \.label)
    }
    var id: Int
    var sensor: Int
    var label: String
    var measure: String
    var value: Double
  }

  private static func old(_ number: Int) -> First {
    First(
      id: number, sensor: Int32(number % 3), label: number % 2 == 0 ? nil : "l\(number)",
      unit: ["C", "F"][number % 2], removed: [number])
  }

  @Test("Records of an older shape are the same as read from their bytes")
  func changedShapes() throws {
    try withScratchPath { path throws in
      try Store.using(path, First.self) { try $0.saveAll((1...40).map(Self.old)) }
      var all = (1...40).map { number in
        Second(
          id: number, sensor: number % 3, label: number % 2 == 0 ? "none" : "l\(number)",
          measure: ["C", "F"][number % 2], value: 0.5)
      }
      let options = Store.Options.quick.with { $0.checksQueries = true }
      try Store.using(path, Second.self, options: options) { store throws in
        let query = Second.where { $0.sensor == 1 && $0.measure >= "D" }
        func check() throws {
          #expect(try store.explain(query).contains(Self.line))
          #expect(
            try store.fetch(query) == all.filter { $0.sensor == 1 && $0.measure >= "D" })
          #expect(
            try store.fetch(Second.where { $0.sensor > 0 }.sorted(by: \.id, .descending))
              == all.filter { $0.sensor > 0 }.reversed())
          #expect(
            try store.page(Second.where { $0.sensor == 2 }.sorted(by: \.measure).limit(5)).records
              == Array(
                all.filter { $0.sensor == 2 }.sorted { ($0.measure, $0.id) < ($1.measure, $1.id) }
                  .prefix(5)))
        }
        // No record has the new shape yet, so there are no bytes to be made.
        try check()
        for number in [3, 7, 8, 41, 44] {
          let record = Second(
            id: number, sensor: number % 3, label: "new", measure: "K", value: Double(number))
          all.removeAll { $0.id == number }
          all.append(record)
          try store.saveAll([record])
        }
        all.sort { $0.id < $1.id }
        try check()
        let text = try store.explain(query, running: true)
        #expect(text.contains(" 0 records;"), "\(text)")
      }
      try Store.using(path, SecondMemberwise.self, options: options) { store throws in
        let rows = try store.fetch(SecondMemberwise.where { $0.sensor == 1 })
        let wanted = all.filter { $0.sensor == 1 }
        #expect(rows.map(\.id) == wanted.map(\.id) && rows.map(\.label) == wanted.map(\.label))
        #expect(rows.map(\.value) == wanted.map(\.value))
      }
    }
  }

  /// Reads a field that it does not write: an older record has it.
  struct Custom: Record, Equatable {
    static let collectionName = "Reading"
    static let schema = Schema<Custom> { Index(\.sensor) }
    var id: Int
    var sensor: Int
    var note = ""

    enum CodingKeys: String, CodingKey { case id, sensor, unit }

    init(id: Int, sensor: Int) { (self.id, self.sensor) = (id, sensor) }

    init(from decoder: any Decoder) throws {
      let fields = try decoder.container(keyedBy: CodingKeys.self)
      id = try fields.decode(Int.self, forKey: .id)
      sensor = try fields.decode(Int.self, forKey: .sensor)
      if fields.contains(.unit) { note = try fields.decode(String.self, forKey: .unit) }
    }

    func encode(to encoder: any Encoder) throws {
      var fields = encoder.container(keyedBy: CodingKeys.self)
      try fields.encode(id, forKey: .id)
      try fields.encode(sensor, forKey: .sensor)
    }
  }

  /// The compiler's coding, but for its name.
  struct Promised: Record, CustomCoded {
    static let schema = Schema<Promised> { Index(\.number) }
    var id: Int
    var number: Int
  }

  struct Folded: Record, Equatable {
    static let schema = Schema<Folded> { Index(\.text, options: .caseInsensitive) }
    var id: Int
    var text: String
  }

  struct Linked: Record, Equatable {
    static let schema = Schema<Linked> { Index(\.number, \.page) }
    var id: Int
    var number: Int
    var page: URL
  }

  struct Partial: Record, Equatable {
    static let schema = Schema<Partial> {
      Index(\.number, \.text, name: "some", where: { $0.number > 0 })
      Index(\.number)
    }
    var id: Int
    var number: Int
    var text: String
  }

  /// The id is stored in another way than it is written as a key.
  struct Code: RecordIdentifier, RawRepresentable {
    var rawValue: Int
    init(rawValue: Int) { self.rawValue = rawValue }
    init(from decoder: any Decoder) throws {
      rawValue = try decoder.singleValueContainer().decode(Int.self) / 2
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(rawValue * 2)
    }
  }

  struct Coded: Record, Equatable {
    static let schema = Schema<Coded> { Index(\.number) }
    var id: Code
    var number: Int
  }

  private func check<R: Record & Equatable>(_ records: [R], _ query: Query<R>) throws {
    let options = Store.Options.quick.with { $0.checksQueries = true }
    let store = try Store.temporary(for: R.self, options: options)
    try store.saveAll(records)
    #expect(try store.fetch(query) == records)
    #expect(try !store.explain(query).contains(Self.line), "\(R.self)")
  }

  @Test("Where the keys are not enough, records are read")
  func read() throws {
    try check(
      [Folded(id: 1, text: "A"), Folded(id: 2, text: "A")], Folded.where { $0.text == "A" })
    // No filter is left for the record, and the index gives the order.
    try check(
      [Folded(id: 1, text: "A"), Folded(id: 2, text: "b")],
      Folded.all.sorted(by: \.text, options: .caseInsensitive).limit(5))
    try check(
      [Linked(id: 1, number: 5, page: try #require(URL(string: "https://example.org/a")))],
      Linked.where { $0.number == 5 })
    try check([Partial(id: 1, number: 5, text: "a")], Partial.where { $0.number == 5 })
    try check(
      [Coded(id: Code(rawValue: 1), number: 5), Coded(id: Code(rawValue: 2), number: 5)],
      Coded.where { $0.number == 5 })
    let store = try Store.temporary(for: Promised.self)
    try store.saveAll([Promised(id: 1, number: 5)])
    let query = Promised.where { $0.number == 5 }
    #expect(try !store.explain(query).contains(Self.line))
    #expect(try store.fetch(query).count == 1)
  }

  @Test("An init(from:) that looks for an older field gets it")
  func olderField() throws {
    try withScratchPath { path throws in
      try Store.using(path, First.self) { try $0.saveAll((1...9).map(Self.old)) }
      try Store.using(path, Custom.self) { store throws in
        try store.saveAll([Custom(id: 10, sensor: 1)])
        let rows = try store.fetch(Custom.where { $0.sensor == 1 })
        #expect(rows.map(\.id) == [1, 4, 7, 10])
        #expect(rows.map(\.note) == ["F", "C", "F", ""])
      }
    }
  }

  struct Pair: Record, Equatable {
    static let schema = Schema<Pair> { Index(\.number, \.text) }
    var id: Int
    var number: Int
    var text: String
  }

  @Test("A flipped bit of a record is not in an answer from keys, and a write notices it")
  func damage() throws {
    let store = try Store.temporary(for: Pair.self)
    let records = (1...9).map { Pair(id: $0, number: $0 % 2, text: "t\($0)") }
    try store.saveAll(records)
    let handle = try store.read { tx throws in try tx.context.collection(of: Pair.self).records }
    let key = withUnsafeBytes(of: (UInt64(3) ^ 1 << 63).bigEndian) { Array($0) }
    try store.environment.write { transaction in
      try key.withUnsafeBytes { key in
        var bytes = [UInt8](try #require(try handle.get(key, in: transaction)))
        bytes[bytes.count / 2] ^= 1
        _ = try bytes.withUnsafeBytes { try handle.put(key, $0, in: transaction) }
      }
    }
    let query = Pair.where { $0.number == 1 }
    #expect(try store.fetch(query) == records.filter { $0.number == 1 })
    #expect(
      caught { _ = try store.read { tx throws in try tx.find(Pair.self, 3) } }?.code
        == .checksumMismatch)
    #expect(
      caught { try store.write { tx throws in _ = try tx.fetch(query) } }?.code
        == .checksumMismatch)
  }

  @Test("Observers, cursors, joins and typeless queries see the same records")
  func others() throws {
    let store = try Store.temporary(for: Pair.self)
    let records = (1...30).map { Pair(id: $0, number: $0 % 3, text: "t\($0)") }
    try store.saveAll(records)
    let query = Pair.where { $0.number == 1 && $0.text > "t2" }
    let wanted = records.filter { $0.number == 1 && $0.text > "t2" }
    try store.read { tx throws in
      // Two cursors side by side, each with bytes of its own.
      let first = try tx.cursor(query)
      let second = try tx.cursor(query.sorted(by: \.id, .descending))
      var rows: [Pair] = []
      var others: [Pair] = []
      while let row = try first.next() {
        rows.append(row)
        if let other = try second.next() { others.append(other) }
      }
      #expect(rows == wanted && others == wanted.reversed())
      let sections = try tx.fetch(query.sorted(by: \.text).sectioned(by: \.number))
      #expect(sections.flatMap(\.records) == wanted.sorted { $0.text < $1.text })
    }
  }
}
