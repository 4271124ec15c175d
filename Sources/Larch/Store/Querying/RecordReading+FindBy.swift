extension RecordReading {
  /// The record whose field has this value; the first by id if there are several.
  ///
  /// ```swift
  /// let ada = try store.find(Person.self, by: \.email, equals: "ada@acme.example")
  /// ```
  ///
  /// If the only `Unique` index over the field ignores case, this call ignores case too.
  ///
  /// - Throws: `.checksumMismatch`, `.decodingFailed`, `.unknownCollection`.
  /// - Complexity: two searches, O(log n), with an index over this field alone; otherwise that of
  ///   ``first(_:)`` with `==`: without any index that begins with the field, all records up to the
  ///   first one with the value.
  public func find<R: Record, Value: IndexKey>(
    _ type: R.Type = R.self, by keyPath: any KeyPath<R, Value> & Sendable, equals value: Value
  ) throws -> R? {
    try _reading { tx in try tx.find(type, value, through: keyPath) }
  }
}

extension ReadTransaction {
  fileprivate final func find<R: Record, Value: IndexKey>(
    _ type: R.Type, _ value: Value, through keyPath: any KeyPath<R, Value> & Sendable
  ) throws -> R? {
    if let timer = context.timer, timer.trace != nil {
      return try timer.tracing("find", R.collectionName, results: { $0 == nil ? 0 : 1 }) {
        try findNow(type, value, through: keyPath)
      }
    }
    return try findNow(type, value, through: keyPath)
  }

  @inline(__always)
  private final func findNow<R: Record, Value: IndexKey>(
    _ type: R.Type, _ value: Value, through keyPath: any KeyPath<R, Value> & Sendable
  ) throws -> R? {
    // Written out like `find(_:_:)`, since benchmarks measure such look-ups.
    let context = context
    let transaction = try live()
    if context.isTakingIn { throw TransactionContext.reentered }
    let collection = try context.collection(of: type)
    let point = context.points.entry(of: keyPath, in: collection)
    guard let index = point.index, !context.checksQueries else {
      return try first(keyPath, is: value, in: collection)
    }
    context.idWriter.clear()
    point.write(value, to: &context.idWriter)
    // A cut key must be checked, and NaN equals nothing: the query handles both.
    if context.idWriter.isCut || context.idWriter.hasNil {
      return try first(keyPath, is: value, in: collection)
    }
    do {
      try writePending(for: index.database)
      let key = context.idWriter.bytes
      guard let id = try context.get(key, from: index.database, in: transaction) else { return nil }
      guard let stored = try context.get(id, from: collection.records, in: transaction) else {
        throw RecordEnvelope.missing(id, index: index.stored.name, collection.stored)
      }
      return try context.decode(type, stored, id: id, in: collection)
    } catch let error as LMDBError {
      throw context.note(error)
    }
  }

  private func first<R: Record, Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, is value: Value, in collection: CollectionHandle
  ) throws -> R? {
    try first(query(keyPath, is: value, in: collection))
  }

  final func query<R: Record, Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, is value: Value, in collection: CollectionHandle
  ) -> Query<R> {
    var query = R.all
    query.details.filter = .field(
      FieldFilter(TypedField.of(keyPath), lookUp(of: keyPath, value, in: collection)))
    return query
  }

  /// The condition of a look-up by a field: it equals the value, ignoring case if the unique index
  /// of the field does.
  final func lookUp<R: Record, Value: IndexKey>(
    of keyPath: any KeyPath<R, Value> & Sendable, _ value: Value, in collection: CollectionHandle
  ) -> FieldTest {
    let values = Value.values(of: value)
    if values.count == 1, case .string(let text) = values[0] {
      let form = context.points.textForm(keyPath, in: collection)
      if form.isFolded { return .text(TextTest(kind: .equal, text: text, form)) }
    }
    return .equal(values)
  }
}
