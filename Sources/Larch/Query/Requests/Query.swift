/// A request for records: a condition, an order, and a number of records.
///
/// A query is a value that you can store, pass on and run again. Nothing is read until you run it.
///
/// ```swift
/// let adults = Person.where { $0.age >= 18 }
/// let oldest = adults.sorted(by: \.age, .descending).limit(20)
/// ```
///
/// Without an order, records come in the order of their ids. Offset and limit are applied last,
/// wherever they are written.
public struct Query<R: Record>: Sendable {
  var details: QueryDescription

  init() { details = QueryDescription() }

  @usableFromInline
  init(_ filter: Filter<R>) { details = QueryDescription(filter: filter.node) }

  /// Keeps only the records that also meet the condition.
  @inlinable  // The caller's compiler knows the types, and the runtime is not asked for them.
  public func `where`<Condition: FilterExpression>(
    _ condition: (Fields<R>) -> Condition
  ) -> Query where Condition.Root == R {
    and(condition(Fields())._filter)
  }

  @usableFromInline
  func and(_ filter: Filter<R>) -> Query { with { $0.filter = $0.filter.and(filter.node) } }

  /// Keeps only the records for which a closure returns true, for conditions that `where` cannot
  /// express.
  ///
  /// Larch decodes every record that passes all other conditions.
  public func filter(_ isIncluded: @escaping @Sendable (R) -> Bool) -> Query {
    with { query in
      query.filter = query.filter.and(
        .record(RecordTest<R>(text: "a closure", matches: isIncluded)))
    }
  }

  /// Limits the number of records; replaces an earlier limit. A negative number makes the query
  /// throw `.invalidQuery` when it runs.
  public func limit(_ count: Int) -> Query { with { $0.limit = count } }

  /// Skips the first records; replaces an earlier offset. A negative number makes the query throw
  /// `.invalidQuery` when it runs.
  ///
  /// A skipped record costs as much as a returned one; with ``after(_:)`` there is no such cost. The
  /// offset does not apply after a token: the first page has skipped those records already.
  public func offset(_ count: Int) -> Query { with { $0.offset = count } }

  /// Returns only the records after a position in the order: the next page. Replaces an earlier
  /// token. An ``offset(_:)`` has no effect then, since the first page already skipped those
  /// records.
  ///
  /// The token must come from a query with the same order, or running this one throws
  /// `.invalidQuery`; the condition may differ.
  public func after(_ token: PageToken) -> Query { with { $0.after = token } }

  func with(_ change: (inout QueryDescription) -> Void) -> Query {
    var query = self
    change(&query.details)
    return query
  }
}
