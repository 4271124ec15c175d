/// A parsed query, before its fields are resolved. See `docs/query-language.md`.
package struct QueryText: Equatable, Sendable {
  var filter: Condition?
  var order: [Term] = []
  var limit: Int?
  var offset = 0

  indirect enum Condition: Equatable, Sendable {
    case all([Condition])
    case any([Condition])
    case not(Condition)
    case test(Test)
  }

  /// One field compared with constants, or with another field.
  struct Test: Equatable, Sendable {
    let field: Name
    let operation: Operation
    /// The column of the operator, or of the field if there is none.
    let column: Int
    /// The operator as written.
    let word: String
  }

  enum Operation: Equatable, Sendable {
    /// Only the field.
    case isTrue
    case isNil
    case compare(Comparison, Literal)
    case compareField(Comparison, Name)
    case equalText(Literal, TextForm)
    case between(Literal, Literal)
    case oneOf([Literal])
    /// For a text: contains another one; for a list: has an element.
    case contains(Literal, TextForm)
    /// Only for a list.
    case has(Literal)
    case text(TextTest.Kind, Literal, TextForm)
    /// The words of the field and of others.
    case words(Literal, [Name])
  }

  enum Comparison: Equatable {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual

    /// The same comparison with its sides exchanged.
    var turned: Comparison {
      switch self {
      case .equal, .notEqual: self
      case .less: .greater
      case .lessOrEqual: .greaterOrEqual
      case .greater: .less
      case .greaterOrEqual: .lessOrEqual
      }
    }
  }

  /// The path of names to a field.
  package struct Name: Equatable, Sendable {
    package let names: [String]
    package let column: Int

    package var text: String { names.joined(separator: ".") }
  }

  /// A constant.
  struct Literal: Equatable, Sendable {
    enum Value: Equatable {
      case null
      case bool(Bool)
      /// The digits as written, so that each kind of number reads them as Swift would.
      case number(String)
      case text(String)
      /// Written as `0x…`: the digits.
      case hexadecimal(String)
      /// Seconds since the reference date.
      case date(Double)
      /// Values of the program, which have no constants of their own.
      case uuid([UInt8])
      case bytes([UInt8])
    }

    let value: Value
    let column: Int
    /// The source text, for errors and plans; of a value of the program its placeholder.
    let source: String
    var isValue = false

    /// In errors, where the values of a program do not appear.
    var shown: String {
      isValue
        ? "\(QueryTextError.plain(source)), which is \(value.name)" : QueryTextError.shown(source)
    }
  }

  struct Term: Equatable {
    let field: Name
    let descends: Bool
    /// Whether a direction is written.
    let hasDirection: Bool
    let textForm: TextForm
  }
}

/// The error of a query, with its place.
package struct QueryTextError: Error, Equatable, CustomStringConvertible {
  /// Counted in characters, from 1.
  package let column: Int
  /// What was expected there, on one line.
  package let message: String

  package init(_ column: Int, _ message: String) {
    self.column = column
    self.message = message
  }

  package var description: String { "the query is wrong at column \(column): \(message)" }

  /// The list of fields at the end of an error.
  static func listed(_ names: [String]) -> String {
    guard !names.isEmpty else { return "" }
    let shown = names.prefix(30).map { QueryTextError.plain($0) }.joined(separator: ", ")
    return " (fields: \(shown)\(names.count > 30 ? ", …" : ""))"
  }

  /// A part of the query in errors: short, and on one line.
  static func shown(_ text: some StringProtocol) -> String {
    let (quoted, isCut) = beginning(text)
    return isCut ? quoted + "…" : quoted
  }

  /// The same without quotes.
  static func plain(_ text: some StringProtocol) -> String {
    let (quoted, isCut) = beginning(text)
    return quoted.dropFirst().dropLast() + (isCut ? "…" : "")
  }

  /// Not by characters, since a character may have any length.
  private static func beginning(_ text: some StringProtocol) -> (quoted: String, isCut: Bool) {
    let limit = 40
    let scalars = text.unicodeScalars.prefix(limit + 1)
    let shown = String(String.UnicodeScalarView(scalars.prefix(limit)))
    return (KeyValue.quoted(shown), scalars.count > limit)
  }
}
