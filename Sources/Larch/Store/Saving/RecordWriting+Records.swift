// The verbs for single records. They are inlined down to the transaction's own method: a closure that
// returns a record would copy it once more.

extension RecordReading {
  /// The record with this id, or nil if there is none.
  ///
  /// ```swift
  /// let ada = try store.find(Person.self, id)
  /// ```
  ///
  /// - Throws: `.checksumMismatch` or `.decodingFailed` if the stored record cannot be read as the
  ///   type, `.unknownCollection` if the store was not opened for it.
  /// - Complexity: one search in the tree of the collection, O(log n).
  @inlinable  // As above.
  public func find<R: Record>(_ type: R.Type = R.self, _ id: R.ID) throws -> R? {
    try _reading { try $0.findRecord(type, id) }
  }

  /// Not available: an id that is no text.
  @available(
    *, unavailable,
    message:
      "the id of this type is not a `String`: make one of its type first, as `UUID(uuidString:)` and `Int(_:)` do from a text"
  )
  @_disfavoredOverload
  public func find<R: Record>(_ type: R.Type = R.self, _ id: String) throws -> R? { nil }

  /// Whether a record with this id exists. Reads no record.
  ///
  /// - Throws: `.unknownCollection` if the store was not opened for the type.
  /// - Complexity: one search in the tree of the collection, O(log n).
  @inlinable  // As above.
  public func exists<R: Record>(_ type: R.Type = R.self, _ id: R.ID) throws -> Bool {
    try _reading { try $0.hasRecord(type, id) }
  }
}

extension RecordWriting {
  /// Inserts the record, or updates the one that has its id.
  ///
  /// An unassigned `RecordID` is assigned. If the record equals the stored one, nothing is written.
  ///
  /// On a store each call is a transaction of its own, with its own flush of the disk: put related
  /// changes, and many changes, into one `Store.write(_:)`. An asynchronous function does the same,
  /// or calls `try await record.save(in: store)`.
  ///
  /// - Throws: `.uniqueConflict` if another record has a unique value; nothing is changed then.
  ///   `.invalid` if the record breaks rules of its schema (see ``Validate``). `.encodingFailed`,
  ///   `.idTooLong`, `.recordTooLarge`, `.unknownCollection`; on a store also the errors of its
  ///   `write`.
  /// - Complexity: O(log n) for the record and each index entry that changes.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @inlinable  // As above.
  public func save<R: Record>(_ record: inout R) throws {
    try _saving(&record) { try $0.store(&$1, .save) }
  }

  /// Saves the record if the stored one with its id still equals `original`.
  ///
  /// ```swift
  /// let original = page
  /// page.text = edited
  /// try tx.save(&page, ifUnchanged: original)
  /// ```
  ///
  /// Records are equal if their stored bytes would be equal; the times of a ``Timestamped`` record
  /// do not count. A type with ``Versioned`` does not need this form.
  ///
  /// - Throws: `.conflict` where something else is stored, or nothing; also where the stored record
  ///   cannot be decoded as the type, with that error as its cause; `.idChanged` when the two
  ///   records have different ids; as ``save(_:)``. Nothing is changed then.
  /// - Complexity: as ``save(_:)``, and one search in the tree of the collection; where the bytes
  ///   differ from those of `original`, also the decoding of the stored record.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func save<R: Record>(_ record: inout R, ifUnchanged original: R) throws {
    try _saving(&record) { try $0.store(&$1, ifUnchanged: original) }
  }

  /// Inserts the record.
  ///
  /// - Throws: `.idExists` if a record has its id, and the errors of ``save(_:)``.
  /// - Complexity: that of ``save(_:)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @inlinable  // As above.
  public func insert<R: Record>(_ record: inout R) throws {
    try _saving(&record) { try $0.store(&$1, .insert) }
  }

  /// Replaces the stored record with the id of this one.
  ///
  /// - Throws: `.recordNotFound` if there is none, and the errors of ``save(_:)``.
  /// - Complexity: that of ``save(_:)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @inlinable  // As above.
  public func update<R: Record>(_ record: R) throws {
    try _writing { tx in
      var record = record
      try tx.store(&record, .update)
    }
  }

  /// Replaces the stored record with the id of this one, and gives the record the changes of hooks
  /// and ``Timestamped``.
  ///
  /// - Throws: the errors of `update(_:)` of a constant.
  /// - Complexity: that of ``save(_:)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @inlinable  // As above.
  public func update<R: Record>(_ record: inout R) throws {
    try _saving(&record) { try $0.store(&$1, .update) }
  }

  /// Deletes the record with the id of this one, by the rules of its associations. See
  /// ``delete(_:_:)``.
  ///
  /// - Returns: whether there was such a record.
  /// - Throws: the errors of ``delete(_:_:)``.
  /// - Complexity: that of ``delete(_:_:)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @discardableResult
  public func delete<R: Record>(_ record: R) throws -> Bool {
    try _writing { try $0.deleteRecord(R.self, record.id) }
  }

  /// Deletes the record with this id, and applies the delete rules of its associations.
  ///
  /// The rules may delete other records, or remove their references to it, to any depth. All of it
  /// happens, or nothing: an error leaves the transaction as it was before the call.
  ///
  /// - Returns: whether there was such a record; it is not an error if there was none.
  /// - Throws: `.deleteDenied` if a rule refuses because of a record that would stay;
  ///   `.unknownCollection` if the store was not opened for the type, or for one that a rule
  ///   concerns; the errors of ``save(_:)`` for a record that loses a reference; the errors of
  ///   hooks; on a store also the errors of its `write`.
  /// - Complexity: O(log n) for the record, each of its index entries, and each associated record
  ///   that a rule concerns.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @discardableResult
  @inlinable  // As above.
  public func delete<R: Record>(_ type: R.Type, _ id: R.ID) throws -> Bool {
    try _writing { try $0.deleteRecord(type, id) }
  }

  /// Deletes all records of the type at once, without their hooks; `delete(Person.all)` runs them.
  ///
  /// Ids are not used again. If no delete rule applies, because the type only refers to others, or
  /// only is in lists of ``ManyToMany`` without rules, no record is read. Otherwise the rules apply
  /// as if a query of all records were deleted.
  ///
  /// - Returns: the number of deleted records.
  /// - Throws: `.unknownCollection` if the store was not opened for the type; if rules apply, the
  ///   errors of ``delete(_:_:)``; on a store also the errors of its `write`.
  /// - Complexity: O(pages), far less than deleting each record; if rules apply, that of deleting a
  ///   query of all records.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @discardableResult
  public func erase<R: Record>(_ type: R.Type) throws -> Int {
    try _writing { try $0.eraseRecords(type) }
  }
}
