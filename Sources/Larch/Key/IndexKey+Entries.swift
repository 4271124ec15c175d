// The values of each entry of a field in an index, for callers that do not need the bytes.

extension IndexKey {
  /// One value.
  public static func _forEachValue(_ value: Self, _ body: (KeyValues) -> Bool) -> Bool {
    var values = KeyValues()
    _appendValues(value, to: &values)
    return body(values)
  }
}

extension Array where Element: IndexKey {
  /// As an element.
  public typealias _Entry = Element

  /// Each element in its place.
  public static func _forEachValue(_ value: Self, _ body: (KeyValues) -> Bool) -> Bool {
    value.allSatisfy { Element._forEachValue($0, body) }
  }
}

extension Set where Element: IndexKey {
  /// As an element.
  public typealias _Entry = Element

  /// Each element, in no order.
  public static func _forEachValue(_ value: Self, _ body: (KeyValues) -> Bool) -> Bool {
    value.allSatisfy { Element._forEachValue($0, body) }
  }
}

extension Optional where Wrapped: IndexableField {
  /// As the value in it.
  public typealias _Entry = Wrapped._Entry

  /// Those of the value in it; for nil one of its own, or none if the value has several.
  public static func _forEachValue(_ value: Self, _ body: (KeyValues) -> Bool) -> Bool {
    if let value { return Wrapped._forEachValue(value, body) }
    return Wrapped._isMultiple ? true : body(KeyValues([.null]))
  }
}
