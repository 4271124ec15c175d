import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Keys of decimals")
struct DecimalKeyTests {
  private func key(_ value: Decimal) -> [UInt8] { SampleKey(value).bytes }

  private func decimal(_ text: String) throws -> Decimal { try #require(Decimal(string: text)) }

  private func order(_ a: Decimal, _ b: Decimal) -> Int { ReferenceOrder.of(a, b) }

  @Test func `keys of random pairs have the order of the numbers`() throws {
    var random = SeededGenerator(seed: 92)
    for number in 0..<100_000 {
      let a = KeySamples.decimal(&random)
      let b =
        random.next() % 8 == 0 ? KeySamples.neighbour(of: a, &random) : KeySamples.decimal(&random)
      let found = SampleKey(a).order(SampleKey(b))
      if found != order(a, b) {
        Issue.record("pair \(number): \(a) and \(b): \(found), not \(order(a, b))")
        return
      }
    }
  }

  @Test func `a key and stored bytes give the number back, and the same key`() throws {
    var random = SeededGenerator(seed: 93)
    for number in 0..<20_000 {
      let value = KeySamples.decimal(&random)
      let bytes = key(value)
      let read = try #require(bytes.withUnsafeBytes { DecimalDigits(key: $0) }, "\(number)")
      #expect(read == DecimalDigits(value), "\(value)")
      let decimal = try #require(read.decimal, "\(number): \(value)")
      #expect(decimal == value && decimal.isNaN == value.isNaN, "\(value)")
      #expect(key(decimal) == bytes, "\(value)")
      var stored = Leaf.decimal(value)
      let digits = withUnsafeBytes(of: &stored) { DecimalDigits(stored: $0) }
      #expect(try #require(digits) == read, "\(value)")
      #expect(bytes.count <= DecimalDigits.keyLimit)
    }
  }

  @Test(
    arguments: [
      ("0", [0x80, 0]), ("-0", [0x80, 0]), ("0E5", [0x80, 0]),
      ("1", [0x80, 0x41, 2]), ("1.00", [0x80, 0x41, 2]), ("-1", [0x7F, 0xBF, 0xFD]),
      ("10", [0x80, 0x41, 20]), ("100", [0x80, 0x42, 2]), ("0.1", [0x80, 0x40, 20]),
      ("0.01", [0x80, 0x40, 2]), ("12.50", [0x80, 0x41, 25, 100]),
      ("-12.5", [0x7F, 0xBF, 0xE6, 0x9B]), ("1999.99", [0x80, 0x42, 39, 199, 198]),
      ("1E-128", [0x80, 1, 2]), ("1E127", [0x80, 0x80, 20]), ("10E127", [0x80, 0x81, 2]),
      (
        "340282366920938463463374607431768211455E127",
        [
          0x80, 0x93, 69, 5, 165, 73, 139, 41, 187, 169, 127, 93, 67, 149, 121, 149, 63, 153, 165,
          23, 91, 100,
        ]
      ),
      ("-1E-128", [0x7F, 0xFF, 0xFD]),
    ] as [(String, [UInt8])])
  func `the bytes are those of the file format`(text: String, bytes: [UInt8]) throws {
    #expect(key(try decimal(text)) == bytes)
    let form = KeyForm.primitive(.decimal)
    let read = try bytes.withUnsafeBytes { try KeyReader.read($0, as: form) }
    #expect(read.description == "[\(try decimal(text))]")
  }

  @Test func `NaN is less than every number, and equals itself`() {
    #expect(key(.nan) == [0, 0])
    #expect(Decimal.nan == Decimal.nan && Decimal.nan < -Decimal.greatestFiniteMagnitude)
    #expect(order(.nan, -1) == -1)
    #expect(SampleKey(Decimal.nan).order(SampleKey(-Decimal.greatestFiniteMagnitude)) == -1)
  }

  @Test func `no key is the beginning of another`() {
    var random = SeededGenerator(seed: 94)
    for _ in 0..<20_000 {
      let a = key(KeySamples.decimal(&random))
      let b = key(KeySamples.decimal(&random))
      if a != b { #expect(!b.starts(with: a), "\(a), \(b)") }
    }
  }

  @Test func `keys of several fields, optionals and long keys`() throws {
    var random = SeededGenerator(seed: 95)
    for _ in 0..<10_000 {
      let one = CompositeKey(KeySamples.decimal(&random), KeySamples.decimal(&random))
      let other = CompositeKey(
        random.next() % 2 == 0 ? one.first : KeySamples.decimal(&random),
        KeySamples.decimal(&random))
      let expected =
        one.first == other.first
        ? order(one.rest, other.rest) : order(one.first, other.first)
      #expect(SampleKey(one).order(SampleKey(other)) == expected, "\(one) \(other)")
    }
    #expect(SampleKey(Decimal?.none).order(SampleKey(Decimal?.some(.nan))) == -1)
    // Four strings leave no room for all of the decimal.
    let long = [122, 122, 122, 118].map { String(repeating: "x", count: $0) }
    let cut = CompositeKey(long[0], long[1], long[2], long[3], try decimal("1.234567"))
    let key = SampleKey(cut)
    #expect(key.isCut && key.bytes.count == 500)
    let read = try key.bytes.withUnsafeBytes {
      try KeyReader.read($0, as: type(of: cut).keyCoding.form)
    }
    #expect(read.isCut && read.values.count == 4)
  }

  @Test(
    arguments: [
      [], [0x80], [0, 1], [0x80, 0, 2], [0x80, 0x41], [0x80, 0x41, 3], [0x80, 0x41, 0],
      [0x80, 0x41, 25, 0], [0x80, 0x41, 1, 4], [0x80, 0x41, 200], [0x80, 0x41, 202, 3],
      [0x80, 0x41, 2, 2], [0x80, 0x94, 2], [0x81, 0, 2], [0x80, 0x00, 0x02], [0x7E, 0, 0xFD],
      [0x80, 0x41] + [UInt8](repeating: 199, count: 20) + [2],
      [0x80, 0x41] + [UInt8](repeating: 199, count: 19) + [198],
      // 10^-129, and a mantissa that no Decimal holds.
      [0x80, 0, 20], [0x80, 0x01, 3, 2],
    ] as [[UInt8]])
  func `bytes that are no key are refused`(bytes: [UInt8]) {
    #expect(bytes.withUnsafeBytes { DecimalDigits(key: $0) } == nil)
    #expect(throws: LarchError.self) {
      try bytes.withUnsafeBytes { _ = try KeyReader.read($0, as: .primitive(.decimal)) }
    }
  }

  @Test func `random bytes are refused, or are the key of their number`() {
    var random = SeededGenerator(seed: 96)
    var found = 0
    for _ in 0..<50_000 {
      var bytes = [UInt8(random.next() % 2 == 0 ? 0x80 : 0x7F)]
      for _ in 0..<(1 + random.next() % 5) {
        bytes.append(UInt8(truncatingIfNeeded: random.next()))
      }
      guard let digits = bytes.withUnsafeBytes({ DecimalDigits(key: $0) }) else { continue }
      found += 1
      #expect(digits.withKey { [UInt8]($0) } == bytes)
      #expect(digits.decimal != nil, "\(bytes)")
    }
    #expect(found > 500)
  }

  @Test func `damaged stored bytes have no key`() {
    var bytes = [UInt8](repeating: 1, count: 18)
    bytes[1] = 3
    #expect(bytes.withUnsafeBytes { DecimalDigits(stored: $0) } == nil)
    #expect(bytes.dropLast().withUnsafeBytes { DecimalDigits(stored: $0) } == nil)
  }

  @Test func `a sum is that of Swift's additions`() {
    var random = SeededGenerator(seed: 97)
    for round in 0..<2_000 {
      let isPlain = round % 2 == 0
      let values = (0..<(random.next() % 12)).map { _ in
        isPlain
          ? Decimal(Int64(random.next() % 200_001) - 100_000) / 100
          : KeySamples.decimal(&random)
      }
      var total = DecimalTotal()
      for value in values { total.add(DecimalKey(DecimalDigits(value))) }
      #expect(total.value == values.reduce(0, +), "\(values)")
    }
  }
}

extension KeySamples {
  /// Of any size, with 0 to 39 digits, often small.
  static func decimal(_ random: inout SeededGenerator) -> Decimal {
    let edges: [Decimal] = [
      0, 1, -1, .nan, .greatestFiniteMagnitude, -.greatestFiniteMagnitude, .leastNonzeroMagnitude,
      -.leastNonzeroMagnitude, .leastNormalMagnitude, 100, 0.5,
    ]
    switch random.next() % 8 {
    case 0: return edges[Int(random.next() % UInt64(edges.count))]
    case 1:
      // Equal values in several forms.
      return Decimal(
        sign: random.next() % 2 == 0 ? .plus : .minus, exponent: Int(random.next() % 5) - 3,
        significand: Decimal(random.next() % 3 * 100))
    case 2, 3: return Decimal(Int64(random.next() % 20_001) - 10_000) / 100
    default:
      let digits = 1 + random.next() % 39
      var mantissa = UInt128(random.next()) << 64 | UInt128(random.next())
      for _ in digits..<39 { mantissa /= 10 }
      let exponent = Int(random.next() % 256) - 128
      let text = "\(random.next() % 2 == 0 ? "" : "-")\(mantissa)E\(exponent)"
      return Decimal(string: text) ?? 0
    }
  }

  /// A number next to another one.
  static func neighbour(of value: Decimal, _ random: inout SeededGenerator) -> Decimal {
    switch random.next() % 4 {
    case 0: return -value
    case 1: return value * 10
    case 2: return value + (random.next() % 2 == 0 ? value.ulp : -value.ulp)
    default:
      var digits = DecimalDigits(value)
      // The same digits, one place further.
      digits.exponent += random.next() % 2 == 0 ? 1 : -1
      return digits.decimal ?? value
    }
  }
}
