import Foundation
import LarchTestSupport

@testable import Larch

/// An order of a query and the same order of an array.
struct OracleOrder<K: OracleIndexes> {
  typealias Thing = OracleThing<K>

  var apply: (Query<Thing>) -> Query<Thing> = { $0 }
  /// Negative if the first one comes first; equal elements stay in the order of their ids.
  var compare: (Thing, Thing) -> Int = { _, _ in 0 }
  var text = ""
  var isReversed = false

  /// The result of the query on an array in the order of ids.
  func sort(_ things: [Thing]) -> [Thing] {
    let sorted = things.enumerated().sorted { a, b in
      let order = compare(a.element, b.element)
      return order != 0 ? order < 0 : a.offset < b.offset
    }.map(\.element)
    return isReversed ? sorted.reversed() : sorted
  }

  static func random(_ random: inout SeededGenerator) -> Self {
    var result = Self()
    for number in 0..<[0, 1, 1, 1, 2, 3][random.below(6)] {
      result.add(&random, isFirst: number == 0)
    }
    if random.chance(1, in: 6) {
      let apply = result.apply
      result.apply = { apply($0).reversed() }
      result.isReversed = true
      result.text += " reversed"
    }
    return result
  }

  private mutating func add(_ random: inout SeededGenerator, isFirst: Bool) {
    let direction: SortDirection = random.chance(1, in: 2) ? .ascending : .descending
    switch random.below(15) {
    case 0: add(\.number, direction, isFirst) { ordered($0.number, $1.number) }
    case 1: add(\.maybe, direction, isFirst) { nilFirst($0.maybe, $1.maybe, ordered) }
    case 2: add(\.small, direction, isFirst) { ordered($0.small, $1.small) }
    case 3: add(\.real, direction, isFirst) { nanLast($0.real, $1.real) }
    case 4: add(\.maybeReal, direction, isFirst) { nilFirst($0.maybeReal, $1.maybeReal, nanLast) }
    case 5, 6: add(\.text, direction, isFirst) { compareText($0.text, $1.text) }
    case 7: add(\.note, direction, isFirst) { nilFirst($0.note, $1.note, compareText) }
    case 8: add(\.flag, direction, isFirst) { ordered($0.flag ? 1 : 0, $1.flag ? 1 : 0) }
    case 9: add(\.day, direction, isFirst) { ordered($0.day, $1.day) }
    case 10: add(\.place.city, direction, isFirst) { compareText($0.place.city, $1.place.city) }
    case 11: add(\.grade, direction, isFirst) { compareText($0.grade.rawValue, $1.grade.rawValue) }
    case 12: add(\.medal, direction, isFirst) { ordered($0.medal, $1.medal) }
    case 13: add(\.prize, direction, isFirst) { nilFirst($0.prize, $1.prize, ordered) }
    default:
      let before = apply
      apply = {
        isFirst
          ? before($0).sorted(by: \.text, options: .caseInsensitive, direction)
          : before($0).then(by: \.text, options: .caseInsensitive, direction)
      }
      add("~text", direction) { compareText(foldedText($0.text), foldedText($1.text)) }
    }
  }

  /// In the order of one field, and of its own `comparison` in the array.
  static func by<Value: IndexKey>(
    _ field: any KeyPath<Thing, Value> & Sendable, _ direction: SortDirection = .ascending,
    _ comparison: @escaping (Thing, Thing) -> Int
  ) -> Self {
    var result = Self()
    result.add(field, direction, true, comparison)
    return result
  }

  /// The other way round, ids included.
  func reversed() -> Self {
    var result = self
    let apply = apply
    result.apply = { apply($0).reversed() }
    result.isReversed.toggle()
    result.text += " reversed"
    return result
  }

  private mutating func add<Value: IndexKey>(
    _ field: any KeyPath<Thing, Value> & Sendable, _ direction: SortDirection, _ isFirst: Bool,
    _ comparison: @escaping (Thing, Thing) -> Int
  ) {
    let before = apply
    apply = {
      isFirst ? before($0).sorted(by: field, direction) : before($0).then(by: field, direction)
    }
    add("\(field)", direction, comparison)
  }

  private mutating func add(
    _ name: String, _ direction: SortDirection, _ comparison: @escaping (Thing, Thing) -> Int
  ) {
    let before = compare
    let sign = direction == .descending ? -1 : 1
    compare = { a, b in
      let order = before(a, b)
      return order != 0 ? order : sign * comparison(a, b)
    }
    text += " by \(name) \(direction)"
  }
}

func foldedText(_ text: String) -> String {
  text.precomposedStringWithCanonicalMapping.lowercased().precomposedStringWithCanonicalMapping
}

func ordered<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }

func nanLast(_ a: Double, _ b: Double) -> Int {
  if a.isNaN || b.isNaN { return ordered(a.isNaN ? 1 : 0, b.isNaN ? 1 : 0) }
  return ordered(a, b)
}

func nilFirst<T>(_ a: T?, _ b: T?, _ compare: (T, T) -> Int) -> Int {
  guard let a, let b else { return ordered(a == nil ? 0 : 1, b == nil ? 0 : 1) }
  return compare(a, b)
}
