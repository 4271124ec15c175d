// For the key path of a protocol's property, or of a computed one, Swift does not give the stored
// property.

extension FieldReference {
  /// Whether it may be a stored property whose name is not known.
  var isUnnamed: Bool {
    guard case .computed = identity, calculation == nil, related == nil else { return false }
    return name.hasPrefix("<")
  }

  /// The reason why no index is used for it, in words.
  var reasonWithoutIndex: String {
    "no index is used for \(name): it was named through a protocol's requirement, or is a computed"
      + " property, so its stored name is not known; see docs/limits.md"
  }
}

extension FieldReference {
  /// The same for a query without knowledge of indexes: a computed property may have one.
  var reasonUnlessIndexed: String {
    "\(name) was named through a protocol's requirement, or is a computed property: its stored name"
      + " is not known, so only an index over the same key path is used; see docs/limits.md"
  }
}

extension FilterNode {
  /// Adds its fields whose stored names are not known.
  func collectUnnamed(into fields: inout [FieldReference]) {
    switch self {
    case .all(let nodes), .any(let nodes):
      for node in nodes { node.collectUnnamed(into: &fields) }
    case .not(let node): node.collectUnnamed(into: &fields)
    case .field(let filter): filter.field.addUnnamed(to: &fields)
    case .pair(let filter):
      filter.left.addUnnamed(to: &fields)
      filter.right.addUnnamed(to: &fields)
    case .words(let filter): for field in filter.fields { field.addUnnamed(to: &fields) }
    case .record, .related: break
    }
  }
}

extension FieldReference {
  fileprivate func addUnnamed(to fields: inout [FieldReference]) {
    if isUnnamed, !fields.contains(where: { $0.identity == identity }) { fields.append(self) }
  }
}

extension [FieldReference] {
  /// The fields of a filter and of an order whose stored names are not known.
  init(unnamedIn filters: [FilterNode], _ order: [OrderTerm]) {
    self.init()
    for filter in filters { filter.collectUnnamed(into: &self) }
    for term in order { term.field.addUnnamed(to: &self) }
  }
}

extension Plan {
  /// The fields by which rows are tested or sorted, if there is an index over a stored property of
  /// the same type that may have been intended.
  ///
  /// - Parameter incomplete: the incomplete indexes, by bit: if one of them is over the field, that
  ///   is the reason.
  func unnamedFields(in schema: CollectionSchema, incomplete: UInt64) -> [FieldReference] {
    var order: [OrderTerm] = []
    if case .sorted(let terms, _) = self.order { order = terms }
    if residue.isEmpty, order.isEmpty { return [] }
    return [FieldReference](unnamedIn: residue, order).filter { field in
      for (number, index) in schema.indexes.enumerated() where incomplete.hasBit(number) {
        if index.fields.contains(where: { $0.identity == field.identity }) { return false }
      }
      return schema.indexes.contains { index in
        index.fields.contains {
          if case .stored = $0.identity { $0.form.unwrapped == field.form.unwrapped } else { false }
        }
      }
    }
  }
}
