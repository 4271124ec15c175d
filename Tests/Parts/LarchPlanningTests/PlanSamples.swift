import Foundation
import LarchTestSupport

@testable import Larch

/// Random records and queries over few values, so that filters match records.
struct PlanSamples {
  var generator: SeededGenerator
  static let prefix = String(repeating: "long ", count: 26)
  static let texts = [
    "", "a", "A", "ab", "Ab", "AB", "abc", "b", "é", "e\u{301}", "e", "É", "Zoë", "a\0b", "a\0",
    "İx", "i̇x", "ß", "ss", "\r\n", "\r", "a%b", "a_b", "\u{FFFF}", prefix, prefix + "a",
    prefix + "b", prefix + "É", String(prefix.dropLast()), "e\u{301}" + prefix,
  ]
  static let numbers = [Int.min, -1, 0, 1, 2, 3, 255, 256, Int.max]
  static let doubles = [
    -Double.infinity, -1.5, -0.0, 0.0, 1, 1.5, .greatestFiniteMagnitude, .infinity, .nan,
  ]

  init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

  mutating func number(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
  mutating func chance(_ percent: Int) -> Bool { number(100) < percent }
  mutating func pick<T>(_ list: [T]) -> T { list[number(list.count)] }
  mutating func maybe<T>(_ value: T) -> T? { chance(25) ? nil : value }
  mutating func text() -> String { pick(Self.texts) }
  mutating func int() -> Int { pick(Self.numbers) }
  mutating func double() -> Double { pick(Self.doubles) }
  mutating func version() -> PlanVersion { PlanVersion(major: number(3), minor: double()) }

  mutating func people(_ count: Int) -> [PlanPerson] {
    (0..<count).map { n in
      var person = PlanPerson(id: RecordID(Int64(n) - 3))
      person.name = text()
      person.email = maybe("\(n)" + text())
      person.age = int()
      person.city = text()
      person.country = pick(["K", "L"])
      person.score = double()
      person.height = maybe(double())
      person.isActive = chance(50)
      person.role = pick(PlanRole.allCases)
      person.tags = (0..<number(4)).map { _ in text() }
      person.address = PlanAddress(city: pick(["x", "y"]), street: maybe(text()))
      person.joined = Date(timeIntervalSinceReferenceDate: double())
      person.company = maybe(int())
      person.version = version()
      person.note = text()
      person.nick = maybe(text())
      return person
    }
  }

  mutating func documents(_ count: Int) -> [PlanDocument] {
    var seen: Set<String> = []
    var list: [PlanDocument] = []
    for n in 0..<count {
      let id = chance(30) ? text() : text() + "\(n)"
      guard seen.insert(id).inserted else { continue }
      list.append(
        PlanDocument(
          id: id, title: text(), subtitle: maybe(text()), year: int(), rank: UInt8(n & 255)))
    }
    return list
  }

  // MARK: Filters

  mutating func filter(depth: Int) -> Filter<PlanPerson> {
    if depth > 0, chance(65) {
      switch number(5) {
      case 0, 1: return filter(depth: depth - 1) && filter(depth: depth - 1)
      case 2, 3: return filter(depth: depth - 1) || filter(depth: depth - 1)
      default: return !filter(depth: depth - 1)
      }
    }
    return leaf()
  }

  private mutating func leaf() -> Filter<PlanPerson> {
    let f = Fields<PlanPerson>()
    switch number(22) {
    case 0: return textLeaf(f.name)
    case 1: return textLeaf(f.email)
    case 2: return comparison(f.age, int())
    case 3: return textLeaf(f.city)
    case 4: return f.country == pick(["K", "L"])
    case 5: return comparison(f.score, double())
    case 6:
      switch number(4) {
      case 0: return f.height == maybe(double())
      case 1: return f.height >= double()
      case 2: return f.height < double()
      default: return f.height != nil
      }
    case 7: return chance(50) ? f.isActive._filter : !f.isActive
    case 8: return f.role == pick(PlanRole.allCases)
    case 9: return [pick(PlanRole.allCases), pick(PlanRole.allCases)].contains(f.role)
    case 10: return f.tags.contains(text())
    case 11: return f.tags.contains { [test = text()] in $0.hasPrefix(test) }
    case 12: return f.tags.containsAny(of: [text(), text()])
    case 13: return f.address.city == pick(["x", "y", "z"])
    case 14: return textLeaf(f.address.street)
    case 15: return comparison(f.joined, Date(timeIntervalSinceReferenceDate: double()))
    case 16:
      switch number(4) {
      case 0: return f.company == maybe(int())
      case 1: return [int(), int()].contains(f.company)
      case 2: return f.company == nil
      default: return f.company > int()
      }
    case 17: return comparison(f.version, version())
    case 18: return textLeaf(f.initial)
    case 19: return comparison(f.id, RecordID(Int64(number(60))))
    case 20: return (0..<number(4)).map { _ in RecordID(Int64(number(60))) }.contains(f.id)
    default: return f.age < f.company
    }
  }

  mutating func filter(ofDocuments depth: Int) -> Filter<PlanDocument> {
    if depth > 0, chance(60) {
      switch number(5) {
      case 0, 1: return filter(ofDocuments: depth - 1) && filter(ofDocuments: depth - 1)
      case 2, 3: return filter(ofDocuments: depth - 1) || filter(ofDocuments: depth - 1)
      default: return !filter(ofDocuments: depth - 1)
      }
    }
    let f = Fields<PlanDocument>()
    switch number(6) {
    case 0: return textLeaf(f.title)
    case 1: return textLeaf(f.subtitle)
    case 2: return comparison(f.year, int())
    case 3: return comparison(f.rank, UInt8(number(256)))
    default: return textLeaf(f.id)
    }
  }

  private mutating func comparison<R, V: Comparable & Sendable>(
    _ field: Field<R, V>, _ value: V
  ) -> Filter<R> {
    switch number(7) {
    case 0: return field == value
    case 1: return field != value
    case 2: return field < value
    case 3: return field <= value
    case 4: return field > value
    case 5: return field >= value
    default: return [value, value].contains(field)
    }
  }

  private mutating func textLeaf<R, V: TextValue & Equatable>(_ field: Field<R, V>) -> Filter<R> {
    let options: TextOption? = chance(50) ? .caseInsensitive : nil
    var wanted = text()
    if chance(40) { wanted = String(wanted.prefix(1 + number(3))) }
    switch number(9) {
    case 0, 1:
      guard let same = wanted as? V ?? Optional(wanted) as? V else { break }
      return chance(80) ? field == same : field != same
    case 2:
      let values = [wanted, text(), text()].compactMap { $0 as? V ?? Optional($0) as? V }
      return values.contains(field)
    case 3: return field.equals(wanted, options: .caseInsensitive)
    case 4: return field.hasSuffix(wanted, options: options)
    case 5: return field.contains(wanted, options: options)
    case 6: return field.like(wanted + pick(["%", "_", "", "%b", "\\%"]), options: options)
    case 7:
      let key = field.node.indexKey()
      let bound = ValueBound(values: [.string(wanted)], isIncluded: chance(50))
      let other = ValueBound(values: [.string(text())], isIncluded: chance(50))
      switch number(3) {
      case 0: return Filter(key.filter(.within(lower: bound, upper: nil)))
      case 1: return Filter(key.filter(.within(lower: nil, upper: bound)))
      default: return Filter(key.filter(.within(lower: bound, upper: other)))
      }
    default: break
    }
    return field.hasPrefix(wanted, options: options)
  }

  // MARK: Queries

  mutating func query() -> Query<PlanPerson> {
    var query = PlanPerson.where { [filter = filter(depth: number(4))] _ in filter }
    for _ in 0..<pick([0, 0, 1, 1, 2, 3]) {
      let direction: SortDirection = chance(50) ? .ascending : .descending
      switch number(12) {
      case 0: query = query.then(by: \.age, direction)
      case 1: query = query.then(by: \.city, direction)
      case 2: query = query.then(by: \.name, options: .caseInsensitive, direction)
      case 3: query = query.then(by: \.name, direction)
      case 4: query = query.then(by: \.score, direction)
      case 5: query = query.then(by: \.height, direction)
      case 6: query = query.then(by: \.email, direction)
      case 7: query = query.then(by: \.joined, direction)
      case 8: query = query.then(by: \.company, direction)
      case 9: query = query.then(by: \.address.street, direction)
      case 10: query = query.then(by: \.id, direction)
      default: query = query.then(by: \.version, direction)
      }
    }
    if chance(20) { query = query.reversed() }
    if chance(40) { query = query.limit(number(8)) }
    if chance(20) { query = query.offset(number(5)) }
    return query
  }

  mutating func query(ofDocuments: Void) -> Query<PlanDocument> {
    var query = PlanDocument.where { [filter = filter(ofDocuments: number(4))] _ in filter }
    for _ in 0..<pick([0, 0, 1, 2]) {
      let direction: SortDirection = chance(50) ? .ascending : .descending
      switch number(5) {
      case 0: query = query.then(by: \.title, direction)
      case 1: query = query.then(by: \.subtitle, direction)
      case 2: query = query.then(by: \.year, direction)
      case 3: query = query.then(by: \.rank, direction)
      default: query = query.then(by: \.id, direction)
      }
    }
    if chance(20) { query = query.reversed() }
    if chance(40) { query = query.limit(number(8)) }
    return query
  }

  mutating func need() -> QueryNeed {
    switch number(6) {
    case 0: .ids
    case 1: .count
    case 2: .exists
    case 3: .fields([TypedField.of(\PlanPerson.age), TypedField.of(\PlanPerson.city)])
    default: .records
    }
  }
}
