// Orders by a field of a related record. They are found only where the record has no such property
// of its own.

extension Query {
  /// In the order of a field of the record at the other end of an association; else as
  /// ``sorted(by:_:)``.
  ///
  /// ```swift
  /// Book.all.sorted(by: \.author.name)
  /// ```
  ///
  /// Without such a record the value is nil, which comes first: nil is held, or an id that leads
  /// nowhere. Running the query is an `.unknownCollection` if the store was not opened with the
  /// type of that record. All rows are sorted; each related record that they name is read once, as
  /// long as the values of all take no more than 16 MiB.
  @_disfavoredOverload
  public func sorted<Value: IndexKey>(
    by field: KeyPath<RelatedFields<R>, Field<R, Value?>>,
    _ direction: SortDirection = .ascending
  ) -> Query<R> {
    with { $0.order.insert(OrderTerm(field, direction, ignoresCase: false), at: 0) }
  }

  /// In the order of a text of the record at the other end of an association, with upper and lower
  /// case the same.
  @_disfavoredOverload
  public func sorted<Value: TextValue>(
    by field: KeyPath<RelatedFields<R>, Field<R, Value?>>, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Query<R> {
    with { $0.order.insert(OrderTerm(field, direction, ignoresCase: true), at: 0) }
  }

  /// Where all fields of the order so far are the same, in the order of a field of the record at the
  /// other end of an association.
  @_disfavoredOverload
  public func then<Value: IndexKey>(
    by field: KeyPath<RelatedFields<R>, Field<R, Value?>>,
    _ direction: SortDirection = .ascending
  ) -> Query<R> {
    with { $0.order.append(OrderTerm(field, direction, ignoresCase: false)) }
  }

  /// Where all fields of the order so far are the same, in the order of a text of the record at the
  /// other end of an association, with upper and lower case the same.
  @_disfavoredOverload
  public func then<Value: TextValue>(
    by field: KeyPath<RelatedFields<R>, Field<R, Value?>>, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Query<R> {
    with { $0.order.append(OrderTerm(field, direction, ignoresCase: true)) }
  }
}

extension Selection {
  /// In the order of a field of the record at the other end of an association. See
  /// `Query.sorted(by:_:)`.
  @_disfavoredOverload
  public func sorted<Key: IndexKey>(
    by field: KeyPath<RelatedFields<R>, Field<R, Key?>>,
    _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.sorted(by: field, direction) }
  }

  /// In the order of a text of the record at the other end of an association, with upper and lower
  /// case the same.
  @_disfavoredOverload
  public func sorted<Key: TextValue>(
    by field: KeyPath<RelatedFields<R>, Field<R, Key?>>, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.sorted(by: field, options: options, direction) }
  }

  /// Where all fields of the order so far are the same, in the order of a field of the record at the
  /// other end of an association.
  @_disfavoredOverload
  public func then<Key: IndexKey>(
    by field: KeyPath<RelatedFields<R>, Field<R, Key?>>,
    _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.then(by: field, direction) }
  }

  /// Where all fields of the order so far are the same, in the order of a text of the record at the
  /// other end of an association, with upper and lower case the same.
  @_disfavoredOverload
  public func then<Key: TextValue>(
    by field: KeyPath<RelatedFields<R>, Field<R, Key?>>, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.then(by: field, options: options, direction) }
  }
}

extension Related {
  /// The related records in the order of a field of what is related to them. See
  /// `Query.sorted(by:_:)`.
  @_disfavoredOverload
  public func sorted<Value: IndexKey>(
    by field: KeyPath<RelatedFields<Target>, Field<Target, Value?>>,
    _ direction: SortDirection = .ascending
  ) -> Query<Target> {
    query.sorted(by: field, direction)
  }

  /// The related records in the order of a text of what is related to them, with upper and lower
  /// case the same.
  @_disfavoredOverload
  public func sorted<Value: TextValue>(
    by field: KeyPath<RelatedFields<Target>, Field<Target, Value?>>, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Query<Target> {
    query.sorted(by: field, options: options, direction)
  }
}
