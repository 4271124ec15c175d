import Foundation
import LarchTestSupport

@testable import Larch

/// The indexes and the coding of a record whose fields are all in one index.
protocol CoveredRecordKind: Sendable {
  static var name: String { get }
  static var isIndexed: Bool { get }
}

enum CoveredPlain: CoveredRecordKind {
  static let name = "plain"
  static let isIndexed = true
}

enum CoveredMemberwise: CoveredRecordKind {
  static let name = "memberwise"
  static let isIndexed = true
}

enum CoveredUnindexed: CoveredRecordKind {
  static let name = "unindexed"
  static let isIndexed = false
}

/// What the tests do with a type of records.
protocol CoveredRecord: Record {
  static func random(_ random: inout SeededGenerator) -> Self
  static func clause(
    _ random: inout SeededGenerator
  ) -> (query: Query<Self>, matches: (Self) -> Bool)
  /// An order, and whether one record comes before another, ids aside.
  static func order(
    _ random: inout SeededGenerator, _ query: Query<Self>
  ) -> (query: Query<Self>, isBefore: (Self, Self) -> Bool, idsDescend: Bool)
  /// Every bit of the record.
  var bits: String { get }
  var idBytes: [UInt8] { get }
  mutating func change(_ random: inout SeededGenerator)
}

/// All keys have one length.
struct CoveredNumbers<Kind: CoveredRecordKind>: CoveredRecord {
  var id = RecordID<Self>()
  var sensor: Int
  var at: Date
  var value: Double
  var level: Int16
  var isOpen: Bool
  var ratio: Float
  var key: UUID
  var count: UInt32

  static var collectionName: String { "numbers_" + Kind.name }
  static var schema: Schema<Self> {
    guard Kind.isIndexed else { return Schema() }
    return Schema {
      Index(\.sensor, \.at, \.value, \.level, \.isOpen, \.ratio, \.key, \.count)
    }
  }
}

extension CoveredNumbers: MemberwiseCoded where Kind == CoveredMemberwise {}

extension CoveredNumbers {
  static func random(_ random: inout SeededGenerator) -> Self {
    typealias V = OracleValues
    return Self(
      sensor: random.pick([0, 1, 2, .min, .max]),
      at: random.chance(1, in: 3)
        ? random.pick(V.days) : Date(timeIntervalSinceReferenceDate: Double(random.below(40))),
      value: random.chance(1, in: 3) ? random.pick(V.reals) : Double(random.below(9)) / 4,
      level: random.pick([0, -1, 7, .min, .max]), isOpen: random.chance(1, in: 2),
      ratio: random.pick([1, -2.5, 0.0, -0.0, .nan, .infinity, .leastNonzeroMagnitude, 3]),
      key: random.pick(V.keys), count: random.pick([0, 1, .max]))
  }

  static func clause(
    _ random: inout SeededGenerator
  ) -> (query: Query<Self>, matches: (Self) -> Bool) {
    let sensor = random.pick([0, 1, 2, .min, .max])
    let from = Date(timeIntervalSinceReferenceDate: Double(random.below(40)))
    let to = from + Double(random.below(20))
    switch random.below(6) {
    case 0: return (Self.all, { _ in true })
    case 1: return (Self.where { $0.sensor == sensor }, { $0.sensor == sensor })
    case 2:
      return (
        Self.where { $0.sensor == sensor && $0.at >= from && $0.at < to },
        { $0.sensor == sensor && $0.at >= from && $0.at < to }
      )
    case 3:
      return (
        Self.where { $0.sensor == sensor && $0.at == from && $0.value > 0.5 },
        { $0.sensor == sensor && $0.at == from && $0.value > 0.5 }
      )
    case 4:
      return (
        Self.where { [0, sensor].contains($0.sensor) && $0.isOpen && $0.level < 3 },
        { [0, sensor].contains($0.sensor) && $0.isOpen && $0.level < 3 }
      )
    default: return (Self.where { $0.sensor > sensor }, { $0.sensor > sensor })
    }
  }

  static func order(
    _ random: inout SeededGenerator, _ query: Query<Self>
  ) -> (query: Query<Self>, isBefore: (Self, Self) -> Bool, idsDescend: Bool) {
    switch random.below(5) {
    case 0: (query, { _, _ in false }, false)
    case 1: (query.sorted(by: \.id, .descending), { _, _ in false }, true)
    case 2:
      (query.sorted(by: \.sensor, \.at), { ($0.sensor, $0.at) < ($1.sensor, $1.at) }, false)
    case 3: (query.sorted(by: \.at, .descending), { $0.at > $1.at }, false)
    default: (query.sorted(by: \.level), { $0.level < $1.level }, false)
    }
  }

  var bits: String {
    "\(id) \(sensor) \(at.timeIntervalSinceReferenceDate.bitPattern) \(value.bitPattern) \(level)"
      + " \(isOpen) \(ratio.bitPattern) \(key) \(count)"
  }

  var idBytes: [UInt8] {
    withUnsafeBytes(of: (UInt64(bitPattern: id.rawValue) ^ 1 << 63).bigEndian) { Array($0) }
  }

  mutating func change(_ random: inout SeededGenerator) {
    value = random.pick(OracleValues.reals)
    level = random.pick([1, 2])
  }
}

/// Texts, data, decimals and nils: keys differ in length, and some are cut.
struct CoveredTexts<Kind: CoveredRecordKind>: CoveredRecord {
  var id: String
  var flag: Bool
  var text: String
  var maybe: Int?
  var price: Decimal
  var real: Double?
  var blob: Data?
  var note: String?
  var small: UInt8

  static var collectionName: String { "texts_" + Kind.name }
  static var schema: Schema<Self> {
    guard Kind.isIndexed else { return Schema() }
    return Schema {
      Index(\.flag, \.text, \.maybe, \.price, \.real, \.small, \.blob, \.note)
      Index(\.maybe)
    }
  }
}

extension CoveredTexts: MemberwiseCoded where Kind == CoveredMemberwise {}

extension CoveredTexts {
  private static var texts: [String] {
    [
      "", "a", "b", "a\u{0}b", "e\u{301}", "\u{e9}", "line\r\nline",
      String(repeating: "x", count: 127), String(repeating: "x", count: 128),
      String(repeating: "x", count: 200),
    ]
  }
  private static var prices: [Decimal] {
    [0, 1, -1, 100, 2.5, -0.001, .nan, .greatestFiniteMagnitude, .leastNonzeroMagnitude, 12_345]
  }

  static func random(_ random: inout SeededGenerator) -> Self {
    typealias V = OracleValues
    return Self(
      id: random.pick(["", "k", "\u{e9}", "a\u{0}"]) + String(random.below(1_000_000)),
      flag: random.chance(1, in: 2), text: random.pick(texts),
      maybe: random.optional(random.pick([0, 1, .min, .max])), price: random.pick(prices),
      real: random.optional(random.pick(V.reals)),
      blob: random.optional(
        random.pick([Data(), Data([0]), Data([0, 255, 1]), Data(count: 130)])),
      note: random.optional(random.pick(texts)), small: UInt8(random.below(4)))
  }

  static func clause(
    _ random: inout SeededGenerator
  ) -> (query: Query<Self>, matches: (Self) -> Bool) {
    let text = random.pick(texts)
    let flag = random.chance(1, in: 2)
    let number = random.pick([0, 1])
    switch random.below(6) {
    case 0: return (Self.all, { _ in true })
    case 1: return (Self.where { $0.flag == flag }, { $0.flag == flag })
    case 2:
      return (
        Self.where { $0.flag == flag && $0.text == text }, { $0.flag == flag && $0.text == text }
      )
    case 3:
      return (
        Self.where { $0.flag == flag && $0.text.hasPrefix("x") && $0.maybe == nil },
        { $0.flag == flag && $0.text.hasPrefix("x") && $0.maybe == nil }
      )
    case 4:
      return (
        Self.where { $0.flag == flag && $0.text == text && $0.maybe >= number },
        { $0.flag == flag && $0.text == text && $0.maybe.map { $0 >= number } ?? false }
      )
    default:
      return (
        Self.where { $0.flag && $0.small > 1 && $0.price < 50 },
        { $0.flag && $0.small > 1 && $0.price < 50 }
      )
    }
  }

  static func order(
    _ random: inout SeededGenerator, _ query: Query<Self>
  ) -> (query: Query<Self>, isBefore: (Self, Self) -> Bool, idsDescend: Bool) {
    switch random.below(4) {
    case 0: (query, { _, _ in false }, false)
    case 1: (query.sorted(by: \.id, .descending), { _, _ in false }, true)
    case 2: (query.sorted(by: \.flag), { !$0.flag && $1.flag }, false)
    default: (query.sorted(by: \.small, .descending), { $0.small > $1.small }, false)
    }
  }

  var bits: String {
    "\(Array(id.utf8)) \(flag) \(Array(text.utf8)) \(maybe as Any) \(price) "
      + "\((real?.bitPattern) as Any) \(blob.map { Array($0) } as Any) "
      + "\(note.map { Array($0.utf8) } as Any) \(small)"
  }

  var idBytes: [UInt8] { Array(id.precomposedStringWithCanonicalMapping.utf8) }

  mutating func change(_ random: inout SeededGenerator) {
    text = random.pick(Self.texts)
    maybe = random.optional(3)
  }
}
