// The methods of a query, for related records.

extension Related {
  /// Keeps only the related records that meet the condition.
  public func `where`<Condition: FilterExpression>(
    _ condition: (Fields<Target>) -> Condition
  ) -> Query<Target> where Condition.Root == Target {
    query.where(condition)
  }

  /// Keeps only the related records for which a closure returns true.
  public func filter(_ isIncluded: @escaping @Sendable (Target) -> Bool) -> Query<Target> {
    query.filter(isIncluded)
  }

  /// Sorts the related records by a field. See `Query.sorted(by:_:)`.
  public func sorted<Value: IndexKey>(
    by field: any KeyPath<Target, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Query<Target> {
    query.sorted(by: field, direction)
  }

  /// The related records in the order of a text, ignoring case, or in that of a language.
  public func sorted<Value: TextValue>(
    by field: any KeyPath<Target, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Query<Target> {
    query.sorted(by: field, options: options, direction)
  }

  /// Sorts the related records by several fields.
  public func sorted<First: IndexKey, Second: IndexKey, each Rest: IndexKey>(
    by first: any KeyPath<Target, First> & Sendable,
    _ second: any KeyPath<Target, Second> & Sendable,
    _ rest: repeat any KeyPath<Target, each Rest> & Sendable
  ) -> Query<Target> {
    query.sorted(by: first, second, repeat each rest)
  }

  /// The related records in the opposite order.
  public func reversed() -> Query<Target> { query.reversed() }

  /// Limits the number of related records.
  public func limit(_ count: Int) -> Query<Target> { query.limit(count) }

  /// The related records without the first ones.
  public func offset(_ count: Int) -> Query<Target> { query.offset(count) }

  /// The related records after a place in the order: the next page.
  public func after(_ token: PageToken) -> Query<Target> { query.after(token) }

  /// The values of this field instead of the related records.
  public func select<Value: Sendable>(
    _ field: any KeyPath<Target, Value> & Sendable
  ) -> Selection<Target, Value> { query.select(field) }

  /// The values of these fields instead of the related records, as tuples.
  public func select<First: Sendable, Second: Sendable, each Rest: Sendable>(
    _ first: any KeyPath<Target, First> & Sendable,
    _ second: any KeyPath<Target, Second> & Sendable,
    _ rest: repeat any KeyPath<Target, each Rest> & Sendable
  ) -> Selection<Target, (First, Second, repeat each Rest)> {
    query.select(first, second, repeat each rest)
  }
}
