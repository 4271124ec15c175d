public import Larch

/// A plan is not the one that a test expects.
public struct PlanDifference: Error, Sendable, CustomStringConvertible {
  /// The lines that differ: `-` expected, `+` found.
  public let description: String

  fileprivate static func check(_ expected: String, _ found: String) throws {
    guard let difference = TextDifference.between(expected: expected, actual: found) else { return }
    throw PlanDifference(description: "the plan differs\n" + difference)
  }
}

extension RecordReading {
  /// Makes sure that a query is answered as expected, and looks at no more than expected.
  ///
  /// ```swift
  /// try store.expectPlan(
  ///   of: Person.where { $0.city == "London" }.sorted(by: \.age).limit(2),
  ///   """
  ///   index city_age ["London"]
  ///     order served by the index
  ///     limit 2
  ///   examined 2 index entries, 2 records; returned 2
  ///   """)
  /// ```
  ///
  /// The text is that of `explain(_:running:)` with `running`; leave the last
  /// line out by `running: false`, which also leaves the query unrun.
  ///
  /// - Throws: ``PlanDifference`` where it differs; what the query throws.
  /// - Complexity: that of the query.
  public func expectPlan<R: Record>(
    of query: Query<R>, _ expected: String, running: Bool = true
  ) throws {
    try PlanDifference.check(expected, try explain(query, running: running))
  }

  /// Makes sure that a query is counted as expected, and looks at no more than expected.
  ///
  /// - Throws: ``PlanDifference`` where it differs; what the query throws.
  /// - Complexity: that of the query.
  public func expectPlan<R: Record>(
    counting query: Query<R>, _ expected: String, running: Bool = true
  ) throws {
    try PlanDifference.check(expected, try explain(counting: query, running: running))
  }
}

extension Store {
  /// A fresh store whose every query is also answered by a look at all records, in the same
  /// snapshot: where the answers differ, it throws `.wrongAnswer` with both plans.
  ///
  /// - Throws: as `Store.temporary(for:migrations:options:)`.
  public static func checked(
    for types: any Record.Type..., options: Options = Options()
  ) throws -> Store {
    var options = options
    options.checksQueries = true
    return try temporary(types: types, options: options)
  }
}
