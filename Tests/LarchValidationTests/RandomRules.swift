import Foundation
import LarchTestSupport

@testable import Larch

/// A record whose schema is chosen at run time.
struct Item: Record {
  var id = 0
  var text = ""
  var maybe: String?
  var number = 0
  var real: Double?
  var list: [Int] = []
  var group = 0
  var isActive = false

  @TaskLocal static var rules: [RandomRule] = []
  static var schema: Schema<Item> { Schema { for rule in rules { rule.line } } }

  /// Which fields are not the same, byte by byte.
  func differences(from other: Item) -> Set<String> {
    func bytes(_ text: String?) -> [UInt8]? { text.map { Array($0.utf8) } }
    var names: Set<String> = []
    if bytes(text) != bytes(other.text) { names.insert("text") }
    if bytes(maybe) != bytes(other.maybe) { names.insert("maybe") }
    if number != other.number { names.insert("number") }
    if real?.bitPattern != other.real?.bitPattern { names.insert("real") }
    if list != other.list { names.insert("list") }
    if group != other.group { names.insert("group") }
    if isActive != other.isActive { names.insert("isActive") }
    return names
  }
}

/// A rule twice: as it is declared, and in plain Swift.
struct RandomRule: Sendable {
  /// The fields by whose change an update is asked; nil: always.
  var watched: Set<String>?
  var line: Validate<Item>
  /// The reported failure, or nil.
  var oracle: @Sendable (Item, _ others: [Item]) -> String?

  init(
    _ watched: Set<String>?, _ line: Validate<Item>,
    _ oracle: @escaping @Sendable (Item, [Item]) -> String?
  ) {
    self.watched = watched
    self.line = line
    self.oracle = oracle
  }

  /// The same for records that are active.
  var conditional: RandomRule {
    RandomRule(nil, line.when { $0.isActive }) { [oracle] item, others in
      // Among the records of the condition alone, which only a rule of uniqueness asks for.
      item.isActive ? oracle(item, others.filter(\.isActive)) : nil
    }
  }

  /// What a save reports.
  static func errors(
    _ rules: [RandomRule], of item: Item, in items: [Int: Item]
  ) -> [String] {
    let changed = items[item.id].map { item.differences(from: $0) }
    if let changed, changed.isEmpty { return [] }
    let others = items.values.filter { $0.id != item.id }
    return rules.compactMap { rule in
      if let changed, let watched = rule.watched, watched.isDisjoint(with: changed) { return nil }
      return rule.oracle(item, others)
    }
  }

  /// Some of all rules, in any order.
  static func some(using generator: inout SeededGenerator) -> [RandomRule] {
    // More of them let hardly any record through.
    let count = Int.random(in: 1...6, using: &generator)
    return all(using: &generator).shuffled(using: &generator).prefix(count).map {
      Int.random(in: 0..<5, using: &generator) == 0 ? $0.conditional : $0
    }
  }

  private static func all(using generator: inout SeededGenerator) -> [RandomRule] {
    let low = Int.random(in: 0...2, using: &generator)
    let high = low + Int.random(in: 0...2, using: &generator)
    let words: Set<String> = [RandomItems.words.randomElement(using: &generator) ?? "a", "b", "ab"]
    return lengths(low, high) + values(low, high, words) + unique
  }

  private static func lengths(_ low: Int, _ high: Int) -> [RandomRule] {
    [
      RandomRule(["text"], Validate(\.text, .presence)) { item, _ in
        item.text.trimmingCharacters(in: .whitespacesAndNewlines).isEmpty
          ? "text cant_be_blank" : nil
      },
      RandomRule(["maybe"], Validate(\.maybe, .presence)) { item, _ in
        (item.maybe ?? "").trimmingCharacters(in: .whitespacesAndNewlines).isEmpty
          ? "maybe cant_be_blank" : nil
      },
      RandomRule(["real"], Validate(\.real, .presence)) { item, _ in
        item.real == nil ? "real cant_be_blank" : nil
      },
      RandomRule(["text"], Validate(\.text, .length(low...high))) { item, _ in
        let count = Array(item.text).count
        return count < low
          ? "text too_short \(low)" : count > high ? "text too_long \(high)" : nil
      },
      RandomRule(["maybe"], Validate(\.maybe, .length(high))) { item, _ in
        guard let text = item.maybe else { return nil }
        return Array(text).count == high ? nil : "maybe wrong_length \(high)"
      },
      RandomRule(["list"], Validate(\.list, .length(..<(high + 1)))) { item, _ in
        item.list.count > high ? "list too_long \(high)" : nil
      },
    ]
  }

  private static func values(_ low: Int, _ high: Int, _ words: Set<String>) -> [RandomRule] {
    [
      RandomRule(["number"], Validate(\.number, .range(low..<high + 1))) { item, _ in
        item.number < low
          ? "number too_small \(low)"
          : item.number >= high + 1 ? "number too_large \(high + 1)" : nil
      },
      RandomRule(["real"], Validate(\.real, .range(0.5...))) { item, _ in
        guard let real = item.real else { return nil }
        return real >= 0.5 ? nil : "real too_small 0.5"
      },
      RandomRule(["text"], Validate(\.text, .inclusion(words))) { item, _ in
        words.contains { $0 == item.text } ? nil : "text not_included"
      },
      RandomRule(["maybe"], Validate(\.maybe, .exclusion(Array(words)))) { item, _ in
        words.contains { $0 == item.maybe } ? "maybe reserved" : nil
      },
      RandomRule(["text"], Validate(\.text, .format(/[a-c]*/))) { item, _ in
        item.text.allSatisfy { "abc".contains($0) } ? nil : "text invalid_format"
      },
      RandomRule(["number"], Validate(\.number, "must_be_even") { $0 % 2 == 0 }) { item, _ in
        item.number % 2 == 0 ? nil : "number must_be_even"
      },
      RandomRule(["maybe"], Validate(\.maybe, "no_digit") { !$0.contains("1") }) { item, _ in
        item.maybe?.contains("1") == true ? "maybe no_digit" : nil
      },
      RandomRule(nil, Validate("many") { $0.list.count <= $0.number + 2 }) { item, _ in
        item.list.count <= item.number + 2 ? nil : "- many"
      },
      RandomRule(nil, Validate("one_of", on: \.maybe) { $0.maybe != nil || $0.real != nil }) {
        item, _ in
        item.maybe != nil || item.real != nil ? nil : "maybe one_of"
      },
    ]
  }

  private static var unique: [RandomRule] {
    [
      RandomRule(["text"], Validate(\.text, .uniqueness)) { item, others in
        others.contains { $0.text == item.text } ? "text already_exists" : nil
      },
      RandomRule(["maybe"], Validate(\.maybe, .uniqueness(options: .caseInsensitive))) {
        item, others in
        guard let text = item.maybe?.lowercased() else { return nil }
        return others.contains { $0.maybe?.lowercased() == text } ? "maybe already_exists" : nil
      },
      RandomRule(["real", "group"], Validate(\.real, .uniqueness(scope: \.group))) { item, others in
        guard let real = item.real else { return nil }
        return others.contains { $0.real == real && $0.group == item.group }
          ? "real already_exists" : nil
      },
      RandomRule(["list"], Validate(\.list, .uniqueness)) { item, others in
        others.contains { !Set($0.list).isDisjoint(with: item.list) }
          ? "list already_exists" : nil
      },
    ]
  }
}

/// Values that rules are about.
enum RandomItems {
  static let words =
    [
      "", " ", "a", "b", "A", "ab", "aB", "abc", "\u{E9}", "e\u{301}", "E\u{301}", "a1", "\n",
      "b\u{308}",
    ]
    + ["👩‍👩‍👧", String(repeating: "a", count: 600), String(repeating: "a", count: 600) + "b"]

  static func change(_ item: inout Item, using generator: inout SeededGenerator) {
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
      switch Int.random(in: 0..<7, using: &generator) {
      case 0: item.text = words.randomElement(using: &generator) ?? ""
      case 1:
        item.maybe = Bool.random(using: &generator) ? nil : words.randomElement(using: &generator)
      case 2: item.number = Int.random(in: -2...5, using: &generator)
      case 3:
        item.real = [nil, 0, -0.0, 0.5, 1, 2, .nan].randomElement(using: &generator) ?? nil
      case 4:
        item.list = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
          Int.random(in: 0...30, using: &generator)
        }
      case 5: item.group = Int.random(in: 0...2, using: &generator)
      default: item.isActive.toggle()
      }
    }
  }
}
