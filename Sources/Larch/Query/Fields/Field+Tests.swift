// The operators make tests of key values if the type has them, and tests of the decoded record if
// not.

extension Field {
  /// A test of the value in the decoded record.
  func filter(
    _ operation: StaticString, error: LarchError? = nil,
    decoded matches: @escaping @Sendable (Value) -> Bool
  ) -> Filter<Root> {
    if let related = node.related {
      return Filter(
        related.filter("\(node.name) \(operation)", error, matches))
    }
    let read = node.read
    return Filter(
      .record(
        RecordTest<Root>(
          text: node.name + " " + operation.description, error: error ?? node.error,
          matches: { matches(read($0)) })))
  }

  func isEqual<Other>(
    to other: Field<Root, Other>, orElse isEqual: @escaping @Sendable (Value, Other) -> Bool
  ) -> Filter<Root> {
    compare(.equal, other, orElse: isEqual)
  }

  /// A comparison of this field with another one.
  func compare<Other>(
    _ comparison: PairFilter.Comparison, _ other: Field<Root, Other>,
    orElse matches: @escaping @Sendable (Value, Other) -> Bool
  ) -> Filter<Root> {
    if node.related != nil || other.node.related != nil {
      return compareRelated(comparison, other)
    }
    var isOrder = true
    if case .equal = comparison { isOrder = false }
    if let left = isOrder ? node.orderedKey : node.key,
      let right = isOrder ? other.node.orderedKey : other.node.key
    {
      return Filter(.pair(PairFilter(left.field, comparison, right.field)))
    }
    let operation =
      switch comparison {
      case .equal: " == "
      case .less: " < "
      case .lessOrEqual: " <= "
      }
    let left = node.read
    let right = other.node.read
    return Filter(
      .record(
        RecordTest<Root>(
          text: node.name + operation + other.node.name, error: node.error ?? other.node.error,
          matches: { matches(left($0), right($0)) })))
  }
}

extension Field {
  /// A comparison with a field of another record; both fields must be of that record.
  private func compareRelated<Other>(
    _ comparison: PairFilter.Comparison, _ other: Field<Root, Other>
  ) -> Filter<Root> {
    if let related = node.related, related.path == other.node.related?.path,
      let left = node.key, let right = other.node.key
    {
      // Without the related record both are nil.
      var isEqual = false
      if case .equal = comparison { isEqual = true }
      return Filter(
        related.wrap(.pair(PairFilter(left.field, comparison, right.field)), isEqual))
    }
    let error = LarchError(
      .invalidQuery,
      "A filter compares fields of two records; use `joined`, or a closure after the query."
    ) { [node] in $0.field = node.name + ", " + other.node.name }
    return Filter(
      .record(RecordTest<Root>(text: node.name, error: error, matches: { _ in false })))
  }
}

extension Field where Value: Comparable & Sendable {
  func isAbove(_ bound: Value, isIncluded: Bool) -> Filter<Root> {
    if let key = node.orderedKey { return Filter(key.isAbove(bound, isIncluded: isIncluded)) }
    return filter("> …", decoded: { isIncluded ? $0 >= bound : $0 > bound })
  }

  func isBelow(_ bound: Value, isIncluded: Bool) -> Filter<Root> {
    if let key = node.orderedKey { return Filter(key.isBelow(bound, isIncluded: isIncluded)) }
    return filter("< …", decoded: { isIncluded ? $0 <= bound : $0 < bound })
  }
}

extension Field where Value: OptionalField, Value.Wrapped: Comparable & Sendable {
  func isAbove(_ bound: Value.Wrapped, isIncluded: Bool) -> Filter<Root> {
    if let key = node.orderedKey {
      return Filter(key.isAbove(Value(_optional: bound), isIncluded: isIncluded))
    }
    return filter("> …") { value in
      value._optional.map { isIncluded ? $0 >= bound : $0 > bound } ?? false
    }
  }

  func isBelow(_ bound: Value.Wrapped, isIncluded: Bool) -> Filter<Root> {
    if let key = node.orderedKey {
      return Filter(key.isBelow(Value(_optional: bound), isIncluded: isIncluded))
    }
    return filter("< …") { value in
      value._optional.map { isIncluded ? $0 <= bound : $0 < bound } ?? false
    }
  }
}
