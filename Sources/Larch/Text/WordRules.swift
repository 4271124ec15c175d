/// How texts are cut into words for searching. The same name and version always cut in the same way.
///
/// A word is a run of letters, marks and digits, in lower case: `Don't` is `don` and `t`. Each character
/// of Chinese, Japanese kana, Thai, Lao, Khmer and Burmese, with its marks, is a word. Texts that are
/// equal in Swift have the same words. The guide page "Searching texts" has the whole definition.
///
/// The tables are Larch's own, so that words depend neither on the operating system nor on the compiler.
public struct WordRules: Hashable, Sendable, CustomStringConvertible {
  /// The name; other rules have another name.
  public let name: String
  /// The version. Rules that cut any text in another way have another version.
  public let version: Int
  /// Whether marks of Latin, Greek and Cyrillic letters are kept.
  let keepsMarks: Bool

  /// `Café`, `cafe` and `CAFÉ` are one word: letters of Latin, Greek and Cyrillic lose their marks.
  public static let standard = WordRules(name: "words", version: 1, keepsMarks: false)

  /// `Café` and `CAFÉ` are one word, and `cafe` is another one.
  public static let keepingDiacritics = WordRules(
    name: "words-with-diacritics", version: 1, keepsMarks: true)

  /// The version of Unicode that decides what is a letter, a mark or a digit, and what is lower case.
  public static let unicodeVersion = WordTables.unicodeVersion

  /// The longest word in bytes of UTF-8. The rest of a longer word is passed over.
  public static let longestWord = 128

  /// The name and the version.
  public var description: String { "\(name)-\(version)" }
}
