import Foundation
import LarchTestSupport

@testable import Larch

extension RandomFilter {
  private typealias V = Values

  static func number(_ random: inout SeededGenerator) -> Self {
    let a = random.pick(V.numbers)
    let b = random.pick(V.numbers)
    let list = (0..<random.below(4)).map { _ in random.pick(V.numbers) }
    let listed = list.map(String.init).joined(separator: ", ")
    return switch random.below(11) {
    case 0: Self("number = \(a)", { $0.number == a }) { $0.number == a }
    case 1: Self("number != \(a)", { $0.number != a }) { $0.number != a }
    case 2: Self("number<\(a)", { $0.number < a }) { $0.number < a }
    case 3: Self("number <= \(a)", { $0.number <= a }) { $0.number <= a }
    case 4: Self("\(a) < number", { $0.number > a }) { $0.number > a }
    case 5: Self("number >= \(a)", { $0.number >= a }) { $0.number >= a }
    case 6:
      Self(
        "number between \(min(a, b)) and \(max(a, b))",
        { (min(a, b)...max(a, b)).contains($0.number) }
      ) { (min(a, b)...max(a, b)).contains($0.number) }
    case 7: Self("number in (\(listed))", { list.contains($0.number) }) { list.contains($0.number) }
    case 8:
      Self("number not in (\(listed))", { !list.contains($0.number) }) { !list.contains($0.number) }
    // Between two whole numbers.
    case 9: Self("number < 1.5", { $0.number < 2 }) { $0.number < 2 }.unlikeTyped
    default: Self("number >= 1e400", { [].contains($0.number) }) { _ in false }
    }
  }

  /// The same with other spellings of the constants of the typed filter.
  private var unlikeTyped: Self { Self(self, isStandard: false) }

  static func maybe(_ random: inout SeededGenerator) -> Self {
    let a = random.pick(V.numbers)
    return switch random.below(8) {
    case 0: Self("maybe = \(a)", { $0.maybe == a }) { $0.maybe == a }
    case 1: Self("maybe <> \(a)", { $0.maybe != a }) { $0.maybe != a }
    case 2: Self("maybe < \(a)", { $0.maybe < a }) { $0.maybe.map { $0 < a } ?? false }
    case 3: Self("maybe >= \(a)", { $0.maybe >= a }) { $0.maybe.map { $0 >= a } ?? false }
    case 4: Self("maybe is nil", { $0.maybe == nil }) { $0.maybe == nil }
    case 5: Self("maybe != null", { $0.maybe != nil }) { $0.maybe != nil }
    case 6: Self("maybe IS NOT NIL", { $0.maybe != nil }) { $0.maybe != nil }
    default:
      Self("maybe in (nil, \(a))", { [nil, a].contains($0.maybe) }) {
        $0.maybe == nil || $0.maybe == a
      }
    }
  }

  static func integers(_ random: inout SeededGenerator) -> Self {
    let small = random.pick(V.smalls)
    let wide = random.pick(V.wides)
    return switch random.below(6) {
    case 0: Self("small = \(small)", { $0.small == small }) { $0.small == small }
    case 1: Self("small < \(small)", { $0.small < small }) { $0.small < small }
    case 2: Self("wide >= \(wide)", { $0.wide >= wide }) { $0.wide >= wide }
    case 3: Self("wide = \(wide)", { $0.wide == wide }) { $0.wide == wide }
    // Beyond what the type holds.
    case 4: Self("small > 127", { $0.small > 127 }) { $0.small > 127 }
    default: Self("wide = 18446744073709551616", { [].contains($0.wide) }) { _ in false }
    }
  }

  static func real(_ random: inout SeededGenerator) -> Self {
    let a = random.pick(V.reals)
    let list = (0..<random.below(4)).map { _ in random.pick(V.reals) }
    let listed = list.map { "\($0)" }.joined(separator: ", ")
    let ratio = random.pick(V.ratios)
    return switch random.below(10) {
    case 0: Self("real = \(a)", { $0.real == a }) { $0.real == a }
    case 1: Self("real != \(a)", { $0.real != a }) { $0.real != a }
    case 2: Self("real < \(a)", { $0.real < a }) { $0.real < a }
    case 3: Self("real <= \(a)", { $0.real <= a }) { $0.real <= a }
    case 4: Self("real > \(a)", { $0.real > a }) { $0.real > a }
    case 5: Self("real in (\(listed))", { list.contains($0.real) }) { list.contains($0.real) }
    case 6: Self("maybeReal = \(a)", { $0.maybeReal == a }) { $0.maybeReal == a }
    case 7: Self("maybeReal is not nil", { $0.maybeReal != nil }) { $0.maybeReal != nil }
    case 8: Self("ratio <= \(ratio)", { $0.ratio <= ratio }) { $0.ratio <= ratio }
    default: Self("ratio = \(ratio)", { $0.ratio == ratio }) { $0.ratio == ratio }
    }
  }

  static func text(_ random: inout SeededGenerator) -> Self {
    let a = random.pick(V.texts)
    let q = quoted(a, &random)
    let list = (0..<random.below(3)).map { _ in random.pick(V.texts) }
    let listed = list.map { quoted($0, &random) }.joined(separator: ", ")
    let pattern = quoted("%" + escapedPattern(a) + "_", &random)
    let like = LikePattern("%" + escapedPattern(a) + "_")
    return switch random.below(14) {
    case 0: Self("text = \(q)", { $0.text == a }) { $0.text == a }
    case 1: Self("text != \(q)", { $0.text != a }) { $0.text != a }
    case 2: Self("text < \(q)", { $0.text < a }) { compareText($0.text, a) < 0 }
    case 3: Self("text >= \(q)", { $0.text >= a }) { compareText($0.text, a) >= 0 }
    case 4: Self("text begins with \(q)", { $0.text.hasPrefix(a) }) { $0.text.hasPrefix(a) }
    case 5: Self("text ends with \(q)", { $0.text.hasSuffix(a) }) { $0.text.hasSuffix(a) }
    case 6: Self("text contains \(q)", { $0.text.contains(a) }) { holds($0.text, a) }
    case 7: Self("text in (\(listed))", { list.contains($0.text) }) { list.contains($0.text) }
    case 8:
      Self("text = \(q) ignoring case", { $0.text.equals(a, options: .caseInsensitive) }) {
        fold($0.text) == fold(a)
      }
    case 9:
      Self(
        "text starts with \(q) ignoring case", { $0.text.hasPrefix(a, options: .caseInsensitive) }
      ) {
        fold($0.text).hasPrefix(fold(a))
      }
    case 10:
      Self("text contains \(q) ignoring case", { $0.text.contains(a, options: .caseInsensitive) }) {
        holds(fold($0.text), fold(a))
      }
    case 11:
      Self(
        "text like \(quoted(escapedPattern(a) + "%", &random))",
        { $0.text.like(escapedPattern(a) + "%") }
      ) { $0.text.hasPrefix(a) }
    case 12:
      Self("text not like \(pattern)", { !$0.text.like("%" + escapedPattern(a) + "_") }) {
        !like.matches($0.text)
      }
    default:
      Self("text between \(q) and \"b\"", { $0.text >= a && $0.text <= "b" }) {
        compareText($0.text, a) >= 0 && compareText($0.text, "b") <= 0
      }.unlikeTyped
    }
  }

  static func note(_ random: inout SeededGenerator) -> Self {
    let a = random.pick(V.texts)
    let q = quoted(a, &random)
    return switch random.below(7) {
    case 0: Self("note = \(q)", { $0.note == a }) { $0.note == a }
    case 1: Self("note != \(q)", { $0.note != a }) { $0.note != a }
    case 2: Self("note is nil", { $0.note == nil }) { $0.note == nil }
    case 3:
      Self("note < \(q)", { $0.note < a }) { $0.note.map { compareText($0, a) < 0 } ?? false }
    case 4:
      Self("note begins with \(q)", { $0.note.hasPrefix(a) }) { $0.note?.hasPrefix(a) ?? false }
    case 5:
      Self("note not contains \(q)", { !$0.note.contains(a) }) {
        !($0.note.map { holds($0, a) } ?? false)
      }
    default:
      Self("note ends with \(q)", { $0.note.hasSuffix(a) }) { $0.note?.hasSuffix(a) ?? false }
    }
  }

  static func flag(_ random: inout SeededGenerator) -> Self {
    switch random.below(6) {
    case 0: Self("flag", { $0.flag }) { $0.flag }
    case 1: Self("not flag", { !$0.flag }) { !$0.flag }
    case 2: Self("flag = true", { $0.flag == true }) { $0.flag }
    case 3: Self("flag != true", { $0.flag != true }) { !$0.flag }
    case 4: Self("perhaps = false", { $0.perhaps == false }) { $0.perhaps == false }
    default: Self("perhaps != true", { $0.perhaps != true }) { $0.perhaps != true }
    }
  }

  static func list(_ random: inout SeededGenerator) -> Self {
    let a = random.pick(V.texts)
    let q = quoted(a, &random)
    let n = random.pick(V.numbers)
    let m = random.pick(V.numbers)
    return switch random.below(12) {
    case 0: Self("tags = \(q)", { $0.tags.contains(a) }) { $0.tags.contains(a) }
    case 1: Self("tags has \(q)", { $0.tags.contains(a) }) { $0.tags.contains(a) }
    case 2: Self("tags contains \(q)", { $0.tags.contains(a) }) { $0.tags.contains(a) }
    case 3: Self("tags != \(q)", { !$0.tags.contains(a) }) { !$0.tags.contains(a) }
    case 4: Self("marks = \(n)", { $0.marks.contains(n) }) { $0.marks.contains(n) }
    case 5:
      Self("marks in (\(n), \(m))", { $0.marks.containsAny(of: [n, m]) }) {
        $0.marks.contains(n) || $0.marks.contains(m)
      }
    case 6:
      Self("marks > \(n)", { $0.marks.contains { $0 > n } }) { $0.marks.contains { $0 > n } }
    case 7:
      Self("tags begins with \(q)", { $0.tags.contains { $0.hasPrefix(a) } }) {
        $0.tags.contains { $0.hasPrefix(a) }
      }
    case 8: Self("holes has nil", { $0.holes.contains(nil) }) { $0.holes.contains(nil) }.unlikeTyped
    case 9: Self("holes = 2", { $0.holes.contains(2) }) { $0.holes.contains(2) }.unlikeTyped
    case 10: Self("tags is nil") { _ in false }
    default:
      Self("tags has \(q) and tags is not nil", { $0.tags.contains(a) }) {
        $0.tags.contains(a)
      }.unlikeTyped
    }
  }

  static func place(_ random: inout SeededGenerator) -> Self {
    let city = random.pick(V.cities)
    let q = quoted(city, &random)
    let n = random.pick(V.numbers)
    return switch random.below(9) {
    case 0: Self("place.city = \(q)", { $0.place.city == city }) { $0.place.city == city }
    case 1: Self("`place`.`zip` = \(n)", { $0.place.zip == n }) { $0.place.zip == n }
    case 2: Self("extra.city = \(q)", { $0.extra.city == city }) { $0.extra?.city == city }
    case 3: Self("extra.zip = \(n)", { $0.extra.zip == n }) { $0.extra?.zip == n }
    case 4:
      Self("extra.zip > \(n)", { $0.extra.zip > n }) { ($0.extra?.zip).map { $0 > n } ?? false }
    case 5: Self("extra.zip is nil", { $0.extra.zip == nil }) { $0.extra?.zip == nil }
    case 6: Self("extra is nil") { $0.extra == nil }
    case 7: Self("scores.math >= 2") { ($0.scores["math"] ?? 0) >= 2 }
    default: Self("scores.`a.b` != 1") { $0.scores["a.b"] != 1 }
    }
  }

  static func value(_ random: inout SeededGenerator) -> Self {
    let day = random.pick(V.days)
    let seconds = "\(day.timeIntervalSinceReferenceDate)"
    let blob = random.pick(V.blobs)
    let hexadecimal = "0x" + blob.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    let key = random.pick(V.keys)
    let link = random.pick(V.links)
    let grade = random.pick(Grade.allCases)
    return switch random.below(11) {
    case 0: Self("day = \(seconds)", { $0.day == day }) { $0.day == day }
    case 1: Self("day < \(seconds)", { $0.day < day }) { $0.day < day }
    case 2:
      Self("day >= 2001-01-01", { $0.day >= Date(timeIntervalSinceReferenceDate: 0) }) {
        $0.day.timeIntervalSinceReferenceDate >= 0
      }
    case 3: Self("blob = \(hexadecimal)", { $0.blob == blob }) { $0.blob == blob }
    case 4:
      Self("blob != '\(blob.base64EncodedString())'", { $0.blob != blob }) { $0.blob != blob }
    case 5: Self("key = '\(key)'", { $0.key == key }) { $0.key == key }
    case 6:
      Self("key <= \"\("\(key)".lowercased())\"", { $0.key <= key }) {
        $0.key.uuidString <= key.uuidString
      }
    case 7: Self("link = '\(link)'", { $0.link == link }) { $0.link == link }
    case 8: Self("grade = '\(grade.rawValue)'") { $0.grade == grade }
    case 9:
      Self("grade > '\(grade.rawValue)'") { $0.grade.rawValue > grade.rawValue }
    default:
      Self("grade in ('gold', 'iron')") { $0.grade == .gold }
    }
  }

  /// Numbers of more than 64 bits.
  static func other(_ random: inout SeededGenerator) -> Self {
    let price = random.pick(V.prices)
    let huge = random.pick(V.huges)
    return switch random.below(8) {
    case 6: Self("price in (\(price), 12.5)") { [price, 12.5].contains($0.price) }
    case 7: Self("price != \(price)") { $0.price != price }
    case 0: Self("price = \(price)") { $0.price == price }
    case 1: Self("price < \(price)") { $0.price < price }
    case 2: Self("price between 0 and 12.5") { $0.price >= 0 && $0.price <= Decimal(12.5) }
    case 3: Self("huge = \(huge)") { $0.huge == huge }
    case 4: Self("huge >= \(huge)") { $0.huge >= huge }
    default: Self("huge < 7.5") { $0.huge < 8 }
    }
  }

  static func pair(_ random: inout SeededGenerator) -> Self {
    switch random.below(6) {
    case 0: Self("number = maybe", { $0.number == $0.maybe }) { $0.number == $0.maybe }
    case 1:
      Self("number < maybe", { $0.number < $0.maybe }) { thing in
        thing.maybe.map { thing.number < $0 } ?? false
      }
    case 2: Self("text = note", { $0.text == $0.note }) { $0.text == $0.note }
    case 3: Self("real != maybeReal", { $0.real != $0.maybeReal }) { $0.real != $0.maybeReal }
    case 4:
      Self("text >= place.city", { $0.text >= $0.place.city }) {
        compareText($0.text, $0.place.city) >= 0
      }
    default:
      Self("place.zip = extra.zip", { $0.place.zip == $0.extra.zip }) {
        $0.place.zip == $0.extra?.zip
      }
    }
  }

  static func id(_ random: inout SeededGenerator) -> Self {
    let id = RecordID<Thing<K>>(Int64(random.below(150)))
    return switch random.below(4) {
    case 0: Self("id = \(id.rawValue)", { $0.id == id }) { $0.id == id }
    case 1: Self("id > \(id.rawValue)", { $0.id > id }) { $0.id > id }
    case 2:
      Self("id in (\(id.rawValue), 3)", { [id, 3].contains($0.id) }) { $0.id == id || $0.id == 3 }
    default: Self("id <= \(id.rawValue)", { $0.id <= id }) { $0.id <= id }
    }
  }
}
