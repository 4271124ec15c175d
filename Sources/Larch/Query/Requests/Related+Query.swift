// What a query can say, for those who begin with the related records.

extension Related {
  /// Only those of the related records that the condition is true for.
  public func `where`<Condition: FilterExpression>(
    _ condition: (Fields<Target>) -> Condition
  ) -> Query<Target> where Condition.Root == Target {
    query.where(condition)
  }

  /// Only those of the related records that a closure is true for.
  public func filter(_ isIncluded: @escaping @Sendable (Target) -> Bool) -> Query<Target> {
    query.filter(isIncluded)
  }

  /// The related records in the order of a field. See `Query.sorted(by:_:)`.
  public func sorted<Value: IndexKey>(
    by field: any KeyPath<Target, Value> & Sendable, _ direction: SortDirection = .ascending
  ) -> Query<Target> {
    query.sorted(by: field, direction)
  }

  /// The related records in the order of a text, with upper and lower case the same.
  public func sorted<Value: TextValue>(
    by field: any KeyPath<Target, Value> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Query<Target> {
    query.sorted(by: field, options: options, direction)
  }

  /// The related records in the order of several fields.
  public func sorted<First: IndexKey, Second: IndexKey, each Rest: IndexKey>(
    by first: any KeyPath<Target, First> & Sendable,
    _ second: any KeyPath<Target, Second> & Sendable,
    _ rest: repeat any KeyPath<Target, each Rest> & Sendable
  ) -> Query<Target> {
    query.sorted(by: first, second, repeat each rest)
  }

  /// The related records, the last one first.
  public func reversed() -> Query<Target> { query.reversed() }

  /// At most so many of the related records.
  public func limit(_ count: Int) -> Query<Target> { query.limit(count) }

  /// The related records without the first so many.
  public func offset(_ count: Int) -> Query<Target> { query.offset(count) }

  /// The related records behind a place in the order: the next page.
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
