/// Which entries the values of a type have in an index: the ``IndexableField/_field`` of it.
class FieldCoding<Value>: _Witness, @unchecked Sendable {
  /// What the bytes of one entry stand for.
  let form: KeyForm
  /// Whether a value can have several entries.
  let isMultiple: Bool
  /// Whether the bytes can be made from the stored field.
  let isStandard: Bool

  init(_ form: KeyForm, isMultiple: Bool, isStandard: Bool) {
    self.form = form
    self.isMultiple = isMultiple
    self.isStandard = isStandard
  }

  /// Appends each key of a value in turn, and calls the closure after each. Keys that are equal may
  /// come repeatedly.
  func forEachKey(
    of value: Value, to writer: inout KeyWriter, isLast: Bool,
    _ body: (inout KeyWriter) throws -> Void
  ) rethrows {
    preconditionFailure("\(Self.self) has no keys.")
  }

  /// Calls with the standard values of each entry until the closure returns false, and tells whether
  /// it never did.
  func forEachValue(of value: Value, _ body: (KeyValues) -> Bool) -> Bool {
    preconditionFailure("\(Self.self) has no values.")
  }
}

extension IndexableField {
  /// Which entries this type has. Made for each call, so whoever has many values asks once.
  static var fieldCoding: FieldCoding<Self> { _field.typed() }
}

/// Of a key: one value, one entry.
final class SingleEntry<Value: IndexKey>: FieldCoding<Value>, @unchecked Sendable {
  private let key: KeyCoding<Value>

  init() {
    key = Value.keyCoding
    super.init(key.form, isMultiple: false, isStandard: key.isStandard)
  }

  override func forEachKey(
    of value: Value, to writer: inout KeyWriter, isLast: Bool,
    _ body: (inout KeyWriter) throws -> Void
  ) rethrows {
    key.write(value, to: &writer, isLast: isLast)
    try body(&writer)
  }

  override func forEachValue(of value: Value, _ body: (KeyValues) -> Bool) -> Bool {
    var values = KeyValues()
    key.append(value, to: &values)
    return body(values)
  }
}

/// Of an array or a set: an entry for each distinct element.
final class ElementEntries<Value: Sequence>: FieldCoding<Value>, @unchecked Sendable
where Value.Element: IndexKey {
  private let key: KeyCoding<Value.Element>

  init() {
    key = Value.Element.keyCoding
    super.init(key.form, isMultiple: true, isStandard: key.isStandard)
  }

  override func forEachKey(
    of value: Value, to writer: inout KeyWriter, isLast: Bool,
    _ body: (inout KeyWriter) throws -> Void
  ) rethrows {
    let mark = writer.mark
    for element in value {
      key.write(element, to: &writer, isLast: isLast)
      try body(&writer)
      writer.rewind(to: mark)
    }
  }

  override func forEachValue(of value: Value, _ body: (KeyValues) -> Bool) -> Bool {
    value.allSatisfy { element in
      var values = KeyValues()
      key.append(element, to: &values)
      return body(values)
    }
  }
}

/// Of an optional: the entries of the value in it; for nil one of its own, or none if the value has
/// several.
final class OptionalEntry<Wrapped: IndexableField>: FieldCoding<Wrapped?>, @unchecked Sendable {
  private let wrapped: FieldCoding<Wrapped>

  init() {
    wrapped = Wrapped.fieldCoding
    super.init(
      wrapped.isMultiple ? wrapped.form : .optional(wrapped.form), isMultiple: wrapped.isMultiple,
      isStandard: wrapped.isStandard)
  }

  override func forEachKey(
    of value: Wrapped?, to writer: inout KeyWriter, isLast: Bool,
    _ body: (inout KeyWriter) throws -> Void
  ) rethrows {
    if let value {
      if !isMultiple { writer.appendPresent() }
      try wrapped.forEachKey(of: value, to: &writer, isLast: isLast, body)
    } else if !isMultiple {
      writer.appendNil()
      try body(&writer)
    }
  }

  override func forEachValue(of value: Wrapped?, _ body: (KeyValues) -> Bool) -> Bool {
    if let value { return wrapped.forEachValue(of: value, body) }
    return isMultiple ? true : body(KeyValues([.null]))
  }
}
