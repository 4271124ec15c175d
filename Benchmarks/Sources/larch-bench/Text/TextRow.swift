import Workload

/// What the rows of reading look for.
struct TextRow {
  let name: String
  let what: String
  /// As a person types it.
  let typed: String

  static func all(_ workload: TextWorkload) -> [TextRow] {
    func word(_ share: Double, _ next: Int = 0) -> String {
      workload.words[workload.word(inShareOfTexts: share) + next]
    }
    let common = word(1.0 / 3)
    let common2 = word(1.0 / 3, 1)
    // Not the pair, whose words are near.
    let middle = word(0.03)
    // Of ten texts in 100,000, or the rarest word that there is.
    let rare = word(0.0001)
    // Those of short texts also in long ones, where others would hardly ever stand together.
    let usual = workload.word(inShareOfTexts: 1.0 / 3, of: .short)
    let phrase = "\"\(workload.words[usual]) \(workload.words[usual + 1])\""
    let first = workload.words[workload.pair.first]
    let second = workload.words[workload.pair.second]
    return [
      TextRow(name: "F3", what: "a common word", typed: common),
      TextRow(name: "F3", what: "a middle word", typed: middle),
      TextRow(name: "F3", what: "a rare word", typed: rare),
      TextRow(name: "F4", what: "two common words, and", typed: "\(common) \(common2)"),
      TextRow(name: "F4", what: "common and middle", typed: "\(common) \(middle)"),
      TextRow(name: "F4", what: "common and rare", typed: "\(common) \(rare)"),
      TextRow(name: "F4", what: "common or middle", typed: "\(common) OR \(middle)"),
      TextRow(name: "F4", what: "middle or rare", typed: "\(middle) OR \(rare)"),
      TextRow(name: "F5", what: "a phrase, often together", typed: "\"\(first) \(second)\""),
      TextRow(name: "F5", what: "a phrase of common words", typed: phrase),
      TextRow(name: "F6", what: prefix("ba", workload), typed: "ba*"),
      TextRow(name: "F6", what: prefix("bado", workload), typed: "bado*"),
    ]
  }

  /// A row that is measured again after the changes, when the index is as it is in use.
  static func afterChanges(_ workload: TextWorkload) -> [TextRow] {
    all(workload).filter { ["a middle word", "common and middle"].contains($0.what) }.map {
      TextRow(name: $0.name, what: $0.what + ", after the changes", typed: $0.typed)
    }
  }

  private static func prefix(_ beginning: String, _ workload: TextWorkload) -> String {
    "a prefix of \(workload.words.count { $0.hasPrefix(beginning) }) words"
  }
}
