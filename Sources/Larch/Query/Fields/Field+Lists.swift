// Some ranges are also sequences. Overloads for ranges come first, so that the bounds are compared,
// not the elements.

extension Sequence where Element: Equatable & Sendable {
  /// The field equals one of these values; false if there are no values.
  ///
  /// - Complexity: *n* log *n* in the number of values, which are sorted.
  @_disfavoredOverload
  public func contains<Root>(_ field: Field<Root, Element>) -> Filter<Root> {
    field.isOne(of: self) { $0 }
  }

  /// The field equals one of these values; false for nil.
  ///
  /// - Complexity: *n* log *n* in the number of values, which are sorted.
  @_disfavoredOverload
  public func contains<Root>(_ field: Field<Root, Element?>) -> Filter<Root> {
    field.isOne(of: self) { $0 }
  }
}

extension Field where Value: Equatable & Sendable {
  fileprivate func isOne<Values: Sequence>(
    of values: Values, _ value: (Values.Element) -> Value
  ) -> Filter<Root> {
    guard let key = node.key else {
      let list = values.map(value)
      return filter("in …", decoded: { list.contains($0) })
    }
    return Filter(key.filter(.oneOf(anyOrder: values.map { key.values(value($0)) })))
  }
}
