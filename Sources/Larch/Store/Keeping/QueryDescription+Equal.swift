// Whether two queries have the same results in every state, by their parts. What the parts do not show
// counts as different.

extension QueryDescription {
  /// Whether an aggregate of all records of the query depends on stored bytes alone, those of each
  /// record and of its related ones, and another query can be found equal to this one.
  var hasKnownParts: Bool { limit == nil && isComparable }

  /// Whether another query can be found to have the same rows as this one, also with a limit. Rows that
  /// depend on related records are not shared.
  var hasKnownRows: Bool { isComparable && dependencies.isEmpty }

  private var isComparable: Bool {
    offset == 0 && after == nil && filter.hasKnownParts
      && order.allSatisfy { $0.field.hasKnownParts }
  }

  /// Whether both have the same rows in each state. Both must be queries of one record type, with
  /// known rows.
  func hasSameRows(as other: QueryDescription) -> Bool {
    limit == other.limit && hasSameParts(as: other)
  }

  /// Hashes what `hasSameRows` compares.
  func hashRows(into hasher: inout Hasher) {
    hasher.combine(limit)
    hasher.combine(idsDescend)
    filter.hashParts(into: &hasher)
    for term in order {
      hasher.combine(term.descends)
      hasher.combine(term.textForm)
      term.field.hashParts(into: &hasher)
    }
  }

  /// Whether both have equal parts. Both must be queries of one record type, with known parts.
  func hasSameParts(as other: QueryDescription) -> Bool {
    guard order.count == other.order.count, idsDescend == other.idsDescend else { return false }
    for (a, b) in zip(order, other.order) {
      guard a.descends == b.descends, a.textForm == b.textForm,
        a.field.hasSameParts(as: b.field)
      else { return false }
    }
    return filter.hasSameParts(as: other.filter)
  }
}

extension FilterNode {
  var hasKnownParts: Bool {
    switch self {
    case .all(let nodes), .any(let nodes): nodes.allSatisfy(\.hasKnownParts)
    case .not(let node): node.hasKnownParts
    case .field(let filter): filter.field.hasKnownParts
    case .pair(let pair): pair.left.hasKnownParts && pair.right.hasKnownParts
    case .words(let words): words.fields.allSatisfy(\.hasKnownParts)
    case .related(let related): related.filter.hasKnownParts
    // A closure may answer otherwise the next time.
    case .record: false
    }
  }

  func hasSameParts(as other: FilterNode) -> Bool {
    switch (self, other) {
    case (.all(let a), .all(let b)), (.any(let a), .any(let b)):
      a.count == b.count && zip(a, b).allSatisfy { $0.hasSameParts(as: $1) }
    case (.not(let a), .not(let b)): a.hasSameParts(as: b)
    case (.field(let a), .field(let b)):
      a === b || (a.field.hasSameParts(as: b.field) && a.test.hasSameParts(as: b.test))
    case (.pair(let a), .pair(let b)):
      a === b
        || (a.comparison == b.comparison && a.left.hasSameParts(as: b.left)
          && a.right.hasSameParts(as: b.right))
    case (.words(let a), .words(let b)):
      a === b
        || (a.query == b.query && a.fields.count == b.fields.count
          && zip(a.fields, b.fields).allSatisfy { $0.hasSameParts(as: $1) })
    case (.related(let a), .related(let b)):
      a === b
        || (a.least == b.least && a.target.id == b.target.id && a.route.isSame(as: b.route)
          && a.filter.hasSameParts(as: b.filter))
    default: false
    }
  }
}

extension AssociationRoute.Kind {
  fileprivate func isSame(as other: AssociationRoute.Kind) -> Bool {
    switch (self, other) {
    case (.parent(let a), .parent(let b)), (.listed(let a), .listed(let b)),
      (.children(let a), .children(let b)):
      a.isSame(as: b)
    case (.through(let near, let far), .through(let otherNear, let otherFar)):
      near.isSame(as: otherNear) && far.isSame(as: otherFar)
    case (.links(let a), .links(let b)): a.key == b.key && a.isInverse == b.isInverse
    default: false
    }
  }
}

extension FilterNode {
  fileprivate func hashParts(into hasher: inout Hasher) {
    switch self {
    case .all(let nodes), .any(let nodes):
      if case .all = self { hasher.combine(1) } else { hasher.combine(2) }
      hasher.combine(nodes.count)
      for node in nodes { node.hashParts(into: &hasher) }
    case .not(let node):
      hasher.combine(3)
      node.hashParts(into: &hasher)
    case .field(let filter):
      filter.field.hashParts(into: &hasher)
      filter.test.hashParts(into: &hasher)
    case .pair(let pair):
      hasher.combine(pair.comparison)
      pair.left.hashParts(into: &hasher)
      pair.right.hashParts(into: &hasher)
    case .words(let words):
      hasher.combine(words.query)
      for field in words.fields { field.hashParts(into: &hasher) }
    case .record, .related: break
    }
  }
}

extension FieldTest {
  fileprivate func hashParts(into hasher: inout Hasher) {
    switch self {
    case .equal(let values):
      hasher.combine(1)
      for value in values { value.hashBits(into: &hasher) }
    case .within(let lower, let upper):
      for bound in [lower, upper] {
        hasher.combine(bound?.isIncluded)
        for value in bound?.values ?? [] { value.hashBits(into: &hasher) }
      }
    case .oneOf(let list):
      hasher.combine(list.count)
      for value in list.joined() { value.hashBits(into: &hasher) }
    case .text(let test):
      hasher.combine(test.kind)
      hasher.combine(test.textForm)
      for byte in test.text.utf8 { hasher.combine(byte) }
    }
  }
}

extension FieldReference {
  var hasKnownParts: Bool { error == nil && related == nil && weights == nil }

  /// Calculations are compared, not hashed.
  func hashParts(into hasher: inout Hasher) {
    if calculation == nil { hasher.combine(identityHash) }
  }

  /// Whether both read the same values of each record.
  func hasSameParts(as other: FieldReference) -> Bool {
    if self === other { return true }
    guard let calculation, let same = other.calculation else {
      return calculation == nil && other.calculation == nil && isStandard == other.isStandard
        && isSame(as: other)
    }
    return form == other.form && calculation.hasSameParts(as: same)
  }
}

extension Calculation {
  /// Each closure that makes a query makes its own calculations.
  fileprivate func hasSameParts(as other: Calculation) -> Bool {
    self === other
      || (operation == other.operation && primitive == other.primitive
        && left.hasSameParts(as: other.left) && right.hasSameParts(as: other.right))
  }
}

extension Calculation.Operand {
  fileprivate func hasSameParts(as other: Calculation.Operand) -> Bool {
    switch (self, other) {
    case (.field(let a), .field(let b)): a.hasSameParts(as: b)
    case (.constant(let a), .constant(let b)): a.keyValue.isIdentical(to: b.keyValue)
    default: false
    }
  }
}

extension FieldTest {
  fileprivate func hasSameParts(as other: FieldTest) -> Bool {
    switch (self, other) {
    case (.equal(let a), .equal(let b)): a.isIdentical(to: b)
    case (.within(let lower, let upper), .within(let otherLower, let otherUpper)):
      ValueBound.areSame(lower, otherLower) && ValueBound.areSame(upper, otherUpper)
    case (.oneOf(let a), .oneOf(let b)):
      a.count == b.count && zip(a, b).allSatisfy { $0.isIdentical(to: $1) }
    case (.text(let a), .text(let b)):
      a.kind == b.kind && a.textForm == b.textForm && a.text.utf8.elementsEqual(b.text.utf8)
    default: false
    }
  }
}

extension ValueBound {
  fileprivate static func areSame(_ a: ValueBound?, _ b: ValueBound?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    return a.isIncluded == b.isIncluded && a.values.isIdentical(to: b.values)
  }
}

extension [KeyValue] {
  fileprivate func isIdentical(to other: [KeyValue]) -> Bool {
    count == other.count && zip(self, other).allSatisfy { $0.isIdentical(to: $1) }
  }
}

extension KeyValue {
  /// Hashes what `isIdentical` compares, but for kinds of values that are rarely many.
  fileprivate func hashBits(into hasher: inout Hasher) {
    switch self {
    case .null, .decimal: break
    case .bool(let value): hasher.combine(value)
    case .signed(let value): hasher.combine(value)
    case .unsigned(let value): hasher.combine(value)
    case .float(let value): hasher.combine(value.bitPattern)
    case .double(let value), .date(let value): hasher.combine(value.bitPattern)
    case .string(let text), .url(let text): for byte in text.utf8 { hasher.combine(byte) }
    case .data(let bytes), .uuid(let bytes): hasher.combine(bytes)
    }
  }

  /// Whether both have the same bits: equality in filters says less.
  func isIdentical(to other: KeyValue) -> Bool {
    switch (self, other) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.signed(let a), .signed(let b)): a == b
    case (.unsigned(let a), .unsigned(let b)): a == b
    case (.float(let a), .float(let b)): a.bitPattern == b.bitPattern
    case (.double(let a), .double(let b)), (.date(let a), .date(let b)):
      a.bitPattern == b.bitPattern
    case (.string(let a), .string(let b)), (.url(let a), .url(let b)):
      a.utf8.elementsEqual(b.utf8)
    case (.data(let a), .data(let b)), (.uuid(let a), .uuid(let b)): a == b
    case (.decimal(let a), .decimal(let b)): a == b
    default: false
    }
  }
}
