/// The form in which texts are compared: in an index, an order or a test.
///
/// It is one byte, since each key that is written looks at it.
package struct TextForm: Hashable, Sendable {
  let code: UInt8

  private init(code: UInt8) { self.code = code }

  /// The texts themselves, in normal form.
  package static let exact = TextForm(code: 0)
  /// In lower case.
  package static let caseInsensitive = TextForm(code: 1)
  /// In lower case, without the marks of Latin, Greek and Cyrillic letters.
  package static let caseAndDiacriticInsensitive = TextForm(code: 2)

  /// The sort keys of a collation.
  init(_ collation: Collation) { code = collation.number + TextForm.firstCollation }

  private static let firstCollation: UInt8 = 8

  /// Whether texts are not compared as they are.
  @inline(__always)
  package var isFolded: Bool { code != 0 }

  /// The collation whose sort keys these are.
  package var collation: Collation? {
    code < TextForm.firstCollation
      ? nil : Collation(number: code - TextForm.firstCollation)
  }

  var isCollated: Bool { code >= TextForm.firstCollation }
}

extension KeyForm {
  /// The form of the bytes in keys: the sort key of a text is no text.
  func ofKey(_ textForm: TextForm) -> KeyForm {
    guard textForm.isCollated else { return self }
    switch node {
    case .primitive: return .primitive(.data)
    case .optional(let wrapped): return .optional(wrapped.ofKey(textForm))
    case .composite: return self
    }
  }
}

extension TextForm {
  /// The text that stands for another one; of a collation, whose keys are no texts, the text itself.
  package func folded(_ text: String) -> String {
    switch self {
    case .caseInsensitive: NFC.foldedForIndex(text)
    case .caseAndDiacriticInsensitive: NFC.foldedWithoutMarks(text)
    default: text
    }
  }

  /// The form in the catalog and in page tokens: what is before the path of a field. A name with a version
  /// ends in `..`, which makes a path that a Larch without the form takes for one that it cannot read.
  package var mark: String {
    switch self {
    case .exact: ""
    case .caseInsensitive: "~"
    case .caseAndDiacriticInsensitive: "~marks@1.."
    default: "~" + (collation?.versionedName ?? "") + ".."
    }
  }

  /// Reads the mark at the start of a text and removes it; nil if it is of another version, or of a
  /// form that this Larch does not know.
  package static func taken(from text: inout Substring) -> TextForm? {
    guard text.first == "~" else { return .exact }
    text.removeFirst()
    guard let dots = text.firstRange(of: "..") else { return .caseInsensitive }
    let name = text[..<dots.lowerBound]
    text = text[dots.upperBound...]
    if name == "marks@1" { return .caseAndDiacriticInsensitive }
    return Collation(versionedName: name).map { TextForm($0) }
  }

  /// The option of a filter, as a program writes it; nil for exact texts.
  package var option: String? {
    switch self {
    case .exact: nil
    case .caseInsensitive: ".caseInsensitive"
    case .caseAndDiacriticInsensitive: ".caseAndDiacriticInsensitive"
    default: ".localized(\"" + (collation?.name ?? "") + "\")"
    }
  }

  /// What the name of an index over a field has, so that one over the texts themselves may be beside it.
  var nameSuffix: String {
    switch self {
    case .exact, .caseInsensitive: ""
    case .caseAndDiacriticInsensitive: "_plain"
    default: "_" + (collation?.name ?? "")
    }
  }

  /// Whether texts that are equal in another form are equal in this one, and beginnings are beginnings.
  func covers(_ other: TextForm) -> Bool {
    self == other || (self == .caseAndDiacriticInsensitive && other == .caseInsensitive)
  }

  /// How a plan says it, after the name of a field; empty for exact texts.
  package var words: String {
    switch self {
    case .exact: ""
    case .caseInsensitive: " ignoring case"
    case .caseAndDiacriticInsensitive: " ignoring diacritics"
    default: " localized \"" + (collation?.name ?? "") + "\""
    }
  }
}
