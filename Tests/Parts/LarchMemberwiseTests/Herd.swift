import Foundation

@testable import Larch

/// A type whose coding is the compiler's.
protocol HerdMember: Codable, SendableMetatype {
  static var values: [Self] { get }
}

struct HerdRow: Sendable, CustomStringConvertible {
  let type: any HerdMember.Type
  /// A part of the reason why it is not taken; nil if it is coded memberwise.
  let reason: String?

  init(_ type: any HerdMember.Type, _ reason: String? = nil) {
    self.type = type
    self.reason = reason
  }

  var description: String { "\(type)" }
}

private let moment = Date(timeIntervalSinceReferenceDate: 777)
private let someKey = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

enum Herd {
  static let taken: [HerdRow] = [
    HerdRow(One.self), HerdRow(Two.self), HerdRow(Numbers.self), HerdRow(Optionals.self),
    HerdRow(Defaults.self), HerdRow(Renamed.self), HerdRow(Reordered.self),
    HerdRow(PrivateKeys.self),
    HerdRow(Nested.self), HerdRow(Deep.self), HerdRow(Lists.self), HerdRow(ListOfRecords.self),
    HerdRow(OptionalLists.self), HerdRow(Grid.self), HerdRow(Maps.self), HerdRow(MapOfRecords.self),
    HerdRow(TextEnum.self), HerdRow(NumberEnum.self), HerdRow(EnumList.self), HerdRow(Dates.self),
    HerdRow(Money.self), HerdRow(Links.self), HerdRow(Blobs.self), HerdRow(Box<Int>.self),
    HerdRow(Box<Two>.self), HerdRow(Box<Box<String>>.self), HerdRow(Wide.self),
    HerdRow(Person.self), HerdRow(Event.self), HerdRow(Order.self), HerdRow(Reading.self),
    HerdRow(Observed.self), HerdRow(Privates.self), HerdRow(Lets.self), HerdRow(Floats.self),
    HerdRow(FreshKey.self), HerdRow(Bools.self), HerdRow(Equal.self),
  ]

  static let left: [HerdRow] = [
    HerdRow(Empty.self, "no stored properties"), HerdRow(Payload.self, "choice is a Choice"),
    HerdRow(IntKeys.self, "counts is a"), HerdRow(Sets.self, "items is a"),
    HerdRow(TwiceOptional.self, "an optional of an optional"),
    HerdRow(OptionalElements.self, "values is a"), HerdRow(Excluding.self, "not in its CodingKeys"),
    HerdRow(Fixed.self, "version is written but not read back"),
    HerdRow(Object.self, "not a struct"),
    HerdRow(Tree.self, "children is a"), HerdRow(Ranges.self, "range is a"),
    HerdRow(WithObject.self, "part is a"), HerdRow(Big.self, "number is a"),
  ]

  struct One: HerdMember {
    var text: String
    static let values = [One(text: "a"), One(text: "")]
  }
  struct Two: HerdMember {
    var a: Int
    var b: String
    static let values = [Two(a: 1, b: "x"), Two(a: .min, b: String(repeating: "é", count: 40))]
  }
  struct Numbers: HerdMember {
    var a: Int8
    var b: Int16
    var c: Int32
    var d: Int64
    var e: UInt8
    var f: UInt16
    var g: UInt32
    var h: UInt64
    var i: UInt
    static let values = [Numbers(a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: .max, i: 9)]
  }
  struct Floats: HerdMember {
    var a: Float
    var b: Double
    var c: Float?
    static let values = [Floats(a: .nan, b: -0.0, c: nil), Floats(a: 1, b: .infinity, c: 2)]
  }
  struct Bools: HerdMember {
    var a: Bool
    var b: Bool?
    static let values = [Bools(a: true, b: nil), Bools(a: false, b: true)]
  }
  struct Optionals: HerdMember {
    var a: Int?
    var b: String?
    var c: Date?
    var d: UUID?
    var e: Two?
    static let values = [
      Optionals(a: 1, b: "b", c: moment, d: someKey, e: Two.values[0]), Optionals(),
    ]
  }
  struct Defaults: HerdMember {
    var a = 7
    var b = "b"
    var c: Int? = 3
    static let values = [Defaults(), Defaults(a: 0, b: "", c: nil)]
  }
  struct FreshKey: HerdMember {
    var id = UUID()
    var at = Date()
    static let values = [FreshKey(id: someKey, at: moment), FreshKey()]
  }
  struct Renamed: HerdMember {
    var first: String
    var second: Int
    enum CodingKeys: String, CodingKey { case first = "1", second }
    static let values = [Renamed(first: "a", second: 2)]
  }
  struct Reordered: HerdMember {
    var first: String
    var second: Int
    enum CodingKeys: CodingKey { case second, first }
    static let values = [Reordered(first: "a", second: 2)]
  }
  struct PrivateKeys: HerdMember {
    private var a: Int
    private(set) var b: String
    private enum CodingKeys: String, CodingKey { case a = "A", b }
    static let values = [PrivateKeys(a: 1, b: "b")]
  }
  struct Privates: HerdMember {
    private let a: Int
    fileprivate var b: String?
    static let values = [Privates(a: 1, b: "b"), Privates(a: 1, b: nil)]
  }
  struct Lets: HerdMember {
    let a: Int
    let b: [String]
    static let values = [Lets(a: 1, b: ["b"])]
  }
  struct Observed: HerdMember {
    var a: Int { didSet { if a < 0 { a = 0 } } }
    static let values = [Observed(a: 1), Observed(a: -1)]
  }
  struct Equal: HerdMember, Hashable, Comparable {
    var a: Int
    static func < (x: Self, y: Self) -> Bool { x.a > y.a }
    static let values = [Equal(a: 1)]
  }
  struct Nested: HerdMember {
    var a: Two
    var b: One?
    static let values = [
      Nested(a: Two.values[0], b: One.values[0]), Nested(a: Two.values[1], b: nil),
    ]
  }
  struct Deep: HerdMember {
    var a: Nested
    var b: [Nested]
    static let values = [Deep(a: Nested.values[0], b: Nested.values)]
  }
  struct Lists: HerdMember {
    var a: [Int]
    var b: [String]
    var c: [Double]
    var d: [UInt8]
    static let values = [Lists(a: [1], b: ["b", "b"], c: [], d: [0])]
  }
  struct ListOfRecords: HerdMember {
    var items: [Two]
    static let values = [ListOfRecords(items: Two.values), ListOfRecords(items: [])]
  }
  struct OptionalLists: HerdMember {
    var a: [Int]?
    var b: [Two]?
    static let values = [OptionalLists(a: [1], b: Two.values), OptionalLists()]
  }
  struct Grid: HerdMember {
    var rows: [[Int]]
    static let values = [Grid(rows: [[1, 2], [], [3]])]
  }
  struct Maps: HerdMember {
    var a: [String: Int]
    var b: [String: String]?
    static let values = [Maps(a: ["b": 1, "a": 2], b: ["é": "x"]), Maps(a: [:], b: nil)]
  }
  struct MapOfRecords: HerdMember {
    var items: [String: Two]
    static let values = [MapOfRecords(items: ["b": Two.values[0], "a": Two.values[1]])]
  }
  struct TextEnum: HerdMember {
    enum Kind: String, Codable { case a, b, c = "see" }
    var kind: Kind
    var other: Kind?
    static let values = [TextEnum(kind: .c, other: nil), TextEnum(kind: .a, other: .b)]
  }
  struct NumberEnum: HerdMember {
    enum Kind: Int, Codable { case a = -1, b = 5 }
    var kind: Kind
    static let values = [NumberEnum(kind: .a), NumberEnum(kind: .b)]
  }
  struct EnumList: HerdMember {
    var kinds: [TextEnum.Kind]
    static let values = [EnumList(kinds: [.a, .c, .a])]
  }
  struct Dates: HerdMember {
    var a: Date
    var b: [Date]
    static let values = [Dates(a: moment, b: [moment, .distantFuture])]
  }
  struct Money: HerdMember {
    var price: Decimal
    var old: Decimal?
    static let values = [Money(price: 1.25, old: nil), Money(price: 0, old: -3)]
  }
  struct Links: HerdMember {
    var page: URL
    static let values = [Links(page: URL(string: "https://larch.example/a?b=c")!)]
  }
  struct Blobs: HerdMember {
    var data: Data
    var more: [Data]
    static let values = [Blobs(data: Data([1, 2]), more: [Data(), Data([0])])]
  }
  struct Box<Content: Codable & Sendable>: HerdMember {
    var content: Content
    var note: String?
    static var values: [Self] {
      let contents: [Any] = [5, Two(a: 1, b: "b"), Box<String>(content: "c")]
      return contents.compactMap { $0 as? Content }.map { Self(content: $0) }
    }
  }
  struct Person: HerdMember {
    var id: RecordID<PersonRecord>
    var name: String
    var email: String?
    var age: Int
    var city: String
    var tags: [String] = []
    var companyID: RecordID<PersonRecord>?
    static let values = [
      Person(id: RecordID(1), name: "Ada", email: "a@b.c", age: 36, city: "London", tags: ["x"]),
      Person(id: RecordID(2), name: "Bo", age: 1, city: "Oslo", companyID: RecordID(9)),
    ]
  }
  struct PersonRecord: Record { var id: RecordID<PersonRecord> }
  struct Event: HerdMember {
    var id = UUID()
    var at: Date
    var kind: TextEnum.Kind
    var text: String?
    static let values = [
      Event(at: moment, kind: .a, text: nil), Event(at: moment, kind: .b, text: "t"),
    ]
  }
  struct Order: HerdMember {
    struct Line: Codable {
      var article: String
      var count: Int
      var price: Decimal
    }
    var id: Int
    var lines: [Line]
    var address: Two?
    static let values = [
      Order(id: 1, lines: [Line(article: "a", count: 2, price: 3)], address: Two.values[0]),
      Order(id: 2, lines: [], address: nil),
    ]
  }
  struct Reading: HerdMember {
    var at: Date
    var value: Double
    static let values = [Reading(at: moment, value: 1)]
  }
}
