internal import Larch

/// A query as it was written, before anything is known of the fields it names. See
/// `docs/query-language.md`.
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

  /// One field against constants, or against another field.
  struct Test: Equatable, Sendable {
    let field: Name
    let operation: Operation
    /// Where the operator stands, or the field where there is none.
    let column: Int
    /// As the operator was written.
    let word: String
  }

  enum Operation: Equatable, Sendable {
    /// The field alone.
    case isTrue
    case isNil
    case compare(Comparison, Literal)
    case compareField(Comparison, Name)
    case equalIgnoringCase(Literal)
    case between(Literal, Literal)
    case oneOf([Literal])
    /// Of a text: has another one in it; of a list: has an element.
    case contains(Literal, ignoresCase: Bool)
    /// Of a list alone.
    case has(Literal)
    case text(TextTest.Kind, Literal, ignoresCase: Bool)
  }

  enum Comparison: Equatable {
    case equal, notEqual, less, lessOrEqual, greater, greaterOrEqual

    /// The same seen from the other side.
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

  /// The names that lead to a field.
  struct Name: Equatable, Sendable {
    let names: [String]
    let column: Int

    var text: String { names.joined(separator: ".") }
  }

  /// A constant.
  struct Literal: Equatable, Sendable {
    enum Value: Equatable {
      case null
      case bool(Bool)
      /// As it was written, so that each kind of number reads it as Swift would.
      case number(String)
      case text(String)
      /// Written as `0x…`: the digits.
      case hexadecimal(String)
      /// Seconds since the reference date.
      case date(Double)
    }

    let value: Value
    let column: Int
    /// As it was written, for errors and plans.
    let source: String
  }

  struct Term: Equatable {
    let field: Name
    let descends: Bool
    let ignoresCase: Bool
  }
}

/// Why a query cannot be run as it was written, and where.
package struct QueryTextError: Error, Equatable, CustomStringConvertible {
  /// Counted in characters, from 1.
  package let column: Int
  /// What was expected there, on one line.
  package let message: String

  init(_ column: Int, _ message: String) {
    self.column = column
    self.message = message
  }

  package var description: String { "the query is wrong at column \(column): \(message)" }

  /// A part of the query as errors show it: short, on one line, whatever is in it.
  static func shown(_ text: some StringProtocol) -> String {
    let (quoted, isCut) = beginning(text)
    return isCut ? quoted + "…" : quoted
  }

  /// The same without quotes.
  static func plain(_ text: some StringProtocol) -> String {
    let (quoted, isCut) = beginning(text)
    return quoted.dropFirst().dropLast() + (isCut ? "…" : "")
  }

  /// Not by characters, one of which may have any length.
  private static func beginning(_ text: some StringProtocol) -> (quoted: String, isCut: Bool) {
    let limit = 40
    let scalars = text.unicodeScalars.prefix(limit + 1)
    let shown = String(String.UnicodeScalarView(scalars.prefix(limit)))
    return (KeyValue.quoted(shown), scalars.count > limit)
  }
}
