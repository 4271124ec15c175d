// The verbs for several records at once. Each is one change: all of it happens, or nothing.

extension RecordWriting {
  /// Saves records one after the other, as one change. See ``save(_:)``.
  ///
  /// ```swift
  /// let saved = try store.save(contentsOf: people)
  /// print(saved.records.map(\.id), saved.inserted, saved.updated)
  /// ```
  ///
  /// Each is inserted, or takes the place of the record that has its id, also of an earlier one of
  /// the batch. Records may refer to later ones of the batch.
  ///
  /// - Parameters:
  ///   - records: the records; they do not change. The result has them with their ids.
  ///   - progress: called after each 1,000 records and at the end, on the thread of the write and
  ///     before the commit. An error stops the batch, and nothing is saved. If the transaction must
  ///     be repeated, it begins again.
  /// - Returns: the records as they are stored, and what happened to each.
  /// - Throws: the errors of ``save(_:)``, with the place of the record in the batch
  ///   (``LarchError/Context/position``); `.batchStopped` where a hook throws another error, which
  ///   is the cause; what `progress` throws. Nothing of the batch is saved then.
  /// - Complexity: that of ``save(_:)`` for each record, and one transaction. The result needs memory
  ///   for the records.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await Person.save(contentsOf: people, in: store)`, or `try await store.write { tx in … }`"
  )
  @discardableResult
  public func save<R: Record>(
    contentsOf records: some Collection<R>, progress: ((BatchProgress) throws -> Void)? = nil
  ) throws -> SavedBatch<R> {
    try _save(records, nil, progress)
  }

  /// Saves records one after the other, as one change: each takes the place of the record that has
  /// the same value in a unique field, or is inserted.
  ///
  /// ```swift
  /// try store.save(contentsOf: people, matching: \.email)
  /// ```
  ///
  /// A matched record keeps its id and its version, whatever the new one has. A record that matches
  /// none, or has nil in the field, is inserted. A later record of the batch can match an earlier one.
  ///
  /// - Parameters:
  ///   - records: the records; they do not change. The result has them with their ids.
  ///   - field: a field with its own `Unique`.
  ///   - progress: called as by ``save(contentsOf:progress:)``.
  /// - Returns: the records as they are stored, and what happened to each.
  /// - Throws: `.unsuitableMatch` for another field, `.idExists` for a record that matches none, but
  ///   has the id of one; the errors of ``save(contentsOf:progress:)``.
  /// - Complexity: that of ``save(contentsOf:progress:)``, and a search for each record.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await Person.save(contentsOf: people, in: store)`, or `try await store.write { tx in … }`"
  )
  @discardableResult
  public func save<R: Record, Value: IndexKey>(
    contentsOf records: some Collection<R>, matching field: any KeyPath<R, Value> & Sendable,
    progress: ((BatchProgress) throws -> Void)? = nil
  ) throws -> SavedBatch<R> {
    try _save(records, UniqueMatch(field), progress)
  }

  private func _save<R: Record>(
    _ records: some Collection<R>, _ match: UniqueMatch<R>?,
    _ progress: ((BatchProgress) throws -> Void)?
  ) throws -> SavedBatch<R> {
    let batch = Batch<R>(total: records.count, progress)
    do {
      return try _writing { tx in
        try tx.undoablePart { try tx.saveAll(records, match, batch) }
      }
    } catch {
      throw batch.located(error)
    }
  }

  /// Deletes the records with these ids, and applies the delete rules of their associations.
  ///
  /// ```swift
  /// let gone = try store.delete(Person.self, ids: selection)
  /// ```
  ///
  /// As for a query, the rules are applied to all of the records together: a ``DeleteRule/deny``
  /// refuses only if a related record is not deleted, neither by the batch nor by a rule. An id that
  /// is named twice counts once.
  ///
  /// - Parameters:
  ///   - type: the type of the records.
  ///   - ids: their ids.
  ///   - progress: called after each 1,000 ids and at the end; only at the end for a type whose
  ///     deletions have rules or hooks, which are planned and done together. An error stops the
  ///     batch, and nothing is deleted.
  /// - Returns: the number of deleted records, and the ids that no record had.
  /// - Throws: the errors of ``delete(_:_:)``, with the place of the id in the batch
  ///   (``LarchError/Context/position``) if the error is about a record of the batch; what `progress`
  ///   throws. Nothing is deleted then.
  /// - Complexity: O(log n) for each record, index entry and associated record; the ids are held in
  ///   memory.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @discardableResult
  public func delete<R: Record>(
    _ type: R.Type = R.self, ids: some Collection<R.ID>,
    progress: ((BatchProgress) throws -> Void)? = nil
  ) throws -> DeletedBatch<R> {
    let batch = Batch<R>(total: ids.count, progress)
    do {
      return try _writing { tx in
        try tx.undoablePart { try tx.deleteAll(type, ids, batch) }
      }
    } catch {
      throw batch.located(error)
    }
  }

  /// Changes each record of the query, and saves it, with progress and counts. See
  /// ``update(_:_:)``.
  ///
  /// ```swift
  /// let done = try store.update(Person.all, progress: { print($0.fraction) }) { person in
  ///   person.city = person.city.capitalized
  /// }
  /// print(done.updated, done.unchanged)
  /// ```
  ///
  /// Only what changed is written: a record that the closure leaves as it was costs its reading, and
  /// of a changed one only the index entries whose fields changed.
  ///
  /// - Parameters:
  ///   - query: the records.
  ///   - progress: called after each 1,000 records and at the end; nil for no calls. An error stops
  ///     the update, and nothing is changed.
  ///   - change: changes a record.
  /// - Returns: the number of records that were written, and of those that were equal.
  /// - Throws: the errors of ``update(_:_:)``, those of Larch with the place of the record in the
  ///   query (``LarchError/Context/position``); the errors of `change` as they are; what `progress`
  ///   throws. Nothing is changed then.
  /// - Complexity: that of ``update(_:_:)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @discardableResult
  public func update<R: Record>(
    _ query: Query<R>, progress: ((BatchProgress) throws -> Void)?,
    _ change: (inout R) throws -> Void
  ) throws -> UpdatedBatch {
    var position: Int?
    do {
      return try _writing { tx in
        position = nil
        return try tx.undoablePart { try tx.updateAll(query, &position, progress, change) }
      }
    } catch var error as LarchError {
      error.context.position = position
      throw error
    }
  }
}
