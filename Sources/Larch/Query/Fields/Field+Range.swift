extension Field {
  /// The field lies in a range; NaN lies in none.
  public func isIn<R: FieldRange>(_ range: R) -> Filter<Root>
  where R.Bound == Value, Value: Sendable {
    let bounds = range._bounds
    guard let key = node.orderedKey else { return filter("in …", decoded: { bounds.contains($0) }) }
    return Filter(
      key.filter(
        .within(
          lower: bounds.lower.map { key.bound($0, true) },
          upper: bounds.upper.map { key.bound($0, bounds.includesUpper) })))
  }

  /// The field lies in a range; false for nil, and for NaN.
  public func isIn<R: FieldRange>(_ range: R) -> Filter<Root>
  where Value == R.Bound?, R.Bound: Sendable {
    let bounds = range._bounds
    guard let key = node.orderedKey else {
      return filter("in …", decoded: { $0.map { bounds.contains($0) } ?? false })
    }
    return Filter(
      key.filter(
        .within(
          lower: bounds.lower.map { key.bound($0, true) },
          upper: bounds.upper.map { key.bound($0, bounds.includesUpper) })))
  }
}

extension FieldRange where Bound: Sendable {
  /// The field lies in the range; NaN lies in none.
  public func contains<Root>(_ field: Field<Root, Bound>) -> Filter<Root> { field.isIn(self) }

  /// The field lies in the range; false for nil, and for NaN.
  public func contains<Root>(_ field: Field<Root, Bound?>) -> Filter<Root> { field.isIn(self) }
}
