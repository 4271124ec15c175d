import Foundation
import LarchTestSupport

@testable import Larch

/// Random values that are likely to be near each other and near every edge.
enum KeySamples {
  static func integer<T: FixedWidthInteger>(_: T.Type, _ random: inout SeededGenerator) -> T {
    switch random.next() % 4 {
    case 0: T(truncatingIfNeeded: Int64(random.next() % 5) - 2)
    case 1: T.max &- T(truncatingIfNeeded: random.next() % 3)
    case 2: T.min &+ T(truncatingIfNeeded: random.next() % 3)
    default: T(truncatingIfNeeded: random.next())
    }
  }

  static func double(_ random: inout SeededGenerator) -> Double {
    let edges: [Double] = [
      0, -0.0, 1, -1, .infinity, -.infinity, .nan, -.nan, .signalingNaN, .leastNonzeroMagnitude,
      -.leastNonzeroMagnitude, .greatestFiniteMagnitude, -.greatestFiniteMagnitude,
    ]
    switch random.next() % 3 {
    case 0: return edges[Int(random.next() % UInt64(edges.count))]
    case 1: return Double(Int64(random.next() % 2001) - 1000) / 8
    default: return Double(bitPattern: random.next())
    }
  }

  static func date(_ random: inout SeededGenerator) -> Date {
    switch random.next() % 4 {
    case 0: .distantPast
    case 1: .distantFuture
    default: Date(timeIntervalSinceReferenceDate: double(&random))
    }
  }

  /// Scalars that decompose, compose, combine, or have one byte of each length.
  static let scalars: [Unicode.Scalar] = [
    "\0", "\u{1}", "a", "b", "e", "A", "Z", "\u{7F}", "\u{80}", "é", "\u{301}", "\u{300}",
    "\u{323}", "\u{327}", "\u{345}", "Ω", "\u{2126}", "\u{212B}", "Å", "\u{1100}", "\u{1161}",
    "\u{11A8}", "가", "각", "\u{FFFF}", "😀", "\u{10FFFF}", "\u{1D160}", "\u{0344}", "ж", "日",
    "\u{0958}", "\u{9C7}", "\u{9BE}", "\u{FB2C}", "\u{5B0}",
  ]

  static func string(_ random: inout SeededGenerator) -> String {
    let lengths: [UInt64] = [4, 4, 4, 12, 40]
    let base = lengths[Int(random.next() % UInt64(lengths.count))]
    var text = String.UnicodeScalarView()
    switch random.next() % 10 {
    case 0:
      // Around the length at which components are cut, and far beyond it.
      let repeats = random.next() % 4 == 0 ? 510 : 122 + random.next() % 8
      for _ in 0..<repeats { text.append("x") }
    case 1: for _ in 0..<(60 + random.next() % 8) { text.append("é") }
    case 2: for _ in 0..<(61 + random.next() % 5) { text.append("\0") }
    default: break
    }
    for _ in 0..<(random.next() % (base + 1)) {
      if random.next() % 8 == 0, let any = Unicode.Scalar(UInt32(random.next() % 0x3100)) {
        text.append(any)
      } else {
        text.append(scalars[Int(random.next() % UInt64(scalars.count))])
      }
    }
    return String(text)
  }

  static func data(_ random: inout SeededGenerator) -> Data {
    // Long ones are equal up to the cut, so that some differ only after it.
    let isLong = random.next() % 4 == 0
    let start = Data(repeating: 7, count: isLong ? 124 + Int(random.next() % 5) : 0)
    let size = random.next() % 6
    let bytes: [UInt8] = [0, 0, 0, 1, 0xFE, 0xFF, 0xFF]
    return start + Data((0..<size).map { _ in bytes[Int(random.next() % UInt64(bytes.count))] })
  }

  static func uuid(_ random: inout SeededGenerator) -> UUID {
    var value = UUID().uuid
    withUnsafeMutableBytes(of: &value) { bytes in
      for index in bytes.indices {
        bytes[index] = UInt8(truncatingIfNeeded: random.next() % 3 &* 127)
      }
    }
    return UUID(uuid: value)
  }
}

/// A key with the properties that the writer reports.
struct SampleKey: Equatable {
  var bytes: [UInt8]
  var isCut: Bool

  init<K: IndexKey>(_ value: K, isLast: Bool = true) {
    var writer = KeyWriter()
    K.keyCoding.write(value, to: &writer, isLast: isLast)
    bytes = [UInt8](writer.bytes)
    isCut = writer.isCut
  }

  func order(_ other: SampleKey) -> Int {
    bytes.withUnsafeBytes { a in other.bytes.withUnsafeBytes { b in compareBytes(a, b).signum() } }
  }
}

/// The required order of keys, from Swift's operators.
enum ReferenceOrder {
  static func of<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }

  static func floating<T: BinaryFloatingPoint>(_ a: T, _ b: T) -> Int {
    if a.isNaN || b.isNaN { return (a.isNaN ? 1 : 0) - (b.isNaN ? 1 : 0) }
    return of(a, b)
  }

  static func optional<T>(_ a: T?, _ b: T?, _ order: (T, T) -> Int) -> Int {
    guard let a else { return b == nil ? 0 : -1 }
    guard let b else { return 1 }
    return order(a, b)
  }

  static func data(_ a: Data, _ b: Data) -> Int {
    a.lexicographicallyPrecedes(b) ? -1 : b.lexicographicallyPrecedes(a) ? 1 : 0
  }

  static func uuid(_ a: UUID, _ b: UUID) -> Int {
    withUnsafeBytes(of: a.uuid) { a in withUnsafeBytes(of: b.uuid) { b in data(Data(a), Data(b)) } }
  }
}
