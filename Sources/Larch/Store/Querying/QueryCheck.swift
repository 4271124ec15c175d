/// Runs a query both as planned and as a full scan, in one snapshot, and compares the results: a
/// check of the planner, for tests. See ``Store/Options/checksQueries``.
enum QueryCheck {
  static func check<R: Record>(
    _ prepared: PreparedQuery, _ access: RecordAccess<R>, _ context: TransactionContext
  ) throws {
    let schema = prepared.collection.schema
    let planner = Planner(schema: schema, usable: prepared.collection.answering)
    let full = try planner.fullScan(prepared.query, for: prepared.need)
    let planned = try answer(prepared.plan, prepared, access, context)
    let control = RecordAccess<R>(
      context, prepared.collection, with: RelatedAnswers(context, .control))
    let expected = try answer(full, prepared, control, context)
    if planned == expected { return }
    let place = zip(planned, expected).enumerated().first { $1.0 != $1.1 }?.offset
    throw LarchError(
      .wrongAnswer,
      "An index gave another answer than a full scan; call `verify()`, and if the store is clean, please report this bug in Larch with the plan."
    ) {
      $0.collection = prepared.collection.stored.name
      $0.detail = """
        \(planned.count) rows instead of \(expected.count), first difference \
        \(place.map { "at row \($0)" } ?? "at the end")
        \(prepared.plan.text(in: schema))
        instead of
        \(full.text(in: schema))
        """
    }
  }

  /// One row of an answer, for comparison.
  private struct AnswerRow: Equatable {
    var id: [UInt8] = []
    var count = 0
    var values: [[String]?] = []
  }

  private static func answer<R: Record>(
    _ plan: Plan, _ prepared: PreparedQuery, _ access: RecordAccess<R>,
    _ context: TransactionContext
  ) throws -> [AnswerRow] {
    let fields = prepared.selecting
    let run = try PlanRun(
      plan, in: prepared.collection, context: context, typed: access, selecting: fields)
    defer { run.close() }
    switch prepared.need {
    case .count: return [AnswerRow(count: try run.count())]
    case .exists: return [AnswerRow(count: try run.exists() ? 1 : 0)]
    case .records, .ids, .fields: break
    }
    var rows: [AnswerRow] = []
    while let row = try run.next() {
      var answer = AnswerRow(id: [UInt8](row.id))
      for (place, field) in fields.enumerated() {
        // If only one of the plans has the value in an index, it comes from the record.
        let values =
          try run.values(of: place)
          ?? access.orderValue(of: field, in: try run.record(), id: row.id)
        answer.values.append(values.map(\.description))
      }
      rows.append(answer)
    }
    return rows
  }
}
