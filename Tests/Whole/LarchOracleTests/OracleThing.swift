import Foundation
import Larch
import LarchTestSupport

/// The indexes of the records in a test; the records are the same.
protocol OracleIndexes: Sendable {
  static var name: String { get }
  static var schema: Schema<OracleThing<Self>> { get }
}

enum OracleGrade: String, Codable, CaseIterable, IndexKey, Comparable {
  case bronze, silver, gold

  static func < (a: Self, b: Self) -> Bool { compareText(a.rawValue, b.rawValue) < 0 }
}

/// The order of its cases is not that of its raw values.
enum OracleMedal: String, Codable, CaseIterable, IndexKey, Comparable {
  case bronze, silver, gold

  private var place: Int { self == .bronze ? 0 : self == .silver ? 1 : 2 }

  static func < (a: Self, b: Self) -> Bool { a.place < b.place }
}

/// A key type of the user's, in two parts.
struct OracleVersion: Codable, Hashable, Sendable, IndexKey {
  var major: Int
  var minor: Int

  var indexValue: CompositeKey<Int, Int> { CompositeKey(major, minor) }
}

struct OraclePlace: Codable, Hashable, Sendable {
  var city: String
  var zip: Int?
}

/// A record with a field of every kind that filters support.
struct OracleThing<Indexes: OracleIndexes>: Record {
  var id = RecordID<Self>()
  var number: Int
  var maybe: Int?
  var small: UInt8
  var real: Double
  var maybeReal: Double?
  var text: String
  var note: String?
  var flag: Bool
  var tags: [String]
  var marks: Set<Int>
  var place: OraclePlace
  var extra: OraclePlace?
  var day: Date
  var blob: Data
  var key: UUID
  var grade: OracleGrade
  var version: OracleVersion
  var medal = OracleMedal.bronze
  var prize: OracleMedal?

  /// A property that is not stored.
  var length: Int { text.count }

  static var collectionName: String { Indexes.name }
  static var schema: Schema<Self> { Indexes.schema }
}

/// No index at all: the planner can only choose a full scan.
enum NoIndexes: OracleIndexes {
  static let name = "none"
  static var schema: Schema<OracleThing<Self>> { Schema() }
}

/// Each field alone.
enum SingleIndexes: OracleIndexes {
  static let name = "single"
  static var schema: Schema<OracleThing<Self>> {
    Schema {
      Index(\.number)
      Index(\.maybe)
      Index(\.small)
      Index(\.real)
      Index(\.maybeReal)
      Index(\.text)
      Index(\.note)
      Index(\.flag)
      Index(\.tags)
      Index(\.marks)
      Index(\.place.city)
      Index(\.extra?.zip, name: "extra.zip")
      Index(\.day)
      Index(\.blob)
      Index(\.key)
      Index(\.grade, name: "grade")
      Index(\.version, name: "version")
      Index(\.medal, name: "medal")
      Index(\.prize, name: "prize")
      Index(\.length, name: "length")
      Index(\.text, options: .caseInsensitive, name: "text.folded")
      Index(\.number, name: "positive", where: { $0.number > 0 })
    }
  }
}

/// Each field second in an index.
enum SecondIndexes: OracleIndexes {
  static let name = "second"
  static var schema: Schema<OracleThing<Self>> {
    Schema {
      Index(\.flag, \.number)
      Index(\.flag, \.maybe)
      Index(\.number, \.small)
      Index(\.flag, \.real)
      Index(\.number, \.maybeReal)
      Index(\.flag, \.text)
      Index(\.number, \.note)
      Index(\.number, \.flag)
      Index(\.flag, \.tags)
      Index(\.marks, \.number)
      Index(\.flag, \.place.city)
      Index(\.maybe, \.day)
      Index(\.note, \.blob)
      Index(\.flag, \.key)
      Index(\.flag, \.medal)
      Index(\.number, \.prize)
      Index(\.flag, \.number, \.text)
      Index(\.text, \.number, \.real)
    }
  }
}

/// The order of strings in Larch, without Larch: that of their bytes in normal form C.
func compareText(_ a: String, _ b: String) -> Int {
  let left = Array(a.precomposedStringWithCanonicalMapping.utf8)
  let right = Array(b.precomposedStringWithCanonicalMapping.utf8)
  if left == right { return 0 }
  return left.lexicographicallyPrecedes(right) ? -1 : 1
}

/// Values for things and filters: only a few, so that they match, and difficult ones.
enum OracleValues {
  static let numbers = [-2, -1, 0, 1, 2, 3, 7, Int.min, Int.max]
  static let smalls: [UInt8] = [0, 1, 2, 127, 128, 255]
  static let reals = [
    -1.5, -0.0, 0.0, 0.5, 1.5, Double.leastNonzeroMagnitude, Double.infinity, -Double.infinity,
    Double.nan, Double.greatestFiniteMagnitude, 3.25,
  ]
  static let texts: [String] = {
    let long = String(repeating: "a", count: 126)
    let veryLong = String(repeating: "ab\u{E9}", count: 200)
    return [
      "", "a", "A", "ab", "aB", "abc", "b", "e", "\u{E9}", "e\u{301}", "\u{E9}t\u{E9}",
      "e\u{301}t\u{E9}", "x", "x\u{302}", "\r", "\r\n", "a\r\nb", "\u{0}", "a\u{0}", "a\u{0}b", "_",
      "%", "50%",
      "a_b", "\u{DF}", "SS", "\u{3C2}", "\u{3A3}", "\u{130}", "i", "I", "\u{2126}", "\u{3A9}",
      "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", "\u{1F468}", long, long + "a", long + "ab",
      long + "abc", long + "abd", veryLong, veryLong + "x", veryLong + "y", "\u{AC00}",
      "\u{1100}\u{1161}", "\u{1100}", "\\", "a\\b", "zz",
    ]
  }()
  static let days = [-1e9, -0.5, 0, 0.25, 700_000_000.125, 1e12].map {
    Date(timeIntervalSinceReferenceDate: $0)
  }
  static let blobs: [Data] = [
    Data(), Data([0]), Data([0, 0]), Data([0, 255]), Data([1]), Data([255]), Data([255, 0]),
    Data(repeating: 7, count: 140), Data(repeating: 7, count: 141),
  ]
  static let keys: [UUID] = (0..<5).map { number in
    UUID(uuid: (UInt8(number * 60), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number)))
  }
  static let cities = ["Oslo", "Lyon", "Malm\u{F6}", "Malmo\u{308}", ""]
}

extension SeededGenerator {
  mutating func pick<T>(_ list: [T]) -> T { list[Int(next() % UInt64(list.count))] }

  mutating func chance(_ one: UInt64, in many: UInt64) -> Bool { next() % many < one }

  mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }

  mutating func optional<T>(_ value: T) -> T? { chance(1, in: 4) ? nil : value }

  mutating func thing<K>(_: K.Type) -> OracleThing<K> {
    typealias V = OracleValues
    var thing = OracleThing<K>(
      number: pick(V.numbers), maybe: optional(pick(V.numbers)), small: pick(V.smalls),
      real: pick(V.reals), maybeReal: optional(pick(V.reals)), text: pick(V.texts),
      note: optional(pick(V.texts)), flag: chance(1, in: 2),
      tags: (0..<below(4)).map { _ in pick(V.texts) },
      marks: Set((0..<below(4)).map { _ in pick(V.numbers) }),
      place: OraclePlace(city: pick(V.cities), zip: optional(pick(V.numbers))),
      extra: optional(OraclePlace(city: pick(V.cities), zip: optional(pick(V.numbers)))),
      day: pick(V.days), blob: pick(V.blobs), key: pick(V.keys), grade: pick(OracleGrade.allCases),
      version: OracleVersion(major: pick([0, 1, 2]), minor: pick([0, 1, 2])))
    thing.medal = pick(OracleMedal.allCases)
    thing.prize = optional(pick(OracleMedal.allCases))
    return thing
  }
}
