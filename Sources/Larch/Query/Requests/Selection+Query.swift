// A selection has the methods of a query: `select(\.name).limit(3)` is `limit(3).select(\.name)`.
// Its order may use fields that are not selected. With `distinct()`, offset and limit count
// results, not records.

extension Selection {
  /// Keeps only the records that also meet the condition. See `Query.where(_:)`.
  public func `where`<Condition: FilterExpression>(
    _ condition: (Fields<R>) -> Condition
  ) -> Selection where Condition.Root == R {
    with { $0.where(condition) }
  }

  /// Sorts by a field. See `Query.sorted(by:_:)`.
  public func sorted<Key: IndexKey>(
    by field: any KeyPath<R, Key> & Sendable, _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.sorted(by: field, direction) }
  }

  /// Sorts by a text, ignoring case, or in the order of a language.
  public func sorted<Key: TextValue>(
    by field: any KeyPath<R, Key> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.sorted(by: field, options: options, direction) }
  }

  /// Sorts records that are equal in the order so far by one more field. See `Query.then(by:_:)`.
  public func then<Key: IndexKey>(
    by field: any KeyPath<R, Key> & Sendable, _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.then(by: field, direction) }
  }

  /// Sorts records that are equal in the order so far by a text, ignoring case, or in the order of a
  /// language.
  public func then<Key: TextValue>(
    by field: any KeyPath<R, Key> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.then(by: field, options: options, direction) }
  }

  /// Reverses the order, including that of the ids. See ``Query/reversed()``.
  public func reversed() -> Selection { with { $0.reversed() } }

  /// Limits the number of records; replaces an earlier limit. See ``Query/limit(_:)``.
  public func limit(_ count: Int) -> Selection { with { $0.limit(count) } }

  /// Skips the first records; replaces an earlier offset. See ``Query/offset(_:)``.
  public func offset(_ count: Int) -> Selection { with { $0.offset(count) } }

  /// Uses only the records after a place in the order. See ``Query/after(_:)``.
  public func after(_ token: PageToken) -> Selection { with { $0.after(token) } }

  func with(_ change: (Query<R>) -> Query<R>) -> Selection {
    var selection = self
    selection.query = change(query)
    return selection
  }
}
