import Foundation
import LarchTestSupport

@testable import Larch

// Lists and dictionaries of records, enums and values that are no leaves.

struct MemberLine: RandomValue {
  var article: String
  var count: Int
  var price: Decimal
  var color: MemberColor?
  var notes: [String]?

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(
      article: g.text(), count: g.integer(), price: Decimal(g.next() % 10_000) / 100,
      color: g.maybe { MemberColor.allCases.randomElement(using: &$0)! },
      notes: g.maybe { $0.list { $0.text() } })
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(article: "a", count: 1, price: 2, color: .red, notes: ["n"])
  }
}

struct MemberOrder: RandomValue {
  var id: Int
  var lines: [MemberLine]
  var spare: [MemberLine]?
  var places: [String: MemberAddress]
  var groups: [[MemberAddress]]
  var tail: String

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(
      id: g.integer(), lines: few(&g) { .random(&$0) },
      spare: g.maybe { few(&$0) { .random(&$0) } },
      places: Dictionary(few(&g) { ($0.text(), .random(&$0)) }, uniquingKeysWith: { $1 }),
      groups: few(&g) { few(&$0) { .random(&$0) } }, tail: g.text())
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(
      id: 1, lines: [.full(&g)], spare: [.full(&g)], places: ["p": .full(&g)],
      groups: [[.full(&g)]], tail: "t")
  }

  static func few<Value>(
    _ g: inout SeededGenerator, _ make: (inout SeededGenerator) -> Value
  ) -> [Value] {
    (0..<Int(g.next() % 5)).map { _ in make(&g) }
  }
}

struct MemberTable: RandomValue {
  var flags: [Bool]
  var dates: [Date]
  var keys: [UUID]
  var prices: [Decimal]
  var colors: [MemberColor]
  var ranks: [MemberRank]?
  var blobs: [Data]
  var rows: [[Int]]
  var counts: [String: Int]
  var names: [String: String]?
  var nested: [String: [Double]]
  var ids: [MemberID<MemberTable>]

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(
      flags: g.list { $0.bool() }, dates: g.list { $0.date() }, keys: g.list { $0.uuid() },
      prices: g.list { Decimal($0.next() % 1000) / 8 },
      colors: g.list { MemberColor.allCases.randomElement(using: &$0)! },
      ranks: g.maybe { $0.list { MemberRank.allCases.randomElement(using: &$0)! } },
      blobs: MemberOrder.few(&g) { $0.data() },
      rows: MemberOrder.few(&g) { $0.list { $0.integer() } },
      counts: Dictionary(g.list { ($0.text(), $0.integer()) }, uniquingKeysWith: { $1 }),
      names: g.maybe {
        Dictionary($0.list { ($0.text(), $0.text()) }, uniquingKeysWith: { $1 })
      },
      nested: Dictionary(
        MemberOrder.few(&g) { ($0.text(), $0.list { $0.double() }) }, uniquingKeysWith: { $1 }),
      ids: g.list { MemberID($0.integer()) })
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(
      flags: [true], dates: [g.date()], keys: [g.uuid()], prices: [1], colors: [.red],
      ranks: [.last], blobs: [g.data()], rows: [[1]], counts: ["a": 1], names: ["b": "c"],
      nested: ["d": [1]], ids: [MemberID(1)])
  }
}

struct MemberBoxes: RandomValue {
  var boxes: [MemberBox<MemberLine>]
  var deep: [String: [MemberBox<MemberOptionals>]]

  static func random(_ g: inout SeededGenerator) -> Self {
    Self(
      boxes: MemberOrder.few(&g) { .random(&$0) },
      deep: Dictionary(
        MemberOrder.few(&g) { ($0.text(), MemberOrder.few(&$0) { .random(&$0) }) },
        uniquingKeysWith: { $1 }))
  }

  static func full(_ g: inout SeededGenerator) -> Self {
    Self(boxes: [.full(&g)], deep: ["a": [.full(&g)]])
  }
}
