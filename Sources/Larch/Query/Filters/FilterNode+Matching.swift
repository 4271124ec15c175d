extension FilterNode {
  /// Whether the filter is true for a value without associations, such as an element. It must be one that
  /// cannot fail.
  func matches<R>(_ value: R) -> Bool { (try? matches(value) { _ in false }) ?? false }

  /// Whether the filter is true for a decoded record. It must be a filter of this type.
  ///
  /// - Parameter hasRelated: answers the conditions on related records.
  /// - Throws: what it throws, and the error of a predicate that fails on the record.
  func matches<R>(
    _ record: R, related hasRelated: (RelatedFilter) throws -> Bool
  ) throws -> Bool {
    // The casts below: operators of `Field<R, …>` put only fields and closures of `R` into a filter
    // on `R`, and the compiler joins only filters of one type.
    switch self {
    case .all(let nodes):
      return try nodes.allSatisfy { try $0.matches(record, related: hasRelated) }
    case .any(let nodes):
      return try nodes.contains { try $0.matches(record, related: hasRelated) }
    case .not(let node): return try !node.matches(record, related: hasRelated)
    case .field(let filter):
      // The field is one of `R`, since the filter was made from its key paths; fields of other
      // types are in `.related`.
      let field = unsafeDowncast(filter.field, to: TypedField<R>.self)
      var isMatch = false
      field.forEachValue(record) { values in
        isMatch = filter.test.matches(values.list)
        return !isMatch
      }
      return isMatch
    case .pair(let filter):
      // See above.
      let left = unsafeDowncast(filter.left, to: TypedField<R>.self).value(of: record)
      let right = unsafeDowncast(filter.right, to: TypedField<R>.self).value(of: record)
      return filter.matches(left, right)
    case .words(let filter):
      return filter.matches { field, body in
        // See above.
        unsafeDowncast(field, to: TypedField<R>.self).forEachValue(record) { values in
          values.list.first.map(body) ?? true
        }
      }
    case .record(let filter):
      // A closure over `R`: the type of the query guarantees it.
      return try unsafeDowncast(filter, to: RecordTest<R>.self).matches(record)
    case .related(let filter): return try hasRelated(filter)
    }
  }
}

extension FilterNode {
  /// The error of a part that cannot be used, such as an invalid pattern: the query throws it.
  var error: LarchError? {
    switch self {
    case .all(let nodes), .any(let nodes):
      for node in nodes { if let error = node.error { return error } }
      return nil
    case .not(let node): return node.error
    case .record(let filter): return filter.error
    case .related(let filter): return filter.filter.error
    case .field, .pair, .words: return nil
    }
  }
}

extension FilterNode {
  /// Whether a part of it may throw an error for a record.
  var mayFail: Bool {
    switch self {
    case .all(let nodes), .any(let nodes): nodes.contains(where: \.mayFail)
    case .not(let node): node.mayFail
    case .record(let filter): filter.mayFail
    case .related(let filter): filter.filter.mayFail
    case .field, .pair, .words: false
    }
  }
}

extension PairFilter {
  /// Whether the comparison is true for the values of two fields.
  package func matches(_ left: [KeyValue], _ right: [KeyValue]) -> Bool {
    switch comparison {
    case .equal: KeyValue.areEqual(left, right)
    case .less: KeyValue.compareInFilter(left, right).map { $0 < 0 } ?? false
    case .lessOrEqual: KeyValue.compareInFilter(left, right).map { $0 <= 0 } ?? false
    }
  }
}

extension TypedField {
  /// The values of a field that has one value.
  func value(of record: R) -> [KeyValue] {
    var list: [KeyValue] = []
    forEachValue(record) { values in
      list = values.list
      return false
    }
    return list
  }
}
