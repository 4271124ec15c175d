extension RecordWriting {
  /// Deletes the records that the query describes, and does what the rules of their associations
  /// ask for.
  ///
  /// The rules are asked for all of the records together: a ``DeleteRule/deny`` refuses only where
  /// something stays that none of them, nor any rule, deletes.
  ///
  /// - Returns: how many records the query described; those that rules deleted with them are not
  ///   counted.
  /// - Throws: `.deleteDenied`, and the errors of ``RecordWriting/delete(_:_:)``, and what
  ///   ``RecordReading/fetch(_:)`` throws; nothing is deleted then.
  /// - Complexity: the query, and O(log n) for each record, index entry and associated record; 8 to
  ///   16 bytes of memory a record, four times that where rules act.
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

  /// Changes each record that the query describes, and saves it.
  ///
  /// ```swift
  /// let grown = try store.update(Person.where { $0.birthday == today }) { $0.age += 1 }
  /// ```
  ///
  /// The records are chosen before the first is changed, so none is changed twice. The id must stay
  /// as it is.
  ///
  /// - Returns: the number of records that the closure received.
  /// - Throws: what `change` throws, `.uniqueConflict` and what `RecordWriting.update(_:)` throws,
  ///   `.invalidQuery` for a changed id; nothing is changed then.
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
      try tx.undoablePart { try tx.updateAll(query, change) }
    }
  }

  /// The record whose field has this value, or a new one that is inserted.
  ///
  /// ```swift
  /// let tag = try store.findOrCreate(by: \.name, equals: "swift") { Tag(name: "swift") }
  /// ```
  ///
  /// - Returns: the record that was found, the first by id if there are several; else the new one
  ///   with its id.
  /// - Throws: what `create` throws; `.invalidQuery` when the new record does not have the value;
  ///   what ``RecordWriting/insert(_:)`` throws.
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
  fileprivate func updateAll<R: Record>(
    _ query: Query<R>, _ change: (inout R) throws -> Void
  ) throws -> Int {
    var ids = try matchingIDs(query)
    // The closure may delete records whose turn has not come.
    var count = 0
    while let id = ids.next() {
      let record: R? = try storage { transaction in
        let collection = try context.collection(of: R.self)
        return try id.withUnsafeBytes { id in
          guard let stored = try collection.records.get(id, in: transaction) else { return nil }
          return try context.decode(R.self, stored, id: id, in: collection)
        }
      }
      guard var record else { continue }
      count += 1
      let before = record.id
      try change(&record)
      guard record.id == before else {
        throw LarchError(
          .invalidQuery,
          "An update changed the id of a record; insert a new record, and delete the old one."
        ) {
          $0.collection = R.collectionName
          $0.id = "\(before)"
        }
      }
      try update(record)
    }
    return count
  }
}
