import Foundation
import LarchTestSupport

@testable import Larch

/// A filter and the same closure over an element of an array, with Swift's operators (except the
/// order of strings, which is that of their bytes in normal form C).
struct OracleFilter<K: OracleIndexes> {
  typealias Thing = OracleThing<K>

  let filter: Filter<Thing>
  let matches: (Thing) -> Bool
  let text: String

  init(
    _ text: String, _ make: (Fields<Thing>) -> some FilterExpression<Thing>,
    _ matches: @escaping (Thing) -> Bool
  ) {
    filter = make(Fields())._filter
    self.matches = matches
    self.text = text
  }

  private init(_ filter: Filter<Thing>, _ text: String, _ matches: @escaping (Thing) -> Bool) {
    self.filter = filter
    self.text = text
    self.matches = matches
  }

  static func && (a: Self, b: Self) -> Self {
    Self(a.filter && b.filter, "(\(a.text) && \(b.text))") { a.matches($0) && b.matches($0) }
  }

  static func || (a: Self, b: Self) -> Self {
    Self(a.filter || b.filter, "(\(a.text) || \(b.text))") { a.matches($0) || b.matches($0) }
  }

  static prefix func ! (a: Self) -> Self { Self(!a.filter, "!\(a.text)") { !a.matches($0) } }

  /// A random filter of at most this depth.
  static func random(_ random: inout SeededGenerator, depth: Int) -> Self {
    if depth > 1, random.chance(3, in: 5) {
      switch random.below(8) {
      case 0...3:
        return self.random(&random, depth: depth - 1) && self.random(&random, depth: depth - 1)
      case 4...6:
        return self.random(&random, depth: depth - 1) || self.random(&random, depth: depth - 1)
      default: return !self.random(&random, depth: depth - 1)
      }
    }
    return leaf(&random)
  }

  static func leaf(_ random: inout SeededGenerator) -> Self {
    switch random.below(20) {
    case 0...2: numberLeaf(&random)
    case 3...4: maybeLeaf(&random)
    case 5: smallLeaf(&random)
    case 6...7: realLeaf(&random)
    case 8...10: textLeaf(&random)
    case 11...12: noteLeaf(&random)
    case 13: flagLeaf(&random)
    case 14...15: listLeaf(&random)
    case 16: placeLeaf(&random)
    case 17: otherLeaf(&random)
    case 18: pairLeaf(&random)
    default: closureLeaf(&random)
    }
  }

  // MARK: Leaves

  private typealias V = OracleValues

  private static func numberLeaf(_ random: inout SeededGenerator) -> Self {
    let a = random.pick(V.numbers)
    let b = random.pick(V.numbers)
    let low = Swift.min(a, b)
    let high = Swift.max(a, b)
    let list = (0..<random.below(4)).map { _ in random.pick(V.numbers) }
    return switch random.below(13) {
    case 0, 1: Self("number == \(a)", { $0.number == a }) { $0.number == a }
    case 2: Self("number != \(a)", { $0.number != a }) { $0.number != a }
    case 3: Self("number < \(a)", { $0.number < a }) { $0.number < a }
    case 4: Self("number <= \(a)", { $0.number <= a }) { $0.number <= a }
    case 5: Self("number > \(a)", { $0.number > a }) { $0.number > a }
    case 6: Self("number >= \(a)", { $0.number >= a }) { $0.number >= a }
    case 7:
      Self("number in \(low)...\(high)", { (low...high).contains($0.number) }) {
        (low...high).contains($0.number)
      }
    case 8:
      Self("number in \(low)..<\(high)", { (low..<high).contains($0.number) }) {
        (low..<high).contains($0.number)
      }
    case 9: Self("number in \(a)...", { (a...).contains($0.number) }) { (a...).contains($0.number) }
    case 10:
      Self("number in ...\(a)", { (...a).contains($0.number) }) { (...a).contains($0.number) }
    case 11:
      Self("number in ..<\(a)", { (..<a).contains($0.number) }) { (..<a).contains($0.number) }
    default:
      Self("number in \(list)", { list.contains($0.number) }) { list.contains($0.number) }
    }
  }

  private static func maybeLeaf(_ random: inout SeededGenerator) -> Self {
    let a = random.pick(V.numbers)
    let wanted = random.optional(a)
    return switch random.below(9) {
    case 0:
      Self("maybe == \(String(describing: wanted))", { $0.maybe == wanted }) { $0.maybe == wanted }
    case 1:
      Self("maybe != \(String(describing: wanted))", { $0.maybe != wanted }) { $0.maybe != wanted }
    case 2: Self("maybe < \(a)", { $0.maybe < a }) { $0.maybe.map { $0 < a } ?? false }
    case 3: Self("maybe >= \(a)", { $0.maybe >= a }) { $0.maybe.map { $0 >= a } ?? false }
    case 4: Self("maybe == nil", { $0.maybe == nil }) { $0.maybe == nil }
    case 5: Self("maybe has no value", { $0.maybe == nil }) { $0.maybe == nil }
    case 6: Self("maybe has a value", { $0.maybe != nil }) { $0.maybe != nil }
    case 7: Self("maybe <= \(a)", { $0.maybe <= a }) { $0.maybe.map { $0 <= a } ?? false }
    default: Self("maybe > \(a)", { $0.maybe > a }) { $0.maybe.map { $0 > a } ?? false }
    }
  }

  private static func smallLeaf(_ random: inout SeededGenerator) -> Self {
    let a = random.pick(V.smalls)
    return switch random.below(3) {
    case 0: Self("small == \(a)", { $0.small == a }) { $0.small == a }
    case 1: Self("small < \(a)", { $0.small < a }) { $0.small < a }
    default: Self("small >= \(a)", { $0.small >= a }) { $0.small >= a }
    }
  }

  private static func realLeaf(_ random: inout SeededGenerator) -> Self {
    let a = random.pick(V.reals)
    let list = (0..<random.below(4)).map { _ in random.pick(V.reals) }
    return switch random.below(11) {
    case 0: Self("real == \(a)", { $0.real == a }) { $0.real == a }
    case 1: Self("real != \(a)", { $0.real != a }) { $0.real != a }
    case 2: Self("real < \(a)", { $0.real < a }) { $0.real < a }
    case 3: Self("real <= \(a)", { $0.real <= a }) { $0.real <= a }
    case 4: Self("real > \(a)", { $0.real > a }) { $0.real > a }
    case 5: Self("real >= \(a)", { $0.real >= a }) { $0.real >= a }
    case 6: Self("real in \(list)", { list.contains($0.real) }) { list.contains($0.real) }
    case 7: Self("maybeReal == \(a)", { $0.maybeReal == a }) { $0.maybeReal == a }
    case 8: Self("maybeReal != nil", { $0.maybeReal != nil }) { $0.maybeReal != nil }
    case 9: Self("maybeReal == nil", { $0.maybeReal == nil }) { $0.maybeReal == nil }
    default:
      Self("maybeReal < \(a)", { $0.maybeReal < a }) { $0.maybeReal.map { $0 < a } ?? false }
    }
  }

  private static func textLeaf(_ random: inout SeededGenerator) -> Self {
    let a = random.pick(V.texts)
    let list = (0..<random.below(4)).map { _ in random.pick(V.texts) }
    let folded = fold(a)
    let name = a.debugDescription.prefix(40)
    return switch random.below(17) {
    case 0, 1: Self("text == \(name)", { $0.text == a }) { $0.text == a }
    case 2: Self("text != \(name)", { $0.text != a }) { $0.text != a }
    case 3: Self("text < \(name)", { $0.text < a }) { compareText($0.text, a) < 0 }
    case 4: Self("text <= \(name)", { $0.text <= a }) { compareText($0.text, a) <= 0 }
    case 5: Self("text > \(name)", { $0.text > a }) { compareText($0.text, a) > 0 }
    case 6: Self("text >= \(name)", { $0.text >= a }) { compareText($0.text, a) >= 0 }
    case 7, 8: Self("text hasPrefix \(name)", { $0.text.hasPrefix(a) }) { $0.text.hasPrefix(a) }
    case 9: Self("text hasSuffix \(name)", { $0.text.hasSuffix(a) }) { $0.text.hasSuffix(a) }
    case 10: Self("text contains \(name)", { $0.text.contains(a) }) { holds($0.text, a) }
    case 11: Self("text in \(list)", { list.contains($0.text) }) { list.contains($0.text) }
    case 12:
      Self("text ~== \(name)", { $0.text.equals(a, options: .caseInsensitive) }) {
        fold($0.text) == folded
      }
    case 13:
      Self("text ~hasPrefix \(name)", { $0.text.hasPrefix(a, options: .caseInsensitive) }) {
        fold($0.text).hasPrefix(folded)
      }
    case 14:
      Self("text ~contains \(name)", { $0.text.contains(a, options: .caseInsensitive) }) {
        holds(fold($0.text), folded)
      }
    case 15:
      // A pattern without wildcards is equality; with one at its end it is a prefix.
      Self("text like \(name)%", { $0.text.like(escaped(a) + "%") }) { $0.text.hasPrefix(a) }
    default:
      Self("text like %\(name)%", { $0.text.like("%" + escaped(a) + "%") }) {
        holds($0.text, a)
      }
    }
  }

  static func escaped(_ text: String) -> String {
    text.map { "%_\\".contains($0) ? "\\\($0)" : String($0) }.joined()
  }

  /// Swift's `contains`, by `Character`; Foundation's own has precedence otherwise.
  static func holds(_ text: String, _ part: String) -> Bool {
    Array(text).contains(Array(part))
  }

  static func fold(_ text: String) -> String {
    text.precomposedStringWithCanonicalMapping.lowercased()
      .precomposedStringWithCanonicalMapping
  }

  private static func noteLeaf(_ random: inout SeededGenerator) -> Self {
    let a = random.pick(V.texts)
    let wanted = random.optional(a)
    let name = a.debugDescription.prefix(40)
    return switch random.below(8) {
    case 0:
      Self("note == \(wanted == nil ? "nil" : String(name))", { $0.note == wanted }) {
        $0.note == wanted
      }
    case 1: Self("note != \(name)", { $0.note != a }) { $0.note != a }
    case 2: Self("note == nil", { $0.note == nil }) { $0.note == nil }
    case 3: Self("note != nil", { $0.note != nil }) { $0.note != nil }
    case 4:
      Self("note < \(name)", { $0.note < a }) { $0.note.map { compareText($0, a) < 0 } ?? false }
    case 5:
      Self("note >= \(name)", { $0.note >= a }) { $0.note.map { compareText($0, a) >= 0 } ?? false }
    case 6:
      Self("note hasPrefix \(name)", { $0.note.hasPrefix(a) }) { $0.note?.hasPrefix(a) ?? false }
    default:
      Self("note contains \(name)", { $0.note.contains(a) }) {
        $0.note.map { holds($0, a) } ?? false
      }
    }
  }

  private static func flagLeaf(_ random: inout SeededGenerator) -> Self {
    switch random.below(3) {
    case 0: Self("flag", { $0.flag }) { $0.flag }
    case 1: Self("!flag", { !$0.flag }) { !$0.flag }
    default: Self("flag == true", { $0.flag == true }) { $0.flag == true }
    }
  }

  private static func listLeaf(_ random: inout SeededGenerator) -> Self {
    let a = random.pick(V.texts)
    let n = random.pick(V.numbers)
    let m = random.pick(V.numbers)
    let name = a.debugDescription.prefix(40)
    return switch random.below(7) {
    case 0, 1: Self("tags contains \(name)", { $0.tags.contains(a) }) { $0.tags.contains(a) }
    case 2, 3: Self("marks contains \(n)", { $0.marks.contains(n) }) { $0.marks.contains(n) }
    case 4:
      Self("marks any \([n, m])", { $0.marks.containsAny(of: [n, m]) }) {
        $0.marks.contains(n) || $0.marks.contains(m)
      }
    case 5:
      Self("marks all \([n, m])", { $0.marks.containsAll(of: [n, m]) }) {
        $0.marks.contains(n) && $0.marks.contains(m)
      }
    default: Self("tags.isEmpty", { $0.tags.isEmpty }) { $0.tags.isEmpty }
    }
  }

  private static func placeLeaf(_ random: inout SeededGenerator) -> Self {
    let city = random.pick(V.cities)
    let n = random.pick(V.numbers)
    return switch random.below(6) {
    case 0: Self("place.city == \(city)", { $0.place.city == city }) { $0.place.city == city }
    case 1: Self("place.zip == \(n)", { $0.place.zip == n }) { $0.place.zip == n }
    case 2: Self("extra.city == \(city)", { $0.extra.city == city }) { $0.extra?.city == city }
    case 3: Self("extra.zip == \(n)", { $0.extra.zip == n }) { $0.extra?.zip == n }
    case 4:
      Self("extra.zip > \(n)", { $0.extra.zip > n }) { ($0.extra?.zip).map { $0 > n } ?? false }
    default: Self("extra.zip == nil", { $0.extra.zip == nil }) { $0.extra?.zip == nil }
    }
  }

  private static func otherLeaf(_ random: inout SeededGenerator) -> Self {
    let day = random.pick(V.days)
    let blob = random.pick(V.blobs)
    let key = random.pick(V.keys)
    let grade = random.pick(OracleGrade.allCases)
    let version = OracleVersion(major: random.below(3), minor: random.below(3))
    let id = RecordID<Thing>(Int64(random.below(60)))
    let length = random.below(5)
    let medal = random.pick(OracleMedal.allCases)
    return switch random.below(15) {
    case 0: Self("day == \(day)", { $0.day == day }) { $0.day == day }
    case 1: Self("day < \(day)", { $0.day < day }) { $0.day < day }
    case 2: Self("blob == \(blob)", { $0.blob == blob }) { $0.blob == blob }
    case 3: Self("key == \(key)", { $0.key == key }) { $0.key == key }
    case 4: Self("grade == \(grade)", { $0.grade == grade }) { $0.grade == grade }
    case 5: Self("grade >= \(grade)", { $0.grade >= grade }) { $0.grade >= grade }
    case 6: Self("version == \(version)", { $0.version == version }) { $0.version == version }
    case 7: Self("id == \(id)", { $0.id == id }) { $0.id == id }
    case 8: Self("id > \(id)", { $0.id > id }) { $0.id > id }
    case 9: Self("id <= \(id)", { $0.id <= id }) { $0.id <= id }
    case 10: Self("length == \(length)", { $0.length == length }) { $0.length == length }
    case 11: Self("medal == \(medal)", { $0.medal == medal }) { $0.medal == medal }
    case 12: Self("medal < \(medal)", { $0.medal < medal }) { $0.medal < medal }
    case 13:
      Self("prize >= \(medal)", { $0.prize >= medal }) { $0.prize.map { $0 >= medal } ?? false }
    default: Self("text.count < \(length)", { $0.text.count < length }) { $0.text.count < length }
    }
  }

  private static func pairLeaf(_ random: inout SeededGenerator) -> Self {
    switch random.below(6) {
    case 0: Self("number == maybe", { $0.number == $0.maybe }) { $0.number == $0.maybe }
    case 1:
      Self("number < maybe", { $0.number < $0.maybe }) { thing in
        thing.maybe.map { thing.number < $0 } ?? false
      }
    case 2: Self("text == note", { $0.text == $0.note }) { $0.text == $0.note }
    case 3: Self("real != maybeReal", { $0.real != $0.maybeReal }) { $0.real != $0.maybeReal }
    case 4:
      Self("text <= place.city", { $0.text <= $0.place.city }) {
        compareText($0.text, $0.place.city) <= 0
      }
    default:
      Self("place.zip == extra.zip", { $0.place.zip == $0.extra.zip }) {
        $0.place.zip == $0.extra?.zip
      }
    }
  }

  private static func closureLeaf(_ random: inout SeededGenerator) -> Self {
    let n = random.below(3)
    return Self("satisfies tags.count == \(n)", { $0.satisfies { $0.tags.count == n } }) {
      $0.tags.count == n
    }
  }
}
