// Orders by a field of a related record. Swift uses them only if the record itself has no such
// property.

extension Query {
  /// Sorts by a field of the record at the other end of an association; else as ``sorted(by:_:)``.
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
    with { $0.order.insert(OrderTerm(field, direction), at: 0) }
  }

  /// Sorts by a text of the record at the other end of an association, ignoring case, or
  /// in the order of a language.
  @_disfavoredOverload
  public func sorted<Value: TextValue>(
    by field: KeyPath<RelatedFields<R>, Field<R, Value?>>, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Query<R> {
    with { $0.order.insert(OrderTerm(field, direction, options.form), at: 0) }
  }

  /// Sorts records that are equal in the order so far by a field of the record at the other end of
  /// an association.
  @_disfavoredOverload
  public func then<Value: IndexKey>(
    by field: KeyPath<RelatedFields<R>, Field<R, Value?>>,
    _ direction: SortDirection = .ascending
  ) -> Query<R> {
    with { $0.order.append(OrderTerm(field, direction)) }
  }

  /// Sorts records that are equal in the order so far by a text of the record at the other end of
  /// an association, ignoring case, or in the order of a language.
  @_disfavoredOverload
  public func then<Value: TextValue>(
    by field: KeyPath<RelatedFields<R>, Field<R, Value?>>, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Query<R> {
    with { $0.order.append(OrderTerm(field, direction, options.form)) }
  }
}

extension Selection {
  /// Sorts by a field of the record at the other end of an association. See `Query.sorted(by:_:)`.
  @_disfavoredOverload
  public func sorted<Key: IndexKey>(
    by field: KeyPath<RelatedFields<R>, Field<R, Key?>>,
    _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.sorted(by: field, direction) }
  }

  /// Sorts by a text of the record at the other end of an association, ignoring case, or
  /// in the order of a language.
  @_disfavoredOverload
  public func sorted<Key: TextValue>(
    by field: KeyPath<RelatedFields<R>, Field<R, Key?>>, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.sorted(by: field, options: options, direction) }
  }

  /// Sorts records that are equal in the order so far by a field of the record at the other end of
  /// an association.
  @_disfavoredOverload
  public func then<Key: IndexKey>(
    by field: KeyPath<RelatedFields<R>, Field<R, Key?>>,
    _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.then(by: field, direction) }
  }

  /// Sorts records that are equal in the order so far by a text of the record at the other end of
  /// an association, ignoring case, or in the order of a language.
  @_disfavoredOverload
  public func then<Key: TextValue>(
    by field: KeyPath<RelatedFields<R>, Field<R, Key?>>, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.then(by: field, options: options, direction) }
  }
}

extension Related {
  /// Sorts the related records by a field of a record that is related to them. See
  /// `Query.sorted(by:_:)`.
  @_disfavoredOverload
  public func sorted<Value: IndexKey>(
    by field: KeyPath<RelatedFields<Target>, Field<Target, Value?>>,
    _ direction: SortDirection = .ascending
  ) -> Query<Target> {
    query.sorted(by: field, direction)
  }

  /// The related records in the order of a text of what is related to them, ignoring case, or in that
  /// of a language.
  @_disfavoredOverload
  public func sorted<Value: TextValue>(
    by field: KeyPath<RelatedFields<Target>, Field<Target, Value?>>, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Query<Target> {
    query.sorted(by: field, options: options, direction)
  }
}
