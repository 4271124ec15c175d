/// How texts are compared, in a filter or in a unique index.
public enum TextOption: Sendable {
  /// Ignores case, by comparing the results of `lowercased()`.
  case caseInsensitive
  /// Ignores case and the marks of Latin, Greek and Cyrillic letters: `José` equals `JOSE`, and `Straße`
  /// equals `STRASSE`. Letters without a mark to lose stay: `ø` is not `o`. It is the rule of
  /// ``TextWords`` for words.
  case caseAndDiacriticInsensitive

  /// Not available: no test ignores the marks of letters, but not their case.
  @available(*, unavailable, message: "use `.caseAndDiacriticInsensitive`, which ignores case too")
  public static var diacriticInsensitive: TextOption { .caseAndDiacriticInsensitive }

  var form: CheckedTextForm {
    switch self {
    case .caseInsensitive: .caseInsensitive
    case .caseAndDiacriticInsensitive: .caseAndDiacriticInsensitive
    }
  }
}

/// How texts are compared, in an index or an order.
public struct TextIndexOption: Sendable {
  let form: CheckedTextForm

  /// Ignores case, by comparing the results of `lowercased()`.
  public static let caseInsensitive = TextIndexOption(form: .caseInsensitive)

  /// Ignores case and the marks of Latin, Greek and Cyrillic letters; see
  /// ``TextOption/caseAndDiacriticInsensitive``.
  public static let caseAndDiacriticInsensitive = TextIndexOption(
    form: .caseAndDiacriticInsensitive)

  /// Not available: no index ignores the marks of letters, but not their case.
  @available(*, unavailable, message: "use `.caseAndDiacriticInsensitive`, which ignores case too")
  public static var diacriticInsensitive: TextIndexOption { .caseAndDiacriticInsensitive }

  /// The order of a language; see ``Collation``.
  public static func localized(_ collation: Collation) -> TextIndexOption {
    TextIndexOption(form: CheckedTextForm(form: TextForm(collation)))
  }

  /// The order of a language, by its tag of BCP 47, such as `nb`; see ``Collation/init(_:)``.
  ///
  /// A tag that is none, or that asks for an order that Larch does not have, is an error where it is used:
  /// `.invalidSchema` when a store is opened, and `.invalidQuery` when a query runs.
  public static func localized(_ language: String) -> TextIndexOption {
    do {
      return localized(try Collation(language))
    } catch {
      return TextIndexOption(form: CheckedTextForm(form: .exact, error: error as? LarchError))
    }
  }
}

/// The form of texts of an option, and what is wrong with it.
struct CheckedTextForm: Sendable {
  let form: TextForm
  var error: LarchError?

  static let exact = CheckedTextForm(form: .exact)
  static let caseInsensitive = CheckedTextForm(form: .caseInsensitive)
  static let caseAndDiacriticInsensitive = CheckedTextForm(form: .caseAndDiacriticInsensitive)
}
