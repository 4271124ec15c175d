import Foundation
import LarchTestSupport

@testable import Larch

// MARK: Types that go through Codable

final class MemberClass: MemberwiseCoded {
  let name: String
  init(name: String) { self.name = name }
}
struct MemberConstant: MemberwiseCoded {
  let version = 3
  var name: String
  // As the compiler makes them; without them it warns of what is tested here.
  enum CodingKeys: CodingKey { case version, name }
}
struct MemberOmitting: MemberwiseCoded {
  var name: String
  var cache = 1
  enum CodingKeys: CodingKey { case name }
}
struct MemberWrapped: MemberwiseCoded { @NamingSamples.Trimmed var text: String }
struct MemberDoubleOptional: MemberwiseCoded { var value: Int?? }
struct MemberEmpty: MemberwiseCoded, Equatable {}
enum MemberEnum: String, MemberwiseCoded { case a, b }
struct MemberTwoKeys: MemberwiseCoded {
  var a: Int
  enum CodingKeys: CodingKey { case a }
  enum Old: CodingKey { case a }
  init(from decoder: any Decoder) throws {
    a = try decoder.container(keyedBy: CodingKeys.self).decode(Int.self, forKey: .a)
    a += try decoder.container(keyedBy: Old.self).decode(Int.self, forKey: .a)
  }
}

struct MemberTree: MemberwiseCoded, Equatable {
  var name: String
  var children: [MemberTree]
}

// MARK: Broken promises

struct MemberFalseWriter: MemberwiseCoded {
  var celsius: Double
  var name: String
  enum CodingKeys: CodingKey { case celsius, name }
  init(celsius: Double, name: String) { (self.celsius, self.name) = (celsius, name) }
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    celsius = try container.decode(Double.self, forKey: .celsius) - 273
    name = try container.decode(String.self, forKey: .name)
  }
  func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(celsius + 273, forKey: .celsius)
    try container.encode(name, forKey: .name)
  }
}

struct MemberFalseReader: MemberwiseCoded {
  var name: String
  init(name: String) { self.name = name }
  init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    name = try container.decode(String.self, forKey: .name).uppercased()
  }
}

struct MemberHollow: MemberwiseCoded, Equatable {
  enum Kind: String, Codable { case only }
  struct Empty: Codable, Equatable {}
  var small: Int8
  var kind = Kind.only
  var number: Int
  var empty = Empty()
  var part: MemberHollowPart
  var other: MemberHollowPart?
  var name: String
  var last = Kind.only
}
struct MemberHollowPart: MemberwiseCoded, Equatable {
  var empty = MemberEmpty()
  var code: Int
  var note: String?
}
