import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Values of every kind that go through fields and come back as they were.
@Suite("Values of every kind as plain fields")
struct FieldKindTests {
  enum Level: String, Codable { case low, high }
  enum Shape: Codable, Equatable { case circle(radius: Double), square(side: Int, isFilled: Bool) }
  struct Inner: Codable, Hashable {
    var name: String
    var numbers: [Int]
    var note: String?
  }

  /// Coded by `Codable`.
  struct Plain: Record, Equatable {
    var id: Int
    var values: Values
    var bool: Bool
    var int8: Int8
    var int16: Int16
    var int32: Int32
    var int: Int
    var int128: Int128
    var uint8: UInt8
    var uint16: UInt16
    var uint32: UInt32
    var uint64: UInt64
    var uint128: UInt128
    var float: Float
    var double: Double
    var date: Date
    var uuid: UUID
    var decimal: Decimal
    var text: String
    var data: Data
    var url: URL
    var level: Level
    var shape: Shape
    var maybe: Int?

    static let schema = Schema<Plain> {
      Index(\.int8)
      Index(\.uint64)
      Index(\.float)
      Index(\.double)
      Index(\.date)
      Index(\.uuid)
      Index(\.text)
      Index(\.data)
      Index(\.url)
      Index(\.maybe)
      Index(\.level.rawValue, name: "level")
    }
  }

  struct Values: Codable, Equatable {
    var inner: Inner?
    var list: [Inner]
    var byName: [String: Double]
    var byNumber: [Int: String]
    var set: Set<String>
    var holes: [Int?]
    var deep: [[String: [UInt8]]]
    var dates: [Date]
  }

  /// The same fields, coded by memory.
  struct Flat: Record, MemberwiseCoded, Equatable {
    var id: Int
    var int8: Int8
    var uint64: UInt64
    var double: Double
    var date: Date
    var text: String
    var maybe: Int?
    static let schema = Schema<Flat> {
      Index(\.text)
      Index(\.uint64)
    }
  }

  private func random(_ id: Int, _ generator: inout SeededGenerator) -> Plain {
    func number<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T {
      switch generator.next() % 5 {
      case 0: .max
      case 1: .min
      default: T(truncatingIfNeeded: UInt128(generator.next()) << 64 | UInt128(generator.next()))
      }
    }
    func double() -> Double {
      [0, -0.0, .infinity, .pi, -1e300, 5, Double(number(Int32.self)) / 7].randomElement(
        using: &generator)!
    }
    func text() -> String {
      ["", "a", "é", "e\u{301}", "漢字", "😀\0x", String(repeating: "long ", count: 80)]
        .randomElement(using: &generator)!
    }
    func date() -> Date { Date(timeIntervalSinceReferenceDate: double()) }
    func inner() -> Inner {
      Inner(
        name: text(), numbers: (0..<Int(generator.next() % 4)).map { _ in number() },
        note: generator.next() % 2 == 0 ? nil : text())
    }
    func some<T>(_ make: () -> T) -> [T] { (0..<Int(generator.next() % 4)).map { _ in make() } }
    let values = Values(
      inner: generator.next() % 3 == 0 ? nil : inner(), list: some(inner),
      byName: Dictionary(some { (text(), double()) }, uniquingKeysWith: { $1 }),
      byNumber: Dictionary(some { (number(), text()) }, uniquingKeysWith: { $1 }),
      set: Set(some(text)), holes: some { generator.next() % 2 == 0 ? nil : number() },
      deep: some { ["k": some { number() }] }, dates: some(date))
    return Plain(
      id: id, values: values, bool: generator.next() % 2 == 0, int8: number(), int16: number(),
      int32: number(), int: number(), int128: number(), uint8: number(), uint16: number(),
      uint32: number(), uint64: number(), uint128: number(), float: Float(double()),
      double: double(), date: date(), uuid: UUID(),
      decimal: Decimal(number(Int64.self)) / 1000, text: text(), data: Data(text().utf8),
      url: URL(string: "https://example.org/\(id)")!,
      level: generator.next() % 2 == 0 ? .low : .high,
      shape: generator.next() % 2 == 0
        ? .circle(radius: double()) : .square(side: number(), isFilled: true),
      maybe: generator.next() % 2 == 0 ? nil : number())
  }

  @Test("Fields that are not changed leave the bytes as they were")
  func unchanged() throws {
    let seed = UInt64.random(in: 0..<1 << 32)
    var generator = SeededGenerator(seed: seed)
    let records = (0..<300).map { random($0, &generator) }
    let flat = records.map {
      Flat(
        id: $0.id, int8: $0.int8, uint64: $0.uint64, double: $0.double, date: $0.date,
        text: $0.text, maybe: $0.maybe)
    }
    try withScratchPath { path throws in
      func dump() throws -> String {
        try Store.using(path, Plain.self, Flat.self) { store throws in try store.dump() }
      }
      try Store.using(path, Plain.self, Flat.self) { store throws in
        try store.saveAll(records)
        try store.saveAll(flat)
      }
      let before = try dump()
      let same = Migration("same") { tx throws in
        try tx.rewrite(Plain.self) { _ in }
        try tx.rewrite(Flat.self) { _ in }
      }
      try Store.using(path, Plain.self, Flat.self, migrations: [same]) { store throws in
        #expect(try store.everything(Plain.self) == records, "seed \(seed)")
        #expect(try store.everything(Flat.self) == flat, "seed \(seed)")
        #expect(try store.faults == [])
      }
      #expect(try dump() == before)
      // Written without a type: other bytes, but the same records, entries and answers.
      let plain = Migration("plain") { tx throws in
        for name in ["Plain", "Flat"] { try tx.rewrite(name) { $0["new"] = 1 } }
      }
      try Store.using(path, Plain.self, Flat.self, migrations: [plain]) { store throws in
        #expect(try store.everything(Plain.self) == records, "seed \(seed)")
        #expect(try store.everything(Flat.self) == flat, "seed \(seed)")
        #expect(try store.faults == [])
        try ask(store, records, seed)
      }
    }
  }

  private func ask(_ store: Store, _ records: [Plain], _ seed: UInt64) throws {
    for wanted in records.prefix(6) {
      func check(_ query: Query<Plain>, _ isWanted: (Plain) -> Bool) throws {
        #expect(
          try store.fetch(query).map(\.id) == records.filter(isWanted).map(\.id), "seed \(seed)")
      }
      try check(Plain.where { $0.int8 >= wanted.int8 }) { $0.int8 >= wanted.int8 }
      try check(Plain.where { $0.uint64 == wanted.uint64 }) { $0.uint64 == wanted.uint64 }
      try check(Plain.where { $0.float == wanted.float }) { $0.float == wanted.float }
      try check(Plain.where { $0.double < wanted.double }) { $0.double < wanted.double }
      try check(Plain.where { $0.date == wanted.date }) { $0.date == wanted.date }
      try check(Plain.where { $0.uuid == wanted.uuid }) { $0.uuid == wanted.uuid }
      try check(Plain.where { $0.text == wanted.text }) { $0.text == wanted.text }
      try check(Plain.where { $0.data == wanted.data }) { $0.data == wanted.data }
      try check(Plain.where { $0.url == wanted.url }) { $0.url == wanted.url }
      try check(Plain.where { $0.maybe == wanted.maybe }) { $0.maybe == wanted.maybe }
      // Without an index.
      try check(Plain.where { $0.int32 <= wanted.int32 }) { $0.int32 <= wanted.int32 }
      try check(Plain.where { $0.uint16 == wanted.uint16 }) { $0.uint16 == wanted.uint16 }
    }
  }

  @Test("Numbers go into properties of any width that holds them, and into no other")
  func widths() throws {
    try withScratchPath { path throws in
      try Store.using(path, Flat.self) { store throws in
        try store.saveAll([
          Flat(id: 1, int8: 1, uint64: 1, double: 1, date: .distantPast, text: "", maybe: nil)
        ])
      }
      let set = Migration("set") { tx throws in
        try tx.rewrite(Flat.self) { fields in
          #expect(fields["maybe"] == nil)
          #expect(fields["uint64"]?.int == 1)
          #expect(fields["double"]?.double == 1)
          #expect(fields.names == ["date", "double", "id", "int8", "text", "uint64"])
          fields["int8"] = -128
          fields["uint64"] = FieldValue(integer: UInt64.max)
          fields["double"] = 3
          fields["date"] = .date(Date(timeIntervalSinceReferenceDate: 1))
          fields["maybe"] = 7
        }
      }
      try Store.using(path, Flat.self, migrations: [set]) { store throws in
        #expect(
          try store.everything(Flat.self) == [
            Flat(
              id: 1, int8: -128, uint64: .max, double: 3,
              date: Date(timeIntervalSinceReferenceDate: 1), text: "", maybe: 7)
          ])
      }
      let wrong: [(String, FieldValue)] = [
        ("int8", 128), ("uint64", -1), ("text", 1), ("int8", "1"), ("int8", 1.5), ("text", .null),
        ("maybe", "x"), ("date", "2001-01-01"),
      ]
      for (name, value) in wrong {
        let migration = Migration("wrong") { tx throws in
          try tx.rewrite(Flat.self) { $0[name] = value }
        }
        let error = caught { try Store.using(path, Flat.self, migrations: [migration]) }
        #expect(error?.context.field == name, "\(name) \(value)")
        #expect((error?.underlying as? LarchError)?.code == .decodingFailed, "\(name) \(value)")
      }
    }
  }

  struct Defaulted: Record, Equatable {
    var id: Int
    var text: String
    var level: String
    static let collectionName = "Flat"
    static let schema = Schema<Defaulted> {
      Default(\.level, "low")
      Renamed(\.text, from: "oldText")
      Index(\.level)
    }
  }

  @Test("Defaults replace missing fields")
  func defaults() throws {
    try withScratchPath { path throws in
      try Store.using(path, Flat.self) { store throws in
        try store.saveAll(
          (1...2).map {
            Flat(id: $0, int8: 1, uint64: 1, double: 1, date: .distantPast, text: "t", maybe: nil)
          })
      }
      let migration = Migration("level") { tx throws in
        try tx.rewrite(Defaulted.self) { fields in
          if fields["id"] == 2 { fields["level"] = "high" }
        }
      }
      try Store.using(path, Defaulted.self, migrations: [migration]) { store throws in
        #expect(try store.everything(Defaulted.self).map(\.level) == ["low", "high"])
        #expect(try store.fetch(Defaulted.where { $0.level == "low" }).map(\.id) == [1])
        #expect(try store.faults == [])
      }
    }
  }

  @Test("What the writer of values makes, the reader of values reads")
  func values() throws {
    let value: [String: FieldValue] = [
      "null": .null, "bool": true, "int": -5, "big": .bigInt(Int128.min),
      "unsigned": FieldValue(integer: UInt64.max), "huge": .bigUInt(.max), "float": .float(1.5),
      "double": 2.5, "text": "é", "date": .date(.distantFuture), "uuid": .uuid(UUID()),
      "decimal": .decimal(Decimal(string: "-12.50")!), "data": .data(Data([0, 255])),
      "url": .url("a:b"), "list": [1, 2], "mixed": [1, "a", .null, [1.5]], "none": [],
      "record": ["a": ["b": 1], "c": .null], "empty": [:],
      "long": .string(String(repeating: "x", count: 100_000)),
    ]
    let shapes = ShapeTable()
    for bytes in [
      try FieldValueWriter.map(value), try FieldValueWriter.record(value, shapes: shapes),
    ] {
      #expect(try StoredFields(bytes, shapes: shapes).values == value)
    }
    var deep: FieldValue = 1
    for _ in 0..<200 { deep = [deep] }
    #expect(caught { _ = try FieldValueWriter.map(["deep": deep]) }?.code == .encodingFailed)
  }
}
