/// One rule of a schema that a record breaks: which type, which field, and a keyword that says how.
///
/// These three are stable, so that an application can show its own text for them; `message` is in
/// English, for developers. It never contains the value of the field.
public struct ValidationError: Error, Hashable, Sendable {
  /// The name of the collection that the record belongs to.
  public let model: String
  /// The field of the rule, by the name of the property; nil for a rule about the whole record.
  public let field: String?
  /// How the rule is broken, such as `cant_be_blank`.
  public let keyword: Keyword
  /// The bound of the rule, for keywords that have one: `20` of "at most 20 characters".
  public let limit: String?
  /// A readable sentence.
  public let message: String

  /// How a rule is broken. Larch has constants for its own rules; a custom rule has its own.
  public struct Keyword: RawRepresentable, Hashable, Sendable, CustomStringConvertible,
    ExpressibleByStringLiteral
  {
    /// The stable text.
    public let rawValue: String

    /// A keyword from its text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A keyword from its text.
    public init(stringLiteral value: String) { rawValue = value }

    /// The stable text.
    public var description: String { rawValue }
  }

  package init(
    model: String, field: String?, keyword: Keyword, limit: String? = nil, message: String
  ) {
    self.model = model
    self.field = field
    self.keyword = keyword
    self.limit = limit
    self.message = message
  }
}

extension ValidationError: CustomStringConvertible {
  /// The model, the field and the keyword, such as `Person.name cant_be_blank`.
  public var description: String { "\(model)\(field.map { "." + $0 } ?? "") \(keyword)" }
}

extension ValidationError.Keyword {
  /// The value is nil, empty, or a text of only white space.
  public static let cantBeBlank: Self = "cant_be_blank"
  /// Another record has the value.
  public static let alreadyExists: Self = "already_exists"
  /// The length is less than the `limit`.
  public static let tooShort: Self = "too_short"
  /// The length is greater than the `limit`.
  public static let tooLong: Self = "too_long"
  /// The length is not the `limit`.
  public static let wrongLength: Self = "wrong_length"
  /// The value is less than the `limit`.
  public static let tooSmall: Self = "too_small"
  /// The value is greater than the `limit`, or equals an excluded upper bound.
  public static let tooLarge: Self = "too_large"
  /// The text does not match.
  public static let invalidFormat: Self = "invalid_format"
  /// The value is not one of the allowed ones.
  public static let notIncluded: Self = "not_included"
  /// The value is one of those that are excluded.
  public static let reserved: Self = "reserved"
}
