import Foundation

@testable import Larch

/// A hand-written coding. Whatever a coder does with its records must equal what its own `Codable`
/// does.
protocol ZooMember: Codable, SendableMetatype {
  /// Values of other types whose records the member reads, its own ones not included.
  static var records: [any Encodable] { get }
  /// What two equal values have in common; all of their contents unless overridden.
  var face: String { get }
}

extension ZooMember {
  static var records: [any Encodable] { Twin.all }
  var face: String {
    var text = ""
    dump(self, to: &text)
    return text
  }
}

enum ZooKind: String, Codable, CaseIterable { case old, new, other }

/// Every field that members read, with plain coding and values that reveal what they do with them.
struct Twin: Encodable {
  var name = "Ada"
  var count = 12
  var limit = 40
  var score = 1.5
  var flag = true
  var at = Date(timeIntervalSinceReferenceDate: 1000.25)
  var key = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
  var tags = ["b", "a"]
  var kind = ZooKind.new
  var nick: String? = "nick"
  var page = URL(string: "https://larch.example/a")!

  static var all: [any Encodable] {
    var all = [Twin()]
    for name in ["", "ada", " Ada ", "ÅDA", "e\u{301}", "a@b.c", "secret", "control\u{7}"] {
      all.append(Twin(name: name))
    }
    all.append(Twin(name: String(repeating: "long name ", count: 12)))
    for count in [0, -1, 1, 41, 150, 200, 5000, .max / 4, .min / 4] {
      all.append(Twin(count: count))
    }
    for score in [0, -0.0, 0.123, 400, -3, .nan, .infinity] { all.append(Twin(score: score)) }
    for seconds in [0, 0.9, -1e12, 1e12] {
      all.append(Twin(at: Date(timeIntervalSinceReferenceDate: seconds)))
    }
    for tags in [[], ["a"], ["a", "a"], ["", "x"], Array(repeating: "t", count: 150)] {
      all.append(Twin(tags: tags))
    }
    for kind in ZooKind.allCases { all.append(Twin(name: "", kind: kind)) }
    all.append(Twin(flag: false, nick: nil))
    all.append(Twin(nick: ""))
    all.append(Twin(key: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))))
    all.append(Twin(page: URL(string: "http://larch.example")!))
    return all
  }
}

/// What the proof says of a member: the directions in which it is coded memberwise.
enum ZooVerdict: Equatable {
  case neither, writing, reading, both

  init(_ plan: MemberwisePlan) {
    self =
      switch (plan.reads, plan.writes) {
      case (true, true): .both
      case (true, false): .reading
      case (false, true): .writing
      case (false, false): .neither
      }
  }
}

struct ZooCage: Sendable, CustomStringConvertible {
  let type: any ZooMember.Type
  let verdict: ZooVerdict

  init(_ type: any ZooMember.Type, _ verdict: ZooVerdict) {
    self.type = type
    self.verdict = verdict
  }

  var description: String { "\(type)" }
}

struct ZooError: Error, Equatable {}

extension Decoder {
  func keyed<Key: CodingKey>(_ type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    try container(keyedBy: type)
  }
}

enum Zoo {
  /// Codings that the proof finds, each with the direction that stays memberwise because it is the
  /// compiler's.
  static let members: [ZooCage] = changing + checking + asking + keeping + writing

  /// Codings that it cannot find, because they act only on values that nobody can guess, or in
  /// another state of the program. The sample finds them when it meets such a record.
  static let unguessable: [ZooCage] = [
    ZooCage(Migrating.self, .both), ZooCage(Rejecting.self, .both), ZooCage(Rare.self, .both),
    ZooCage(Masking.self, .both), ZooCage(Switched.self, .both),
  ]

  /// Codings that nothing finds, because their values are the same.
  static let invisible: [ZooCage] = [ZooCage(Counting.self, .both)]

  struct Migrating: ZooMember {
    var name: String
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      if name == "pro_v1" { name = "pro" }
    }
  }

  struct Rejecting: ZooMember {
    var name: String
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      count = try c.decode(Int.self, forKey: .count)
      if count == 7777 { throw ZooError() }
    }
  }

  /// Differs on one value in 1,000.
  struct Rare: ZooMember, Equatable {
    var count: Int
    init(count: Int) { self.count = count }
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      if count > 0, count < 1_000_000, count % 1000 == 357 { count = -count }
    }
  }

  struct Masking: ZooMember {
    var name: String
    init(name: String) { self.name = name }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(name == "hunter2" ? "***" : name, forKey: .name)
    }
  }

  /// Differs when the program says so.
  struct Switched: ZooMember {
    static let isStrict = Locked(false)
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      if Self.isStrict.withLock({ $0 }) { count = abs(count) }
    }
  }

  /// Only counts.
  struct Counting: ZooMember {
    static let counter = Locked(0)
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      Self.counter.withLock { $0 += 1 }
    }
  }

  /// Fails on an extreme value as no coding can survive: with a trap.
  struct Trapping: ZooMember {
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      if count * 1000 == 3000 { throw ZooError() }
    }
  }

  /// Is not examined at all.
  struct OptedOut: ZooMember, CustomCoded {
    var count: Int
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      if count == 7777 { count = 0 }
    }
  }
}
