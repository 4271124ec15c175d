/// Counts that are the number of entries of one key of an index. For such a query a plan and its run
/// cost several times as much as the look-up.
extension ReadTransaction {
  /// The number of records whose field has a value, if the query asks just that, and its outline is
  /// known: the plan would be one key of an index over this field. Nil if it must be planned.
  func countOfKey<R: Record>(_ query: QueryDescription, of type: R.Type) throws -> Int? {
    guard case .field(let filter) = query.filter, case .equal(let values) = filter.test,
      values.count == 1, filter.isPlainlyNormal, query.order.isEmpty, query.limit == nil,
      query.after == nil, query.offset == 0,
      // The others check, keep or report each query.
      context.isReading, !context.checksQueries, context.timer == nil,
      context.environment.post == nil, !mayKeepAggregates
    else { return nil }
    return try storage { transaction in
      let collection = try context.collection(of: type)
      let memory = context.planMemory
      let planner = Planner(schema: collection.schema, usable: collection.answering)
      guard let scan = memory.scan(query.filter, query, for: .count, planner), scan.isOneKey,
        let match = scan.match
      else { return nil }
      let index = try collection.index(at: match.index)
      let component = index.schema.fields[0]
      memory.keyWriter.clear()
      memory.keyWriter.foldsCase = component.isFolded
      // A cut key, or one of another form, is planned.
      guard memory.keyWriter.append(values, as: component.form, isLast: true),
        !memory.keyWriter.isCut
      else { return nil }
      var cursor = try LMDBCursor(index.database, in: transaction)
      guard try cursor.seek(exactly: memory.keyWriter.bytes) != nil else { return 0 }
      return try cursor.duplicateCount()
    }
  }
}
