internal import Foundation

/// A test of a field whose type has no keys, on the stored bytes of the field: no other part of the
/// record is decoded.
struct StoredFieldTest: Sendable {
  /// The coding names of the field.
  let names: [String]
  /// Whether the field passes; nil if only the decoded record tells.
  let matches: @Sendable (RawField) throws -> Bool?

  /// A test of a `Decimal`, or of an optional one; nil for other types, and for a property that is
  /// not stored.
  init?<Value>(_ identity: FieldIdentity, _ matches: @escaping @Sendable (Value) -> Bool) {
    guard case .stored(let names) = identity else { return nil }
    self.names = names
    // The casts: `Value` is the type that was compared with.
    if Value.self == Decimal.self {
      self.matches = { field in
        guard case .value(.decimal, let bytes) = field else { return nil }
        return matches(Leaf.bits(try Leaf.decimal(bytes), as: Value.self))
      }
    } else if Value.self == Decimal?.self {
      self.matches = { field in
        switch field {
        case .value(.decimal, let bytes):
          return matches(Leaf.bits(Decimal?.some(try Leaf.decimal(bytes)), as: Value.self))
        case .absent: return matches(Leaf.bits(Decimal?.none, as: Value.self))
        case .missing, .value: return nil
        }
      }
    } else {
      return nil
    }
  }
}
