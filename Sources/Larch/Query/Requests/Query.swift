/// Records asked for: a condition, an order, and how many.
///
/// A query is a value that can be kept, passed on and run again; nothing is read until it is run.
///
/// ```swift
/// let adults = Person.where { $0.age >= 18 }
/// let oldest = adults.sorted(by: \.age, .descending).limit(20)
/// ```
///
/// Without an order, records come in the order of their ids. Offset and limit count what is left
/// by all else, wherever they are written.
public struct Query<R: Record>: Sendable {
  var details = QueryDescription()

  init() {}

  /// Only those of the records that the condition is true for, too.
  public func `where`<Condition: FilterExpression>(
    _ condition: (Fields<R>) -> Condition
  ) -> Query where Condition.Root == R {
    with { $0.filter = $0.filter.and(condition(Fields())._filter.node) }
  }

  /// Only those of the records that a closure is true for: what `where` cannot say.
  ///
  /// Every record that is left by all other conditions is decoded for it.
  public func filter(_ isIncluded: @escaping @Sendable (R) -> Bool) -> Query {
    with { query in
      query.filter = query.filter.and(
        .record(RecordTest<R>(text: "a closure", matches: isIncluded)))
    }
  }

  /// At most so many records; replaces an earlier limit. A negative number is an `.invalidQuery`
  /// when the query is run.
  public func limit(_ count: Int) -> Query { with { $0.limit = count } }

  /// Without the first so many records; replaces an earlier offset. A negative number is an
  /// `.invalidQuery` when the query is run.
  ///
  /// Each record left out costs as much as one returned; ``after(_:)`` does not. Behind a token
  /// nothing is left out: the first page left those records out already.
  public func offset(_ count: Int) -> Query { with { $0.offset = count } }

  /// Only the records behind a place in the order: the next page. Replaces an earlier one. An
  /// ``offset(_:)`` does not count then, since the first page left those records out.
  ///
  /// The token must come from a query of the same order, else running this one is an
  /// `.invalidQuery`; the condition may be another one.
  public func after(_ token: PageToken) -> Query { with { $0.after = token } }

  func with(_ change: (inout QueryDescription) -> Void) -> Query {
    var query = self
    change(&query.details)
    return query
  }
}
