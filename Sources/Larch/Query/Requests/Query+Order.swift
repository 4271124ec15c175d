extension Query {
  /// Sorts by a field: nil comes first, and NaN after all numbers; reversed if descending.
  ///
  /// The sort is stable, like sorting an array again: of two calls the last one comes first. To add
  /// fields that matter less, write `then(by:_:)` after it.
  public func sorted<Value: IndexKey>(
    by field: any KeyPath<R, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Query {
    sorted(by: OrderTerm(field, direction))
  }

  /// Sorts by a text, ignoring case, or in the order of a language; otherwise like `sorted(by:_:)`.
  ///
  /// ```swift
  /// Person.all.sorted(by: \.name, options: .localized("nb"))
  /// ```
  ///
  /// A language that Larch cannot sort by makes the query throw `.invalidQuery` when it runs; see
  /// ``Collation``.
  public func sorted<Value: TextValue>(
    by field: any KeyPath<R, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Query {
    sorted(by: OrderTerm(field, direction, options.form))
  }

  /// Sorts by several fields, ascending: by the first one, then by the second one if the first is
  /// equal, and so on.
  public func sorted<First: IndexKey, Second: IndexKey, each Rest: IndexKey>(
    by first: any KeyPath<R, First> & Sendable, _ second: any KeyPath<R, Second> & Sendable,
    _ rest: repeat any KeyPath<R, each Rest> & Sendable
  ) -> Query {
    var terms = [
      OrderTerm(first, .ascending),
      OrderTerm(second, .ascending),
    ]
    for field in repeat each rest {
      terms.append(OrderTerm(field, .ascending))
    }
    return with { $0.order = terms + $0.order }
  }

  /// Sorts records that are equal in the order so far by one more field.
  ///
  /// ```swift
  /// Person.all.sorted(by: \.city).then(by: \.age, .descending)
  /// ```
  public func then<Value: IndexKey>(
    by field: any KeyPath<R, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Query {
    with { $0.order.append(OrderTerm(field, direction)) }
  }

  /// Sorts records that are equal in the order so far by a text, ignoring case, or in the order of a
  /// language.
  public func then<Value: TextValue>(
    by field: any KeyPath<R, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Query {
    with { $0.order.append(OrderTerm(field, direction, options.form)) }
  }

  /// Reverses the order, including that of the ids: the last record comes first.
  public func reversed() -> Query {
    with { query in
      for place in query.order.indices { query.order[place].descends.toggle() }
      query.idsDescend.toggle()
    }
  }

  private func sorted(by term: OrderTerm) -> Query {
    with { $0.order.insert(term, at: 0) }
  }
}

extension OrderTerm {
  init<R: Record, Value: IndexKey>(
    _ field: any KeyPath<R, Value> & Sendable, _ direction: SortDirection,
    _ form: CheckedTextForm = .exact
  ) {
    self.init(
      field: FieldNode.of(field).orderField, descends: direction == .descending,
      textForm: form.form, error: form.error)
  }
}

extension FieldNode where Value: IndexKey {
  /// The field by which an order sorts: the same object each time.
  var orderField: FieldReference { ownOrder ?? indexKey().field }
}

extension TypedField where R: Record {
  /// The field of a key path: the same object each time.
  @inline(__always)  // As for the node: the type itself is not needed.
  static func of<Value: IndexKey>(_ keyPath: any KeyPath<R, Value> & Sendable) -> TypedField<R> {
    // A key path of the record itself, not of a related one.
    unsafeDowncast(FieldNode.of(keyPath).indexKey().field, to: TypedField<R>.self)
  }
}
