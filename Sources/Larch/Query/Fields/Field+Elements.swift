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
      "contains where …", error: node.error ?? (node.mayFail ? failingElement : nil),
      decoded: { $0.hasElement { node.matches($0) } }
    ).node
    guard let key = self.node.elementKey else { return Filter(whole) }
    let part = node.part(onElements: element.key?.field) { key.filter($0) }
    return Filter(part.isExact ? part.node : part.node.and(whole))
  }
}

extension Field {
  private var failingElement: LarchError {
    LarchError(
      .invalidQuery,
      "A predicate that may fail tests the elements of a list; test the record with it, or the elements with a closure."
    ) { $0.field = node.name }
  }
}

extension FilterNode {
  /// The part of a condition that can be tested on single elements: exactly the condition, or one
  /// that is true for more records.
  ///
  /// - Parameters:
  ///   - element: the element itself as a field, if it has a key.
  ///   - filter: a test of some element of the list.
  func part(
    onElements element: FieldReference?, _ filter: (FieldTest) -> FilterNode
  ) -> (node: FilterNode, isExact: Bool) {
    switch self {
    case .field(let own) where own.field === element: return (filter(own.test), true)
    case .all(let nodes) where nodes.count == 1: return nodes[0].part(onElements: element, filter)
    case .all(let nodes):
      return (
        nodes.reduce(.always) { $0.and($1.part(onElements: element, filter).node) }, false
      )
    case .any(let nodes):
      let parts = nodes.map { $0.part(onElements: element, filter) }
      if parts.contains(where: { $0.node.isAlways }) { return (.always, false) }
      return (.any(parts.map(\.node)), parts.allSatisfy(\.isExact))
    case .not, .field, .pair, .words, .record, .related: return (.always, false)
    }
  }
}
