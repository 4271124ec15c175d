extension QueryDescription {
  /// Which records there are depends on more than their own values.
  var isPart: Bool { limit != nil || offset != 0 || after != nil }
}

extension JoinDescription {
  /// The order of the left, and what of the order of the join it does not keep.
  ///
  /// An order by the left alone is that of the left query, which an index may serve. Not where
  /// there are rows without a left, which are not among its records, nor where the left is a part
  /// that its own order picks.
  var ordersByLeft: (left: [OrderTerm], rest: [JoinOrderTerm]) {
    guard !keepsRight, !left.isPart, order.allSatisfy(\.isLeft) else { return (left.order, order) }
    return (order.map(\.term) + left.order, [])
  }
}

extension JoinPlan {
  /// Chooses how partners are found, and which side is gone through.
  mutating func chooseAccess(
    _ left: CollectionHandle, _ right: CollectionHandle, _ context: TransactionContext
  ) throws {
    // All records of the right are wanted, so they are read anyway.
    if !join.keepsRight, !join.right.isPart,
      let found = JoinPlan.access(to: join.rightField, of: right)
    {
      access = found
    }
  }

  /// How records are found by the value of a field; nil where all of them have to be read.
  private static func access(
    to field: FieldReference, of collection: CollectionHandle
  ) -> JoinAccess? {
    if field.identity == .id, !field.isMultiple,
      ReferenceForm(field.form.unwrapped, collection.stored.idKind) != nil
    {
      return .id
    }
    var best: IndexHandle?
    for index in collection.indexes
    where collection.answering & 1 << UInt64(index.position) != 0 {
      let first = index.schema.fields[0]
      guard first.identityHash == field.identityHash, first.identity == field.identity,
        first.form.unwrapped == field.form.unwrapped, !first.isFolded,
        first.isMultiple == field.isMultiple
      else { continue }
      // The fewer fields, the fewer keys for a value.
      if let best, best.schema.fields.count <= index.schema.fields.count { continue }
      best = index
    }
    return best.map { .index($0.position) }
  }
}
