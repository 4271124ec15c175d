extension RecordWriting {
  /// Deletes the records of the query, and applies the delete rules of their associations.
  ///
  /// The rules are applied to all of the records together: a ``DeleteRule/deny`` refuses only if a
  /// related record is not deleted, neither by the query nor by a rule.
  ///
  /// - Returns: the number of records of the query, without those that rules deleted.
  /// - Throws: `.deleteDenied`, and the errors of ``RecordWriting/delete(_:_:)`` and
  ///   ``RecordReading/fetch(_:)``; nothing is deleted then.
  /// - Complexity: the query, and O(log n) for each record, index entry and associated record; 8 to
  ///   16 bytes of memory per record, four times that if rules apply.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @discardableResult
  public func delete<R: Record>(_ query: Query<R>) throws -> Int {
    try _writing { tx in
      try tx.undoablePart { try tx.deleteAll(query) }
    }
  }

  /// Changes each record of the query, and saves it.
  ///
  /// ```swift
  /// let grown = try store.update(Person.where { $0.birthday == today }) { $0.age += 1 }
  /// ```
  ///
  /// The records are selected before the first is changed, so none is changed twice. The id must
  /// not change.
  ///
  /// - Returns: the number of records that the closure received.
  /// - Throws: the errors of `change` and of `RecordWriting.update(_:)`, such as `.uniqueConflict`;
  ///   `.invalidQuery` for a changed id. Nothing is changed then.
  /// - Complexity: the query, and for each record reading, saving and the index entries that
  ///   differ.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @discardableResult
  public func update<R: Record>(
    _ query: Query<R>, _ change: (inout R) throws -> Void
  ) throws -> Int {
    try _writing { tx in
      // In the middle of a batch an error must undo what came before it, and only that.
      var position: Int?
      let done = try tx.undoablePart { try tx.updateAll(query, &position, nil, change) }
      return done.updated + done.unchanged
    }
  }

  /// The record whose field has this value, or a new one that is inserted.
  ///
  /// ```swift
  /// let tag = try store.findOrCreate(by: \.name, equals: "swift") { Tag(name: "swift") }
  /// ```
  ///
  /// - Returns: the found record, the first by id if there are several; otherwise the new one with
  ///   its id.
  /// - Throws: the errors of `create` and of ``RecordWriting/insert(_:)``; `.invalidQuery` if the
  ///   new record does not have the value.
  /// - Complexity: that of ``RecordReading/find(_:by:equals:)``, and an insert.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func findOrCreate<R: Record, Value: IndexKey>(
    _ type: R.Type = R.self, by keyPath: any KeyPath<R, Value> & Sendable, equals value: Value,
    create: () throws -> R
  ) throws -> R {
    try _writing { tx in
      if let found = try tx.find(R.self, by: keyPath, equals: value) { return found }
      var record = try create()
      let test = tx.lookUp(
        of: keyPath, value, in: try tx.context.collection(of: R.self))
      guard test.matches(Value.values(of: record[keyPath: keyPath])) else {
        throw LarchError(
          .invalidQuery,
          "The new record does not have the searched value; set the value in the closure."
        ) { $0.collection = R.collectionName }
      }
      try tx.insert(&record)
      return record
    }
  }
}

extension WriteTransaction {
  /// Changes the records of a query; called in a savepoint.
  ///
  /// - Parameter position: the place of the record that is being saved; nil while code of the program
  ///   runs whose errors are not about the record.
  func updateAll<R: Record>(
    _ query: Query<R>, _ position: inout Int?, _ progress: ((BatchProgress) throws -> Void)?,
    _ change: (inout R) throws -> Void
  ) throws -> UpdatedBatch {
    // The records are counted before the closure can delete some that come later.
    var ids = try matchingIDs(query)
    let total = ids.count
    var result = UpdatedBatch()
    var done = 0
    while let id = ids.next() {
      position = done
      let stored: R? = try storage { transaction in
        let collection = try context.collection(of: R.self)
        return try id.withUnsafeBytes { id in
          guard let stored = try collection.records.get(id, in: transaction) else { return nil }
          return try context.decode(R.self, stored, id: id, in: collection)
        }
      }
      if let stored {
        var record = stored
        let before = stored.id
        position = nil
        try change(&record)
        position = done
        guard record.id == before else {
          throw LarchError(
            .invalidQuery,
            "An update changed the id of a record; insert a new record, and delete the old one."
          ) {
            $0.collection = R.collectionName
            $0.id = "\(before)"
          }
        }
        if try isWriting(before, of: R.self, { try updateCurrent(record, before: stored) }) {
          result.updated += 1
        } else {
          result.unchanged += 1
        }
      }
      position = nil
      done += 1
      if done % 1000 == 0, done < total {
        try progress?(BatchProgress(done: done, total: total))
      }
    }
    try progress?(BatchProgress(done: total, total: total))
    return result
  }
}
