/// The entries of the values of a type in an index: its ``IndexableField/_field``.
///
/// This class is that of fields with one entry; a subclass writes several.
class FieldCoding<Value>: _Witness, @unchecked Sendable {
  /// What the bytes of one entry stand for.
  let form: KeyForm
  /// Whether the bytes can be made from the stored field.
  let isStandard: Bool
  /// How the only entry is written; nil if a value can have several.
  let single: KeyCoding<Value>?

  /// One entry for each value.
  init(_ key: KeyCoding<Value>) {
    form = key.form
    isStandard = key.isStandard
    single = key
  }

  fileprivate init(severalOf form: KeyForm, isStandard: Bool) {
    self.form = form
    self.isStandard = isStandard
    single = nil
  }

  /// Whether a value can have several entries.
  final var isMultiple: Bool { single == nil }

  /// Appends each key of a value in turn, and calls the closure after each. Equal keys may occur
  /// repeatedly.
  func forEachKey(
    of value: Value, to writer: inout KeyWriter, isLast: Bool,
    _ body: (inout KeyWriter) throws -> Void
  ) rethrows {
    single?.write(value, to: &writer, isLast: isLast)
    try body(&writer)
  }

  /// Calls with the standard values of each entry until the closure returns false. Returns whether
  /// it never did.
  func forEachValue(of value: Value, _ body: (KeyValues) -> Bool) -> Bool {
    var values = KeyValues()
    single?.append(value, to: &values)
    return body(values)
  }
}

extension IndexableField {
  /// The entries of this type. Made for each call, so a caller with many values asks once.
  static var fieldCoding: FieldCoding<Self> { _field.typed() }
}

/// For an array or a set: an entry for each distinct element.
final class ElementEntries<Value: Sequence>: FieldCoding<Value>, @unchecked Sendable
where Value.Element: IndexKey {
  private let key: KeyCoding<Value.Element>

  init() {
    key = Value.Element.keyCoding
    super.init(severalOf: key.form, isStandard: key.isStandard)
  }

  override func forEachKey(
    of value: Value, to writer: inout KeyWriter, isLast: Bool,
    _ body: (inout KeyWriter) throws -> Void
  ) rethrows {
    let mark = writer.mark
    // The elements of an array are read in place: an iterator of a type that is not known here costs as much as
    // their keys.
    let isDone: Void? = try value.withContiguousStorageIfAvailable { elements in
      for place in elements.indices {
        key.write(elements[place], to: &writer, isLast: isLast)
        try body(&writer)
        writer.rewind(to: mark)
      }
    }
    if isDone != nil { return }
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

/// For an optional whose value can have several entries: nil has none.
private final class OptionalEntries<Wrapped>: FieldCoding<Wrapped?>, @unchecked Sendable {
  private let wrapped: FieldCoding<Wrapped>

  init(_ wrapped: FieldCoding<Wrapped>) {
    self.wrapped = wrapped
    super.init(severalOf: wrapped.form, isStandard: wrapped.isStandard)
  }

  override func forEachKey(
    of value: Wrapped?, to writer: inout KeyWriter, isLast: Bool,
    _ body: (inout KeyWriter) throws -> Void
  ) rethrows {
    guard let value else { return }
    try wrapped.forEachKey(of: value, to: &writer, isLast: isLast, body)
  }

  override func forEachValue(of value: Wrapped?, _ body: (KeyValues) -> Bool) -> Bool {
    guard let value else { return true }
    return wrapped.forEachValue(of: value, body)
  }
}

extension FieldCoding {
  /// The entries of an optional: the value's; for nil one of its own, or none if the value can have
  /// several.
  static func optional(_ wrapped: FieldCoding) -> FieldCoding<Value?> {
    if let key = wrapped.single { return FieldCoding<Value?>(key.optional()) }
    return OptionalEntries(wrapped)
  }
}
