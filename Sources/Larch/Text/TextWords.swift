/// The words of a text, as searching sees them.
///
/// ```swift
/// Array(TextWords(of: "Don't miss Café №5!"))  // ["don", "t", "miss", "cafe", "5"]
/// ```
///
/// This is the definition of a word for ``TextQuery``: a pure function of the text and of ``WordRules``.
public struct TextWords: Sequence, Sendable {
  private let text: String
  private let rules: WordRules

  /// The words of a text.
  ///
  /// - Complexity: O(1); O(*n*) in the length of the text to pass all of its words.
  public init(of text: String, rules: WordRules = .standard) {
    self.text = text
    self.rules = rules
  }

  /// Passes the words from the first one on.
  public func makeIterator() -> Iterator { Iterator(text, rules) }

  /// The places of the words in the text, in order.
  ///
  /// - Complexity: O(*n*) in the length of the text.
  public var ranges: [Range<String.Index>] {
    var text = text
    var found: [Range<Int>] = []
    text.withUTF8 { utf8 in
      let bytes = UnsafeRawBufferPointer(utf8)
      var cutter = WordCutter(rules)
      while cutter.next(in: bytes) { found.append(cutter.start..<cutter.end) }
    }
    return self.text.ranges(utf8: found)
  }

  /// Passes the words of a text.
  public struct Iterator: IteratorProtocol {
    private let state: State

    fileprivate init(_ text: String, _ rules: WordRules) { state = State(text, rules) }

    /// The next word; nil at the end of the text.
    public mutating func next() -> String? { state.next() }

    /// A class, since the cutter is not copied.
    private final class State {
      private var text: String
      private var cutter: WordCutter

      init(_ text: String, _ rules: WordRules) {
        self.text = text
        cutter = WordCutter(rules)
      }

      func next() -> String? {
        text.withUTF8 { utf8 in
          guard cutter.next(in: UnsafeRawBufferPointer(utf8)) else { return nil }
          return String(decoding: cutter.bytes, as: UTF8.self)
        }
      }
    }
  }
}

extension String {
  /// Places of bytes, in ascending order, as indices.
  func ranges(utf8 places: [Range<Int>]) -> [Range<Index>] {
    var index = startIndex
    var passed = 0
    func move(to place: Int) -> Index {
      index = utf8.index(index, offsetBy: place - passed)
      passed = place
      return index
    }
    return places.map { move(to: $0.lowerBound)..<move(to: $0.upperBound) }
  }
}
