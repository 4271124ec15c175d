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
  /// Values that a map made, by key. They come before those of the element.
  var given: [String: Any] = [:]
  /// The keys of lists that are empty if nothing else gives them a value.
  var emptyLists: Set<String> = []

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
    if let made = given[key], let value = made as? T { return value }
    if let stored, let value = stored[key] as? T { return value }
    if key == idKey, let value = newID?() as? T { return value }
    if let value = defaults[key] as? T { return value }
    guard emptyLists.contains(key), let list = type as? any ExpressibleByArrayLiteral.Type else {
      return nil
    }
    return ElementFilling.empty(list) as? T
  }

  static func empty<List: ExpressibleByArrayLiteral>(_ type: List.Type) -> List { [] }

  /// For a property that may be nil.
  func optional<T>(_ type: T.Type, for key: String) -> T? {
    if let made = given[key], let value = made as? T { return value }
    if let value = stored?[key] as? T { return value }
    return merges ? nil : defaults[key] as? T
  }

  /// Whether there is a value for the key.
  func has(_ key: String) -> Bool {
    stored?[key] != nil || !merges && defaults[key] != nil || given[key] != nil
  }
}

/// An element in the form of its type.
struct ElementInput {
  let bytes: UnsafeRawBufferPointer
  /// The values that are not in the bytes, by key.
  var given: [String: Any] = [:]
  /// The keys of lists that may be absent.
  var emptyLists: Set<String> = []

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }
}
