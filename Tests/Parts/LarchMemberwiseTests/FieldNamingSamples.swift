import Foundation

/// The declarations for FieldNamingTests.
enum NamingSamples {

  enum Level: String, Codable { case low, mid, high }

  struct Point: Codable { var x: Int16, y: Int16 }

  struct Address: Codable {
    var street: String
    private(set) var city: String
    var nickname: String?
    var point: Point
    var computedCity: String { city }
  }

  struct Doc: Codable {
    var title: String
    let identifier: Int
    private(set) var hits: Int
    var note: String?
    var level: Level
    var flag: Bool
    var otherFlag: Bool?
    var small: UInt8?
    var tags: [String]
    var counts: [String: Int]
    var kind: Level?
    var address: Address
    var other: Address?
    var created: Date
    var uuid: UUID
    var price: Decimal
    var tail: Int8

    var shout: String { title.uppercased() }
    var titleAgain: String {
      get { title }
      set { title = newValue }
    }
    static let fixed = 1
  }

  struct Renamed: Codable {
    var surname: String
    var place: Address
    var swapped: Int
    var other: Int
    enum CodingKeys: String, CodingKey {
      case surname = "last_name"
      case place = "where"
      case swapped = "other"
      case other = "swapped"
    }
  }

  struct Generic<Value: Codable>: Codable {
    var value: Value
    var after: Int
  }

  struct Single: Codable { var only: Double }

  struct Partly: Codable {
    var omitted = 1
    var kept: Int
    enum CodingKeys: CodingKey { case kept }
  }

  @propertyWrapper struct Trimmed: Codable {
    private var text: String
    var wrappedValue: String {
      get { text }
      set { text = newValue.trimmingCharacters(in: .whitespaces) }
    }
    init(wrappedValue: String) { text = wrappedValue }
  }

  struct Wrapping: Codable {
    var plain: String
    @Trimmed var wrapped: String
  }

  struct Observed: Codable {
    var observed: Int { didSet { plain += 1 } }
    var plain: Int
  }

  struct Lazy: Codable {
    var plain: Int
    lazy var late: Int = plain * 2
    enum CodingKeys: CodingKey { case plain }
  }

  struct Tuples: Codable {
    var pair = (1, 2)
    var kept: Int
    enum CodingKeys: CodingKey { case kept }
  }

  struct Nothing: Codable {}

  struct Empties: Codable {
    var first: Nothing
    var second: Nothing
    var number: Int
  }

  enum Lone: String, Codable { case only }

  /// Fields without memory stand between others, where the runtime gives all of them the offset 0.
  struct Hollow: Codable {
    var lone: Lone
    var first: HollowPart?
    var nothing: Nothing
    var part: HollowPart
    var small: Int8
    var second: Lone
    var number: Int
    var last: Nothing
  }

  struct HollowPart: Codable {
    var lone: Lone
    var code: Int
    var nothing: Nothing
    var note: String?
  }

  /// An optional chain to either shows only the type of the other.
  struct HollowMaybe: Codable {
    var maybe: Lone?
    var lone: Lone
  }

  struct HollowOuter: Codable {
    var number: Int
    var inside: HollowMaybe?
  }

  final class HollowClass: Codable {
    let lone: Lone
    let name: String
    let nothing: Nothing
    let part: HollowPart
    init(name: String, part: HollowPart) {
      (lone, self.name, nothing, self.part) = (.only, name, Nothing(), part)
    }
  }

  /// Its keys are named as properties are, its coding is written by hand.
  struct Custom: Codable {
    var title: String
    enum CodingKeys: String, CodingKey { case title = "headline" }
    init(from decoder: any Decoder) throws {
      title = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .title)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(title, forKey: .title)
    }
  }

  final class FinalClass: Codable {
    let name: String
    var address: Address
    init(name: String, address: Address) { (self.name, self.address) = (name, address) }
  }

  class OpenClass: Codable {
    var name: String
    init(name: String) { self.name = name }
  }

  final class Subclass: OpenClass {
    let extra: Int
    init(extra: Int) {
      self.extra = extra
      super.init(name: "")
    }
    enum CodingKeys: CodingKey { case extra }
    required init(from decoder: any Decoder) throws {
      extra = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .extra)
      try super.init(from: decoder)
    }
  }

  struct HoldsClass: Codable {
    let author: FinalClass
    let perhaps: FinalClass?
  }

  struct Scaled: Codable {
    var whole: Float
    var fraction: Float
  }

  struct Recursive: Codable {
    var next: [Recursive]
  }

  struct Unicode: Codable {
    var größe: Int
    var `class`: String
  }

  struct Money: Codable {
    var cents: Int
    init(from decoder: any Decoder) throws {
      cents = try decoder.singleValueContainer().decode(Int.self)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.singleValueContainer()
      try container.encode(cents)
    }
  }

  struct Wallet: Codable { var money: Money }

  struct Listed: Codable {
    var a: Int
    init(from decoder: any Decoder) throws {
      var container = try decoder.unkeyedContainer()
      a = try container.decode(Int.self)
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.unkeyedContainer()
      try container.encode(a)
    }
  }

  struct TwoKeys: Codable {
    var a: Int
    enum New: CodingKey { case a }
    enum Old: CodingKey { case a }
    init(from decoder: any Decoder) throws {
      if let container = try? decoder.container(keyedBy: New.self) {
        a = try container.decode(Int.self, forKey: .a)
      } else {
        a = try decoder.container(keyedBy: Old.self).decode(Int.self, forKey: .a)
      }
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: New.self)
      try container.encode(a, forKey: .a)
    }
  }

  struct DynamicKeys: Codable {
    var a: Int
    struct CodingKeys: CodingKey {
      var stringValue: String
      var intValue: Int? { nil }
      init(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    init(from decoder: any Decoder) throws {
      a = try decoder.container(keyedBy: CodingKeys.self)
        .decode(Int.self, forKey: CodingKeys(stringValue: "a"))
    }
    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(a, forKey: CodingKeys(stringValue: "a"))
    }
  }

  /// Two of its keys are written under one name.
  struct Clashing: Codable {
    var a: Int
    var b: Int
    enum CodingKeys: CodingKey {
      case a, b
      var stringValue: String { "same" }
      init?(stringValue: String) { self = .a }
      init?(intValue: Int) { nil }
      var intValue: Int? { nil }
    }
  }
}
