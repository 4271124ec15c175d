import Foundation

@testable import Larch

extension Zoo {
  /// An `init(from:)` that asks for other things, or in another way, than the compiler's.
  static let asking: [ZooCage] = [
    TwoKeys.self, Versioned.self, Defaulting.self, Forgiving.self, Falling.self, Listing.self,
    Containing.self, Contextual.self, Located.self, Nesting.self, Super.self, TwoContainers.self,
    Text.self, Pair.self, OtherOrder.self, Dynamic.self, Complaining.self, NilAsking.self,
    Parsing.self, SwappedReading.self, Swapped.self, Twice.self, Constant.self, Random.self,
    Narrow.self, OtherKeys.self, Fallback.self,
  ].map { ZooCage($0, .neither) }

  /// The new name of a field, or else the old one.
  struct TwoKeys: ZooMember {
    var title: String
    enum CodingKeys: CodingKey { case title, name }
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      title =
        try c.decodeIfPresent(String.self, forKey: .title) ?? c.decode(String.self, forKey: .name)
    }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(title, forKey: .title)
    }
  }

  struct Versioned: ZooMember {
    var count: Int
    enum CodingKeys: CodingKey { case count, limit }
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      let version = try c.decode(Int.self, forKey: .limit)
      count = try c.decode(Int.self, forKey: .count) &* (version == 40 ? 1 : 10)
    }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(40, forKey: .limit)
      try c.encode(count, forKey: .count)
    }
  }

  struct Defaulting: ZooMember {
    var missing: Int
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      missing = try c.decodeIfPresent(Int.self, forKey: .missing) ?? 7
      name = try c.decode(String.self, forKey: .name)
    }
  }

  struct Forgiving: ZooMember {
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = (try? c.decode(Int.self, forKey: .count)) ?? 0
    }
  }

  struct Falling: ZooMember {
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      do { name = try c.decode(String.self, forKey: .name) } catch {
        name = "\(try c.decode(Int.self, forKey: .name))"
      }
    }
  }

  struct Listing: ZooMember {
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name) + "\(c.allKeys.count)"
    }
  }

  struct Containing: ZooMember {
    var nick: String?
    var flag: Bool
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      nick = c.contains(.nick) ? try c.decodeIfPresent(String.self, forKey: .nick) : "none"
      flag = try c.decode(Bool.self, forKey: .flag)
    }
  }

  struct Contextual: ZooMember {
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      if decoder.userInfo.isEmpty { count = ~count }
    }
  }

  struct Located: ZooMember {
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      if !decoder.codingPath.isEmpty { name = "nested" }
    }
  }

  /// Its fields are in a nested container.
  struct Nesting: ZooMember {
    static var records: [any Encodable] { [Nesting(count: 1), Nesting(count: -1)] }
    var count: Int
    enum CodingKeys: CodingKey { case inner, count }
    init(count: Int) { self.count = count }
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
        .nestedContainer(keyedBy: CodingKeys.self, forKey: .inner)
      count = try c.decode(Int.self, forKey: .count) &+ 1
    }
    func encode(to encoder: any Encoder) throws {
      var outer = encoder.container(keyedBy: CodingKeys.self)
      var c = outer.nestedContainer(keyedBy: CodingKeys.self, forKey: .inner)
      try c.encode(count, forKey: .count)
    }
  }

  struct Super: ZooMember {
    static var records: [any Encodable] { [Super(text: "a"), Super(text: "")] }
    var text: String
    enum CodingKeys: CodingKey { case text }
    init(text: String) { self.text = text }
    init(from decoder: any Decoder) throws {
      let inner = try decoder.keyed(CodingKeys.self).superDecoder(forKey: .text)
      text = try inner.singleValueContainer().decode(String.self) + "!"
    }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      var inner = c.superEncoder(forKey: .text).singleValueContainer()
      try inner.encode(text)
    }
  }

  struct TwoContainers: ZooMember {
    var name: String
    enum CodingKeys: CodingKey { case name }
    enum Others: CodingKey { case count }
    init(from decoder: any Decoder) throws {
      name = try decoder.keyed(CodingKeys.self).decode(String.self, forKey: .name)
      name += "\(try decoder.keyed(Others.self).decode(Int.self, forKey: .count))"
    }
  }

  /// One text for two properties.
  struct Text: ZooMember {
    static var records: [any Encodable] { ["1-2", "3-", ""] }
    var a: String
    var b: String
    init(from decoder: any Decoder) throws {
      let text = try decoder.singleValueContainer().decode(String.self)
      a = String(text.prefix { $0 != "-" })
      b = String(text.dropFirst(a.count + 1))
    }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.singleValueContainer()
      try c.encode("\(a)-\(b)")
    }
  }

  struct Pair: ZooMember {
    static var records: [any Encodable] { [[1, 2], [-1, 0, 3]] }
    var x: Int
    var y: Int
    init(from decoder: any Decoder) throws {
      var c = try decoder.unkeyedContainer()
      x = try c.decode(Int.self)
      y = try c.decode(Int.self)
    }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.unkeyedContainer()
      try c.encode(x)
      try c.encode(y)
    }
  }

  /// The compiler decodes in the order of the keys.
  struct OtherOrder: ZooMember {
    var name: String
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      name = try c.decode(String.self, forKey: .name)
      if name == "pro_v1" { count = 0 }
    }
  }

  struct Dynamic: ZooMember {
    var values: [String]
    struct Key: CodingKey {
      let stringValue: String
      var intValue: Int? { nil }
      init?(stringValue: String) { self.stringValue = stringValue }
      init?(intValue: Int) { nil }
    }
    init(from decoder: any Decoder) throws {
      values = try decoder.keyed(Key.self).allKeys.map(\.stringValue).sorted()
    }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: Key.self)
      for value in values { try c.encode(value, forKey: Key(stringValue: value)!) }
    }
  }

  /// Replaces the decoder's errors by its own.
  struct Complaining: ZooMember {
    static var records: [any Encodable] { Twin.all + [["count": "text"]] }
    var count: Int
    init(from decoder: any Decoder) throws {
      do {
        let c = try decoder.keyed(CodingKeys.self)
        count = try c.decode(Int.self, forKey: .count)
      } catch { throw ZooError() }
    }
  }

  struct NilAsking: ZooMember {
    var nick: String?
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      nick = try c.decodeNil(forKey: .nick) ? "nil" : try c.decode(String.self, forKey: .nick)
    }
  }

  /// Another type than the property has.
  struct Parsing: ZooMember {
    var name: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name).count
    }
  }

  struct SwappedReading: ZooMember {
    var count: Int
    var limit: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      limit = try c.decode(Int.self, forKey: .limit)
      count = limit
      limit = try c.decode(Int.self, forKey: .count)
    }
  }

  /// In both directions, so that a round trip is right.
  struct Swapped: ZooMember {
    var count: Int
    var limit: Int
    enum CodingKeys: String, CodingKey { case count = "limit", limit = "count" }
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      limit = try c.decode(Int.self, forKey: .limit)
      count = try c.decode(Int.self, forKey: .count)
    }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(limit, forKey: .count)
      try c.encode(count, forKey: .limit)
    }
  }

  struct Twice: ZooMember {
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      count = try c.decode(Int.self, forKey: .count) &+ 1
    }
  }

  struct Constant: ZooMember {
    var name: String
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      count = 3
    }
  }

  struct Random: ZooMember {
    var missing: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      missing = try c.decodeIfPresent(Int.self, forKey: .missing) ?? .random(in: 1...1000)
    }
    var face: String { (1...1000).contains(missing) ? "random" : "\(missing)" }
  }

  struct Narrow: ZooMember {
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = Int(try c.decode(Int32.self, forKey: .count))
    }
  }

  /// Synthesised keys of another enum.
  struct OtherKeys: ZooMember {
    var count: Int
    enum Fields: CodingKey { case count }
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(Fields.self)
      count = try c.decode(Int.self, forKey: .count)
      if count == 7777 { count = 0 }
    }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: Fields.self)
      try c.encode(count, forKey: .count)
    }
  }

  /// The elements that it cannot read are skipped.
  struct Fallback: ZooMember {
    static var records: [any Encodable] { Twin.all + [["kind": "unknown"]] }
    var kind: ZooKind
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      kind = ZooKind(rawValue: try c.decode(String.self, forKey: .kind)) ?? .other
    }
  }
}
