public import Foundation

// Foundation's `Predicate` wherever a condition is a closure over fields. Disfavoured, so that the
// compiler's message for a wrong closure is about the closure: Tests/check-refusals.sh has them.

extension Record {
  /// The records for which a predicate of Foundation is true.
  ///
  /// ```swift
  /// Person.where(#Predicate { $0.city == "London" && $0.age >= 18 })
  /// ```
  ///
  /// The answer is that of `predicate.evaluate(record)` for each record. Comparisons of properties
  /// with constants, and what joins them, use indexes like a closure; the rest is evaluated on the
  /// decoded records that pass. ``RecordReading/explain(_:counting:running:)`` shows what is evaluated. Nothing is
  /// read until you run the query. Then it throws `.invalidQuery` if the predicate throws an error for
  /// a record, for example since it unwraps nil.
  ///
  /// - Complexity: proportional to the length of the predicate.
  @_disfavoredOverload
  public static func `where`(_ predicate: Predicate<Self>) -> Query<Self> {
    Query(Filter(predicate))
  }
}

extension Query {
  /// Keeps only the records for which a predicate of Foundation is also true. See `Record.where(_:)`.
  ///
  /// - Complexity: proportional to the length of the predicate.
  @_disfavoredOverload
  public func `where`(_ predicate: Predicate<R>) -> Query { and(Filter(predicate)) }
}

extension Related {
  /// Keeps only the related records for which a predicate of Foundation is true. See
  /// `Record.where(_:)`.
  ///
  /// - Complexity: proportional to the length of the predicate.
  @_disfavoredOverload
  public func `where`(_ predicate: Predicate<Target>) -> Query<Target> { query.where(predicate) }
}

extension Selection {
  /// Keeps only the records for which a predicate of Foundation is also true. See `Record.where(_:)`.
  ///
  /// - Complexity: proportional to the length of the predicate.
  @_disfavoredOverload
  public func `where`(_ predicate: Predicate<R>) -> Selection { with { $0.where(predicate) } }
}

extension RelatedRecords {
  /// A predicate of Foundation is true for one of the records.
  ///
  /// - Complexity: proportional to the length of the predicate.
  @_disfavoredOverload
  public func contains(where predicate: Predicate<Target>) -> Filter<Root> {
    contains { $0.satisfies(predicate) }
  }
}

extension RelatedRecord {
  /// The record exists, and a predicate of Foundation is true for it.
  ///
  /// - Complexity: proportional to the length of the predicate.
  @_disfavoredOverload
  public func matches(_ predicate: Predicate<Target>) -> Filter<Root> {
    matches { $0.satisfies(predicate) }
  }
}
