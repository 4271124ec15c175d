// Tests of the elements of arrays and sets; nil has none.

extension Field where Value: ElementSequence, Value.Element: Equatable & Sendable {
  /// One of the elements equals a value.
  public func contains(_ element: Value.Element) -> Filter<Root> {
    guard let key = node.elementKey else {
      return filter("contains …", decoded: { $0.hasElement { $0 == element } })
    }
    return Filter(key.filter(.equal(key.values(element))))
  }

  /// One of the elements equals one of the values; false if there are no values.
  public func containsAny<Values: Sequence>(of values: Values) -> Filter<Root>
  where Values.Element == Value.Element {
    guard let key = node.elementKey else {
      let list = Array(values)
      return filter("contains any of …", decoded: { $0.hasElement { list.contains($0) } })
    }
    return Filter(key.filter(.oneOf(anyOrder: values.map { key.values($0) })))
  }

  /// For each value, one of the elements equals it; true if there are no values.
  public func containsAll<Values: Sequence>(of values: Values) -> Filter<Root>
  where Values.Element == Value.Element {
    Filter(.all(values.map { contains($0).node }))
  }
}

extension Field where Value: ElementSequence, Value.Element: Sendable {
  /// A condition is true for one of the elements.
  ///
  /// ```swift
  /// Person.where { $0.tags.contains { $0.hasPrefix("swift") } }
  /// ```
  ///
  /// An index over the elements can answer a single comparison. Several that are joined by `&&` or
  /// `!` must all be true for the same element.
  public func contains<Condition: FilterExpression>(
    where condition: (Field<Value.Element, Value.Element>) -> Condition
  ) -> Filter<Root> where Condition.Root == Value.Element {
    let element = FieldNode<Value.Element, Value.Element>.itself()
    let node = condition(Field<Value.Element, Value.Element>(node: element))._filter.node
    let whole = filter(
      "contains where …", error: node.error, decoded: { $0.hasElement { node.matches($0) } }
    ).node
    guard let key = self.node.elementKey else { return Filter(whole) }
    let parts = Self.split(node, element.key?.field, key)
    return Filter(parts.isExact ? parts.node : parts.node.and(whole))
  }

  /// The part of a condition that can be tested on single elements: exactly the condition, or one
  /// that is true for more records.
  private static func split(
    _ node: FilterNode, _ element: FieldReference?, _ key: FieldKey<Root, Value.Element>
  ) -> (node: FilterNode, isExact: Bool) {
    switch node {
    case .field(let filter) where filter.field === element:
      return (key.filter(filter.test), true)
    case .all(let nodes) where nodes.count == 1: return split(nodes[0], element, key)
    case .all(let nodes):
      return (nodes.reduce(.always) { $0.and(split($1, element, key).node) }, false)
    case .any(let nodes):
      let parts = nodes.map { split($0, element, key) }
      if parts.contains(where: { $0.node.isAlways }) { return (.always, false) }
      return (.any(parts.map(\.node)), parts.allSatisfy(\.isExact))
    case .not, .field, .pair, .record, .related: return (.always, false)
    }
  }
}
