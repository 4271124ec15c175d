/// Runs a query both as planned and as a full scan, in one snapshot, and compares the results: a
/// check of the planner, for tests. See ``Store/Options/checksQueries``.
enum QueryCheck {
  static func check<R: Record>(
    _ prepared: PreparedQuery, _ access: RecordAccess<R>, _ context: TransactionContext
  ) throws {
    let schema = prepared.collection.schema
    let planner = Planner(
      schema: schema, usable: prepared.collection.answering,
      searches: prepared.collection.answeringSearches)
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
    /// In the form of keys, which is the same for equal values.
    var keys: [[KeyValue]] = []
    /// The record, where it may be made of a key: written again, since the stored bytes of an older
    /// record may be others.
    var record: [UInt8]?

    static func == (a: AnswerRow, b: AnswerRow) -> Bool {
      a.id == b.id && a.count == b.count && a.values == b.values && a.record == b.record
    }
  }

  private static func answer<R: Record>(
    _ plan: Plan, _ prepared: PreparedQuery, _ access: RecordAccess<R>,
    _ context: TransactionContext
  ) throws -> [AnswerRow] {
    let fields = prepared.selecting
    let run = try PlanRun(
      plan, in: prepared.collection, context: context, typed: access, selecting: fields,
      makingRecords: prepared.makesRecords)
    defer { run.close() }
    switch prepared.need {
    case .count: return [AnswerRow(count: try run.count())]
    case .exists: return [AnswerRow(count: try run.exists() ? 1 : 0)]
    case .counts where plan.groups != nil:
      var rows: [AnswerRow] = []
      try run.forEachCountedGroup(of: 0) { values, count, _ in
        rows.append(AnswerRow(count: count, values: [values.map(\.description)]))
      }
      return rows
    case .records, .recordValues, .ids, .fields, .values, .counts, .distinct, .distinctCount: break
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
        answer.keys.append(values.map(\.ofKey))
      }
      if prepared.makesRecords {
        answer.record = try context.coder.comparableBytes(of: access.decode(row, of: run))
      }
      rows.append(answer)
    }
    return grouped(rows, for: prepared.need)
  }

  /// The groups of rows, where only these are needed: a plan may have other rows of each.
  private static func grouped(_ rows: [AnswerRow], for need: QueryNeed) -> [AnswerRow] {
    var isCounted = false
    switch need {
    case .records, .recordValues, .ids, .count, .exists, .fields: return rows
    case .counts, .values: isCounted = true
    case .distinct, .distinctCount: break
    }
    func compare(_ a: AnswerRow, _ b: AnswerRow) -> Int {
      for (a, b) in zip(a.keys, b.keys) {
        let order = KeyValue.compare(a, b)
        if order != 0 { return order }
      }
      return 0
    }
    let isDistinct = if case .distinct = need { true } else { false }
    var groups: [(first: Int, row: AnswerRow)] = []
    let places = rows.indices.sorted {
      let order = compare(rows[$0], rows[$1])
      return order < 0 || (order == 0 && $0 < $1)
    }
    for place in places {
      if let last = groups.last, compare(last.row, rows[place]) == 0 {
        groups[groups.count - 1].row.count += 1
      } else {
        groups.append((place, rows[place]))
        groups[groups.count - 1].row.count = 1
      }
    }
    if isDistinct { groups.sort { $0.first < $1.first } }
    return groups.map { group in
      var answer = AnswerRow(values: group.row.values)
      if isCounted { answer.count = group.row.count }
      if !isDistinct { answer.values = group.row.keys.map { $0.map(\.description) } }
      return answer
    }
  }
}
