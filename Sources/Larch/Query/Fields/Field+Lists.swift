// Some ranges are also sequences. Overloads for ranges come first, so that the bounds are compared,
// not the elements.

extension Field where Value: Equatable & Sendable {
  /// The field equals one of the values; false if there are no values.
  ///
  /// - Complexity: *n* log *n* in the number of values, which are sorted.
  @_disfavoredOverload
  public func isIn<Values: Sequence>(_ values: Values) -> Filter<Root>
  where Values.Element == Value {
    isOne(of: values) { $0 }
  }
}

extension Field {
  /// The field equals one of the values; false for nil.
  ///
  /// - Complexity: *n* log *n* in the number of values, which are sorted.
  @_disfavoredOverload
  public func isIn<Values: Sequence>(_ values: Values) -> Filter<Root>
  where Value == Values.Element?, Values.Element: Equatable & Sendable {
    isOne(of: values) { $0 }
  }

  private func isOne<Values: Sequence>(
    of values: Values, _ value: (Values.Element) -> Value
  ) -> Filter<Root> where Value: Equatable & Sendable {
    guard let key = node.key else {
      let list = values.map(value)
      return filter("in …", decoded: { list.contains($0) })
    }
    return Filter(key.filter(.oneOf(anyOrder: values.map { key.values(value($0)) })))
  }
}

extension Sequence where Element: Equatable & Sendable {
  /// The field equals one of these values, like `isIn`.
  @_disfavoredOverload
  public func contains<Root>(_ field: Field<Root, Element>) -> Filter<Root> { field.isIn(self) }

  /// The field equals one of these values; false for nil.
  @_disfavoredOverload
  public func contains<Root>(_ field: Field<Root, Element?>) -> Filter<Root> { field.isIn(self) }
}
