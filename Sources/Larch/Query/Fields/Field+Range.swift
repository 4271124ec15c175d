extension FieldRange where Bound: Sendable {
  /// The field lies in the range; NaN lies in none.
  public func contains<Root>(_ field: Field<Root, Bound>) -> Filter<Root> {
    guard let key = field.node.orderedKey else {
      let bounds = self.bounds
      return field.filter("in …", decoded: { bounds.contains($0) })
    }
    return within(key) { $0 }
  }

  /// The field lies in the range; false for nil, and for NaN.
  public func contains<Root>(_ field: Field<Root, Bound?>) -> Filter<Root> {
    guard let key = field.node.orderedKey else {
      let bounds = self.bounds
      return field.filter("in …", decoded: { $0.map { bounds.contains($0) } ?? false })
    }
    return within(key) { $0 }
  }

  private func within<Root, Value>(
    _ key: FieldKey<Root, Value>, _ value: (Bound) -> Value
  ) -> Filter<Root> {
    let bounds = self.bounds
    return Filter(
      key.filter(
        .within(
          lower: bounds.lower.map { key.bound(value($0), true) },
          upper: bounds.upper.map { key.bound(value($0), bounds.includesUpper) })))
  }
}
