import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Codes like the coder: memberwise if possible, otherwise through Codable.
final class MemberwiseHarness: MemberwiseReference {
  let shapes = ShapeTable()
  let coder: RecordCoder
  private let comparing = RecordCoder(shapes: ShapeTable(), writesMaps: true)
  var memberwiseWrites = 0
  var memberwiseReads = 0

  init() { coder = RecordCoder(shapes: shapes) }

  func codableBytes<Value: Encodable>(of value: Value) throws -> [UInt8] {
    [UInt8](try coder.encodeThroughCodable(value))
  }
  func comparableBytes<Value: Encodable>(of value: Value) throws -> [UInt8] {
    [UInt8](try comparing.encode(value))
  }
  func codableValue<Value: Decodable>(
    _ type: Value.Type, from record: UnsafeRawBufferPointer
  ) throws -> Value {
    try coder.decodeThroughCodable(type, from: record)
  }

  func encode<Value: MemberwiseCoded>(
    _ value: Value, _ codec: MemberwiseCodec
  ) throws -> [UInt8] {
    var output = RecordOutput(capacity: 16)
    defer { output.deallocate() }
    let isWritten = withUnsafePointer(to: value) {
      codec.encode(UnsafeRawPointer($0), to: &output)
    }
    if isWritten {
      memberwiseWrites += 1
      return [UInt8](output.bytes)
    }
    let bytes = try codableBytes(of: value)
    bytes.withUnsafeBytes { bytes in
      withUnsafePointer(to: value) { codec.learnWriting(UnsafeRawPointer($0), bytes, self) }
    }
    return bytes
  }

  func decodeMemberwise<Value: MemberwiseCoded>(
    _ type: Value.Type, _ record: UnsafeRawBufferPointer, _ codec: MemberwiseCodec
  ) -> Value? {
    withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { memory in
      codec.decode(record, into: memory.baseAddress!) ? memory.baseAddress!.move() : nil
    }
  }

  func decode<Value: MemberwiseCoded>(
    _ type: Value.Type, _ bytes: [UInt8], _ codec: MemberwiseCodec
  ) throws -> Value {
    try bytes.withUnsafeBytes { record in
      if let value = decodeMemberwise(type, record, codec) {
        memberwiseReads += 1
        return value
      }
      let value = try codableValue(type, from: record)
      withUnsafePointer(to: value) { codec.learnReading(UnsafeRawPointer($0), record, self) }
      return value
    }
  }
}

@Suite("Memberwise coding")
struct MemberwiseTests {
  static let types: [any RandomValue.Type] = [
    MemberPerson.self, MemberTiny.self, MemberWidths.self, MemberOptionals.self,
    MemberLists.self, MemberEnums.self, MemberAddress.self, MemberNested.self, MemberDeep.self,
    MemberRenamed.self, MemberBox<MemberEnums>.self, MemberBox<MemberBox<MemberTiny>>.self,
    MemberIDs.self, MemberTexts.self, MemberSingle.self,
    MemberFoundation.self, MemberOrder.self, MemberTable.self, MemberBoxes.self,
  ]

  @Test(
    "It writes the same bytes as Codable, and each reads the bytes of the other", arguments: types)
  func equality(type: any RandomValue.Type) throws {
    func run<Value: RandomValue>(_ type: Value.Type) throws {
      let seed: UInt64 = 0xC0DE
      var generator = SeededGenerator(seed: seed)
      let harness = MemberwiseHarness()
      let codec = try #require(
        MemberwiseCodec(type, shapes: harness.shapes),
        "\(MemberwisePlan.plan(for: type).reasonForFallback ?? "")")
      _ = try harness.encode(Value.full(&generator), codec)
      for round in 0..<300 {
        let value = Value.random(&generator)
        let bytes = try harness.encode(value, codec)
        #expect(try bytes == harness.codableBytes(of: value), "seed \(seed) round \(round)")
        let expected = try harness.comparableBytes(of: value)
        let read = try harness.decode(type, bytes, codec)
        #expect(try harness.comparableBytes(of: read) == expected, "seed \(seed) round \(round)")
      }
      #expect(harness.memberwiseWrites == 300)
      #expect(harness.memberwiseReads == 300)
    }
    try run(type)
  }

  @Test("It follows Codable when nil comes before the first value", arguments: types)
  func learning(type: any RandomValue.Type) throws {
    func run<Value: RandomValue>(_ type: Value.Type) throws {
      for seed in 1...10 as ClosedRange<UInt64> {
        var generator = SeededGenerator(seed: seed)
        let harness = MemberwiseHarness()
        let codec = try #require(MemberwiseCodec(type, shapes: harness.shapes))
        for round in 0..<100 {
          let value = Value.random(&generator)
          let bytes = try harness.encode(value, codec)
          let expected = try harness.comparableBytes(of: value)
          let codable = try bytes.withUnsafeBytes { try harness.codableValue(type, from: $0) }
          #expect(try harness.comparableBytes(of: codable) == expected, "\(seed) \(round)")
          let read = try harness.decode(type, bytes, codec)
          #expect(try harness.comparableBytes(of: read) == expected, "\(seed) \(round)")
        }
        #expect(harness.memberwiseWrites > 30)
      }
    }
    try run(type)
  }

  @Test("Damaged bytes are refused, or read as Codable reads them", arguments: types)
  func damaged(type: any RandomValue.Type) throws {
    func run<Value: RandomValue>(_ type: Value.Type) throws {
      let seed: UInt64 = 0xBAD
      var generator = SeededGenerator(seed: seed)
      let harness = MemberwiseHarness()
      let codec = try #require(MemberwiseCodec(type, shapes: harness.shapes))
      _ = try harness.encode(Value.full(&generator), codec)
      var accepted = 0
      for round in 0..<1000 {
        let good = try harness.encode(Value.random(&generator), codec)
        let bytes = Self.damage(good, &generator)
        try bytes.withUnsafeBytes { record in
          guard let ours = harness.decodeMemberwise(type, record, codec) else { return }
          accepted += 1
          let theirs = try harness.codableValue(type, from: record)
          #expect(
            try harness.comparableBytes(of: ours) == harness.comparableBytes(of: theirs),
            "seed \(seed) round \(round)")
        }
      }
      #expect(accepted > 0 && accepted < 1000)
    }
    try run(type)
  }

  static func damage(_ good: [UInt8], _ generator: inout SeededGenerator) -> [UInt8] {
    var bytes = good
    switch generator.next() % 8 {
    case 0: bytes.removeLast(Int(generator.next() % UInt64(bytes.count + 1)))
    case 1: bytes.append(UInt8(truncatingIfNeeded: generator.next()))
    case 2:
      for index in bytes.indices.dropFirst(2) {
        bytes[index] = UInt8(truncatingIfNeeded: generator.next())
      }
    default:
      for _ in 0...(generator.next() % 3) {
        // Mask, slots and small numbers sit at the front.
        let limit = generator.bool() ? bytes.count : min(bytes.count, 40)
        let index = Int(generator.next() % UInt64(limit))
        bytes[index] =
          generator.bool()
          ? bytes[index] ^ (1 << UInt8(generator.next() % 8))
          : UInt8(truncatingIfNeeded: generator.next())
      }
    }
    return bytes
  }

  @Test("Records too long for narrow offsets go through Codable")
  func wide() throws {
    let harness = MemberwiseHarness()
    let codec = try #require(MemberwiseCodec(MemberTiny.self, shapes: harness.shapes))
    for length in [10, 65_000, 65_510, 65_520, 200_000, 10] {
      let value = MemberTiny(
        key: 1, text: String(repeating: "x", count: length), number: 2, flag: true)
      let bytes = try harness.encode(value, codec)
      #expect(try bytes == harness.codableBytes(of: value))
      #expect(try harness.decode(MemberTiny.self, bytes, codec).text.count == length)
    }
    #expect(harness.memberwiseWrites == 3)
  }

  @Test("The coder uses it automatically, with the same results as Codable", arguments: types)
  func throughCoder(type: any RandomValue.Type) throws {
    func run<Value: RandomValue>(_ type: Value.Type) throws {
      var generator = SeededGenerator(seed: 77)
      let coder = RecordCoder(shapes: ShapeTable())
      let harness = MemberwiseHarness()
      for round in 0..<60 {
        let value = Value.random(&generator)
        let bytes = [UInt8](try coder.encode(value))
        #expect(try bytes.elementsEqual(coder.encodeThroughCodable(value)), "round \(round)")
        let read = try bytes.withUnsafeBytes { try coder.decode(type, from: $0) }
        #expect(
          try harness.comparableBytes(of: read) == harness.comparableBytes(of: value),
          "round \(round)")
      }
      #expect(coder.memberwise.codec(for: type)?.takeUnretainedValue().writtenShape != 0)
    }
    try run(type)
  }

  @Test("Records of an older shape are read with their defaults, names and conversions")
  func olderShapes() throws {
    let shapes = ShapeTable()
    let coder = RecordCoder(shapes: shapes)
    let old = [UInt8](try coder.encode(MemberOld(name: "ada", years: 36, gone: "x")))
    func read<Value: Decodable>(_ type: Value.Type, _ coder: RecordCoder) throws -> Value {
      try old.withUnsafeBytes { try coder.decode(type, from: $0) }
    }
    for _ in 0..<3 {
      let new = try read(MemberNew.self, coder)
      #expect(new.name == "ada" && new.years == 36 && new.nick == nil)
    }
    let declared = RecordCoder(shapes: shapes)
    try declared.setDefaults(for: MemberNew.self, ["nick": "none"])
    for _ in 0..<3 { #expect(try read(MemberNew.self, declared).nick == "none") }
    let renamed = RecordCoder(shapes: shapes)
    renamed.setAliases(for: MemberNew.self, ["nick": ["gone"]])
    for _ in 0..<3 { #expect(try read(MemberNew.self, renamed).nick == "x") }
  }

  @Test("A rollback that removes shapes is noticed")
  func rollback() throws {
    let shapes = ShapeTable()
    let coder = RecordCoder(shapes: shapes)
    let tiny = MemberTiny(key: 1, text: "t", number: 2, flag: true)
    for _ in 0..<3 { _ = try coder.encode(tiny) }
    shapes.truncate(to: 0)
    for _ in 0..<3 { _ = try coder.encode(MemberSingle(only: "s")) }
    for _ in 0..<3 {
      let bytes = [UInt8](try coder.encode(tiny))
      #expect(bytes[0] == 2)
      #expect(try bytes.withUnsafeBytes { try coder.decode(MemberTiny.self, from: $0) }.text == "t")
    }
  }

  struct Fallback: Sendable {
    let type: any (MemberwiseCoded & SendableMetatype).Type
    let reason: String
  }

  @Test(
    "A type that it cannot code goes through Codable, and the reason is known",
    arguments: [
      Fallback(type: MemberClass.self, reason: "not a struct"),
      Fallback(type: MemberEnum.self, reason: "not a struct"),
      Fallback(type: MemberConstant.self, reason: "version is written but not read back"),
      Fallback(type: MemberOmitting.self, reason: "cache is not in its CodingKeys"),
      Fallback(type: MemberWrapped.self, reason: "_text is not in its CodingKeys"),
      Fallback(type: MemberDoubleOptional.self, reason: "an optional of an optional"),
      Fallback(type: MemberEmpty.self, reason: "no stored properties"),
      Fallback(type: MemberTwoKeys.self, reason: "does more than decode each key once"),
    ])
  func fallback(_ row: Fallback) {
    let reason = MemberwisePlan.plan(for: row.type).reasonForFallback
    #expect(reason?.contains(row.reason) == true, "\(reason ?? "memberwise")")
    #expect(MemberwiseCodec(row.type, shapes: ShapeTable()) == nil)
  }

  @Test("Fields without memory are coded through Codable, with all fields beside them")
  func fieldsWithoutMemory() throws {
    let coder = RecordCoder(shapes: ShapeTable())
    for number in 0..<20 {
      let part = MemberHollowPart(code: number, note: number % 2 == 0 ? nil : "note \(number)")
      let value = MemberHollow(
        small: Int8(number), number: -number, part: part, other: number % 3 == 0 ? nil : part,
        name: "name \(number)")
      let bytes = [UInt8](try coder.encode(value))
      #expect(try bytes.elementsEqual(coder.encodeThroughCodable(value)))
      #expect(try bytes.withUnsafeBytes { try coder.decode(MemberHollow.self, from: $0) } == value)
    }
  }

  @Test("Types that did not opt in use Codable")
  func noOptIn() {
    #expect(MemberwiseCodec(NamingSamples.Doc.self, shapes: ShapeTable()) == nil)
  }
}

@Suite("Memberwise coding: broken promises")
struct MemberwisePromiseTests {
  /// Runs as a release build does: without the trap.
  private func quietly(_ body: () throws -> Void) rethrows {
    #if DEBUG
      try MemberwisePlan.$trapsWhenRefuted.withValue(false, operation: body)
    #else
      try body()
    #endif
  }

  @Test("A type whose Codable changes a value is detected at its first record")
  func falseWriter() throws {
    try quietly {
      let harness = MemberwiseHarness()
      let codec = try #require(MemberwiseCodec(MemberFalseWriter.self, shapes: harness.shapes))
      for celsius in [0, 20, -273] as [Double] {
        let bytes = try harness.encode(MemberFalseWriter(celsius: celsius, name: "x"), codec)
        #expect(try harness.decode(MemberFalseWriter.self, bytes, codec).celsius == celsius)
      }
      #expect(harness.memberwiseWrites == 0)
      let reason = MemberwisePlan.plan(for: MemberFalseWriter.self).reasonForFallback
      #expect(reason?.contains("should not be MemberwiseCoded") == true)
    }
  }

  @Test("A type whose init(from:) changes a value is detected at its first record")
  func falseReader() throws {
    try quietly {
      let harness = MemberwiseHarness()
      let codec = try #require(MemberwiseCodec(MemberFalseReader.self, shapes: harness.shapes))
      let bytes = try harness.codableBytes(of: MemberFalseReader(name: "ada"))
      for _ in 0..<3 {
        #expect(try harness.decode(MemberFalseReader.self, bytes, codec).name == "ADA")
      }
      #expect(harness.memberwiseReads == 0)
    }
  }

  #if DEBUG
    @Test("In debug builds a broken promise stops the program")
    func trap() async {
      await #expect(processExitsWith: .failure) {
        let harness = MemberwiseHarness()
        let codec = MemberwiseCodec(MemberFalseWriter.self, shapes: harness.shapes)!
        _ = try harness.encode(MemberFalseWriter(celsius: 1, name: "x"), codec)
      }
    }
  #endif
}

@Suite("Small strings")
struct SmallStringTests {
  @Test("The direct form equals that of the standard library, for every length and script")
  func directForm() {
    #expect(SmallString.isTrusted)
    for text in [
      "", "a", "é", "ab", "漢字", "1234567", "12345678", "123456789012345", "1234567890123456",
      "\u{7F}",
    ] {
      let bytes = Array(text.utf8)
      bytes.withUnsafeBytes { utf8 in
        guard let start = utf8.baseAddress else { return }
        if let words = SmallString.words(start, utf8.count) {
          #expect(unsafeBitCast(words, to: String.self) == text)
          #expect(text.utf8.count <= 15 && bytes.allSatisfy { $0 < 0x80 })
        } else {
          #expect(text.utf8.count > 15 || !bytes.allSatisfy { $0 < 0x80 })
        }
        #expect(SmallString.text(utf8) == text)
      }
    }
  }

  @Test(
    "Bytes that are not UTF-8 give no string",
    arguments: [
      [0xFF], [0xC3], [0xED, 0xA0, 0x80], [0x61, 0x80], [0xF4, 0x90, 0x80, 0x80],
      [UInt8](repeating: 0x61, count: 30) + [0xE9], [0xC0, 0x80],
    ] as [[UInt8]])
  func invalid(bytes: [UInt8]) {
    #expect(bytes.withUnsafeBytes { SmallString.text($0) } == nil)
  }
}
