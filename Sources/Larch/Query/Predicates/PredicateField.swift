internal import Foundation

/// A field that a predicate names, or the value in an optional field.
struct PredicateField<R, Value> {
  enum Node {
    case plain(FieldNode<R, Value>)
    /// The value of an optional field, where it has one: the variable of a `?.`, or what is before `??`
    /// or `!`.
    case wrapped(FieldNode<R, Value?>)
  }

  let node: Node
  /// What stands for nil, after `??`.
  private(set) var substitute: PredicateConstant<Value>?
  /// Where there is no value after `!`.
  private(set) var fails: FilterNode?
  /// The variables of closures that the field begins with. Without a value of one, it has none.
  private(set) var variables: Set<PredicateExpressions.VariableID> = []

  init(_ node: Node) { self.node = node }

  /// Whether it is a field and nothing else.
  private var isSimple: Bool { substitute == nil && fails == nil }

  /// The optional field, if that is all.
  func optionalNode<Wrapped>(of type: Wrapped.Type) -> FieldNode<R, Wrapped?>?
  where Value == Wrapped? {
    guard isSimple, case .plain(let node) = node else { return nil }
    return node
  }

  // MARK: Parts

  /// A property of the value.
  func member<Member>(
    _ keyPath: any KeyPath<Value, Member> & Sendable
  ) -> PredicateField<R, Member>? {
    guard substitute == nil else { return nil }
    switch node {
    case .plain(let node): return with(.plain(node.member(keyPath)))
    case .wrapped(let node):
      guard let optional = Member.self as? any OptionalField.Type else {
        return with(.wrapped(node.optionalMember(keyPath)))
      }
      return flattened(optional, node, keyPath)
    }
  }

  /// An optional property of an optional value is one optional.
  private func flattened<Member, Optional: OptionalField>(
    _: Optional.Type, _ node: FieldNode<R, Value?>, _ keyPath: any KeyPath<Value, Member> & Sendable
  ) -> PredicateField<R, Member>? {
    // `Optional` is `Member`; the cast keeps `Sendable`, which no cast at run time can name.
    let path = unsafeBitCast(
      keyPath, to: (any KeyPath<Value, Optional.Wrapped?> & Sendable).self)
    let field: FieldNode<R, Optional.Wrapped?> = node.flatMember(path)
    return (field as? FieldNode<R, Member>).map { with(.plain($0)) }
  }

  private func with<Other>(_ node: PredicateField<R, Other>.Node) -> PredicateField<R, Other> {
    var field = PredicateField<R, Other>(node)
    field.fails = fails
    field.variables = variables
    return field
  }

  // MARK: Optionals

  /// The value for the variable of a closure that is only called with one.
  func bound<Wrapped>(
    to variable: PredicateExpressions.Variable<Wrapped>
  ) -> PredicateField<R, Wrapped>? where Value == Wrapped? {
    guard let node = optionalNode(of: Wrapped.self) else { return nil }
    var field: PredicateField<R, Wrapped> = with(.wrapped(node))
    field.variables.insert(variable.key)
    return field
  }

  /// The result of a closure as an optional; nil if it is no part of the variable.
  func result<Wrapped>(
    of variable: PredicateExpressions.Variable<Wrapped>
  ) -> PredicateField<R, Value?>? {
    guard isSimple, variables.contains(variable.key), case .wrapped(let node) = node else {
      return nil
    }
    var field: PredicateField<R, Value?> = with(.plain(node))
    field.variables.remove(variable.key)
    return field
  }

  /// The same for a closure whose result is an optional.
  func flatResult<Wrapped>(
    of variable: PredicateExpressions.Variable<Wrapped>
  ) -> PredicateField? {
    guard isSimple, variables.contains(variable.key), case .plain = node else { return nil }
    var field = self
    field.variables.remove(variable.key)
    return field
  }

  func replacingNil<Wrapped>(
    by value: PredicateConstant<Wrapped>
  ) -> PredicateField<R, Wrapped>? where Value == Wrapped? {
    guard let node = optionalNode(of: Wrapped.self) else { return nil }
    var field: PredicateField<R, Wrapped> = with(.wrapped(node))
    field.substitute = value
    field.variables = []
    return field
  }

  func unwrapped<Wrapped>() -> PredicateField<R, Wrapped>? where Value == Wrapped? {
    guard let node = optionalNode(of: Wrapped.self) else { return nil }
    var field: PredicateField<R, Wrapped> = with(.wrapped(node))
    field.fails = node.isNone ?? .always
    return field
  }

  // MARK: Tests

  /// A test of its keys; nil if it has none, or if they do not say exactly what Swift's `==` says.
  func tested(_ test: (_ values: (Value) -> [KeyValue]) -> FieldTest) -> PredicateCondition? {
    guard PredicateKeys.areExact(for: Value.self) else { return nil }
    switch node {
    case .plain(let node):
      guard let key = node.key else { return nil }
      return condition(key.field, test(key.values), isNone: nil)
    case .wrapped(let node):
      guard let key = node.key else { return nil }
      return condition(key.field, test { key.values($0) }, isNone: node.isNone) {
        key.values($0)
      }
    }
  }

  private func condition(
    _ field: FieldReference, _ test: FieldTest, isNone: FilterNode?,
    values: (Value) -> [KeyValue] = { _ in [] }
  ) -> PredicateCondition? {
    // An optional in an optional has two nils.
    guard field.form.simple != nil else { return nil }
    let node = FilterNode.field(FieldFilter(field, test))
    if let fails {
      return PredicateCondition(holds: node, denied: node.negated, fails: fails)
    }
    if let substitute {
      guard test.matches(values(substitute.value)) else { return PredicateCondition(node) }
      return isNone.map { PredicateCondition($0.or(node)) }
    }
    return PredicateCondition(node, needs: test.matches([.null]) ? [] : variables)
  }

  /// The field equals a constant.
  func equals(_ value: Value) -> PredicateCondition? { tested { .equal($0(value)) } }

  /// The field lies between constants.
  func within(_ bounds: FieldBounds<Value>) -> PredicateCondition? where Value: Comparable {
    guard PredicateKeys.areOrdered(for: Value.self) else { return nil }
    return tested { values in
      .within(
        lower: bounds.lower.map { ValueBound(values: values($0), isIncluded: true) },
        upper: bounds.upper.map {
          ValueBound(values: values($0), isIncluded: bounds.includesUpper)
        })
    }
  }

  /// A comparison with a constant.
  func compares(
    _ comparison: PredicateExpressions.ComparisonOperator, _ value: Value
  ) -> PredicateCondition? {
    guard PredicateKeys.areOrdered(for: Value.self) else { return nil }
    return tested { values in
      let values = values(value)
      switch comparison {
      case .lessThan:
        return .within(lower: nil, upper: ValueBound(values: values, isIncluded: false))
      case .lessThanOrEqual:
        return .within(lower: nil, upper: ValueBound(values: values, isIncluded: true))
      case .greaterThan:
        return .within(lower: ValueBound(values: values, isIncluded: false), upper: nil)
      case .greaterThanOrEqual:
        return .within(lower: ValueBound(values: values, isIncluded: true), upper: nil)
      }
    }
  }

  /// A comparison with another field.
  func compares(
    _ comparison: PairFilter.Comparison, _ other: PredicateField
  ) -> PredicateCondition? {
    guard isSimple, other.isSimple, let left = reference, let right = other.reference else {
      return nil
    }
    var isOrder = true
    if case .equal = comparison { isOrder = false }
    guard
      isOrder
        ? PredicateKeys.areOrdered(for: Value.self) : PredicateKeys.areExact(for: Value.self)
    else { return nil }
    // Nil is less than nothing, but equal to nil.
    return PredicateCondition(
      .pair(PairFilter(left, comparison, right)),
      needs: isOrder ? variables.union(other.variables) : [])
  }

  private var reference: FieldReference? {
    switch node {
    case .plain(let node): node.key?.field
    case .wrapped(let node): node.key?.field
    }
  }

  // MARK: Elements

  /// A test of one of the elements; nil if they have no keys.
  func tested<Element>(
    anyElement: Element.Type, _ test: (_ values: (Element) -> [KeyValue]) -> FieldTest?
  ) -> PredicateCondition? {
    guard substitute == nil, PredicateKeys.areExact(for: Element.self),
      let field = elementField, let key = Element.self as? any IndexKey.Type,
      let test = PredicateKeys.test(key, test)
    else { return nil }
    let node = FilterNode.field(FieldFilter(field, test))
    if let fails { return PredicateCondition(holds: node, denied: node.negated, fails: fails) }
    // Nil has no elements.
    return PredicateCondition(node, needs: variables)
  }

  /// The condition on elements, from one on a single element; and whether it is exact.
  func containing(
    _ condition: FilterNode, of element: FieldReference?
  ) -> (condition: PredicateCondition, isExact: Bool)? {
    guard isSimple, let field = elementField else { return nil }
    let part = condition.part(onElements: element) { .field(FieldFilter(field, $0)) }
    return (PredicateCondition(part.node, needs: variables), part.isExact)
  }

  private var elementField: FieldReference? {
    switch node {
    case .plain(let node): node.elementField
    case .wrapped(let node): node.elementField
    }
  }
}

extension FieldNode {
  /// The field has no value; nil if that cannot be tested by its key.
  var isNone: FilterNode? {
    guard let key, key.field.form.simple?.isOptional == true, !key.field.isMultiple else {
      return nil
    }
    return key.filter(.equal([.null]))
  }
}

/// Which types have keys that are compared as their values are.
enum PredicateKeys {
  /// Whether two values, or the values in two optionals, are equal exactly if their keys are.
  static func areExact(for type: Any.Type) -> Bool {
    let type = Reflection.unwrapped(type)
    guard let key = type as? any IndexKey.Type else { return false }
    func isStandard<Key: IndexKey>(_: Key.Type) -> Bool {
      let coding = Key.keyCoding
      guard coding.isStandard, let simple = coding.form.simple else { return false }
      // Two addresses may be equal and have other bytes.
      return simple.primitive != .url
    }
    return isStandard(key) || KeyOrderProof.provesEquality(of: type)
  }

  /// Whether the order of the values is that of the keys too. Larch has one order of texts; Swift's `<`
  /// differs from it, and contradicts itself, for a few that are not in normal form.
  static func areOrdered(for type: Any.Type) -> Bool {
    let type = Reflection.unwrapped(type)
    return type != String.self && areExact(for: type) && KeyOrderProof.holds(for: type)
  }

  static func test<Key: IndexKey, Element>(
    _ type: Key.Type, _ test: (_ values: (Element) -> [KeyValue]) -> FieldTest?
  ) -> FieldTest? {
    // `Key` is `Element`; only the run time knows that it is a key.
    let coding = unsafeDowncast(Key.keyCoding, to: KeyCoding<Element>.self)
    return test { coding.values(of: $0) }
  }
}
