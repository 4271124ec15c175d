extension TextQuery {
  /// The places of a text to highlight: where the words, beginnings of words and phrases of the query stand.
  ///
  /// ```swift
  /// for range in typed.ranges(in: article.body) { attributed.mark(range) }
  /// ```
  ///
  /// A word that is found by its beginning is one range, and so is a phrase. What the query excludes is not
  /// shown. The other texts of a record do not count: a text may have some of the words only.
  ///
  /// - Returns: Ranges of the text, in order; none touches another one.
  /// - Complexity: O(*n* · *m*) in the words of the text and of the query.
  public func ranges(in text: String) -> [Range<String.Index>] {
    text.ranges(utf8: TextQuery.joined(found(in: text).flatMap(\.ranges)))
  }

  /// A part of a text that shows why it was found: as many different words of the query as possible.
  ///
  /// ```swift
  /// let snippet = typed.snippet(of: article.body, words: 16)
  /// let html = snippet.parts.map { $0.isMatch ? "<b>\(escaped($0.text))</b>" : escaped($0.text) }
  /// ```
  ///
  /// - Parameters:
  ///   - text: the text; without any word of the query, its beginning is taken.
  ///   - words: the number of words; at least one is taken.
  /// - Complexity: O(*n* · *m*) in the words of the text and of the query.
  public func snippet(of text: String, words: Int = 16) -> TextSnippet {
    let found = found(in: text)
    let part = found.map { $0.part(of: max(1, words)) }.max { $0.phrases < $1.phrases }
    let bytes = part?.bytes ?? WordPositions(of: text).part(of: max(1, words)).bytes
    let isWhole = bytes == nil
    let shown = (bytes ?? 0..<text.utf8.count).clamped(to: 0..<text.utf8.count)
    let inside = TextQuery.joined(found.flatMap(\.ranges)).filter {
      $0.lowerBound >= shown.lowerBound && $0.upperBound <= shown.upperBound
    }
    let place = text.ranges(utf8: [shown])[0]
    // A word can end within a character: `ﾃ` is one, and with a mark after it one character.
    let whole = text.roundedDown(place.lowerBound)..<text.roundedUp(place.upperBound)
    return TextSnippet(
      text: text[whole], matches: text.ranges(utf8: inside),
      isCutAtStart: !isWhole && whole.lowerBound > text.startIndex,
      isCutAtEnd: !isWhole && whole.upperBound < text.endIndex)
  }

  /// For each of the rules of the query its words and what was found.
  private func found(in text: String) -> [WordPositions] {
    var text = text
    return text.withUTF8 { utf8 in
      TextMatcher(self).occurrences(in: UnsafeRawBufferPointer(utf8)).map {
        WordPositions(words: $0.words, found: $0.found)
      }
    }
  }

  /// Sorted, with those that overlap or touch as one.
  private static func joined(_ ranges: [Range<Int>]) -> [Range<Int>] {
    var joined: [Range<Int>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = joined.last, range.lowerBound <= last.upperBound {
        joined[joined.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        joined.append(range)
      }
    }
    return joined
  }
}

/// A part of a text with the places that a ``TextQuery`` found.
public struct TextSnippet: Sendable, Hashable {
  /// The part. Its indices are those of the whole text.
  public let text: Substring
  /// The places of the part to highlight, in order.
  public let matches: [Range<String.Index>]
  /// Whether the whole text begins earlier.
  public let isCutAtStart: Bool
  /// Whether the whole text ends later.
  public let isCutAtEnd: Bool

  /// The part piece by piece: all of its text, in order.
  ///
  /// - Complexity: O(*n*) in the number of matches.
  public var parts: [(text: Substring, isMatch: Bool)] {
    var parts: [(text: Substring, isMatch: Bool)] = []
    var place = text.startIndex
    for match in matches {
      if place < match.lowerBound { parts.append((text[place..<match.lowerBound], false)) }
      parts.append((text[match], true))
      place = match.upperBound
    }
    if place < text.endIndex { parts.append((text[place...], false)) }
    return parts
  }
}

/// The words of a text as bytes, and what was found in it.
private struct WordPositions {
  let words: [Range<Int>]
  let found: [TextMatcher.Occurrence]

  init(words: [Range<Int>], found: [TextMatcher.Occurrence]) {
    self.words = words
    self.found = found
  }

  /// A text in which nothing was looked for.
  init(of text: String) {
    var text = text
    var words: [Range<Int>] = []
    text.withUTF8 { utf8 in
      var cutter = WordCutter(.standard)
      while cutter.next(in: UnsafeRawBufferPointer(utf8)) {
        words.append(cutter.start..<cutter.end)
      }
    }
    self.init(words: words, found: [])
  }

  /// The bytes of what was found.
  var ranges: [Range<Int>] {
    found.map { words[$0.words.lowerBound].lowerBound..<words[$0.words.upperBound].upperBound }
  }

  /// The first of the parts with the most different phrases.
  ///
  /// - Returns: its bytes, nil for the whole text; and the number of phrases.
  func part(of count: Int) -> (bytes: Range<Int>?, phrases: Int) {
    var phrases: [Int: Int] = [:]
    guard words.count > count else { return (nil, Set(found.map(\.leaf)).count) }
    let sorted = found.sorted {
      ($0.words.lowerBound, $0.words.upperBound) < ($1.words.lowerBound, $1.words.upperBound)
    }
    var best = (first: 0, last: 0, phrases: 0)
    var start = 0
    for (place, occurrence) in sorted.enumerated() {
      phrases[occurrence.leaf, default: 0] += 1
      while start < place,
        occurrence.words.upperBound - sorted[start].words.lowerBound >= count
      {
        let leaf = sorted[start].leaf
        phrases[leaf] = phrases[leaf].flatMap { $0 > 1 ? $0 - 1 : nil }
        start += 1
      }
      if phrases.count > best.phrases {
        best = (
          sorted[start].words.lowerBound, occurrence.words.upperBound, phrases.count
        )
      }
    }
    // What was found stands in the middle.
    let length = best.last - best.first + 1
    let first = min(
      max(0, best.first - max(0, count - length) / 2), words.count - count)
    let last = first + count - 1
    let lower = first == 0 ? 0 : words[first].lowerBound
    let upper = last == words.count - 1 ? nil : words[last].upperBound
    return (lower..<(upper ?? Int.max), best.phrases)
  }
}

extension String {
  /// The beginning of the character at an index.
  fileprivate func roundedDown(_ place: Index) -> Index {
    place < endIndex ? index(before: index(after: place)) : place
  }

  /// The index, or the end of the character that it divides.
  fileprivate func roundedUp(_ place: Index) -> Index {
    let start = roundedDown(place)
    return start < place ? index(after: start) : place
  }
}
