import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("An export is imported without a difference")
struct RoundTripTests {
  enum Mood: String, Codable, CaseIterable { case calm, glad }
  enum Shape: Codable, Hashable {
    case point
    case circle(radius: Double)
    case named(String, sides: Int)
  }
  struct Place: Codable, Hashable {
    var street: String
    var position: [Float]
    var floor: Int8?
  }

  struct Everything: Record, Equatable {
    var id = RecordID<Everything>()
    var flag: Bool
    var int: Int
    var small: Int8
    var unsigned: UInt64
    var double: Double
    var float: Float
    var text: String
    var date: Date
    var data: Data
    var uuid: UUID
    var url: URL
    var decimal: Decimal
    var mood: Mood
    var shape: Shape
    var place: Place
    var places: [Place]
    var tags: Set<String>
    var table: [String: Int?]
    var numbers: [Int: String]
    var when: [Date]
    var maybeDate: Date?
    var maybeText: String?
    var maybePlace: Place?
    var maybeNumber: Double?
    var wide: Int128
    var wideUnsigned: UInt128?
    var filled: String?
    var filledPlace: Place?
    var urls: [URL]
    var urlTable: [String: URL]
    var shapes: [Shape]
    var placeTable: [String: Place]
    var maybePlaces: [Place?]

    static let schema = Schema<Everything> {
      Default(\.filled, "filled")
      Default(\.filledPlace, Place(street: "filled", position: [], floor: nil))
      Index(\.int)
      Index(\.maybeText)
    }

    enum CodingKeys: String, CodingKey {
      case id = "_id"
      case flag, int, small, unsigned, double, float, text, date, data, uuid, url, decimal, mood
      case shape, place, places, tags, table, numbers, when
      case maybeDate = "maybe_date"
      case maybeText, maybePlace, maybeNumber, wide, wideUnsigned, filled, filledPlace, urls
      case urlTable = "url_table"
      case shapes, placeTable, maybePlaces
    }
  }

  private struct Maker {
    var generator: SeededGenerator

    mutating func double() -> Double {
      let special = [
        0, -0.0, .infinity, -.infinity, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 0.1,
        -1e300, 0x1p53, .pi,
      ]
      if Int.random(in: 0..<4, using: &generator) == 0 {
        return special.randomElement(using: &generator) ?? 0
      }
      while true {
        let value = Double(bitPattern: generator.next())
        if !value.isNaN { return value }
      }
    }

    mutating func float() -> Float {
      while true {
        let value = Float(bitPattern: UInt32(truncatingIfNeeded: generator.next()))
        if !value.isNaN { return value }
      }
    }

    mutating func text() -> String {
      let parts = [
        "a", "\"", "\\", "/", "\n", "\u{0}", "\u{1F}", "é", "e\u{301}", "😀", "\u{2028}", "日本",
        "\u{10FFFF}", "\u{FEFF}", "]", "},{",
      ]
      return (0..<Int.random(in: 0..<8, using: &generator))
        .map { _ in parts.randomElement(using: &generator) ?? "" }.joined()
    }

    mutating func date() -> Date {
      switch Int.random(in: 0..<3, using: &generator) {
      case 0: Date(timeIntervalSinceReferenceDate: Double.random(in: -1e9...1e9, using: &generator))
      case 1:
        Date(timeIntervalSince1970: Double(Int.random(in: 0..<2_000_000_000, using: &generator)))
      default: Date(timeIntervalSinceReferenceDate: double())
      }
    }

    mutating func place() -> Place {
      Place(
        street: text(),
        position: (0..<Int.random(in: 0..<3, using: &generator)).map { _ in float() },
        floor: Bool.random(using: &generator) ? Int8(truncatingIfNeeded: generator.next()) : nil)
    }

    mutating func url() -> URL {
      let base = URL(string: "https://example.org/a/")
      switch Int.random(in: 0..<4, using: &generator) {
      case 0: return URL(string: "b?c=1", relativeTo: base)!
      case 1: return URL(string: "../d", relativeTo: URL(string: "e/f", relativeTo: base))!
      case 2: return URL(string: "only/relative")!
      default: return URL(string: "https://example.org/a/b?c=\(generator.next())")!
      }
    }

    mutating func optional<T>(_ make: (inout Maker) -> T) -> T? {
      Bool.random(using: &generator) ? make(&self) : nil
    }

    mutating func everything() -> Everything {
      let bytes = (0..<Int.random(in: 0..<40, using: &generator))
        .map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      var decimal = Decimal(Int64(bitPattern: generator.next()))
      decimal /= [1, 1000, 1_000_000][Int.random(in: 0..<3, using: &generator)]
      let shapes: [Shape] = [
        .point, .circle(radius: double()), .named(text(), sides: Int.random(in: 0..<9)),
      ]
      let uuid = withUnsafeBytes(of: (generator.next(), generator.next())) {
        UUID(uuid: $0.loadUnaligned(as: uuid_t.self))
      }
      return Everything(
        flag: Bool.random(using: &generator), int: Int(bitPattern: UInt(generator.next())),
        small: Int8(truncatingIfNeeded: generator.next()), unsigned: generator.next(),
        double: double(), float: float(), text: text(), date: date(), data: Data(bytes),
        uuid: uuid, url: url(),
        decimal: decimal, mood: Mood.allCases.randomElement(using: &generator) ?? .calm,
        shape: shapes.randomElement(using: &generator) ?? .point, place: place(),
        places: (0..<Int.random(in: 0..<3, using: &generator)).map { _ in place() },
        tags: Set((0..<Int.random(in: 0..<4, using: &generator)).map { _ in text() }),
        table: ["1" + text(): 1, "2" + text(): nil], numbers: [Int.random(in: -9...9): text()],
        when: [date(), date()], maybeDate: optional { $0.date() },
        maybeText: optional { $0.text() },
        maybePlace: optional { $0.place() }, maybeNumber: optional { $0.double() },
        wide: Int128(truncatingIfNeeded: generator.next()) << 63 | 1,
        wideUnsigned: optional { UInt128($0.generator.next()) << 64 },
        filled: optional { $0.text() }, filledPlace: optional { $0.place() },
        urls: [url(), url()], urlTable: ["a_b": url()], shapes: shapes,
        placeTable: ["a_b": place(), text(): place()],
        maybePlaces: [place(), nil].shuffled(using: &generator))
    }
  }

  @Test("Random records of every kind of field", arguments: [JSONFormat.array, .lines])
  func everyKind(_ format: JSONFormat) throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("round trip, seed \(seed)")
    var maker = Maker(generator: SeededGenerator(seed: seed))
    try Store.scratch(Everything.self) { store throws in
      try store.write { tx throws in
        for _ in 0..<1000 {
          var record = maker.everything()
          try tx.insert(&record)
        }
        // Gaps in the ids stay.
        for id in 1...50 { try tx.delete(Everything.self, RecordID(Int64(id * 13))) }
      }
      let all = try store.everything(Everything.self)
      let before = try store.dump()
      let path = ScratchFile.freshPath()
      defer { unlink(path) }
      for isPretty in [false, true] {
        var options = ExportOptions()
        options.format = format
        options.isPretty = isPretty
        #expect(try store.exportJSON(Everything.self, to: .file(path), options: options) == 950)
        try Store.scratch(Everything.self) { other in
          let report = try other.importJSON(Everything.self, from: .file(path), batchSize: 77)
          #expect(report.inserted == 950 && report.elements == 950, "seed \(seed)")
          let back = try other.everything(Everything.self)
          for (a, b) in zip(all, back) {
            #expect(a == b, "seed \(seed)")
            #expect(a.double.bitPattern == b.double.bitPattern)
            #expect(
              a.date.timeIntervalSinceReferenceDate.bitPattern
                == b.date.timeIntervalSinceReferenceDate.bitPattern)
          }
          #expect(back.count == all.count)
          #expect(report.unknownKeyCount == 0)
          #expect(
            TextDifference.between(expected: before, actual: try other.dump(), lineLimit: 4) == nil,
            "seed \(seed)")
          // Once more adds nothing.
          let again = try other.importJSON(Everything.self, from: .file(path))
          #expect(again.inserted == 0 && again.elements == 950 && again.skipped == 0)
          #expect(try other.everything(Everything.self) == back)
        }
      }
    }
  }

  @Test("Names of other encoders are read by decoders of the same strategy")
  func strategies() throws {
    struct Visit: Record, Equatable {
      var id: Int
      var firstDay: Date
      var homePage: URL
      var placeTable: [String: Place]
    }
    var written = ExportOptions()
    written.makeEncoder = {
      let encoder = ExportOptions.defaultEncoder()
      encoder.keyEncodingStrategy = .convertToSnakeCase
      encoder.dateEncodingStrategy = .iso8601
      return encoder
    }
    var read = ImportOptions()
    read.makeDecoder = {
      let decoder = ImportOptions.defaultDecoder()
      decoder.keyDecodingStrategy = .convertFromSnakeCase
      return decoder
    }
    let base = URL(string: "https://example.org/a/")
    let visit = Visit(
      id: 1, firstDay: Date(timeIntervalSinceReferenceDate: 86_400),
      homePage: URL(string: "b", relativeTo: base)!,
      placeTable: ["theKey": Place(street: "a_b", position: [1], floor: nil)])
    try Store.scratch(Visit.self) { store throws in
      try store.insertAll([visit])
      let text = try store.json(of: Visit.all, options: written)
      #expect(
        String(decoding: text, as: UTF8.self) == """
          [
          {"first_day":"2001-01-02T00:00:00Z","home_page":{"base":"https://example.org/a/","relative":"b"},"id":1,"place_table":{"theKey":{"position":[1],"street":"a_b"}}}
          ]

          """)
      try store.erase(Visit.self)
      try store.importJSON(Visit.self, from: .data(text), options: read)
      #expect(try store.find(Visit.self, 1) == visit)
    }
  }

  @Test("A Decimal that is not a number is refused, since JSON has none")
  func decimalNaN() throws {
    struct Price: Record {
      var id: Int
      var amounts: [Decimal]
    }
    try Store.scratch(Price.self) { store throws in
      try store.insertAll([Price(id: 1, amounts: [1, .nan])])
      let error = caught { _ = try store.json(of: Price.all) }
      #expect(error?.code == .encodingFailed)
      let cause = String(describing: error?.underlying)
      #expect(cause.contains("not a number"))
    }
  }

  @Test("NaN is written and read")
  func notANumber() throws {
    struct Reading: Record {
      var id: Int
      var value: Double
      var small: Float
    }
    try Store.scratch(Reading.self) { store throws in
      try store.insertAll([Reading(id: 1, value: .nan, small: .nan)])
      let text = try store.json(of: Reading.all)
      #expect(
        String(decoding: text, as: UTF8.self) == """
          [
          {"id":1,"small":"NaN","value":"NaN"}
          ]

          """)
      try store.erase(Reading.self)
      try store.importJSON(Reading.self, from: .data(text))
      let back = try #require(try store.find(Reading.self, 1))
      #expect(back.value.isNaN && back.small.isNaN)
    }
  }

  @Test("An export of a query keeps its order, and of nothing is an empty array")
  func queries() throws {
    try Store.scratch(Guest.self) { store throws in
      #expect(try store.json(of: Guest.all) == Data("[]\n".utf8))
      var lines = ExportOptions()
      lines.format = .lines
      #expect(try store.json(of: Guest.all, options: lines).isEmpty)
      try store.insertAll((1...5).map { Guest(name: "n\($0)", age: 10 - $0) })
      let text = try store.json(
        of: Guest.where { $0.age > 6 }.sorted(by: \.age), options: lines)
      #expect(
        String(decoding: text, as: UTF8.self) == """
          {"age":7,"id":3,"name":"n3","role":"guest"}
          {"age":8,"id":2,"name":"n2","role":"guest"}
          {"age":9,"id":1,"name":"n1","role":"guest"}

          """)
    }
  }

  /// Cannot be written as JSON for some numbers.
  struct Odd: Record {
    var id: Int
    var text = String(repeating: "odd ", count: 20)
    var number: Double
  }

  @Test("An export that fails leaves the old file as it was, and no other file")
  func replacement() throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-export-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("guests.json")
    try Store.scratch(Guest.self, Odd.self) { store throws in
      try store.insertAll((1...5000).map { Guest(name: "name \($0)") })
      try store.insertAll((1...9000).map { Odd(id: $0, number: $0 == 9000 ? .nan : 1) })
      var strict = ExportOptions()
      strict.makeEncoder = { JSONEncoder() }
      try store.exportJSON(Guest.self, to: .file(file))
      let before = try Data(contentsOf: file)
      try store.write { tx throws in try tx.delete(Guest.self, 1) }
      var pieces = 0
      let error = caught {
        try store.exportJSON(Odd.self, to: .file(file), options: strict) { _ in pieces += 1 }
      }
      #expect(error?.code == .encodingFailed && error?.context.id == "9000")
      #expect(pieces > 0, "it stopped in the middle")
      #expect(try Data(contentsOf: file) == before)
      #expect(
        caught { try store.exportJSON(Guest.self, to: .file("/none/such/file")) }?.code
          == .fileNotFound)
      #expect(
        caught { try store.exportJSON(Guest.self, to: .file(folder)) }?.code == .unsuitableFile)
      try store.exportJSON(Guest.self, to: .file(file))
      #expect(try Data(contentsOf: file) != before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["guests.json"])
    }
  }
}
