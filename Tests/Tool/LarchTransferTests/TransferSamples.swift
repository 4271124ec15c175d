import Foundation
import LarchTestSupport

@testable import Larch

/// Every kind of field, in each place where a kind can stand.
struct Everything: Record {
  struct Place: Codable, Sendable {
    var city: String
    var point: [Double]
    var inner: [String: [Place]]?
  }
  enum Form: Codable, Sendable {
    case plain
    case round(radius: Int)
    case named(String, Place?)
  }
  enum Level: Int8, Codable, IndexKey { case low = -1, high = 1 }

  var id = RecordID<Everything>()
  var flag: Bool
  var i8: Int8
  var i16: Int16
  var i32: Int32
  var i64: Int64
  var u8: UInt8
  var u16: UInt16
  var u32: UInt32
  var u64: UInt64
  var i128: Int128
  var u128: UInt128
  var float: Float
  var double: Double
  var date: Date
  var uuid: UUID
  var decimal: Decimal
  var text: String
  var data: Data
  var url: URL?
  var maybe: String?
  var twice: Int??
  var place: Place
  var maybePlace: Place?
  var form: Form
  var level: Level
  var small: [Int8]
  var floats: [Float]
  var doubles: [Double?]
  var dates: [Date]
  var datas: [Data]
  var decimals: [String: Decimal]
  var texts: Set<String>
  var pairs: [Int: Form]
  var odd: [UUID: Int]
  var nested: [[[Int]]]
  var mixed: [Mixed]
  var marks: [String: Int]

  static let schema = Schema<Everything> {
    Unique(\.uuid)
    Index(\.flag, \.i8, \.i16, \.i32, \.i64)
    Index(\.float, \.double)
    Index(\.date)
    Index(\.decimal, \.flag)
    Index(\.text, options: .caseInsensitive)
    Index(\.data)
    Index(\.maybe)
    Index(\.place.city)
    Index(\.maybePlace?.city)
    Index(\.small)
    Index(\.texts)
  }
}

/// A value of one of several kinds, so that lists of it are tagged.
enum Mixed: Codable, Sendable {
  case none
  case flag(Bool)
  case number(Int)
  case small(Int8)
  case real(Double)
  case text(String)
  case list([Mixed])

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .none
    } else if let value = try? container.decode(Bool.self) {
      self = .flag(value)
    } else if let value = try? container.decode(Int8.self) {
      self = .small(value)
    } else if let value = try? container.decode(Int.self) {
      self = .number(value)
    } else if let value = try? container.decode(Double.self) {
      self = .real(value)
    } else if let value = try? container.decode(String.self) {
      self = .text(value)
    } else {
      self = .list(try container.decode([Mixed].self))
    }
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .none: try container.encodeNil()
    case .flag(let value): try container.encode(value)
    case .number(let value): try container.encode(value)
    case .small(let value): try container.encode(value)
    case .real(let value): try container.encode(value)
    case .text(let value): try container.encode(value)
    case .list(let value): try container.encode(value)
    }
  }
}

/// Random values, with an excess of those that are easily lost.
struct RandomValues {
  var generator: SeededGenerator

  mutating func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &generator) }
  mutating func flag() -> Bool { Bool.random(using: &generator) }

  mutating func integer<T: FixedWidthInteger>(_ type: T.Type = T.self) -> T {
    switch number(0..<4) {
    case 0: [T.min, .max, 0, 1][number(0..<4)]
    default: T.random(in: .min ... .max, using: &generator)
    }
  }

  mutating func double() -> Double {
    let known: [Double] = [
      0, -0.0, .nan, -.nan, .infinity, -.infinity, .greatestFiniteMagnitude, 0.1, 1e22,
      .leastNonzeroMagnitude,
      Double(bitPattern: 0x7FF8_0000_0000_0001), Double(bitPattern: 0xFFF0_0000_0000_0001), 1, 100,
    ]
    return flag()
      ? known[number(0..<known.count)]
      : Double(bitPattern: UInt64.random(in: .min ... .max, using: &generator))
  }

  mutating func float() -> Float {
    let known: [Float] = [0, -0.0, .nan, -.infinity, .infinity, 0.1, 16_777_216, 1e20]
    return flag()
      ? known[number(0..<known.count)]
      : Float(bitPattern: UInt32.random(in: .min ... .max, using: &generator))
  }

  mutating func date() -> Date {
    let seconds: Double =
      switch number(0..<4) {
      case 0: double()
      case 1: Double(number(-70_000_000_000..<300_000_000_000))
      case 2: Double(number(-1_000_000..<1_000_000_000)) + Double(number(0..<1000)) / 1000
      default: Double.random(in: -1e9..<1e9, using: &generator)
      }
    return Date(timeIntervalSinceReferenceDate: seconds)
  }

  mutating func text() -> String {
    let pieces = [
      "a", "B", "\u{301}", "é", "\"", "\\", "\n", "\u{0}", "\u{7F}", "\u{2028}", "한", "👍🏽", "$",
      "</script>", "\u{FEFF}", " ", "long text that does not lie in the string itself",
    ]
    return (0..<number(0..<6)).map { _ in pieces[number(0..<pieces.count)] }.joined()
  }

  mutating func decimal() -> Decimal {
    switch number(0..<4) {
    case 0: return .nan
    case 1: return Decimal(number(-10_000..<10_000)) * 100
    default:
      let digits = (0..<number(1..<39)).map { _ in String(number(0..<10)) }.joined()
      let text = "\(flag() ? "-" : "")\(digits)E\(number(-60..<60))"
      return Decimal(string: text) ?? 0
    }
  }

  mutating func data() -> Data {
    let count = number(0..<20) == 0 ? 70_000 : number(0..<40)
    return Data((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
  }

  mutating func list<T>(_ count: Int = 4, _ make: (inout Self) -> T) -> [T] {
    (0..<number(0..<count)).map { _ in make(&self) }
  }

  mutating func place(_ depth: Int = 0) -> Everything.Place {
    var inner: [String: [Everything.Place]]?
    if depth < 3, flag() {
      inner = [:]
      for _ in 0..<number(0..<3) { inner?[text()] = list(3) { $0.place(depth + 1) } }
    }
    return Everything.Place(city: text(), point: list { $0.double() }, inner: inner)
  }

  mutating func form() -> Everything.Form {
    switch number(0..<4) {
    case 0: .plain
    case 1: .round(radius: integer())
    case 2: .named(text(), nil)
    default: .named(text(), place(2))
    }
  }

  mutating func mixed(_ depth: Int = 0) -> Mixed {
    switch number(0..<(depth < 3 ? 7 : 6)) {
    case 0: .none
    case 1: .flag(flag())
    case 2: .number(integer())
    case 3: .small(integer())
    case 4: .real(double())
    case 5: .text(text())
    default: .list(list { $0.mixed(depth + 1) })
    }
  }

  mutating func uuid() -> UUID {
    var bytes = uuid_t(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
    withUnsafeMutableBytes(of: &bytes) {
      for place in $0.indices { $0[place] = UInt8.random(in: .min ... .max, using: &generator) }
    }
    return UUID(uuid: bytes)
  }

  mutating func record() -> Everything {
    Everything(
      flag: flag(), i8: integer(), i16: integer(), i32: integer(), i64: integer(), u8: integer(),
      u16: integer(), u32: integer(), u64: integer(), i128: integer(), u128: integer(),
      float: float(), double: double(), date: date(), uuid: uuid(), decimal: decimal(),
      text: text(), data: data(), url: flag() ? URL(string: "https://x.org/\(number(0..<9))") : nil,
      maybe: flag() ? text() : nil, twice: [.none, .some(.none), .some(.some(3))][number(0..<3)],
      place: place(), maybePlace: flag() ? place() : nil, form: form(),
      level: flag() ? .low : .high, small: list { $0.integer() }, floats: list { $0.float() },
      doubles: list { $0.flag() ? $0.double() : nil }, dates: list { $0.date() },
      datas: list { $0.data() },
      decimals: Dictionary(
        list { ("$" + $0.text(), $0.decimal()) }, uniquingKeysWith: { $1 }),
      texts: Set(list { $0.text() }),
      pairs: Dictionary(list { ($0.integer(), $0.form()) }, uniquingKeysWith: { $1 }),
      odd: Dictionary(list { ($0.uuid(), $0.integer()) }, uniquingKeysWith: { $1 }),
      nested: list { $0.list { $0.list { $0.integer() } } }, mixed: list { $0.mixed() },
      marks: ["$shape": 1, "$int8": 2, "$$": 3])
  }
}

/// Records of ids of each kind, and associations of each kind.
struct Club: Record, Equatable {
  var id: String
  var name: String
  static let schema = Schema<Club> {
    HasMany(\Member.clubID, onDelete: .destroy)
    Unique(\.name)
  }
}
struct Member: Record, Equatable {
  var id = RecordID<Member>()
  var name: String
  var clubID: String?
  var initial: String { String(name.prefix(1)) }
  static let duties = ManyToMany<Member, Chore>(named: "duties")
  static let schema = Schema<Member> {
    BelongsTo(\.clubID, to: Club.self)
    duties
    Index(\.name)
    Index(\.initial, name: "initial")
  }
  var duties: Related<Member, Chore> { related(Member.duties) }
}
struct Chore: Record, Equatable {
  var id: UUID
  var title: String
  var at: Date?
  static let schema = Schema<Chore> {
    ManyToMany<Chore, Member>(named: "duties")
    Index(\.title, \.at)
  }
}
/// Ids of the kinds that are left.
struct Signed: Record, Equatable {
  var id: Int16
  var value: Double
}
struct Unsigned: Record, Equatable {
  var id: UInt64
  var value: [String: Int]
}

/// The error of a piece of work, or nil when there was none.
func caught(_ work: () throws -> Void) -> LarchError? {
  do {
    try work()
    return nil
  } catch {
    return error as? LarchError
  }
}

/// A path for a store or a file that is removed after `body`.
func withScratchPath<T>(_ body: (String) throws -> T) rethrows -> T {
  let path = ScratchFile.freshPath()
  defer { ScratchFile.remove(path) }
  return try body(path)
}

extension Store {
  /// The store at `path` for the time of `body`.
  static func using<T>(
    _ path: String, _ types: any Record.Type..., isReadOnly: Bool = false,
    _ body: (Store) throws -> T
  ) throws -> T {
    var options = Options()
    options.durability = .none
    options.isReadOnly = isReadOnly
    let store = try Store(path: path, types: types, options: options, isTemporary: false)
    defer { store.close() }
    return try body(store)
  }

  /// The bytes of every record, by collection and id.
  func storedBytes() throws -> [String: [UInt8]] {
    try inspect { inspector in
      var found: [String: [UInt8]] = [:]
      for collection in inspector.collections {
        try inspector.forEachStoredRecord(in: collection) { id, record in
          found["\(collection.name) \(id.map { String($0, radix: 16) })"] = [UInt8](record)
        }
      }
      return found
    }
  }

  func exportText(_ names: [String]? = nil) throws -> String {
    var text = Data()
    try export(names) { text += $0 }
    return String(decoding: text, as: UTF8.self)
  }
}
