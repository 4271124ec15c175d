// The verbs for single records. They are inlined down to the transaction's own method: a closure that
// returns a record would copy it once more.

extension RecordReading {
  /// The record with this id, or nil if there is none.
  ///
  /// ```swift
  /// let ada = try store.find(Person.self, id)
  /// ```
  ///
  /// - Throws: `.checksumMismatch` or `.decodingFailed` when the stored record cannot be read as
  ///   the type, `.unknownCollection` when the store was not opened for it.
  /// - Complexity: one search in the tree of the collection, O(log n).
  @inlinable  // As above.
  public func find<R: Record>(_ type: R.Type = R.self, _ id: R.ID) throws -> R? {
    try _reading { try $0.findRecord(type, id) }
  }

  /// Whether there is a record with this id. Reads no record.
  ///
  /// - Throws: `.unknownCollection` when the store was not opened for the type.
  /// - Complexity: one search in the tree of the collection, O(log n).
  @inlinable  // As above.
  public func exists<R: Record>(_ type: R.Type = R.self, _ id: R.ID) throws -> Bool {
    try _reading { try $0.hasRecord(type, id) }
  }
}

extension RecordWriting {
  /// Inserts the record, or updates the one that has its id.
  ///
  /// An unassigned `RecordID` is assigned. When nothing differs from what is stored, nothing is
  /// written.
  ///
  /// On a store each call is a transaction of its own, with its own flush of the disk: put what
  /// belongs together, and what is much, into one `Store.write(_:)`. An asynchronous function does so
  /// too, or calls `try await record.save(in: store)`.
  ///
  /// - Throws: `.uniqueConflict` when another record holds a unique value; nothing is changed
  ///   then. `.invalid` when the record breaks rules of its schema (see ``Validate``).
  ///   `.encodingFailed`, `.idTooLong`, `.recordTooLarge`, `.unknownCollection`; on a store as its
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

  /// Saves the record where what is stored under its id still equals `original`.
  ///
  /// ```swift
  /// let original = page
  /// page.text = edited
  /// try tx.save(&page, ifUnchanged: original)
  /// ```
  ///
  /// Records are equal when the same bytes would be stored of them; the times of a ``Timestamped``
  /// record do not count. A type with ``Versioned`` needs this form nowhere.
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
  /// - Throws: `.idExists` when a record has its id, and what ``save(_:)`` throws.
  /// - Complexity: as ``save(_:)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @inlinable  // As above.
  public func insert<R: Record>(_ record: inout R) throws {
    try _saving(&record) { try $0.store(&$1, .insert) }
  }

  /// Replaces the stored record that has the id of this one.
  ///
  /// - Throws: `.recordNotFound` when there is none, and what ``save(_:)`` throws.
  /// - Complexity: as ``save(_:)``.
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

  /// Replaces the stored record that has the id of this one, and brings the record up to date
  /// with what hooks and ``Timestamped`` made of it.
  ///
  /// - Throws: as `update(_:)` of a constant.
  /// - Complexity: as ``save(_:)``.
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
  /// - Returns: whether there was one.
  /// - Throws: as ``delete(_:_:)``.
  /// - Complexity: as ``delete(_:_:)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  @discardableResult
  public func delete<R: Record>(_ record: R) throws -> Bool {
    try _writing { try $0.deleteRecord(R.self, record.id) }
  }

  /// Deletes the record with this id, and does what the rules of its associations ask for.
  ///
  /// Other records are deleted, or saved without their references to it, through any depth. All
  /// of it happens, or nothing: an error leaves the transaction as it was before the call.
  ///
  /// - Returns: whether there was one; deleting what is not there is no error.
  /// - Throws: `.deleteDenied` when a rule refuses because of a record that would stay;
  ///   `.unknownCollection` when the store was not opened for the type, or for one that a rule
  ///   acts on; what ``save(_:)`` throws for a record that loses a reference; what hooks throw; on a
  ///   store as its `write`.
  /// - Complexity: O(log n) for the record, each of its index entries, and each associated record
  ///   that a rule acts on.
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
  /// Ids are not given again. Where no rule of an association has to act, which is so when the
  /// type only refers to others, or only is in lists of ``ManyToMany`` without rules, no record is
  /// looked at. Else the rules are obeyed as if a query of all records were deleted.
  ///
  /// - Returns: how many there were.
  /// - Throws: `.unknownCollection` when the store was not opened for the type; where rules act,
  ///   what ``delete(_:_:)`` throws; on a store as its `write`.
  /// - Complexity: O(pages), far less than deleting each record; where rules act, as deleting a
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
