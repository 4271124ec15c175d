/// An option for the help, the parser and the completion, whatever the type of its value is.
package protocol OptionDeclaration: Sendable {
  /// With its dashes: `--count`.
  var name: String { get }
  /// One letter with its dash, `-o`, for frequent options.
  var short: String? { get }
  /// The name of the value in the usage; nil for an option without a value.
  var valueName: String? { get }
  var help: String { get }
  var completion: Completion { get }

  /// Checks the text of a value.
  ///
  /// - Throws: `UsageError`, which says what a value must be.
  func check(_ text: String) throws
}

/// An option without a value.
package struct Flag: OptionDeclaration {
  package let name: String
  package let short: String?
  package let help: String
  package var valueName: String? { nil }
  package var completion: Completion { .nothing }

  package init(_ name: String, short: String? = nil, _ help: String) {
    self.name = name
    self.short = short
    self.help = help
  }

  package func check(_ text: String) throws {}

  /// The flag that most commands have.
  package static let json = Flag("--json", "print JSON, for programs to read")
}

/// An option with a value.
package struct Option<Value: OptionValue>: OptionDeclaration {
  package let name: String
  package let short: String?
  private let shownValue: String
  package let help: String
  package let completion: Completion
  private let isAllowed: @Sendable (Value) -> Bool
  private let allowed: String

  /// - Parameters:
  ///   - valueName: the name of the value in the usage, in capitals.
  ///   - allowed: what a value must be, in words that follow "must be".
  ///   - isAllowed: whether a parsed value is valid.
  package init(
    _ name: String, short: String? = nil, _ valueName: String, _ help: String,
    completion: Completion = .nothing, allowed: String = Value.form,
    _ isAllowed: @escaping @Sendable (Value) -> Bool = { _ in true }
  ) {
    self.name = name
    self.short = short
    shownValue = valueName
    self.help = help
    self.completion = completion
    self.allowed = allowed
    self.isAllowed = isAllowed
  }

  package var valueName: String? { shownValue }

  func value(_ text: String) -> Value? {
    guard let value = Value(optionText: text), isAllowed(value) else { return nil }
    return value
  }

  package func check(_ text: String) throws {
    guard value(text) == nil else { return }
    throw UsageError("the value of \(name) must be \(allowed), not \(Quoted(text))")
  }
}

/// The type of an option's value.
package protocol OptionValue: Sendable {
  /// What a text must be, in words that follow "must be".
  static var form: String { get }
  /// Nil for an invalid text.
  init?(optionText: String)
}

extension String: OptionValue {
  package static var form: String { "a text" }
  package init?(optionText: String) { self = optionText }
}

extension Int: OptionValue {
  package static var form: String { "a whole number" }
  package init?(optionText: String) { self.init(optionText) }
}

extension Double: OptionValue {
  package static var form: String { "a number" }
  package init?(optionText: String) {
    guard let value = Double(optionText), value.isFinite else { return nil }
    self = value
  }
}
