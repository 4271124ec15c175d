import Foundation
import LarchTestSupport

@testable import Larch

// The types that MemberwiseTests codes, each with random values.

protocol RandomValue: MemberwiseCoded, SendableMetatype {
  static func random(_ generator: inout SeededGenerator) -> Self
  /// A value without nil, so that one record has all fields.
  static func full(_ generator: inout SeededGenerator) -> Self
}

extension RandomValue {
  static func full(_ generator: inout SeededGenerator) -> Self { random(&generator) }
}

extension SeededGenerator {
  mutating func integer<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number {
    switch next() % 6 {
    case 0: 0
    case 1: .max
    case 2: .min
    default: Number(truncatingIfNeeded: next())
    }
  }

  mutating func double() -> Double {
    switch next() % 8 {
    case 0: -0.0
    case 1: .infinity
    case 2: .nan
    default: Double(bitPattern: next())
    }
  }

  mutating func text() -> String {
    let length = Int(next() % 40)
    let alphabet: [Character] =
      next() % 3 == 0 ? Array("aé漢😀e\u{301}\0") : Array("abcdefghijklmnopqrstuvwxyz ")
    return String((0..<length).map { _ in alphabet[Int(next() % UInt64(alphabet.count))] })
  }

  mutating func bool() -> Bool { next() & 1 == 0 }

  mutating func date() -> Date { Date(timeIntervalSinceReferenceDate: double()) }

  mutating func uuid() -> UUID {
    var bytes: uuid_t = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &bytes) { buffer in
      for index in buffer.indices { buffer[index] = UInt8(truncatingIfNeeded: next()) }
    }
    return UUID(uuid: bytes)
  }

  mutating func maybe<Value>(_ make: (inout SeededGenerator) -> Value) -> Value? {
    next() % 3 == 0 ? nil : make(&self)
  }

  mutating func list<Value>(_ make: (inout SeededGenerator) -> Value) -> [Value] {
    let count = next() % 5 == 0 ? 200 : Int(next() % 5)
    return (0..<count).map { _ in make(&self) }
  }

  mutating func data() -> Data {
    Data((0..<Int(next() % 50)).map { _ in UInt8(truncatingIfNeeded: next()) })
  }
}

struct MemberPerson: RandomValue {
  var id: Int64
  var name: String
  var email: String
  var age: Int
  var score: Double
  var active: Bool
  var createdAt: Date
  var city: String
  var companyID: Int64

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(
      id: g.integer(), name: g.text(), email: g.text(), age: g.integer(), score: g.double(),
      active: g.bool(), createdAt: g.date(), city: g.text(), companyID: g.integer())
  }
}

struct MemberTiny: RandomValue {
  let key: Int64
  private(set) var text: String
  var number: Int
  var flag: Bool

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(key: g.integer(), text: g.text(), number: g.integer(), flag: g.bool())
  }
}

struct MemberWidths: RandomValue {
  var a: Int8
  var b: UInt8
  var c: Int16
  var d: Bool
  var e: UInt16
  var f: Int32
  var g: UInt32
  var h: Float
  var i: UUID
  var j: UInt64
  var k: UInt
  var l: Date
  var m: Int8

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(
      a: g.integer(), b: g.integer(), c: g.integer(), d: g.bool(), e: g.integer(), f: g.integer(),
      g: g.integer(), h: Float(bitPattern: g.integer()), i: g.uuid(), j: g.integer(),
      k: g.integer(), l: g.date(), m: g.integer())
  }
}

struct MemberOptionals: RandomValue {
  var a: Int8?
  var b: UInt16?
  var c: Int32?
  var d: Int?
  var e: Double?
  var f: Float?
  var g: Bool?
  var h: String?
  var i: Date?
  var j: UUID?
  var k: Data?
  var l: [String]?
  var m: UInt64?
  var n: String?

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(
      a: g.maybe { $0.integer() }, b: g.maybe { $0.integer() }, c: g.maybe { $0.integer() },
      d: g.maybe { $0.integer() }, e: g.maybe { $0.double() },
      f: g.maybe { Float(bitPattern: $0.integer()) }, g: g.maybe { $0.bool() },
      h: g.maybe { $0.text() }, i: g.maybe { $0.date() }, j: g.maybe { $0.uuid() },
      k: g.maybe { $0.data() }, l: g.maybe { $0.list { $0.text() } },
      m: g.maybe { $0.integer() }, n: g.maybe { $0.text() })
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(
      a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: true, h: "h", i: g.date(), j: g.uuid(), k: g.data(),
      l: ["l"], m: 7, n: "n")
  }
}

struct MemberLists: RandomValue {
  var texts: [String]
  var numbers: [Int]
  var doubles: [Double]
  var bytes: [UInt8]
  var shorts: [Int16]
  var blob: Data
  var floats: [Float]?

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(
      texts: g.list { $0.text() }, numbers: g.list { $0.integer() },
      doubles: g.list { $0.double() }, bytes: g.list { $0.integer() },
      shorts: g.list { $0.integer() }, blob: g.data(),
      floats: g.maybe { $0.list { Float(bitPattern: $0.integer()) } })
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(
      texts: ["a"], numbers: [1], doubles: [2], bytes: [3], shorts: [4], blob: g.data(), floats: [5]
    )
  }
}

enum MemberColor: String, Codable, CaseIterable { case red, green, blue = "the blue one" }
enum MemberRank: Int, Codable, CaseIterable { case first = 1, second = 2, last = -1 }
enum MemberTinyRank: UInt8, Codable, CaseIterable { case one = 1, two = 200 }
/// Reads unknown values as a default, which memberwise coding must leave to the type.
enum MemberLenient: String, Codable, CaseIterable {
  case known, other
  init(from decoder: any Decoder) throws {
    let text = try decoder.singleValueContainer().decode(String.self)
    self = Self(rawValue: text) ?? .other
  }
}

struct MemberEnums: RandomValue {
  var color: MemberColor
  var rank: MemberRank
  var tiny: MemberTinyRank
  var maybeColor: MemberColor?
  var maybeRank: MemberRank?
  var maybeTiny: MemberTinyRank?
  var lenient: MemberLenient

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(
      color: MemberColor.allCases.randomElement(using: &g)!,
      rank: MemberRank.allCases.randomElement(using: &g)!,
      tiny: MemberTinyRank.allCases.randomElement(using: &g)!,
      maybeColor: g.maybe { MemberColor.allCases.randomElement(using: &$0)! },
      maybeRank: g.maybe { MemberRank.allCases.randomElement(using: &$0)! },
      maybeTiny: g.maybe { MemberTinyRank.allCases.randomElement(using: &$0)! },
      lenient: MemberLenient.allCases.randomElement(using: &g)!)
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(
      color: .red, rank: .last, tiny: .two, maybeColor: .blue, maybeRank: .first, maybeTiny: .one,
      lenient: .known)
  }
}

struct MemberAddress: RandomValue {
  var street: String
  var number: Int16
  var extra: String?

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(street: g.text(), number: g.integer(), extra: g.maybe { $0.text() })
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(street: g.text(), number: 1, extra: "extra")
  }
}

struct MemberNested: RandomValue {
  var id: Int
  var home: MemberAddress
  var work: MemberAddress?
  var widths: MemberWidths?
  var after: String

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(
      id: g.integer(), home: .random(&g), work: g.maybe { .random(&$0) },
      widths: g.maybe { .random(&$0) }, after: g.text())
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(id: 1, home: .full(&g), work: .full(&g), widths: .full(&g), after: "a")
  }
}

struct MemberDeep: RandomValue {
  struct Outer: MemberwiseCoded {
    var middle: Middle
    var name: String
  }
  struct Middle: MemberwiseCoded {
    var inner: Inner?
    var flag: Bool
  }
  struct Inner: MemberwiseCoded { var texts: [String] }
  var outer: Outer
  var tail: Int8

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(
      outer: Outer(
        middle: Middle(inner: g.maybe { Inner(texts: $0.list { $0.text() }) }, flag: g.bool()),
        name: g.text()), tail: g.integer())
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(
      outer: Outer(middle: Middle(inner: Inner(texts: ["x"]), flag: true), name: "n"), tail: 1)
  }
}

/// The keys are in another order than the properties, and two have other names.
struct MemberRenamed: RandomValue {
  var first: String
  var second: Int
  var third: String
  var fourth: Bool
  enum CodingKeys: String, CodingKey {
    case fourth
    case third = "3"
    case first = "second_name"
    case second
  }

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(first: g.text(), second: g.integer(), third: g.text(), fourth: g.bool())
  }
}

struct MemberBox<Content: RandomValue>: RandomValue {
  var content: Content
  var spare: Content?
  var note: String

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(content: .random(&g), spare: g.maybe { .random(&$0) }, note: g.text())
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(content: .full(&g), spare: .full(&g), note: "")
  }
}

struct MemberID<Owner>: SingleFieldCoded, Hashable {
  var number: Int64
  init(_ number: Int64) { self.number = number }
  init(from decoder: any Decoder) throws {
    number = try decoder.singleValueContainer().decode(Int64.self)
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(number)
  }
}

struct MemberIDs: RandomValue {
  var id: MemberID<MemberIDs>
  var parent: MemberID<MemberIDs>?
  var name: String

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(id: MemberID(g.integer()), parent: g.maybe { MemberID($0.integer()) }, name: g.text())
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(id: MemberID(1), parent: MemberID(2), name: "n")
  }
}

/// More fields than one mask byte, and only strings.
struct MemberTexts: RandomValue {
  var a: String
  var b: String
  var c: String?
  var d: String
  var e: String?
  var f: String
  var g: String
  var h: String
  var i: String?
  var j: String
  var k: String

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(
      a: g.text(), b: g.text(), c: g.maybe { $0.text() }, d: g.text(), e: g.maybe { $0.text() },
      f: g.text(), g: g.text(), h: g.text(), i: g.maybe { $0.text() }, j: g.text(), k: g.text())
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(
      a: "", b: "", c: "c", d: "", e: "e", f: "", g: "", h: "", i: "i", j: "j", k: "k")
  }
}

struct MemberSingle: RandomValue {
  var only: String
  static func random(_ g: inout SeededGenerator) -> Self { Self(only: g.text()) }
}

struct MemberFoundation: RandomValue {
  var price: Decimal
  var page: URL
  var maybePrice: Decimal?
  var maybePage: URL?
  var name: String

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(
      price: decimal(&g), page: url(&g), maybePrice: g.maybe { decimal(&$0) },
      maybePage: g.maybe { url(&$0) }, name: g.text())
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(price: 1.5, page: url(&g), maybePrice: 2, maybePage: url(&g), name: "n")
  }

  private static func decimal(_ g: inout SeededGenerator) -> Decimal {
    Decimal(
      sign: g.bool() ? .plus : .minus, exponent: Int(g.next() % 40) - 20,
      significand: Decimal(g.next() % 1_000_000_007))
  }

  private static func url(_ g: inout SeededGenerator) -> URL {
    URL(string: "https://larch.example/\(g.next() % 1000)?q=\(g.next() % 10)")!
  }
}

struct MemberOld: MemberwiseCoded {
  var name: String
  var years: Int32
  var gone: String
}

struct MemberNew: MemberwiseCoded {
  var name: String
  var nick: String?
  var years: Int32
}
