internal import Foundation

/// A property that filters use: how to read it, and its name.
///
/// Each node is created once per property and kept. A filter finds it by the address of a key path
/// literal and allocates nothing for its fields.
final class FieldNode<Root, Value>: @unchecked Sendable {
  /// The path from the root; nil if it goes through an optional, because such a key path cannot be
  /// built at run time.
  let keyPath: KeyPath<Root, Value>?
  /// The name of `\.city` in plans.
  let name: String
  let identity: FieldIdentity
  let read: @Sendable (Root) -> Value
  /// The field as a key; nil if its type is not an `IndexKey`.
  let key: FieldKey<Root, Value>?
  /// The same if the values have the order of their keys: an enum may have its own `<`.
  let orderedKey: FieldKey<Root, Value>?
  /// The field that an order by this one sorts by, if an enum has its own `<`; of the related record, if
  /// this is a field of one.
  let ownOrder: FieldReference?
  /// `FieldKey<Root, Value.Element>`: the field as a key of each of its elements; nil if it has no
  /// elements, or if their type is not an `IndexKey`.
  private let anyElementKey: AnyObject?
  /// For a field of another record: converts a test of it to a test of the root.
  let related: RelatedReading<Value>?
  /// The reason why it cannot be used; thrown when the query runs.
  let error: LarchError?

  init(
    keyPath: KeyPath<Root, Value>?, name: String, identity: FieldIdentity,
    read: @escaping @Sendable (Root) -> Value
  ) {
    self.keyPath = keyPath
    self.name = name
    self.identity = identity
    self.read = read
    related = nil
    error = nil
    key = keyType(Value.self).map { FieldKey($0, name: name, identity: identity, read: read) }
    orderedKey = KeyOrderProof.holds(for: Value.self) ? key : nil
    ownOrder = key == nil ? nil : OwnOrder<Value>()?.field(of: name, identity, read)
    anyElementKey = (Value.self as? any ElementSequence.Type).flatMap {
      Self.elementKey($0, name: name, identity: identity, read: read)
    }
  }

  /// A field of another record.
  ///
  /// - Parameters:
  ///   - field: the same field in that record, if it can be tested by its key.
  ///   - elementField: the same for its elements.
  ///   - ownOrder: the field that an order by it sorts by, if an enum has its own `<`.
  init(
    related: RelatedReading<Value>, name: String, identity: FieldIdentity, field: FieldReference?,
    elementField: FieldReference?, ownOrder: FieldReference? = nil
  ) {
    keyPath = nil
    self.name = name
    self.identity = identity
    // The root does not have the value; `related` gets it.
    read = { _ in related.valueOfNone() }
    self.related = related
    error = nil
    key = field.flatMap { field in
      keyType(Value.self).map { FieldKey($0, field, related.wrap) }
    }
    self.ownOrder = ownOrder
    orderedKey = KeyOrderProof.holds(for: Value.self) ? key : nil
    anyElementKey = elementField.flatMap { field in
      (Value.self as? any ElementSequence.Type).flatMap {
        Self.elementKey($0, field, related.wrap)
      }
    }
  }

  /// A number that is calculated from fields.
  init(calculated key: FieldKey<Root, Value>) where Value: FieldNumber {
    keyPath = nil
    name = key.field.name
    identity = key.field.identity
    // Only its key is read; a property of it is refused.
    read = { _ in 0 }
    self.key = key
    orderedKey = key
    ownOrder = nil
    anyElementKey = nil
    related = nil
    error = nil
  }

  /// A field that cannot be used.
  init(refused error: LarchError, name: String, read: @escaping @Sendable (Root) -> Value) {
    keyPath = nil
    self.name = name
    identity = .computed(\Value.self)
    self.read = read
    key = nil
    orderedKey = nil
    ownOrder = nil
    anyElementKey = nil
    related = nil
    self.error = error
  }

  private static func elementKey<Elements: ElementSequence>(
    _: Elements.Type, _ field: FieldReference, _ wrap: @escaping RelatedWrap
  ) -> AnyObject? {
    keyType(Elements.Element.self).map { FieldKey<Root, Elements.Element>($0, field, wrap) }
  }

  /// The field of its elements, if their keys can be tested.
  var elementField: FieldReference? {
    func find<Elements: ElementSequence>(_: Elements.Type) -> FieldReference? {
      // Made by `elementKey` of this node, for the same `Value` and so the same element.
      anyElementKey.map { unsafeDowncast($0, to: FieldKey<Root, Elements.Element>.self).field }
    }
    return (Value.self as? any ElementSequence.Type).flatMap { find($0) }
  }

  /// The field as a key, if the compiler knows that its type is one.
  func indexKey() -> FieldKey<Root, Value> where Value: IndexKey {
    key ?? FieldKey(Value.self, name: name, identity: identity, read: read)
  }

  private static func elementKey<Elements: ElementSequence>(
    _: Elements.Type, name: String, identity: FieldIdentity,
    read: @escaping @Sendable (Root) -> Value
  ) -> AnyObject? {
    func key<Key: IndexKey>(_ type: Key.Type) -> AnyObject {
      let coding = Key.keyCoding
      return FieldKey<Root, Elements.Element>(
        type,
        TypedField(
          form: coding.form, isMultiple: true, isStandard: Key.isReadableFromBytes, name: name,
          identity: identity,
          forEachValue: { record, body in
            // The type is `Value`; only the run time knows that it has elements.
            unsafeBitCast(read(record), to: Elements.self)._forEachElement { element in
              var values = KeyValues()
              // `Key` is the type of the elements.
              coding.append(unsafeBitCast(element, to: Key.self), to: &values)
              return body(values)
            }
          }))
    }
    return keyType(Elements.Element.self).map { key($0) }
  }
}

extension FieldNode where Value: ElementSequence {
  /// The field as a key of each of its elements; nil if their type is not an `IndexKey`.
  var elementKey: FieldKey<Root, Value.Element>? {
    // Made by `elementKey` of this node, whose elements these are.
    anyElementKey.map { unsafeDowncast($0, to: FieldKey<Root, Value.Element>.self) }
  }
}

private func keyType<Value>(_ type: Value.Type) -> (any IndexKey.Type)? {
  type as? any IndexKey.Type
}

/// A field whose values, or whose elements, are key values.
final class FieldKey<Root, Value>: Sendable {
  let field: FieldReference
  /// For a field of another record.
  private let wrap: RelatedWrap?
  /// How the values are keys.
  let coding: KeyCoding<Value>
  /// Whether stored values may be none of the type: an enum may have lost a case.
  var mayBeInvalid: Bool { !coding.isStandard }

  convenience init<Key: IndexKey>(_ type: Key.Type, _ field: TypedField<Root>) {
    self.init(type, field, nil)
  }

  /// - Parameter wrap: for a field of another record, to which `field` belongs.
  init<Key: IndexKey>(_ type: Key.Type, _ field: FieldReference, _ wrap: RelatedWrap?) {
    self.field = field
    self.wrap = wrap
    // The type is `Value`; only the run time knows that it is a key.
    coding = unsafeDowncast(Key.keyCoding, to: KeyCoding<Value>.self)
  }

  convenience init<Key: IndexKey>(
    _ type: Key.Type, name: String, identity: FieldIdentity,
    read: @escaping @Sendable (Root) -> Value
  ) {
    let coding = Key.keyCoding
    self.init(
      type,
      TypedField(
        form: coding.form, isMultiple: false, isStandard: Key.isReadableFromBytes, name: name,
        identity: identity,
        forEachValue: { record, body in
          var values = KeyValues()
          // `Key` is `Value`.
          coding.append(unsafeBitCast(read(record), to: Key.self), to: &values)
          _ = body(values)
        }))
  }

  /// The values of one key.
  func values(_ value: Value) -> [KeyValue] { coding.values(of: value) }

  func filter(_ test: FieldTest) -> FilterNode {
    let node = FilterNode.field(FieldFilter(field, test))
    // Nil has no elements.
    return wrap?(node, !field.isMultiple && test.matches([.null])) ?? node
  }

  /// Greater than the value of the bound, or equal if it is included.
  func isAbove(_ bound: Value, isIncluded: Bool) -> FilterNode {
    filter(.within(lower: self.bound(bound, isIncluded), upper: nil))
  }

  /// Less than the value of the bound, or equal if it is included.
  func isBelow(_ bound: Value, isIncluded: Bool) -> FilterNode {
    filter(.within(lower: nil, upper: self.bound(bound, isIncluded)))
  }

  func bound(_ value: Value, _ isIncluded: Bool) -> ValueBound {
    ValueBound(values: values(value), isIncluded: isIncluded)
  }
}
