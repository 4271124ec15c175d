import Foundation
import Larch
import LarchTestSupport

/// The indexes of the records in a test; the records are the same.
protocol ThingIndexes: Sendable {
  static var name: String { get }
  static var schema: Schema<Thing<Self>> { get }
}

enum Grade: String, Codable, CaseIterable, Sendable { case bronze, silver, gold }

struct Place: Codable, Hashable, Sendable {
  var city: String
  var zip: Int?
}

/// A record with a field of every kind that a query can name.
struct Thing<Indexes: ThingIndexes>: Record {
  var id = RecordID<Self>()
  var number: Int
  var maybe: Int?
  var small: Int8
  var wide: UInt64
  var real: Double
  var ratio: Float
  var maybeReal: Double?
  var text: String
  var note: String?
  var flag: Bool
  var perhaps: Bool?
  var tags: [String]
  var marks: Set<Int>
  var place: Place
  var extra: Place?
  var day: Date
  var blob: Data
  var key: UUID
  var link: URL
  var grade: Grade
  var price: Decimal
  var huge: Int128
  var scores: [String: Int]
  var holes: [Int?]

  static var collectionName: String { Indexes.name }
  static var schema: Schema<Self> { Indexes.schema }
}

enum NoIndexes: ThingIndexes {
  static let name = "none"
  static var schema: Schema<Thing<Self>> { Schema() }
}

/// Each field alone.
enum SingleIndexes: ThingIndexes {
  static let name = "single"
  static var schema: Schema<Thing<Self>> {
    Schema {
      Index(\.number)
      Index(\.maybe)
      Index(\.small)
      Index(\.wide)
      Index(\.real)
      Index(\.ratio)
      Index(\.maybeReal)
      Index(\.text)
      Index(\.note)
      Index(\.flag)
      Index(\.perhaps)
      Index(\.tags)
      Index(\.marks)
      Index(\.place.city)
      Index(\.day)
      Index(\.blob)
      Index(\.key)
      Index(\.link)
      Index(\.price)
      Index(\.text, options: .caseInsensitive, name: "text.folded")
      Index(\.number, name: "positive", where: { $0.number > 0 })
      Index(\.holes)
    }
  }
}

/// Each field second in an index.
enum SecondIndexes: ThingIndexes {
  static let name = "second"
  static var schema: Schema<Thing<Self>> {
    Schema {
      Index(\.flag, \.number)
      Index(\.flag, \.maybe)
      Index(\.number, \.small)
      Index(\.small, \.wide)
      Index(\.flag, \.real)
      Index(\.small, \.ratio)
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
      Index(\.flag, \.link)
      Index(\.flag, \.price, \.number)
      Index(\.flag, \.number, \.text)
      Index(\.text, \.number, \.real)
    }
  }
}

/// Values for things and filters: only a few, so that they match, and difficult ones.
enum Values {
  static let numbers = [-2, -1, 0, 1, 2, 3, 7, Int.min, Int.max]
  static let smalls: [Int8] = [-128, -1, 0, 1, 2, 127]
  static let wides: [UInt64] = [0, 1, 2, 1 << 63, .max]
  static let reals = [
    -1.5, -0.0, 0.0, 0.5, 1.5, Double.leastNonzeroMagnitude, Double.infinity, -Double.infinity,
    Double.nan,
    Double.greatestFiniteMagnitude, 3.25, 0.1,
  ]
  static let ratios: [Float] = [-1.5, 0, 0.1, 0.5, .infinity, .nan, 3.25]
  static let texts: [String] = {
    let long = String(repeating: "a", count: 126)
    let veryLong = String(repeating: "ab\u{E9}", count: 200)
    return [
      "", "a", "A", "ab", "aB", "abc", "b", "e", "\u{E9}", "e\u{301}", "\u{E9}t\u{E9}", "x",
      "\r", "\r\n", "a\r\nb", "\u{0}", "a\u{0}b", "_", "%", "50%", "a_b", "\u{DF}", "SS",
      "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}", long, long + "a", long + "abc", veryLong,
      veryLong + "x", "\u{AC00}", "\u{1100}\u{1161}", "\\", "a\\b", "it's", "say \"no\"", "`",
    ]
  }()
  static let days = [-1e9, -0.5, 0, 0.25, 700_000_000.125, 1e12].map {
    Date(timeIntervalSinceReferenceDate: $0)
  }
  static let blobs: [Data] = [
    Data(), Data([0]), Data([0, 255]), Data([1]), Data([255, 0]), Data(repeating: 7, count: 141),
  ]
  static let keys: [UUID] = (0..<5).map { number in
    UUID(uuid: (UInt8(number * 60), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number)))
  }
  static let links = ["https://a.example/", "https://a.example", "file:///tmp/x"].compactMap {
    URL(string: $0)
  }
  static let cities = ["Oslo", "Lyon", "Malm\u{F6}", "Malmo\u{308}", ""]
  static let prices = ["0", "12.50", "12.5", "-3", "99999999999999999999.99", "1e-128"].compactMap {
    Decimal(string: $0)
  }
  static let huges: [Int128] = [0, -1, 7, 1 << 100, Int128.max, Int128.min, Int128(Int64.max) + 1]
}

extension SeededGenerator {
  mutating func pick<T>(_ list: [T]) -> T { list[below(list.count)] }

  mutating func chance(_ one: UInt64, in many: UInt64) -> Bool { next() % many < one }

  mutating func below(_ count: Int) -> Int { Int(next() % UInt64(count)) }

  mutating func optional<T>(_ value: T) -> T? { chance(1, in: 4) ? nil : value }

  mutating func thing<K>(_: K.Type) -> Thing<K> {
    typealias V = Values
    return Thing(
      number: pick(V.numbers), maybe: optional(pick(V.numbers)), small: pick(V.smalls),
      wide: pick(V.wides), real: pick(V.reals), ratio: pick(V.ratios),
      maybeReal: optional(pick(V.reals)), text: pick(V.texts), note: optional(pick(V.texts)),
      flag: chance(1, in: 2), perhaps: optional(chance(1, in: 2)),
      tags: (0..<below(4)).map { _ in pick(V.texts) },
      marks: Set((0..<below(4)).map { _ in pick(V.numbers) }),
      place: Place(city: pick(V.cities), zip: optional(pick(V.numbers))),
      extra: optional(Place(city: pick(V.cities), zip: optional(pick(V.numbers)))),
      day: pick(V.days), blob: pick(V.blobs), key: pick(V.keys), link: pick(V.links),
      grade: pick(Grade.allCases), price: pick(V.prices), huge: pick(V.huges),
      scores: Dictionary(
        (0..<below(3)).map { _ in (pick(["math", "a.b", "x y"]), pick([1, 2, 3])) },
        uniquingKeysWith: { $1 }),
      holes: (0..<below(3)).map { _ in optional(pick([1, 2])) })
  }
}

/// The order of strings in Larch, without Larch: that of their bytes in normal form C.
func compareText(_ a: String, _ b: String) -> Int {
  let left = Array(a.precomposedStringWithCanonicalMapping.utf8)
  let right = Array(b.precomposedStringWithCanonicalMapping.utf8)
  if left == right { return 0 }
  return left.lexicographicallyPrecedes(right) ? -1 : 1
}
