import Foundation
import LarchTestSupport

@testable import Larch

/// Which indexes the records of a test have.
protocol DecimalIndexes: Sendable {
  static var name: String { get }
  static var schema: Schema<DecimalRecord<Self>> { get }
}

struct DecimalRecord<L: DecimalIndexes>: Record {
  var id = RecordID<Self>()
  var price: Decimal
  var discount: Decimal?
  var rates: [Decimal]
  var kind: Int
  var text: String

  static var collectionName: String { L.name }
  static var schema: Schema<Self> { L.schema }
}

enum NoDecimalIndexes: DecimalIndexes {
  static let name = "none"
  static var schema: Schema<DecimalRecord<Self>> { Schema() }
}

enum FirstDecimalIndexes: DecimalIndexes {
  static let name = "first"
  static var schema: Schema<DecimalRecord<Self>> {
    Schema {
      Index(\.price)
      Index(\.discount, \.kind)
      Index(\.rates)
    }
  }
}

enum SecondDecimalIndexes: DecimalIndexes {
  static let name = "second"
  static var schema: Schema<DecimalRecord<Self>> {
    Schema {
      Index(\.kind, \.price, \.discount)
      Index(\.price, \.text)
      Index(\.kind, \.discount)
      Index(\.kind, name: "dear", where: { $0.price > 100 })
    }
  }
}

extension SeededGenerator {
  /// Often equal to another one, sometimes in another form, sometimes with 39 digits.
  mutating func decimal() -> Decimal {
    switch below(12) {
    case 0: return pick([0, .nan, .greatestFiniteMagnitude, -.greatestFiniteMagnitude])
    case 1: return pick([.leastNonzeroMagnitude, 1, -1, 100, 0.5])
    case 2:
      return Decimal(
        sign: .plus, exponent: below(4) - 2, significand: Decimal(pick([100, 1250, 10])))
    case 3, 4:
      let text =
        "\(chance(1, in: 2) ? "-" : "")\(below(99_999))\(below(99_999))E\(below(250) - 125)"
      return Decimal(string: text) ?? 0
    default: return Decimal(below(400) - 200) / 4
    }
  }

  mutating func decimalRecord<L: DecimalIndexes>(_: L.Type) -> DecimalRecord<L> {
    DecimalRecord(
      price: decimal(), discount: chance(1, in: 4) ? nil : decimal(),
      rates: (0..<below(4)).map { _ in decimal() }, kind: below(4), text: pick(["a", "é", ""]))
  }
}

/// A filter and the same closure over an element of an array.
struct DecimalFilter<L: DecimalIndexes> {
  typealias Item = DecimalRecord<L>

  let filter: Filter<Item>
  let text: String
  let matches: (Item) -> Bool

  init(
    _ text: String, _ make: (Fields<Item>) -> some FilterExpression<Item>,
    _ matches: @escaping (Item) -> Bool
  ) {
    filter = make(Fields())._filter
    self.text = text
    self.matches = matches
  }

  private init(_ filter: Filter<Item>, _ text: String, _ matches: @escaping (Item) -> Bool) {
    self.filter = filter
    self.text = text
    self.matches = matches
  }

  static func random(_ random: inout SeededGenerator, depth: Int) -> Self {
    guard depth > 0, random.chance(2, in: 3) else { return leaf(&random) }
    let a = Self.random(&random, depth: depth - 1)
    let b = Self.random(&random, depth: depth - 1)
    switch random.below(4) {
    case 0:
      return Self(a.filter || b.filter, "(\(a.text) || \(b.text))") {
        a.matches($0) || b.matches($0)
      }
    case 1: return Self(!a.filter, "!(\(a.text))") { !a.matches($0) }
    default:
      return Self(a.filter && b.filter, "(\(a.text) && \(b.text))") {
        a.matches($0) && b.matches($0)
      }
    }
  }

  private static func leaf(_ random: inout SeededGenerator) -> Self {
    let a = random.decimal()
    let b = random.decimal()
    let kind = random.below(4)
    switch random.below(16) {
    case 0: return Self("price == \(a)", { $0.price == a }, { $0.price == a })
    case 1: return Self("price != \(a)", { $0.price != a }, { $0.price != a })
    case 2: return Self("price < \(a)", { $0.price < a }, { $0.price < a })
    case 3: return Self("price >= \(a)", { $0.price >= a }, { $0.price >= a })
    case 4: return Self("price > \(a)", { $0.price > a }, { $0.price > a })
    case 5:
      let range = min(a, b)...max(a, b)
      return Self(
        "price in \(range)", { range.contains($0.price) }, { range.contains($0.price) })
    case 6:
      let list = [a, b, random.decimal()]
      return Self("price in \(list)", { list.contains($0.price) }, { list.contains($0.price) })
    case 7: return Self("discount == nil", { $0.discount == nil }, { $0.discount == nil })
    case 8: return Self("discount == \(a)", { $0.discount == a }, { $0.discount == a })
    case 9: return Self("discount != \(a)", { $0.discount != a }, { $0.discount != a })
    case 10:
      return Self(
        "discount <= \(a)", { $0.discount <= a }, { $0.discount.map { $0 <= a } ?? false })
    case 11:
      return Self("discount > \(a)", { $0.discount > a }, { $0.discount.map { $0 > a } ?? false })
    case 12: return Self("\(a) in rates", { $0.rates.contains(a) }, { $0.rates.contains(a) })
    case 13:
      return Self(
        "price == discount", { $0.price == $0.discount }, { $0.price == $0.discount })
    case 14:
      return Self(
        "kind \(kind), price <= \(a)", { $0.kind == kind && $0.price <= a },
        { $0.kind == kind && $0.price <= a })
    default: return Self("kind == \(kind)", { $0.kind == kind }, { $0.kind == kind })
    }
  }
}
