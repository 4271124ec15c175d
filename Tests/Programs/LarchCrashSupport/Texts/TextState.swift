package import Larch
package import LarchTestSupport

/// One change of a write, decided before anything is written.
package enum TextStep {
  /// Writes all of them in one call. Those that exist are changed.
  case save(TextKind, [Int: Writing])
  case delete(TextKind, [Int])
  /// Deletes what a search finds.
  case deleteFound(TextKind, TextQuery)
  /// Appends a word to the title of what a search finds.
  case appendToFound(TextKind, TextQuery, String)
  case savepoint([TextStep], isUndone: Bool)
}

package enum TextKind: CaseIterable { case essay, letter }

/// The texts of one owner, by their numbers.
///
/// A write is decided from the seed, its number and the texts before it. So a test computes the same
/// steps without a store, and compares.
package struct TextState {
  package let seed: UInt64
  package let owner: Int
  package private(set) var writes = 0
  private var texts: [TextKind: [Int: Writing]] = [.essay: [:], .letter: [:]]
  /// How many numbers there are for each kind.
  private static let numberCount = 160

  package init(seed: UInt64, owner: Int) {
    self.seed = seed
    self.owner = owner
  }

  init(seed: UInt64, owner: Int, writes: Int, essays: [Int: Writing], letters: [Int: Writing]) {
    self.init(seed: seed, owner: owner)
    self.writes = writes
    texts = [.essay: essays, .letter: letters]
  }

  package subscript(kind: TextKind) -> [Int: Writing] { texts[kind] ?? [:] }

  /// Every text, in a fixed order.
  package var contents: [String] {
    TextKind.allCases.flatMap { kind in
      self[kind].sorted { $0.key < $1.key }.map { "\(kind) \($0.key) \($0.value.content)" }
    }
  }

  /// Decides the next write and does it.
  package mutating func next() -> [TextStep] {
    let number = UInt64(writes + 1)
    var random = SeededGenerator(
      seed: seed ^ UInt64(owner) &* 0xD1B5_4A32_D192_ED03 ^ number &* 0x9E37_79B9_7F4A_7C15)
    let steps = next(&random)
    writes += 1
    return steps
  }

  /// Decides some steps and does them.
  package mutating func next(_ random: inout SeededGenerator) -> [TextStep] {
    steps(1 + random.below(random.below(8) == 0 ? 12 : 3), depth: 0, &random)
  }

  private mutating func steps(
    _ count: Int, depth: Int, _ random: inout SeededGenerator
  ) -> [TextStep] {
    var steps: [TextStep] = []
    for _ in 0..<count {
      if depth < 2, random.below(7) == 0 {
        let isUndone = random.below(2) == 0
        let before = texts
        let inner = self.steps(1 + random.below(4), depth: depth + 1, &random)
        if isUndone { texts = before }
        steps.append(.savepoint(inner, isUndone: isUndone))
      } else {
        let step = step(&random)
        apply(step)
        steps.append(step)
      }
    }
    return steps
  }

  private func step(_ random: inout SeededGenerator) -> TextStep {
    let kind: TextKind = random.below(2) == 0 ? .essay : .letter
    let numbers = self[kind].keys.sorted()
    switch random.below(14) {
    case 0..<2:
      // Many in one call.
      let writings = (0..<3 + random.below(30)).map { _ in
        (random.below(Self.numberCount), Texts.writing(&random))
      }
      return .save(kind, Dictionary(writings) { $1 })
    case 2..<5 where !numbers.isEmpty:
      let number = numbers[random.below(numbers.count)]
      var writing = self[kind][number] ?? Texts.writing(&random)
      switch random.below(3) {
      // No word changes.
      case 0: writing.year += 1
      // The words move from one field to the other.
      case 1: (writing.title, writing.body) = (writing.body ?? "", writing.title)
      default: writing.body = (writing.body ?? "") + " " + Texts.writing(&random).title
      }
      return .save(kind, [number: writing])
    case 5..<7 where !numbers.isEmpty:
      return .delete(kind, [numbers[random.below(numbers.count)]])
    case 7 where numbers.count > 60:
      return .delete(kind, numbers.filter { _ in random.below(3) == 0 })
    case 8: return .deleteFound(kind, Texts.query(0, &random) && Texts.query(0, &random))
    case 9:
      let query = Texts.query(0, &random) && Texts.query(1, &random)
      return .appendToFound(kind, query, ["larch", "pine", "more"][random.below(3)])
    default: return .save(kind, [random.below(Self.numberCount): Texts.writing(&random)])
    }
  }

  private mutating func apply(_ step: TextStep) {
    switch step {
    case .save(let kind, let writings): texts[kind]?.merge(writings) { $1 }
    case .delete(let kind, let numbers): for number in numbers { texts[kind]?[number] = nil }
    case .deleteFound(let kind, let query):
      texts[kind] = self[kind].filter { !query.matches($0.value.title, $0.value.body) }
    case .appendToFound(let kind, let query, let word):
      for (number, writing) in self[kind] where query.matches(writing.title, writing.body) {
        texts[kind]?[number]?.title = writing.title + " " + word
      }
    case .savepoint(let steps, let isUndone): if !isUndone { steps.forEach { apply($0) } }
    }
  }
}
