/// A join without the record types.
struct JoinDescription: Sendable {
  /// The queries of both sides, before the join.
  var left: QueryDescription
  var right: QueryDescription
  let leftField: FieldReference
  let rightField: FieldReference
  let kind: String
  var keepsLeft: Bool
  let keepsRight: Bool
  /// Rows that are equal in all of these come in the order of the left query, then of the right.
  var order: [JoinOrderTerm] = []
  /// Applied last.
  var limit: Int?
  var offset = 0

  /// The join limited to the first row.
  var limitedToOne: JoinDescription {
    var join = self
    join.limit = min(limit ?? 1, 1)
    return join
  }
}

/// One field of the order of a join; nil in a row without that side.
struct JoinOrderTerm: Sendable {
  let isLeft: Bool
  let term: OrderTerm

  init<R: Record, Value: IndexKey>(
    isLeft: Bool, _ field: any KeyPath<R, Value> & Sendable, _ direction: SortDirection,
    _ form: CheckedTextForm = .exact
  ) {
    self.isLeft = isLeft
    term = OrderTerm(field, direction, form)
  }
}

extension TypedField where R: Record {
  /// A field that records are joined by: a value, or each element of an array or a set.
  static func joining<Value: IndexableField>(
    _ keyPath: any KeyPath<R, Value> & Sendable
  ) -> TypedField<R> {
    // The id can be used even if it is computed: records are stored under it.
    if keyPath == \R.id { return id }
    let node = FieldNode.of(keyPath)
    let coding = Value.fieldCoding
    return TypedField(
      form: coding.form, isMultiple: coding.isMultiple, isStandard: Value.isReadableFromBytes,
      name: node.name, identity: node.identity,
      forEachValue: { record, body in
        _ = coding.forEachValue(of: record[keyPath: keyPath], body)
      })
  }

  /// The id, under which records are stored.
  static var id: TypedField<R> {
    let coding = R.ID.keyCoding
    return TypedField(
      form: coding.form, isMultiple: false, isStandard: coding.isStandard, name: "id",
      identity: .id,
      forEachValue: { record, body in
        var values = KeyValues()
        coding.append(record.id, to: &values)
        _ = body(values)
      })
  }
}
