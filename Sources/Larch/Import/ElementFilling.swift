internal import Foundation

/// The values for keys that an element does not have.
struct ElementFilling {
  /// The key of the id, and a new id for elements without one.
  var idKey = "id"
  var newID: (() -> Any)?
  /// Declared defaults, by key.
  var defaults: [String: any Sendable] = [:]
  /// The fields of the record that the element replaces or is merged into, by key; nil for other
  /// elements.
  var stored: [String: Any]?
  /// Whether `stored` has all fields of the record: a field that is not in it is nil.
  var merges = false

  init<R: Record>(for type: R.Type) {
    idKey = TypeProbe.keys(of: R.self)?.codingName(ofProperty: "id") ?? "id"
    if let unassigned = R.ID.keyCoding.assigned(0) {
      newID = { unassigned }
    } else if R.ID.self == UUID.self {
      newID = { UUID() }
    }
    for declaration in R.schema.defaults {
      guard case .stored(let names, _) = declaration.resolve(), names.count == 1,
        (declaration.value as? any OptionalType)?.isNil != true
      else { continue }
      defaults[names[0]] = declaration.value
    }
  }

  /// For a property that must have a value.
  func value<T>(_ type: T.Type, for key: String) -> T? {
    if let stored, let value = stored[key] as? T { return value }
    if key == idKey, let value = newID?() as? T { return value }
    return defaults[key] as? T
  }

  /// For a property that may be nil.
  func optional<T>(_ type: T.Type, for key: String) -> T? {
    if let value = stored?[key] as? T { return value }
    return merges ? nil : defaults[key] as? T
  }

  /// Whether there is a value for the key.
  func has(_ key: String) -> Bool {
    stored?[key] != nil || !merges && defaults[key] != nil
  }
}
