/// An array or a set, or an optional of one, as a field in a filter.
///
/// Nil has no elements, so no test of elements is true for it. You never need to conform to this
/// protocol.
@_documentation(visibility: private)
public protocol ElementSequence: SendableMetatype {
  /// The type of the elements.
  associatedtype Element

  /// Calls the closure with each element until it returns false. Implemented by Larch.
  func _forEachElement(_ body: (Element) -> Bool)
}

extension Array: ElementSequence {
  /// Each element, in order.
  public func _forEachElement(_ body: (Element) -> Bool) {
    for element in self where !body(element) { return }
  }
}

extension Set: ElementSequence {
  /// Each element, in no order.
  public func _forEachElement(_ body: (Element) -> Bool) {
    for element in self where !body(element) { return }
  }
}

extension Optional: ElementSequence where Wrapped: ElementSequence {
  /// The elements of the wrapped value.
  public func _forEachElement(_ body: (Wrapped.Element) -> Bool) { self?._forEachElement(body) }
}

extension ElementSequence {
  func hasElement(_ test: (Element) -> Bool) -> Bool {
    var found = false
    _forEachElement { element in
      found = test(element)
      return !found
    }
    return found
  }
}
