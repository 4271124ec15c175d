/// A `TextQuery` made ready to read texts: each text is cut into words once, for all words of the query.
final class TextMatcher {
  /// A phrase, and how far it was found.
  private struct Leaf {
    let firstWord: Int
    let count: Int
    /// Whether an occurrence is a reason for the query to be true.
    let isWanted: Bool
    var position = 0
    var isFound = false
  }

  /// The query with its phrases as numbers.
  private indirect enum Node {
    case all([Node])
    case any([Node])
    case not(Node)
    case leaf(Int)
  }

  /// The leaves whose words are cut by the same rules.
  private struct Group {
    let rules: WordRules
    let leaves: Range<Int>
  }

  private var root = Node.all([])
  private var leaves: [Leaf] = []
  private var groups: [Group] = []
  private var words: [WantedWord] = []
  /// For each word of a phrase but the first one: how many of the words before it are also those at the
  /// beginning, so that the search goes on there if this word is not the next one.
  private var borders: [Int] = []
  /// One for each of the rules.
  private var standard = WordCutter(.standard)
  private var keeping = WordCutter(.keepingDiacritics)
  private var answer: Bool?

  init(_ query: TextQuery) {
    var phrases: [(phrase: TextQuery.Phrase, isWanted: Bool)] = []
    TextMatcher.collect(query.node, isWanted: true, into: &phrases)
    for rules in [WordRules.standard, .keepingDiacritics] {
      let first = leaves.count
      for (phrase, isWanted) in phrases where phrase.rules == rules { add(phrase, isWanted) }
      if leaves.count > first { groups.append(Group(rules: rules, leaves: first..<leaves.count)) }
    }
    var next: [WordRules: Int] = [:]
    for group in groups { next[group.rules] = group.leaves.lowerBound }
    root = TextMatcher.numbered(query.node, &next)
  }

  private static func collect(
    _ node: TextQuery.Node, isWanted: Bool,
    into phrases: inout [(phrase: TextQuery.Phrase, isWanted: Bool)]
  ) {
    switch node {
    case .all(let nodes), .any(let nodes):
      for node in nodes { collect(node, isWanted: isWanted, into: &phrases) }
    case .not(let node): collect(node, isWanted: !isWanted, into: &phrases)
    case .phrase(let phrase): phrases.append((phrase, isWanted))
    }
  }

  /// The same tree in the same order as `collect`.
  private static func numbered(_ node: TextQuery.Node, _ next: inout [WordRules: Int]) -> Node {
    switch node {
    case .all(let nodes): return .all(nodes.map { numbered($0, &next) })
    case .any(let nodes): return .any(nodes.map { numbered($0, &next) })
    case .not(let node): return .not(numbered(node, &next))
    case .phrase(let phrase):
      let number = next[phrase.rules] ?? 0
      next[phrase.rules] = number + 1
      return .leaf(number)
    }
  }

  private func add(_ phrase: TextQuery.Phrase, _ isWanted: Bool) {
    let first = words.count
    leaves.append(
      Leaf(
        firstWord: first, count: phrase.words.count, isWanted: isWanted))
    words += phrase.words
    borders += repeatElement(0, count: phrase.words.count)
    var border = 0
    for place in 1..<max(1, phrase.words.count) {
      // Before the word at `place` stand `place` words, of which `border` are those at the beginning.
      borders[first + place] = border
      while border > 0, phrase.words[border] != phrase.words[place] {
        border = borders[first + border]
      }
      if phrase.words[border] == phrase.words[place] { border += 1 }
    }
  }

  // MARK: Asking

  /// Begins another record.
  func begin() {
    for place in leaves.indices { leaves[place].isFound = false }
    answer = evaluate(root)
  }

  /// Whether no other text can change the answer.
  var isDecided: Bool { answer != nil }

  /// Reads one more text of the record.
  ///
  /// - Returns: false if it is not UTF-8 as far as it was read: then nothing is known.
  func read(_ text: UnsafeRawBufferPointer) -> Bool {
    if isDecided { return true }
    for group in groups {
      let isValid =
        group.rules.keepsMarks
        ? read(text, group.leaves, &keeping) : read(text, group.leaves, &standard)
      if !isValid { return false }
      if isDecided { return true }
    }
    return true
  }

  /// Whether the query is true for the texts that were read.
  func finish() -> Bool { answer ?? evaluate(root, isComplete: true) ?? false }

  private func read(
    _ text: UnsafeRawBufferPointer, _ range: Range<Int>, _ cutter: inout WordCutter
  ) -> Bool {
    for place in range { leaves[place].position = 0 }
    cutter.begin()
    while cutter.next(in: text) {
      // Once for all phrases that this word completes: a query can have thousands.
      var hasFound = false
      for place in range where !leaves[place].isFound && advance(place, cutter.bytes) {
        leaves[place].isFound = true
        hasFound = true
      }
      if hasFound {
        answer = evaluate(root)
        if answer != nil { return cutter.isValid }
      }
    }
    return cutter.isValid
  }

  /// Whether a phrase is complete with this word.
  private func advance(_ place: Int, _ word: UnsafeRawBufferPointer) -> Bool {
    let leaf = leaves[place]
    var position = leaf.position
    while true {
      let isLast = position == leaf.count - 1
      if words[leaf.firstWord + position].matches(word) {
        leaves[place].position = isLast ? positionAfter(leaf, word) : position + 1
        return isLast
      }
      if position == 0 { break }
      position = borders[leaf.firstWord + position]
    }
    leaves[place].position = 0
    return false
  }

  /// Where a phrase goes on after it was complete: its last word may be in the next occurrence.
  private func positionAfter(_ leaf: Leaf, _ word: UnsafeRawBufferPointer) -> Int {
    guard leaf.count > 1 else { return 0 }
    var position = borders[leaf.firstWord + leaf.count - 1]
    while !words[leaf.firstWord + position].matches(word) {
      if position == 0 { return 0 }
      position = borders[leaf.firstWord + position]
    }
    return position + 1
  }

  /// Nil if texts that follow may change it.
  private func evaluate(_ node: Node, isComplete: Bool = false) -> Bool? {
    switch node {
    case .leaf(let place): return leaves[place].isFound ? true : isComplete ? false : nil
    case .not(let node): return evaluate(node, isComplete: isComplete).map { !$0 }
    case .all(let nodes):
      var answer: Bool? = true
      for node in nodes {
        guard let one = evaluate(node, isComplete: isComplete) else {
          answer = nil
          continue
        }
        if !one { return false }
      }
      return answer
    case .any(let nodes):
      var answer: Bool? = false
      for node in nodes {
        guard let one = evaluate(node, isComplete: isComplete) else {
          answer = nil
          continue
        }
        if one { return true }
      }
      return answer
    }
  }

  // MARK: Showing

  /// A place of a text at which a wanted phrase stands.
  struct Occurrence {
    /// Its number in the query.
    let leaf: Int
    /// The numbers of its words in the text.
    let words: ClosedRange<Int>
  }

  /// The words of a text, by rules, with the occurrences of all wanted phrases.
  func occurrences(
    in text: UnsafeRawBufferPointer
  ) -> [(words: [Range<Int>], found: [Occurrence])] {
    groups.map { group in
      var cutter = WordCutter(group.rules)
      var ranges: [Range<Int>] = []
      var found: [Occurrence] = []
      for place in group.leaves { leaves[place].position = 0 }
      while cutter.next(in: text) {
        let number = ranges.count
        ranges.append(cutter.start..<cutter.end)
        for place in group.leaves where leaves[place].isWanted {
          guard advance(place, cutter.bytes) else { continue }
          found.append(
            Occurrence(leaf: place, words: (number - leaves[place].count + 1)...number))
        }
      }
      return (ranges, found)
    }
  }
}
