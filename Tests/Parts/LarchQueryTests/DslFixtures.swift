import Foundation
import LarchTestSupport
import Testing

@testable import Larch

enum DslRole: String, Codable, IndexKey, CaseIterable { case guest, member, owner }
enum DslLevel: Int, Codable, IndexKey, CaseIterable, Comparable {
  case low = -1
  case middle
  case high
  static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}
/// Not an index key: filters on it are evaluated on the decoded record.
enum DslColour: Codable, Equatable, Sendable, CaseIterable { case red, green, blue }

struct DslVersion: Codable, Comparable, Hashable, IndexKey, Sendable {
  var major: Int
  var minor: Int
  var indexValue: CompositeKey<Int, Int> { CompositeKey(major, minor) }
  static func < (a: Self, b: Self) -> Bool { (a.major, a.minor) < (b.major, b.minor) }
}

struct DslPlace: Codable, Equatable, Sendable {
  var city: String
  var zip: Int?
  var shout: String { city.uppercased() }
}

struct DslAddress: Codable, Equatable, Sendable {
  enum CodingKeys: String, CodingKey {
    case city = "town"
    case zip, place
  }
  var city: String
  var zip: Int?
  var place: DslPlace?
  var shout: String { city.uppercased() }
  var first: Character? { city.first }
}

/// One property of every type that a filter may meet, with its optional.
struct DslRow: Record, Equatable {
  var id = RecordID<DslRow>()
  var number = 0
  var maybeNumber: Int?
  var other = 0
  var real = 0.0
  var maybeReal: Double?
  var small = Float(0)
  var byte = UInt8(0)
  var text = ""
  var maybeText: String?
  var second = ""
  var date = Date(timeIntervalSinceReferenceDate: 0)
  var maybeDate: Date?
  var data = Data()
  var uuid = UUID()
  var url = URL(filePath: "/")
  var flag = false
  var maybeFlag: Bool?
  var role = DslRole.guest
  var maybeRole: DslRole?
  var level = DslLevel.low
  var colour = DslColour.red
  var maybeColour: DslColour?
  var price = Decimal(0)
  var maybePrice: Decimal?
  var version = DslVersion(major: 0, minor: 0)
  var maybeVersion: DslVersion?
  var address = DslAddress(city: "")
  var maybeAddress: DslAddress?
  var tags: [String] = []
  var maybeTags: [String]?
  var marks: Set<Int> = []
  var flags: [Bool] = []
  var reals: [Double?] = []
  var prices: [Decimal] = []
  var places: [DslPlace] = []

  var double: Int { number &* 2 }

  /// Without dates: Foundation traps when it prints one that is NaN.
  var picture: String {
    Mirror(reflecting: self).children
      .filter { !($0.value is Date) && !($0.value is Date?) }
      .map { "\($0.label ?? ""): \($0.value)" }.joined(separator: ", ")
  }
}

extension DslRow {
  static let texts = [
    "", "a", "A", "aab", "aaaab", "ab", "Ab", "abc", "b", "cafe\u{301}", "café", "cafe", "CAFÉ",
    "a\r\nb", "\r\n",
    "\n", "x\ny", "😀", "👨‍👩‍👧", "👨", "e\u{301}", "é", "e", "\u{212B}", "Å", "ß", "SS", "İ", "%", "_",
    "100%", "a_b", "\\", "a\\b", "swift", "swiftly", "Σας", "ΣΑΣ", "i\u{307}",
    String(repeating: "long ", count: 110), String(repeating: "long ", count: 110) + "é",
  ]
  static let numbers = [0, 1, -1, 2, 3, 18, 30, .max, .min]
  static let reals: [Double] = [
    0, -0.0, 1, -1, 1.5, .nan, -.nan, .infinity, -.infinity, .leastNonzeroMagnitude, 1e300,
  ]
  static let dates = reals.map { Date(timeIntervalSinceReferenceDate: $0) } + [.distantPast]
  static let datas = [Data(), Data([0]), Data([0, 0]), Data([1, 2]), Data([255]), Data([1])]
  static let uuids = [0, 1, 128, 255].map {
    UUID(uuid: ($0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
  }
  static let urls = ["https://a.b", "https://a.b/c", "HTTPS://a.b", "file:///x"].map {
    URL(string: $0)!
  }
  static let decimals: [Decimal] = [
    0, 1, -1, Decimal(string: "1.10")!, Decimal(string: "1.1")!, 30,
  ]

  /// Rows with values that are close to each other and to every limit.
  static func random(_ count: Int, seed: UInt64) -> [DslRow] {
    var random = SeededGenerator(seed: seed)
    func pick<T>(_ list: [T]) -> T { list[Int(random.next() % UInt64(list.count))] }
    func perhaps<T>(_ value: @autoclosure () -> T) -> T? { random.next() % 3 == 0 ? nil : value() }
    func several<T>(_ value: () -> T) -> [T] { (0..<(random.next() % 4)).map { _ in value() } }
    func place() -> DslPlace { DslPlace(city: pick(texts), zip: perhaps(pick(numbers))) }
    func address() -> DslAddress {
      DslAddress(city: pick(texts), zip: perhaps(pick(numbers)), place: perhaps(place()))
    }
    func version() -> DslVersion {
      DslVersion(major: Int(random.next() % 3), minor: Int(random.next() % 3))
    }
    return (0..<count).map { number in
      var row = DslRow()
      row.id = RecordID(Int64(number + 1))
      row.number = pick(numbers)
      row.maybeNumber = perhaps(pick(numbers))
      row.other = pick(numbers)
      row.real = pick(reals)
      row.maybeReal = perhaps(pick(reals))
      row.small = Float(pick(reals))
      row.byte = pick([0, 1, 18, 255])
      row.text = pick(texts)
      row.maybeText = perhaps(pick(texts))
      row.second = pick(texts)
      row.date = pick(dates)
      row.maybeDate = perhaps(pick(dates))
      row.data = pick(datas)
      row.uuid = pick(uuids)
      row.url = pick(urls)
      row.flag = random.next() % 2 == 0
      row.maybeFlag = perhaps(random.next() % 2 == 0)
      row.role = pick(DslRole.allCases)
      row.maybeRole = perhaps(pick(DslRole.allCases))
      row.level = pick(DslLevel.allCases)
      row.colour = pick(DslColour.allCases)
      row.maybeColour = perhaps(pick(DslColour.allCases))
      row.price = pick(decimals)
      row.maybePrice = perhaps(pick(decimals))
      row.version = version()
      row.maybeVersion = perhaps(version())
      row.address = address()
      row.maybeAddress = perhaps(address())
      row.tags = several { pick(texts) }
      row.maybeTags = perhaps(several { pick(texts) })
      row.marks = Set(several { pick(numbers) })
      row.flags = several { random.next() % 2 == 0 }
      row.reals = several { perhaps(pick(reals)) }
      row.prices = several { pick(decimals) }
      row.places = several { place() }
      return row
    }
  }

  static let samples = random(400, seed: 7)
}

/// Whether a filter agrees with plain Swift on each row.
func dslCheck<Condition: FilterExpression>(
  _ filter: (Fields<DslRow>) -> Condition, _ swift: (DslRow) -> Bool,
  location: SourceLocation = #_sourceLocation
) where Condition.Root == DslRow {
  let node = filter(Fields())._filter.node
  for row in DslRow.samples where node.matches(row) != swift(row) {
    Issue.record(
      "Swift says \(swift(row)) of seed 7, row \(row.id): \(row.picture)", sourceLocation: location)
    return
  }
}
