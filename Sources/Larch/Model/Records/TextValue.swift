/// A text, or an optional one, as a field in a filter or a rule. You never need to conform to this
/// protocol.
@_documentation(visibility: private)
public protocol TextValue: IndexKey, Sendable {
  /// The text. Implemented by Larch.
  var _text: String? { get }
}

extension String: TextValue {
  /// The text itself.
  public var _text: String? { self }
}

extension Optional: TextValue where Wrapped == String {
  /// The text, if there is one.
  public var _text: String? { self }
}
