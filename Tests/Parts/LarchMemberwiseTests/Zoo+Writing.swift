import Foundation

@testable import Larch

extension Zoo {
  /// An `encode(to:)` that does more than the compiler's, beside the compiler's `init(from:)`.
  static let writing: [ZooCage] = [
    Conditional.self, Adding.self, LoweringOnWriting.self, RoundingOnWriting.self, Nulling.self,
    Refusing.self, Backwards.self, Printing.self, SortingOnWriting.self, Repeating.self,
    Reading.self, Hiding.self, Flat.self,
  ].map { ZooCage($0, .reading) }

  struct Conditional: ZooMember {
    var name: String
    var count: Int
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(name, forKey: .name)
      if count != 0 { try c.encode(count, forKey: .count) }
    }
  }

  struct Adding: ZooMember {
    var count: Int
    private enum Extra: CodingKey { case double }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(count, forKey: .count)
      var extra = encoder.container(keyedBy: Extra.self)
      try extra.encode(count &* 2, forKey: .double)
    }
  }

  struct LoweringOnWriting: ZooMember {
    var name: String
    var count: Int
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(name.lowercased(), forKey: .name)
      try c.encode(count, forKey: .count)
    }
  }

  struct RoundingOnWriting: ZooMember {
    var score: Double
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode((score * 10).rounded() / 10, forKey: .score)
    }
  }

  struct Nulling: ZooMember {
    var nick: String?
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      if let nick { try c.encode(nick, forKey: .nick) } else { try c.encodeNil(forKey: .nick) }
    }
  }

  struct Refusing: ZooMember {
    var count: Int
    func encode(to encoder: any Encoder) throws {
      guard count >= 0 else { throw ZooError() }
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(count, forKey: .count)
    }
  }

  struct Backwards: ZooMember {
    var name: String
    var count: Int
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(count, forKey: .count)
      try c.encode(name, forKey: .name)
    }
  }

  struct Printing: ZooMember {
    var count: Int
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode("\(count)", forKey: .count)
    }
  }

  struct SortingOnWriting: ZooMember {
    var tags: [String]
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(tags.sorted(), forKey: .tags)
    }
  }

  struct Repeating: ZooMember {
    var name: String
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(name, forKey: .name)
      try c.encode(name + name, forKey: .name)
    }
  }

  struct Reading: ZooMember {
    var count: Int
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(encoder.userInfo.isEmpty ? ~count : count, forKey: .count)
    }
  }

  struct Hiding: ZooMember {
    var name: String
    var nick: String?
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(name, forKey: .name)
      try c.encodeIfPresent(nick == name ? nil : nick, forKey: .nick)
    }
  }

  struct Flat: ZooMember {
    var count: Int
    func encode(to encoder: any Encoder) throws {
      var c = encoder.singleValueContainer()
      try c.encode(count)
    }
  }
}
