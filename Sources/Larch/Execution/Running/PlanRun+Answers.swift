/// Answers the questions of a run without a record type. It is for modules above this one, which
/// cannot inherit from the internal `TypedAccess`.
package protocol RecordAnswers {
  /// Whether all filters are true for the record.
  func matches(
    _ filters: [FilterNode], _ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) throws -> Bool

  /// The values of a field, or of each of its elements.
  func values(
    of field: FieldReference, in record: UnsafeRawBufferPointer
  ) throws -> [[KeyValue]]
}

/// Passes the questions of a run on.
private final class AnsweredAccess: TypedAccess {
  private let answers: any RecordAnswers

  init(_ answers: any RecordAnswers) { self.answers = answers }

  override func matches(
    _ filters: [FilterNode], _ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) throws -> Bool {
    try answers.matches(filters, record, id: id)
  }

  override func values(
    of field: FieldReference, in record: UnsafeRawBufferPointer
  ) throws -> [[KeyValue]] {
    try answers.values(of: field, in: record)
  }
}

extension PlanRun {
  /// Plans a query without a record type. Until the first row is requested, it reads only the
  /// statistics for the choice of the plan.
  ///
  /// - Parameters:
  ///   - usable: the indexes that can answer, by bit and by their place in the schema; nil for a
  ///     full scan with the filter as written.
  ///   - searches: the indexes of words that can, in the same way.
  ///   - answers: answers what only records can.
  /// - Throws: `.invalidQuery` for an invalid query; `.corrupted`.
  package convenience init(
    _ query: QueryDescription, for need: QueryNeed, through usable: UInt64?,
    searches: UInt64 = 0, in collection: CollectionHandle, _ context: TransactionContext,
    answers: any RecordAnswers
  ) throws {
    let planner = Planner(schema: collection.schema, usable: usable ?? 0, searches: searches)
    let plan =
      usable == nil
      ? try planner.fullScan(query, for: need)
      : try planner.plan(query, for: need, statistics: IndexStatistics(collection, context))
    try self.init(plan, in: collection, context: context, typed: AnsweredAccess(answers))
  }

  /// The plan, in the form of `RecordReading.explain`.
  package var planText: String { plan.text(in: collection.schema) }
}
