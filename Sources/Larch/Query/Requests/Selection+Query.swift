// What can be said of a query can be said of a selection as well, which is one with fewer fields:
// `select(\.name).limit(3)` is `limit(3).select(\.name)`. Its order may be by fields that are not
// among the selected ones. With `distinct()`, offset and limit count results, not records.

extension Selection {
  /// Only those of the records that the condition is true for, too. See ``Query/where(_:)``.
  public func `where`<Condition: FilterExpression>(
    _ condition: (Fields<R>) -> Condition
  ) -> Selection where Condition.Root == R {
    with { $0.where(condition) }
  }

  /// In the order of a field. See `Query.sorted(by:_:)`.
  public func sorted<Key: IndexKey>(
    by field: any KeyPath<R, Key> & Sendable, _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.sorted(by: field, direction) }
  }

  /// In the order of a text, with upper and lower case the same.
  public func sorted<Key: TextValue>(
    by field: any KeyPath<R, Key> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.sorted(by: field, options: options, direction) }
  }

  /// Where all fields of the order so far are the same, in the order of one more field. See
  /// `Query.then(by:_:)`.
  public func then<Key: IndexKey>(
    by field: any KeyPath<R, Key> & Sendable, _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.then(by: field, direction) }
  }

  /// Where all fields of the order so far are the same, in the order of a text, with upper and
  /// lower case the same.
  public func then<Key: TextValue>(
    by field: any KeyPath<R, Key> & Sendable, options: TextIndexOption,
    _ direction: SortDirection = .ascending
  ) -> Selection {
    with { $0.then(by: field, options: options, direction) }
  }

  /// In the opposite order, ids included. See ``Query/reversed()``.
  public func reversed() -> Selection { with { $0.reversed() } }

  /// Of at most so many records; replaces an earlier limit. See ``Query/limit(_:)``.
  public func limit(_ count: Int) -> Selection { with { $0.limit(count) } }

  /// Without the first so many records; replaces an earlier offset. See ``Query/offset(_:)``.
  public func offset(_ count: Int) -> Selection { with { $0.offset(count) } }

  /// Only of the records after a place in the order. See ``Query/after(_:)``.
  public func after(_ token: PageToken) -> Selection { with { $0.after(token) } }

  func with(_ change: (Query<R>) -> Query<R>) -> Selection {
    var selection = self
    selection.query = change(query)
    return selection
  }
}
