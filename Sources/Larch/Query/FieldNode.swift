internal import Foundation

/// A property that filters name: how it is read, and what it is called.
///
/// Nodes are made once for each property and kept, so that building a filter finds them by the
/// address of a key path literal and allocates nothing for its fields.
final class FieldNode<Root, Value>: @unchecked Sendable {
  /// The way from the root; nil where an optional lies on it, which no key path can be built
  /// through at run time.
  let keyPath: KeyPath<Root, Value>?
  /// What `\.city` is called in plans.
  let name: String
  let identity: FieldIdentity
  let read: @Sendable (Root) -> Value
  /// Made at the first use: most fields are used as one of the two.
  private let keys = Locked(Keys())

  private struct Keys {
    var ofValue: FieldKey<Root, Value>?
    var isWithoutKey = false
    /// `FieldKey<Root, Value.Element>`.
    var ofElements: AnyObject?
  }

  init(
    keyPath: KeyPath<Root, Value>?, name: String, identity: FieldIdentity,
    read: @escaping @Sendable (Root) -> Value
  ) {
    self.keyPath = keyPath
    self.name = name
    self.identity = identity
    self.read = read
  }

  /// The field as a key; nil where its type is no `IndexKey`.
  var key: FieldKey<Root, Value>? {
    let (known, isWithoutKey) = keys.withLock { ($0.ofValue, $0.isWithoutKey) }
    if known != nil || isWithoutKey { return known }
    guard let type = keyType(Value.self) else {
      keys.withLock { $0.isWithoutKey = true }
      return nil
    }
    return makeKey(type)
  }

  /// The field as a key, where the compiler knows that its type is one.
  func indexKey() -> FieldKey<Root, Value> where Value: IndexKey {
    if let known = keys.withLock({ $0.ofValue }) { return known }
    return makeKey(Value.self)
  }

  private func makeKey<Key: IndexKey>(_ type: Key.Type) -> FieldKey<Root, Value> {
    let read = read
    let key = FieldKey<Root, Value>(
      type,
      TypedField(
        form: Key._fieldForm, isMultiple: false, isStandard: Key._isStandardField, name: name,
        identity: identity,
        forEachValue: { record, body in
          var values = KeyValues()
          Key._appendValues(unsafeBitCast(read(record), to: Key.self), to: &values)
          _ = body(values)
        }))
    keys.withLock { $0.ofValue = key }
    return key
  }
}

extension FieldNode where Value: ElementSequence, Value.Element: Sendable {
  /// The field as a key of each of its elements; nil where their type is no `IndexKey`.
  var elementKey: FieldKey<Root, Value.Element>? {
    if let known = keys.withLock({ $0.ofElements }) {
      return unsafeDowncast(known, to: FieldKey<Root, Value.Element>.self)
    }
    guard let type = keyType(Value.Element.self) else { return nil }
    return makeElementKey(type)
  }

  private func makeElementKey<Key: IndexKey>(
    _ type: Key.Type
  ) -> FieldKey<Root, Value.Element> {
    let read = read
    let key = FieldKey<Root, Value.Element>(
      type,
      TypedField(
        form: Key._fieldForm, isMultiple: true, isStandard: Key._isStandardField, name: name,
        identity: identity,
        forEachValue: { record, body in
          read(record)._forEachElement { element in
            var values = KeyValues()
            Key._appendValues(unsafeBitCast(element, to: Key.self), to: &values)
            return body(values)
          }
        }))
    keys.withLock { $0.ofElements = key }
    return key
  }
}

/// The type as a key. `Decimal` has a conformance that is there only to refuse it.
private func keyType<Value>(_ type: Value.Type) -> (any IndexKey.Type)? {
  guard let key = type as? any IndexKey.Type, FieldNaming.unwrapped(type) != Decimal.self else {
    return nil
  }
  return key
}

/// A field whose values, or whose elements, are key values.
final class FieldKey<Root, Value>: Sendable {
  let field: TypedField<Root>
  let values: @Sendable (Value) -> [KeyValue]
  /// The value that these stand for; nil where only the record tells it.
  let read: @Sendable ([KeyValue]) -> Value?

  init<Key: IndexKey>(_ type: Key.Type, _ field: TypedField<Root>) {
    self.field = field
    // The type is `Value`, which only the run time knows to be a key.
    values = { Key.values(of: unsafeBitCast($0, to: Key.self)) }
    read = { list in
      var values = KeyValues(list)
      guard let key = Key._read(from: &values), values.place == list.count else { return nil }
      return unsafeBitCast(key, to: Value.self)
    }
  }

  func filter(_ test: FieldTest) -> FilterNode { .field(FieldFilter(field, test)) }
}
