/// Which forms count as one word: `tree` and `trees`, `run` and `running`.
///
/// ```swift
/// let typed = TextQuery("running shoes", stemming: .english)
/// let found = try store.fetch(Article.where { typed.matches($0.title, $0.body) })
/// ```
///
/// It is a choice of the query, not of the index: a `Search` has the words as they are written, so the same index
/// answers queries with forms and without. Only words of the letters `a` to `z` have forms, once they are folded: 40 letters at most.
public struct Stemming: Hashable, Sendable, CustomStringConvertible {
  /// The name; another way to find forms has another name.
  public let name: String
  /// The version. A version always gives the same forms.
  public let version: Int

  /// Most of the regular forms of English nouns and verbs: plurals, `-ed` and `-ing`.
  ///
  /// Words that are made from others stay words of their own, as `organization` beside `organ`, and so do irregular
  /// forms: `ran` is not a form of `run`, nor `mice` one of `mouse`.
  public static let english = Stemming(name: "english", version: 1)

  /// What all forms of a word have in common, such as `run` for `running`. It need not be a word: that of `cities`
  /// is `citi`.
  ///
  /// - Parameter word: one word of ``TextWords`` by the rules ``WordRules/standard``; of any other text, its first word
  ///   counts.
  /// - Complexity: O(*n*) in the length of the word.
  public func stem(of word: String) -> String {
    guard let first = TextQuery.Phrase(word, endsInPrefix: false, .standard)?.words.first else {
      return ""
    }
    return String(decoding: first.beginning.withUnsafeBytes { stem(of: $0) }, as: UTF8.self)
  }

  /// The name and the version.
  public var description: String { "\(name)-\(version)" }

  /// Whether other words can be forms of a word.
  func hasForms(_ word: [UInt8]) -> Bool { word.withUnsafeBytes { EnglishStem.hasForms($0) } }

  func stem(of word: UnsafeRawBufferPointer) -> [UInt8] { withStem(of: word) { [UInt8]($0) } }

  func withStem<T>(
    of word: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> T
  ) -> T {
    EnglishStem.withStem(of: word, body)
  }

  /// The letters with which all words with a stem begin.
  func beginning(ofWordsWith stem: [UInt8]) -> [UInt8] {
    EnglishStem.beginning(ofWordsWith: stem)
  }
}
