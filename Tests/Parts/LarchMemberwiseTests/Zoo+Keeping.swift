import Foundation

@testable import Larch

extension Zoo {
  /// Types with stored properties that are not simply their keys, or that have no memberwise form.
  static let keeping: [ZooCage] =
    [
      Excluding.self, Given.self, Wrapped.self, Lazy.self, Caching.self, Stamped.self, Weak.self,
      Reference.self, Holder.self, Tupled.self, Payloads.self, Unknowing.self, KeyedByEnum.self,
      Derived.self, Grouped<Int>.self, Unowned.self, Counter.self,
    ].map { ZooCage($0, .neither) } + [
      ZooCage(Observed.self, .writing), ZooCage(Inside.self, .writing),
      ZooCage(Inner.self, .writing),
    ]

  struct Excluding: ZooMember {
    var name: String
    var hidden = 5
    enum CodingKeys: CodingKey { case name }
  }

  struct Given: ZooMember {
    let count: Int
    private(set) var version = 1
    enum CodingKeys: CodingKey { case count, limit }
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      version = try c.decode(Int.self, forKey: .limit)
    }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(count, forKey: .count)
      try c.encode(version, forKey: .limit)
    }
  }

  struct Wrapped: ZooMember {
    @propertyWrapper struct Upper: Codable {
      private var text: String
      var wrappedValue: String {
        get { text }
        set { text = newValue.uppercased() }
      }
      init(from decoder: any Decoder) throws {
        text = try decoder.singleValueContainer().decode(String.self).uppercased()
      }
      func encode(to encoder: any Encoder) throws {
        var c = encoder.singleValueContainer()
        try c.encode(text)
      }
    }
    @Upper var name: String
  }

  struct Lazy: ZooMember {
    var count: Int
    lazy var twice = count &* 2
    enum CodingKeys: CodingKey { case count }
  }

  struct Caching: ZooMember {
    var name: String
    var length: Int
    enum CodingKeys: CodingKey { case name }
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      name = try c.decode(String.self, forKey: .name)
      length = name.count
    }
  }

  struct Stamped: ZooMember {
    var name: String
    var loaded = Date()
    enum CodingKeys: CodingKey { case name }
    var face: String { name }
  }

  final class Node: Codable { var count = 1 }
  struct Weak: ZooMember {
    var count: Int
    weak var node: Node?
    enum CodingKeys: CodingKey { case count }
  }

  struct Unowned: ZooMember {
    static let node = Locked(UncheckedNode())
    struct UncheckedNode: @unchecked Sendable { let node = Node() }
    var count: Int
    unowned var node: Node
    enum CodingKeys: CodingKey { case count }
    init(from decoder: any Decoder) throws {
      count = try decoder.keyed(CodingKeys.self).decode(Int.self, forKey: .count)
      node = Self.node.withLock { $0 }.node
    }
    var face: String { "\(count)" }
  }

  final class Reference: ZooMember {
    var name: String
    init(from decoder: any Decoder) throws {
      name = try decoder.keyed(CodingKeys.self).decode(String.self, forKey: .name).uppercased()
    }
  }

  struct Holder: ZooMember {
    static var records: [any Encodable] {
      [HolderTwin(part: Twin()), HolderTwin(part: Twin(name: ""))]
    }
    struct HolderTwin: Encodable { var part: Twin }
    var part: Reference
  }

  struct Tupled: ZooMember {
    var pair: (Int, Int)
    enum CodingKeys: CodingKey { case count, limit }
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      pair = (try c.decode(Int.self, forKey: .limit), try c.decode(Int.self, forKey: .count))
    }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(pair.0, forKey: .limit)
      try c.encode(pair.1, forKey: .count)
    }
  }

  struct Payloads: ZooMember {
    enum Choice: Codable { case none, some(Int), two(a: String, b: Int) }
    static var records: [any Encodable] {
      [Payloads(choice: .none), Payloads(choice: .some(1)), Payloads(choice: .two(a: "", b: 2))]
    }
    var choice: Choice
  }

  /// Reads what it does not know as a default, and looks at where it is.
  struct Unknowing: ZooMember {
    enum Grade: String, Codable {
      case new, other
      init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        self = Self(rawValue: text) ?? .other
      }
      func encode(to encoder: any Encoder) throws {
        var c = encoder.singleValueContainer()
        try c.encode(self == .other ? "new" : rawValue)
      }
    }
    var kind: Grade
  }

  struct KeyedByEnum: ZooMember {
    static var records: [any Encodable] {
      [KeyedByEnum(counts: [:]), KeyedByEnum(counts: [.old: 1, .new: 2])]
    }
    var counts: [ZooKind: Int]
    var face: String { "\(counts.sorted { $0.key.rawValue < $1.key.rawValue })" }
  }

  /// One field is computed from the others on writing.
  struct Derived: ZooMember {
    var count: Int
    var limit: Int
    enum CodingKeys: CodingKey { case count, limit, sum }
    init(from decoder: any Decoder) throws {
      let c = try decoder.keyed(CodingKeys.self)
      count = try c.decode(Int.self, forKey: .count)
      limit = try c.decode(Int.self, forKey: .limit)
    }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: CodingKeys.self)
      try c.encode(count, forKey: .count)
      try c.encode(limit, forKey: .limit)
      try c.encode(count &+ limit, forKey: .sum)
    }
  }

  struct Grouped<Value: Codable & Comparable & SendableMetatype>: ZooMember {
    var count: Value
    var limit: Value
    enum CodingKeys: CodingKey { case count, limit }
    init(from decoder: any Decoder) throws {
      let c = try decoder.container(keyedBy: CodingKeys.self)
      let values = try [c.decode(Value.self, forKey: .limit), c.decode(Value.self, forKey: .count)]
      (count, limit) = (values.min()!, values.max()!)
    }
  }

  /// A nested type with a hand-written coding.
  struct Inside: ZooMember {
    static var records: [any Encodable] {
      [
        InsideTwin(part: Twin()), InsideTwin(part: Twin(count: 900)),
        InsideTwin(part: Twin(count: -1)),
      ]
    }
    struct InsideTwin: Encodable { var part: Twin }
    var part: Clamping
  }

  /// A list of them.
  struct Inner: ZooMember {
    static var records: [any Encodable] { [InnerTwin(parts: [Twin(), Twin(count: 900)])] }
    struct InnerTwin: Encodable { var parts: [Twin] }
    var parts: [InRange]
  }

  /// Its values depend on how many were read before.
  struct Counter: ZooMember {
    static let counter = Locked(0)
    var count: Int
    var serial: Int
    enum CodingKeys: CodingKey { case count }
    init(from decoder: any Decoder) throws {
      count = try decoder.keyed(CodingKeys.self).decode(Int.self, forKey: .count)
      serial = Self.counter.withLock { counter in
        counter += 1
        return counter
      }
    }
    var face: String { "\(count) \(serial > 0)" }
  }

  /// Its observer does not run in `init(from:)`, but a method of it does.
  struct Observed: ZooMember {
    var count: Int { didSet { count = min(count, 100) } }
    init(from decoder: any Decoder) throws {
      count = try decoder.keyed(CodingKeys.self).decode(Int.self, forKey: .count)
      change()
    }
    private mutating func change() { count += 0 }
  }
}
