import Foundation
import Testing

@testable import Larch

@Suite("All of Codable")
struct CodableFeatureTests {
  struct Empty: Codable, Equatable {}
  struct One: Codable, Equatable { var only: Int? }
  indirect enum Shape2: Codable, Equatable {
    case point
    case circle(radius: Double)
    case pair(Shape2, Shape2)
    case named(String, style: Color?)
  }
  final class Leafy: Codable, Equatable {
    var name: String
    var children: [Leafy]
    var best: Leafy?
    init(_ name: String, _ children: [Leafy] = [], best: Leafy? = nil) {
      (self.name, self.children, self.best) = (name, children, best)
    }
    static func == (a: Leafy, b: Leafy) -> Bool {
      a.name == b.name && a.children == b.children && a.best == b.best
    }
  }
  class Base: Codable {
    var a = 1
    var s = "base"
    init() {}
  }
  final class Flat: Base {
    enum Keys: String, CodingKey { case b, s2 }
    var b = 2
    var s2 = "sub"
    override init() { super.init() }
    override func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: Keys.self)
      try c.encode(b, forKey: .b)
      try super.encode(to: encoder)
      try c.encode(s2, forKey: .s2)
    }
    required init(from decoder: any Decoder) throws {
      let c = try decoder.container(keyedBy: Keys.self)
      b = try c.decode(Int.self, forKey: .b)
      s2 = try c.decode(String.self, forKey: .s2)
      try super.init(from: decoder)
    }
  }
  final class Nested: Base {
    enum Keys: String, CodingKey { case b }
    var b = 2
    override init() { super.init() }
    override func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: Keys.self)
      try super.encode(to: c.superEncoder())
      try c.encode(b, forKey: .b)
    }
    required init(from decoder: any Decoder) throws {
      let c = try decoder.container(keyedBy: Keys.self)
      b = try c.decode(Int.self, forKey: .b)
      try super.init(from: c.superDecoder())
    }
  }
  /// Writes nested containers alternately, one key twice, and in another order than it reads them.
  struct Wild: Codable, Equatable {
    var x = 1
    var y = "y"
    var list = [1, 2, 3]
    enum Keys: String, CodingKey { case left, right, list, twice }
    enum Inner: String, CodingKey { case x, y }
    init() {}
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: Keys.self)
      var left = c.nestedContainer(keyedBy: Inner.self, forKey: .left)
      var right = c.nestedContainer(keyedBy: Inner.self, forKey: .right)
      try left.encode(x, forKey: .x)
      try right.encode(y, forKey: .y)
      try left.encode(y, forKey: .y)
      try right.encode(x, forKey: .x)
      var list = c.nestedUnkeyedContainer(forKey: .list)
      for n in self.list { try list.encode(n) }
      var deeper = list.nestedUnkeyedContainer()
      try deeper.encodeNil()
      try deeper.encode("z")
      var member = list.nestedContainer(keyedBy: Inner.self)
      try member.encode(9, forKey: .x)
      try c.encode("first", forKey: .twice)
      try c.encode("second", forKey: .twice)
    }
    init(from decoder: any Decoder) throws {
      let c = try decoder.container(keyedBy: Keys.self)
      let left = try c.nestedContainer(keyedBy: Inner.self, forKey: .left)
      let right = try c.nestedContainer(keyedBy: Inner.self, forKey: .right)
      x = try right.decode(Int.self, forKey: .x)
      y = try left.decode(String.self, forKey: .y)
      #expect(try left.decode(Int.self, forKey: .x) == x)
      #expect(try right.decode(String.self, forKey: .y) == y)
      var list = try c.nestedUnkeyedContainer(forKey: .list)
      #expect(list.count == 5)
      self.list = try (0..<3).map { _ in try list.decode(Int.self) }
      var deeper = try list.nestedUnkeyedContainer()
      #expect(try deeper.decodeNil())
      #expect(try deeper.decode(String.self) == "z")
      #expect(deeper.isAtEnd)
      let member = try list.nestedContainer(keyedBy: Inner.self)
      #expect(try member.decode(Int.self, forKey: .x) == 9)
      #expect(list.isAtEnd)
      #expect(try c.decode(String.self, forKey: .twice) == "second")
    }
  }
  /// Which keys it writes, in which order and of which kind depends on the value.
  struct Moody: Codable, Equatable {
    var mode: Int
    var text: String
    var other: String?
    enum Keys: String, CodingKey { case mode, text, other, any }
    init(_ mode: Int, _ text: String, _ other: String? = nil) {
      (self.mode, self.text, self.other) = (mode, text, other)
    }
    func encode(to encoder: any Encoder) throws {
      var c = encoder.container(keyedBy: Keys.self)
      if mode % 2 == 0 {
        try c.encode(text, forKey: .text)
        try c.encode(mode, forKey: .mode)
        if let other { try c.encode(other, forKey: .other) }
      } else {
        if let other {
          try c.encode(other, forKey: .other)
        } else {
          try c.encodeNil(forKey: .other)
        }
        try c.encode(mode, forKey: .mode)
        try c.encode(text, forKey: .text)
      }
      switch mode % 4 {
      case 0: try c.encode(7, forKey: .any)
      case 1: try c.encode("seven", forKey: .any)
      case 2: try c.encode([true], forKey: .any)
      default: break
      }
    }
    init(from decoder: any Decoder) throws {
      let c = try decoder.container(keyedBy: Keys.self)
      mode = try c.decode(Int.self, forKey: .mode)
      text = try c.decode(String.self, forKey: .text)
      other = try c.decodeIfPresent(String.self, forKey: .other)
      if mode % 2 == 1, other == nil { #expect(c.contains(.other)) }
      if mode % 2 == 0, other == nil { #expect(!c.contains(.other)) }
      switch mode % 4 {
      case 0: #expect(try c.decode(Int.self, forKey: .any) == 7)
      case 1: #expect(try c.decode(String.self, forKey: .any) == "seven")
      case 2: #expect(try c.decode([Bool].self, forKey: .any) == [true])
      default: #expect(!c.contains(.any))
      }
    }
  }
  struct Numbers: Codable, Equatable {
    var a: Int8 = -128, b: Int16 = .min, c: Int32 = .max, d: Int64 = .min, e: UInt8 = 255
    var f: UInt16 = .max, g: UInt32 = .max, h: UInt64 = .max, i: UInt = .max, j: Int = .min
    var k: Float = -0.0, l: Double = .infinity, m: Int128 = .min, n: UInt128 = .max
    var o: CGFloat = 1.5, p: Int?, q: Int?? = .some(.none), r: [Int?] = [1, nil, 3],
      s: [Int?] = [nil]
    var t: [[Int]] = [[], [1], [2, 3]], u: [String: [String: Int?]] = ["a": ["b": nil, "c": 1]]
  }
  struct Bag: Codable, Equatable {
    var byUUID: [UUID: Int] = [:]
    var byLevel: [Level: String] = [.low: "l", .high: "h"]
    var byDouble: [Double: [Int]] = [1.5: [1], -2: [], 0: [3, 4]]
    var sets: Set<Set<Int>> = [[1, 2], [], [3]]
    var addresses: Set<Address> = [Address(street: "s", city: "c", zip: nil, lines: [])]
    var dates: Set<Date> = [Date(timeIntervalSinceReferenceDate: 5)]
    var nested: [String: [String: Set<String>]] = ["k": ["j": ["x", "y"]]]
    var optionals: [String: String?] = ["n": nil, "v": "v"]
  }

  @Test("Structs without and with one field")
  func small() throws {
    let bench = CodingBench()
    try bench.roundTrip(Empty())
    try bench.roundTrip(One(only: nil))
    try bench.roundTrip(One(only: 3))
    try bench.roundTrip([Empty(), Empty()])
  }

  @Test("Enums with associated values, also recursive ones")
  func enums() throws {
    let bench = CodingBench()
    let values: [Shape2] = [
      .point, .circle(radius: 2), .pair(.point, .pair(.circle(radius: 1), .point)),
      .named("n", style: nil), .named("n", style: .green),
    ]
    for value in values { try bench.roundTrip(value) }
    try bench.roundTrip(values)
    try bench.roundTrip(["k": values])
  }

  @Test("Recursive classes")
  func recursive() throws {
    let bench = CodingBench()
    let tree = Leafy("root", [Leafy("a"), Leafy("b", [Leafy("c")], best: Leafy("d"))])
    try bench.roundTrip(tree)
    try bench.roundTrip(Leafy("x", best: tree))
  }

  @Test("Inheritance in the same container and through superEncoder")
  func inheritance() throws {
    let bench = CodingBench()
    for _ in 0..<3 {
      let flat = Flat()
      (flat.a, flat.s, flat.b, flat.s2) = (5, "five", 6, "six")
      let again = try bench.decode(Flat.self, bench.bytes(flat))
      #expect(again.a == 5 && again.s == "five" && again.b == 6 && again.s2 == "six")
      let nested = Nested()
      (nested.a, nested.s, nested.b) = (5, "five", 6)
      let other = try bench.decode(Nested.self, bench.bytes(nested))
      #expect(other.a == 5 && other.s == "five" && other.b == 6)
    }
  }

  @Test("Nested containers that are filled alternately, and keys that are written twice")
  func wild() throws { try CodingBench().roundTrip(Wild()) }

  @Test("Keys, order and kinds that depend on the value")
  func moody() throws {
    let bench = CodingBench()
    for mode in 0..<40 {
      let value = Moody(mode, "t\(mode)", mode % 3 == 0 ? nil : "o")
      #expect(try bench.decode(Moody.self, bench.bytes(value)) == value)
    }
    #expect(bench.shapes.count < 20)
  }

  @Test("Numbers of all widths, optionals at all levels")
  func numbers() throws { try CodingBench().roundTrip(Numbers()) }

  @Test("NaN keeps its bits")
  func nan() throws {
    let bench = CodingBench()
    for value in [Double.nan, .signalingNaN, -.infinity, -0.0, .leastNonzeroMagnitude] {
      let again = try bench.decode([String: Double].self, bench.bytes(["v": value]))
      #expect(again["v"]?.bitPattern == value.bitPattern)
    }
  }

  @Test("Sets and dictionaries with any key are written in a stable order")
  func sorted() throws {
    let bench = CodingBench()
    try bench.roundTrip(Bag())
    var generator = SystemRandomNumberGenerator()
    let ids = (0..<40).map { _ in UUID() }
    let strings = (0..<40).map { "key\($0)" }
    var seen: Set<[UInt8]> = []
    for _ in 0..<20 {
      var bag = Bag()
      bag.byUUID = Dictionary(uniqueKeysWithValues: ids.shuffled(using: &generator).map { ($0, 1) })
      // Other capacities give other orders inside the hash table.
      bag.nested["k"] = ["j": Set(strings.shuffled(using: &generator))]
      bag.nested["k"]?["j"]?.reserveCapacity(Int.random(in: 0..<500))
      bag.byUUID.reserveCapacity(Int.random(in: 0..<500))
      seen.insert(try bench.bytes(bag))
      #expect(try bench.decode(Bag.self, bench.bytes(bag)) == bag)
    }
    // The first value teaches the shape.
    #expect(seen.count == 1)
  }

  @Test(
    "Top-level values that are not keyed records",
    arguments: [1, 300])
  func topLevel(count: Int) throws {
    let bench = CodingBench()
    try bench.roundTrip(42)
    try bench.roundTrip("text")
    try bench.roundTrip(Int?.none)
    try bench.roundTrip(Array(repeating: "s", count: count))
    try bench.roundTrip(Array(0..<count))
    try bench.roundTrip(Array(repeating: Date(timeIntervalSinceReferenceDate: 1), count: count))
    try bench.roundTrip(Set(0..<count))
    try bench.roundTrip(Dictionary(uniqueKeysWithValues: (0..<count).map { ("\($0)", $0) }))
    try bench.roundTrip(Level.high)
    try bench.roundTrip(Date(timeIntervalSinceReferenceDate: 0.1))
    try bench.roundTrip(Data(repeating: 1, count: count))
    try bench.roundTrip(UUID())
    try bench.roundTrip(Array(repeating: Person.sample, count: count))
    try bench.roundTrip((0..<count).map { $0 % 3 == 0 ? nil : $0 })
    try bench.roundTrip(
      Dictionary(
        uniqueKeysWithValues: (0..<count).map { i -> (String, Int?) in
          ("\(i)", i % 3 == 2 ? nil : i)
        }))
  }

  @Test(
    "Decimals are exact",
    arguments: [
      "0", "1", "-1", "100", "0.1", "-12.3400", "340282366920938463463374607431768211455",
      "1e127", "1e-127", "-99999999999999999999999999999999999999e-20", "nan",
    ])
  func decimals(text: String) throws {
    let value = text == "nan" ? Decimal.nan : Decimal(string: text)!
    let bench = CodingBench()
    let again = try bench.decode([Decimal].self, bench.bytes([value]))
    #expect(again.first == value || (value.isNaN && again.first?.isNaN == true))
  }

  @Test("URLs with and without a base")
  func urls() throws {
    let base = URL(string: "http://a.b/c/")!
    try CodingBench().roundTrip([URL(string: "x", relativeTo: base)!, base])
    struct Link: Codable, Equatable { var url: URL }
    let bench = CodingBench()
    try bench.roundTrip(Link(url: base))
    try bench.roundTrip(Link(url: URL(string: "x", relativeTo: base)!))
    try bench.roundTrip(Link(url: URL(fileURLWithPath: "/tmp/a b")))
  }

  @Test("Records over 64 KiB are wide, and values of all sizes around the limit round trip")
  func wide() throws {
    struct Big: Codable, Equatable {
      var a: String
      var n: Int
      var b: String?
      var inner: Address
      var c: String
    }
    let bench = CodingBench()
    for length in [0, 65_400, 65_450, 65_500, 65_536, 200_000] {
      for part in 0..<3 {
        let long = String(repeating: "x", count: length)
        let value = Big(
          a: part == 0 ? long : "a", n: 5, b: part == 1 ? long : nil,
          inner: Address(street: "s", city: part == 2 ? long : "c", zip: 1, lines: []), c: "end")
        try bench.roundTrip(value)
        let bytes = try bench.bytes(value)
        #expect((bytes[1] & 0x40 != 0) == (bytes.count > 65_535 + 8))
        // Written by a coder that learns on this very value: the tree writes the same bytes.
        let fresh = RecordCoder(shapes: bench.shapes)
        #expect(try Array(fresh.encode(value)) == bytes)
      }
    }
  }

  @Test("Writes to a container that was kept too long are ignored, and nothing crashes")
  func escaped() throws {
    final class Keep {
      var container: KeyedEncodingContainer<Leak.Keys>?; var encoder: (any Encoder)?
    }
    struct Leak: Encodable {
      enum Keys: String, CodingKey { case a, b }
      let keep: Keep
      func encode(to encoder: any Encoder) throws {
        keep.encoder = encoder
        var c = encoder.container(keyedBy: Keys.self)
        try c.encode(1, forKey: .a)
        try c.encode("b", forKey: .b)
        keep.container = c
      }
    }
    let keep = Keep()
    do {
      let bench = CodingBench()
      for _ in 0..<3 { _ = try bench.bytes(Leak(keep: keep)) }
      let before = try bench.bytes(Person.sample)
      try keep.container?.encode(5, forKey: .a)
      #expect(try bench.bytes(Person.sample) == before)
    }
    try keep.container?.encode(5, forKey: .a)
    try keep.container?.encode("x", forKey: .b)
    #expect(keep.encoder?.codingPath.isEmpty == true)
    var list = keep.encoder?.unkeyedContainer()
    try list?.encode("x")
    var single = keep.encoder?.singleValueContainer()
    try single?.encode("x")
  }

  @Test("A value may encode another record with the same coder while it is encoded")
  func reentrant() throws {
    struct Outer: Encodable {
      let coder: RecordCoder
      enum Keys: String, CodingKey { case a, b }
      func encode(to encoder: any Encoder) throws {
        var c = encoder.container(keyedBy: Keys.self)
        try c.encode("before", forKey: .a)
        _ = try coder.encode(Person.sample)
        try c.encode("after", forKey: .b)
      }
    }
    let bench = CodingBench()
    for _ in 0..<3 {
      let bytes = try bench.bytes(Outer(coder: bench.coder))
      let again = try bench.decode([String: String].self, bytes)
      #expect(again == ["a": "before", "b": "after"])
    }
  }
}
