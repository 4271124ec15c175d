extension FilterNode {
  /// An equivalent filter in the form that planning needs: `and` and `or` are flat, `not` applies
  /// only to single tests, the tests of one field are combined if possible, and an impossible
  /// filter is `never`.
  ///
  /// - Throws: the error of a part that cannot be used.
  func normalized() throws -> FilterNode { try normalized(isNegated: false) }

  private func normalized(isNegated: Bool) throws -> FilterNode {
    if !isNegated, let normal = plainlyNormal { return normal }
    switch self {
    case .all(let nodes):
      return try isNegated
        ? FilterNode.some(of: nodes, isNegated: true)
        : FilterNode.every(of: nodes, isNegated: false)
    case .any(let nodes):
      return try isNegated
        ? FilterNode.every(of: nodes, isNegated: true)
        : FilterNode.some(of: nodes, isNegated: false)
    case .not(let node): return try node.normalized(isNegated: !isNegated)
    case .field(let filter):
      return isNegated ? filter.normalizedNegation(self) : filter.normalized(self)
    case .words(let filter) where filter.query.hasNoWords: return isNegated ? .never : .always
    case .pair, .words: return isNegated ? .not(self) : self
    case .record(let filter):
      if let error = filter.error { throw error }
      return isNegated ? .not(self) : self
    case .related(let filter):
      // It is normalized again where it is tested, but its errors must be thrown here.
      if try filter.filter.normalized().isNever { return isNegated ? .always : .never }
      return isNegated ? .not(self) : self
    }
  }

  /// The normal form of a few usual tests; nil for any other filter. Tests of different fields are normal
  /// as they are, and the two bounds of one field become one test.
  private var plainlyNormal: FilterNode? {
    guard case .all(let nodes) = self, (2...4).contains(nodes.count) else { return nil }
    var bounds: (first: Int, second: Int)?
    for (place, node) in nodes.enumerated() {
      guard case .field(let filter) = node, filter.isPlainlyNormal else { return nil }
      for other in 0..<place {
        guard case .field(let second) = nodes[other] else { return nil }
        guard second.field.isSame(as: filter.field) else { continue }
        if bounds != nil || filter.field.isMultiple { return nil }
        bounds = (other, place)
      }
    }
    guard let bounds else { return self }
    guard case .field(let first) = nodes[bounds.first],
      case .field(let second) = nodes[bounds.second]
    else { return nil }
    switch (first.test, second.test) {
    case (.within(let lower?, nil), .within(nil, let upper?)),
      (.within(nil, let upper?), .within(let lower?, nil)):
      let both = FieldFilter(first.field, .within(lower: lower, upper: upper)).normalized(nil)
      if nodes.count == 2 || both.isNever { return both }
      var rest = nodes
      rest[bounds.second] = both
      rest.remove(at: bounds.first)
      return .all(rest)
    default: return nil
    }
  }

  // MARK: And

  private static func every(of nodes: [FilterNode], isNegated: Bool) throws -> FilterNode {
    var list: [FilterNode] = []
    list.reserveCapacity(nodes.count)
    var isNever = false
    for node in nodes {
      // Even if the answer is already known: errors in the rest must be thrown.
      switch try node.normalized(isNegated: isNegated) {
      case .all(let parts): for part in parts { isNever = !add(part, to: &list) || isNever }
      case let part: isNever = !add(part, to: &list) || isNever
      }
    }
    if isNever { return .never }
    if let simpler = try withEqualitiesKnown(list) { return simpler }
    return list.count == 1 ? list[0] : .all(list)
  }

  /// The parts of an `and` with the tests of an `or` decided whose field another part sets to one value;
  /// nil if there are none.
  private static func withEqualitiesKnown(_ list: [FilterNode]) throws -> FilterNode? {
    guard list.count > 1, list.contains(where: \.isOr) else { return nil }
    var isChanged = false
    let parts = list.map { part in
      // What may fail must not depend on what stands beside it, nor on the indexes that there are.
      guard part.isOr, !part.mayFail else { return part }
      var part = part
      for case .field(let filter) in list where !filter.field.isMultiple {
        guard case .equal(let values) = filter.test,
          let simpler = part.knowing(filter.field, values)
        else { continue }
        part = simpler
        isChanged = true
      }
      return part
    }
    return isChanged ? try every(of: parts, isNegated: false) : nil
  }

  private var isOr: Bool {
    if case .any = self { return true }
    return false
  }

  /// The filter for records in which a field has these values; nil if it does not test that field.
  private func knowing(_ field: FieldReference, _ values: [KeyValue]) -> FilterNode? {
    func simpler(_ nodes: [FilterNode]) -> [FilterNode]? {
      var nodes = nodes
      var isChanged = false
      for place in nodes.indices {
        guard let node = nodes[place].knowing(field, values) else { continue }
        nodes[place] = node
        isChanged = true
      }
      return isChanged ? nodes : nil
    }
    switch self {
    case .all(let nodes): return simpler(nodes).map { .all($0) }
    case .any(let nodes): return simpler(nodes).map { .any($0) }
    case .not(let node): return node.knowing(field, values).map { .not($0) }
    case .field(let filter):
      guard filter.field.isSame(as: field) else { return nil }
      return filter.test.matches(values) ? .always : .never
    case .pair, .words, .record, .related: return nil
    }
  }

  /// False if both together are never true.
  private static func add(_ node: FilterNode, to list: inout [FilterNode]) -> Bool {
    if node.isNever { return false }
    guard let field = node.testedField, !field.isMultiple else {
      list.append(node)
      return true
    }
    var node = node
    var place = 0
    while place < list.count {
      if let other = list[place].testedField, other.isSame(as: field),
        let both = FilterNode.merged(list[place], node)
      {
        if both.isNever { return false }
        // It may now combine with a test that it did not combine with before.
        list.remove(at: place)
        node = both
        place = 0
      } else {
        place += 1
      }
    }
    list.append(node)
    return true
  }

  /// The field of a single test, or of its negation.
  private var testedField: FieldReference? {
    switch self {
    case .field(let filter): filter.field
    case .not(.field(let filter)): filter.field
    default: nil
    }
  }

  /// Two tests of one field with one value, as one test; nil if they stay separate.
  private static func merged(_ first: FilterNode, _ second: FilterNode) -> FilterNode? {
    switch (first, second) {
    case (.field(let a), .field(let b)):
      switch FieldTest.merged(a.test, b.test, form: a.field.form) {
      case .two: nil
      case .first: first
      case .second: second
      case .never: .never
      case .one(let test): FieldFilter(a.field, test).normalized(nil)
      }
    case (.field(let a), .not(.field(let b))):
      FieldTest.merged(a.test, without: b.test).map {
        FieldFilter(a.field, $0).normalized(nil)
      }
    case (.not(.field(let b)), .field(let a)):
      FieldTest.merged(a.test, without: b.test).map {
        FieldFilter(a.field, $0).normalized(nil)
      }
    default: nil
    }
  }

  // MARK: Or

  private static func some(of nodes: [FilterNode], isNegated: Bool) throws -> FilterNode {
    var list: [FilterNode] = []
    list.reserveCapacity(nodes.count)
    for node in nodes {
      switch try node.normalized(isNegated: isNegated) {
      case .any(let parts): list.append(contentsOf: parts)
      case let part: list.append(part)
      }
    }
    if list.contains(where: { $0.isAlways }) { return .always }
    joinEqualities(&list)
    return list.count == 1 ? list[0] : .any(list)
  }

  /// Combines equalities of one field into one test. This is also correct for several values, since
  /// some element must equal one of the constants in either form.
  private static func joinEqualities(_ list: inout [FilterNode]) {
    var place = 0
    while place < list.count {
      defer { place += 1 }
      guard case .field(let filter) = list[place], let first = filter.test.constants else {
        continue
      }
      var joined = first
      var other = place + 1
      while other < list.count {
        if case .field(let second) = list[other], let constants = second.test.constants,
          second.field.isSame(as: filter.field)
        {
          joined += constants
          list.remove(at: other)
        } else {
          other += 1
        }
      }
      if joined.count > first.count {
        list[place] = FieldFilter(filter.field, .oneOf(anyOrder: joined)).normalized(nil)
      }
    }
  }
}

extension FieldReference {
  /// Whether both read the same values.
  func isSame(as other: FieldReference) -> Bool {
    self === other
      || (identityHash == other.identityHash && identity == other.identity
        && isMultiple == other.isMultiple && form == other.form)
  }
}

extension FieldFilter {
  /// Whether it is a usual test that normalizing does not change.
  var isPlainlyNormal: Bool {
    switch test {
    case .equal(let values):
      guard values.count == 1 else { return false }
      if case .null = values[0] { return field.form.isOptional }
      return !values[0].isNaN
    case .within(let bound?, nil), .within(nil, let bound?):
      return bound.values.count == 1 && !bound.values[0].isInNoRange
    case .text(let text): return text.kind != .equal && !text.text.isEmpty
    case .oneOf, .within: return false
    }
  }

  /// - Parameter node: the filter as a node, so that a normal one is not created again.
  fileprivate func normalized(_ node: FilterNode?) -> FilterNode {
    var same: FilterNode { node ?? .field(self) }
    switch test {
    case .equal(let values):
      if values.contains(where: \.isNaN) { return .never }
      if KeyValue.isNil(values), !field.form.isOptional { return .never }
      return same
    case .oneOf(let list):
      if list.isEmpty { return .never }
      if list.count == 1 { return FieldFilter(field, .equal(list[0])).normalized(nil) }
      return same
    case .within(let lower, let upper):
      if lower == nil, upper == nil {
        return field.isAlwaysInSomeRange ? .always : same
      }
      // Several values have their own order; this applies to single values.
      guard lower.map({ $0.values.count == 1 }) ?? true, upper.map({ $0.values.count == 1 }) ?? true
      else { return same }
      if let lower, lower.values[0].isInNoRange { return .never }
      if let upper, upper.values[0].isInNoRange { return .never }
      guard let lower, let upper else { return same }
      let order = KeyValue.compare(lower.values, upper.values)
      if order > 0 { return .never }
      guard order == 0 else { return same }
      guard lower.isIncluded, upper.isIncluded else { return .never }
      return .field(FieldFilter(field, .equal(lower.values)))
    case .text(let text):
      if text.kind == .equal, !text.textForm.isFolded {
        return .field(FieldFilter(field, .equal([.string(text.text)])))
      }
      guard text.text.isEmpty, text.kind == .hasPrefix || text.kind == .hasSuffix else {
        return same
      }
      return field.isAlwaysInSomeRange
        ? .always : .field(FieldFilter(field, .within(lower: nil, upper: nil)))
    }
  }

  /// Its negation. Most tests are false for nil and NaN, so their negations are true for them and
  /// cannot become a test of the opposite kind.
  fileprivate func normalizedNegation(_ node: FilterNode) -> FilterNode {
    let plain = normalized(node)
    if plain.isNever { return .always }
    if plain.isAlways { return .never }
    guard case .field(let filter) = plain, !field.isMultiple else { return .not(plain) }
    switch filter.test {
    case .equal(let values):
      guard values.count == 1, case .bool(let value) = values[0],
        field.form.unwrapped == .primitive(.bool)
      else { return .not(plain) }
      let other = [KeyValue.bool(!value)]
      return .field(
        FieldFilter(
          field, field.form.isOptional ? .oneOf([[.null], other]) : .equal(other)))
    case .within(let lower?, nil) where field.isAlwaysInSomeRange:
      return FieldFilter(field, .within(lower: nil, upper: lower.turned)).normalized(nil)
    case .within(nil, let upper?) where field.isAlwaysInSomeRange:
      return FieldFilter(field, .within(lower: upper.turned, upper: nil)).normalized(nil)
    default: return .not(plain)
    }
  }
}

extension ValueBound {
  /// The same bound as the end of the range on its other side.
  fileprivate var turned: ValueBound { ValueBound(values: values, isIncluded: !isIncluded) }
}

extension FieldReference {
  /// Whether it is one value, never nil and never NaN: then it is less than, equal to or greater
  /// than a constant.
  fileprivate var isAlwaysInSomeRange: Bool {
    guard !isMultiple, case .primitive(let primitive) = form.node else { return false }
    switch primitive {
    case .float, .double, .date: return false
    default: return true
    }
  }
}

extension KeyValue {
  fileprivate var isInNoRange: Bool {
    if case .null = self { return true }
    return isNaN
  }
}
