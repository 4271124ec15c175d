// How the operators make tests: on key values where the type has such, on the decoded record
// where it has not.

extension Field {
  /// A test of the field.
  ///
  /// - Parameter operation: what plans print behind the name, for a test of the decoded record.
  func filter(
    _ operation: StaticString, _ test: (FieldKey<Root, Value>) -> FilterNode,
    orElse matches: @escaping @Sendable (Value) -> Bool
  ) -> Filter<Root> {
    if let key = node.key { return Filter(test(key)) }
    return filter(operation, decoded: matches)
  }

  /// A test of the value in the decoded record.
  func filter(
    _ operation: StaticString, error: LarchError? = nil,
    decoded matches: @escaping @Sendable (Value) -> Bool
  ) -> Filter<Root> {
    let read = node.read
    return Filter(
      .record(
        RecordTest<Root>(
          text: node.name + " " + operation.description, error: error,
          matches: { matches(read($0)) })))
  }

  func isEqual<Other>(
    to other: Field<Root, Other>, orElse isEqual: @escaping @Sendable (Value, Other) -> Bool
  ) -> Filter<Root> {
    compare(.equal, other, orElse: isEqual)
  }

  /// A test of this field against another one.
  func compare<Other>(
    _ comparison: PairFilter.Comparison, _ other: Field<Root, Other>,
    orElse matches: @escaping @Sendable (Value, Other) -> Bool
  ) -> Filter<Root> {
    if let left = node.key, let right = other.node.key {
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
          text: node.name + operation + other.node.name,
          matches: { matches(left($0), right($0)) })))
  }
}

extension Field where Value: Comparable & Sendable {
  typealias Bound = (value: Value, isIncluded: Bool)

  func isWithin(_ lower: Bound?, _ upper: Bound?) -> Filter<Root> {
    filter(
      "in …", { $0.within(lower, upper) { $0 } }, orElse: { Self.lies($0, lower, upper) })
  }

  fileprivate static func lies(_ value: Value, _ lower: Bound?, _ upper: Bound?) -> Bool {
    if let lower, !(lower.isIncluded ? lower.value <= value : lower.value < value) { return false }
    if let upper, !(upper.isIncluded ? value <= upper.value : value < upper.value) { return false }
    return true
  }
}

extension Field where Value: OptionalField, Value.Wrapped: Comparable & Sendable {
  typealias WrappedBound = (value: Value.Wrapped, isIncluded: Bool)

  func isWithin(_ lower: WrappedBound?, _ upper: WrappedBound?) -> Filter<Root> {
    filter(
      "in …", { $0.within(lower, upper) { Value(_optional: $0) } },
      orElse: { value in
        value._optional.map { Field<Root, Value.Wrapped>.lies($0, lower, upper) } ?? false
      })
  }
}

extension FieldKey {
  fileprivate func within<Bound>(
    _ lower: (value: Bound, isIncluded: Bool)?, _ upper: (value: Bound, isIncluded: Bool)?,
    _ value: (Bound) -> Value
  ) -> FilterNode {
    func bound(_ bound: (value: Bound, isIncluded: Bool)) -> ValueBound {
      ValueBound(values: values(value(bound.value)), isIncluded: bound.isIncluded)
    }
    return filter(.within(lower: lower.map(bound), upper: upper.map(bound)))
  }
}
