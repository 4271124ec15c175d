extension Query {
  /// In the order of a field: nil first, NaN behind all numbers; the other way round if descending.
  ///
  /// Records that are the same in it stay in the order they were in, as when an array is sorted
  /// again: of two calls the last one comes first. To add fields that matter less, write
  /// `then(by:_:)` after it.
  public func sorted<Value: IndexKey>(
    by field: any KeyPath<R, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Query {
    sorted(by: OrderTerm(field, direction, ignoresCase: false))
  }

  /// In the order of a text, with upper and lower case the same; else as `sorted(by:_:)`.
  public func sorted<Value: TextValue>(
    by field: any KeyPath<R, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Query {
    sorted(by: OrderTerm(field, direction, ignoresCase: true))
  }

  /// In the order of several fields, ascending: by the first one, where that is the same by the
  /// second one, and so on.
  public func sorted<First: IndexKey, Second: IndexKey, each Rest: IndexKey>(
    by first: any KeyPath<R, First> & Sendable, _ second: any KeyPath<R, Second> & Sendable,
    _ rest: repeat any KeyPath<R, each Rest> & Sendable
  ) -> Query {
    var terms = [
      OrderTerm(first, .ascending, ignoresCase: false),
      OrderTerm(second, .ascending, ignoresCase: false),
    ]
    for field in repeat each rest {
      terms.append(OrderTerm(field, .ascending, ignoresCase: false))
    }
    return with { $0.order = terms + $0.order }
  }

  /// Where all fields of the order so far are the same, in the order of one more field.
  ///
  /// ```swift
  /// Person.all.sorted(by: \.city).then(by: \.age, .descending)
  /// ```
  public func then<Value: IndexKey>(
    by field: any KeyPath<R, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Query {
    with { $0.order.append(OrderTerm(field, direction, ignoresCase: false)) }
  }

  /// Where all fields of the order so far are the same, in the order of a text, with upper and
  /// lower case the same.
  public func then<Value: TextValue>(
    by field: any KeyPath<R, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Query {
    with { $0.order.append(OrderTerm(field, direction, ignoresCase: true)) }
  }

  /// In the opposite order, ids included: the last record comes first.
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
    _ field: any KeyPath<R, Value> & Sendable, _ direction: SortDirection, ignoresCase: Bool
  ) {
    self.init(
      field: TypedField.of(field), descends: direction == .descending, ignoresCase: ignoresCase)
  }
}

extension TypedField where R: Record {
  /// The field of a key path: the same object each time.
  @inline(__always)  // As for the node: the type itself is not needed.
  static func of<Value: IndexKey>(_ keyPath: any KeyPath<R, Value> & Sendable) -> TypedField<R> {
    // Of a key path of the record itself, not of a related one.
    unsafeDowncast(FieldNode.of(keyPath).indexKey().field, to: TypedField<R>.self)
  }
}
