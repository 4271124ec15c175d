import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// An enum with a coding that is more than its raw value.
enum MemberSwitch: String, Codable, CaseIterable, CustomCoded {
  case on, off

  static let decoded = Locked(0)

  init(from decoder: any Decoder) throws {
    Self.decoded.withLock { $0 += 1 }
    let text = try decoder.singleValueContainer().decode(String.self)
    self = MemberSwitch(rawValue: text) ?? .off
  }
}

/// A record with fields of all types that have no memberwise form.
struct MemberMixed: RandomValue {
  enum Figure: Codable, Equatable {
    case circle(radius: Double)
    case box(Int, Int)
    case nothing
  }
  enum Plain: Codable, CaseIterable { case one, two, three }
  /// Stored as one number, half as large.
  struct Doubled: Codable, Equatable {
    var value: Double
    init(value: Double) { self.value = value }
    init(from decoder: any Decoder) throws {
      value = 2 * (try decoder.singleValueContainer().decode(Double.self))
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(value / 2)
    }
  }
  struct Inner: MemberwiseCoded {
    var name: String
    var marks: Set<Int>
  }

  var id: UUID
  var name: String
  var tags: Set<String>
  var byNumber: [Int: String]
  var byID: [UUID: Int]
  var figure: Figure
  var other: Figure?
  var holes: [Int?]
  var large: Int128
  var larger: UInt128?
  var width: CGFloat
  var plain: Plain
  var maybe: Plain?
  var price: Doubled
  var prices: [Doubled]
  var range: ClosedRange<Int>
  var parts: DateComponents
  var locale: Locale?
  var inner: Inner
  var inners: [Inner]
  var note: String?
  var last: Int

  static func random(_ generator: inout SeededGenerator) -> MemberMixed {
    func figure(_ generator: inout SeededGenerator) -> Figure {
      switch generator.next() % 3 {
      case 0: .circle(radius: Double(generator.next() % 100))
      case 1: .box(generator.integer(), generator.integer())
      default: .nothing
      }
    }
    func inner(_ generator: inout SeededGenerator) -> Inner {
      Inner(name: generator.text(), marks: Set(generator.list { Int($0.next() % 50) }))
    }
    return MemberMixed(
      id: generator.uuid(), name: generator.text(), tags: Set(generator.list { $0.text() }),
      byNumber: Dictionary(generator.list { ($0.integer(), $0.text()) }) { $1 },
      byID: Dictionary(generator.list { ($0.uuid(), $0.integer()) }) { $1 },
      figure: figure(&generator), other: generator.maybe(figure),
      holes: generator.list { $0.maybe { $0.integer() } }, large: generator.integer(),
      larger: generator.maybe { $0.integer() }, width: CGFloat(generator.next() % 1000) / 8,
      plain: Plain.allCases[Int(generator.next() % 3)],
      maybe: generator.maybe { Plain.allCases[Int($0.next() % 3)] },
      price: Doubled(value: Double(generator.next() % 10_000)),
      prices: generator.list { Doubled(value: Double($0.next() % 10_000)) },
      range: 0...Int(generator.next() % 100),
      parts: DateComponents(year: 2000 + Int(generator.next() % 50), month: 3),
      locale: generator.maybe { _ in Locale(identifier: "nb") }, inner: inner(&generator),
      inners: generator.list(inner), note: generator.maybe { $0.text() },
      last: generator.integer())
  }
}

extension MemberMixed: Equatable {}
extension MemberMixed.Inner: Equatable {}

/// Reads a whole record of its owner while it is read itself.
struct MemberCurious: MemberwiseCoded, Equatable {
  struct Peek: Codable, Equatable {
    var seen: String
    init(seen: String) { self.seen = seen }
    init(from decoder: any Decoder) throws {
      _ = try decoder.singleValueContainer().decode(String.self)
      seen = try Self.outer?() ?? "nothing"
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(seen)
    }
    @TaskLocal static var outer: (@Sendable () throws -> String)?
  }

  var name: String
  var peek: Peek
  var number: Int
  var text: String
}

/// Breaks its promise, beside a field that has no memberwise form.
struct MemberClamping: MemberwiseCoded {
  var number: Int
  var tags: Set<String>
  private enum CodingKeys: String, CodingKey { case number, tags }
  init(number: Int, tags: Set<String>) { (self.number, self.tags) = (number, tags) }
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    number = max(0, try container.decode(Int.self, forKey: .number))
    tags = try container.decode(Set<String>.self, forKey: .tags)
  }
}

@Suite("Memberwise reading: fields that have no memberwise form")
struct PartlyCodedTests {
  private func codec(
    _ type: any (MemberwiseCoded & SendableMetatype).Type, _ harness: MemberwiseHarness
  ) throws -> MemberwiseCodec {
    #expect(MemberwisePlan.plan(for: type).reasonForFallback == nil)
    return try #require(
      MemberwiseCodec(type, shapes: harness.shapes, terms: .init(coder: harness.coder)))
  }

  @Test("They are read through their own coding, and the others from memory", arguments: 1...4)
  func equality(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let harness = MemberwiseHarness()
    let codec = try codec(MemberMixed.self, harness)
    var read = 0
    for round in 0..<200 {
      let value = MemberMixed.random(&generator)
      let bytes = try harness.encode(value, codec)
      #expect(try harness.decode(MemberMixed.self, bytes, codec) == value, "round \(round)")
      if round == 99 { read = harness.memberwiseReads }
    }
    // A record with another nested shape is read through Codable once.
    #expect(harness.memberwiseReads - read > 90)
    #expect(harness.memberwiseWrites == 0)
  }

  private struct Lamp: MemberwiseCoded, Equatable {
    var number: Int
    var state: MemberSwitch
  }

  @Test("An enum that is CustomCoded is always read through its own coding")
  func customEnum() throws {
    let coder = RecordCoder(shapes: ShapeTable())
    let bytes = [UInt8](try coder.encode(Lamp(number: 7, state: .on)))
    MemberSwitch.decoded.withLock { $0 = 0 }
    for _ in 0..<200 {
      let lamp = try bytes.withUnsafeBytes { try coder.decode(Lamp.self, from: $0) }
      #expect(lamp == Lamp(number: 7, state: .on))
    }
    #expect(MemberSwitch.decoded.withLock { $0 } >= 200)
  }

  @Test("Damaged bytes are refused, or read as Codable reads them")
  func damaged() throws {
    var generator = SeededGenerator(seed: 5)
    let harness = MemberwiseHarness()
    let codec = try codec(MemberMixed.self, harness)
    var (accepted, refused) = (0, 0)
    for _ in 0..<20 {
      let bytes = try harness.encode(MemberMixed.random(&generator), codec)
      _ = try harness.decode(MemberMixed.self, bytes, codec)
    }
    for round in 0..<2000 {
      let good = try harness.codableBytes(of: MemberMixed.random(&generator))
      let bytes = MemberwiseTests.damage(good, &generator)
      try bytes.withUnsafeBytes { record in
        guard let ours = harness.decodeMemberwise(MemberMixed.self, record, codec) else {
          refused += 1
          return
        }
        accepted += 1
        let theirs = try harness.codableValue(MemberMixed.self, from: record)
        // A number that is none equals nothing.
        if ours.width.isNaN { return }
        #expect(ours == theirs || "\(ours)".contains("nan"), "round \(round)")
      }
    }
    #expect(accepted > 0 && refused > 0)
  }

  @Test("The coder gives the values and the errors of Codable")
  func throughCoder() throws {
    var generator = SeededGenerator(seed: 6)
    let coder = RecordCoder(shapes: ShapeTable())
    for round in 0..<100 {
      let value = MemberMixed.random(&generator)
      let bytes = [UInt8](try coder.encode(value))
      #expect(
        try bytes.withUnsafeBytes { try coder.decode(MemberMixed.self, from: $0) } == value,
        "round \(round)")
      let broken = MemberwiseTests.damage(bytes, &generator)
      broken.withUnsafeBytes { record in
        let ours = Result { try coder.decode(MemberMixed.self, from: record) }
        let theirs = Result { try coder.decodeThroughCodable(MemberMixed.self, from: record) }
        switch (ours, theirs) {
        case (.success, .success): break
        case (.failure(let ours), .failure(let theirs)):
          #expect("\(ours)" == "\(theirs)", "round \(round)")
        default: Issue.record("round \(round): \(ours) and \(theirs)")
        }
      }
    }
  }

  @Test("A field may read a record of the same type while it is read")
  func inside() throws {
    let coder = RecordCoder(shapes: ShapeTable())
    func bytes(_ name: String, _ number: Int) throws -> [UInt8] {
      let value = MemberCurious(
        name: name, peek: .init(seen: "?"), number: number, text: "a longer text than fits \(name)")
      return [UInt8](try coder.encode(value))
    }
    let (first, second) = (try bytes("first", 1), try bytes("second", 2))
    func read(_ bytes: [UInt8]) throws -> MemberCurious {
      try bytes.withUnsafeBytes { try coder.decode(MemberCurious.self, from: $0) }
    }
    for _ in 0..<100 { #expect(try read(first).peek.seen == "nothing") }
    nonisolated(unsafe) let unsafeCoder = coder
    for _ in 0..<100 {
      let value = try MemberCurious.Peek.$outer.withValue({
        try MemberCurious.Peek.$outer.withValue(nil) {
          let other = try second.withUnsafeBytes {
            try unsafeCoder.decode(MemberCurious.self, from: $0)
          }
          return "\(other.name) \(other.number) \(other.text)"
        }
      }) { try read(first) }
      #expect(value.name == "first" && value.number == 1)
      #expect(value.text == "a longer text than fits first")
      #expect(value.peek.seen == "second 2 a longer text than fits second")
    }
  }

  @Test("A type may be in lists of itself")
  func recursive() throws {
    let harness = MemberwiseHarness()
    let codec = try codec(MemberTree.self, harness)
    for number in 0..<50 {
      let leaf = MemberTree(name: "leaf \(number)", children: [])
      let tree = MemberTree(
        name: "root", children: [leaf, MemberTree(name: "branch", children: [leaf, leaf])])
      let bytes = try harness.encode(tree, codec)
      #expect(try harness.decode(MemberTree.self, bytes, codec) == tree)
    }
    #expect(harness.memberwiseReads > 40)
  }

  @Test("Missing fields get their defaults and older names")
  func missing() throws {
    struct Old: MemberwiseCoded {
      static let name = "same"
      var title: String
      var tags: Set<String>
    }
    struct New: MemberwiseCoded {
      var title: String
      var tags: Set<String>
      var more: Set<Int>?
      var count: Int
    }
    let shapes = ShapeTable()
    let writer = RecordCoder(shapes: shapes)
    let bytes = [UInt8](try writer.encode(Old(title: "t", tags: ["a", "b"])))
    let reader = RecordCoder(shapes: shapes)
    try reader.setDefaults(for: New.self, ["count": 7, "more": Set([1, 2])])
    for _ in 0..<80 {
      let new = try bytes.withUnsafeBytes { try reader.decode(New.self, from: $0) }
      #expect(new.title == "t" && new.tags == ["a", "b"] && new.count == 7 && new.more == [1, 2])
    }
  }

  @Test("A broken promise is found by the sample of a debug build")
  func promise() throws {
    let coder = RecordCoder(shapes: ShapeTable())
    func read(_ number: Int) throws -> Int {
      let value = MemberClamping(number: number, tags: ["a", "b", "c"])
      let bytes = [UInt8](try coder.encode(value))
      return try bytes.withUnsafeBytes { try coder.decode(MemberClamping.self, from: $0) }.number
    }
    for number in 0..<50 { #expect(try read(number) == number) }
    #if DEBUG
      #expect(try read(-5) == 0)
      let reason = MemberwisePlan.plan(for: MemberClamping.self).reasonForFallback
      #expect(reason?.contains("should not be MemberwiseCoded") == true)
    #endif
  }
}
