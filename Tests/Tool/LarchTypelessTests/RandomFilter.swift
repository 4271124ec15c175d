import Foundation
import LarchTestSupport

@testable import Larch

/// A filter three times: as a typed one, as a closure over an element of an array, and as the text
/// of a query.
struct RandomFilter<K: ThingIndexes> {
  let filter: Filter<Thing<K>>
  let matches: (Thing<K>) -> Bool
  let text: String
  /// Whether both filters are made of the same tests, so that their plans are the same.
  let isStandard: Bool

  init(
    _ text: String, isStandard: Bool = true,
    _ make: (Fields<Thing<K>>) -> some FilterExpression<Thing<K>>,
    _ matches: @escaping (Thing<K>) -> Bool
  ) {
    filter = make(Fields())._filter
    self.matches = matches
    self.text = text
    self.isStandard = isStandard
  }

  /// Conditions without an operator in typed filters.
  init(_ text: String, closure: @escaping @Sendable (Thing<K>) -> Bool) {
    self.init(text, isStandard: false, { $0.satisfies(closure) }, closure)
  }

  init(_ other: Self, isStandard: Bool) {
    self.init(other.filter, other.text, isStandard, other.matches)
  }

  private init(
    _ filter: Filter<Thing<K>>, _ text: String, _ isStandard: Bool,
    _ matches: @escaping (Thing<K>) -> Bool
  ) {
    self.filter = filter
    self.text = text
    self.isStandard = isStandard
    self.matches = matches
  }

  /// A random filter of at most this depth.
  static func random(_ random: inout SeededGenerator, depth: Int) -> Self {
    guard depth > 1, random.chance(3, in: 5) else { return leaf(&random) }
    let a = self.random(&random, depth: depth - 1)
    switch random.below(8) {
    case 0...3:
      let b = self.random(&random, depth: depth - 1)
      return Self(a.filter && b.filter, "(\(a.text) and \(b.text))", a.isStandard && b.isStandard) {
        a.matches($0) && b.matches($0)
      }
    case 4...6:
      let b = self.random(&random, depth: depth - 1)
      return Self(a.filter || b.filter, "(\(a.text) OR \(b.text))", a.isStandard && b.isStandard) {
        a.matches($0) || b.matches($0)
      }
    default:
      return Self(!a.filter, "not (\(a.text))", a.isStandard) { !a.matches($0) }
    }
  }

  static func leaf(_ random: inout SeededGenerator) -> Self {
    switch random.below(24) {
    case 0...2: number(&random)
    case 3...4: maybe(&random)
    case 5: integers(&random)
    case 6...7: real(&random)
    case 8...11: text(&random)
    case 12...13: note(&random)
    case 14: flag(&random)
    case 15...16: list(&random)
    case 17...18: place(&random)
    case 19...20: value(&random)
    case 21: other(&random)
    case 22: pair(&random)
    default: id(&random)
    }
  }
}

/// A text as a constant of the language, in one of the two kinds of quotes.
func quoted(_ text: String, _ random: inout SeededGenerator) -> String {
  let quote = random.chance(1, in: 2) ? "\"" : "'"
  var result = quote
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\\": result += "\\\\"
    case "\"", "'": result += String(scalar) == quote ? "\\\(scalar)" : String(scalar)
    case "\r": result += "\\r"
    case "\n": result += "\\n"
    case "\0": result += "\\u{0}"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result + quote
}

func ordered<T: Comparable>(_ a: T, _ b: T) -> Int { a < b ? -1 : a > b ? 1 : 0 }

func fold(_ text: String) -> String { NFC.foldedForIndex(text) }

func holds(_ text: String, _ part: String) -> Bool {
  part.isEmpty || Array(text).contains(Array(part))
}

func escapedPattern(_ text: String) -> String {
  text.map { "%_\\".contains($0) ? "\\\($0)" : String($0) }.joined()
}
