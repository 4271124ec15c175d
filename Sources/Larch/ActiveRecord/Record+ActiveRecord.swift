// The verbs of writers and readers as methods of a record. Each takes a store or a transaction, or
// finds it by itself: see `AmbientStore`.

extension Record {
  /// Inserts the record, or updates the one that has its id. See ``RecordWriting/save(_:)``.
  ///
  /// ```swift
  /// var ada = Person(name: "Ada")
  /// try ada.save(in: store)    // `ada.id` is assigned
  /// try ada.save()             // in the running transaction, or the default store
  /// ```
  ///
  /// Without a store, as in the second call, it joins the running transaction
  /// (`Store.transaction(_:)`). Outside a transaction it is one of its own, with its own flush of
  /// the disk. Use `saved()` for a constant.
  ///
  /// In an asynchronous function use the asynchronous form, `try await ada.save()`.
  ///
  /// - Throws: `.noDefaultStore` if no store is set, `.readOnly` inside a read; and the errors of
  ///   ``RecordWriting/save(_:)``. The record is as it was then, its id too.
  /// - Complexity: O(log n) for the record and each index entry that changes.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @inlinable  // As the verbs of writers, see `RecordWriting+Records`.
  public mutating func save(in writer: some RecordWriting = AmbientStore()) throws {
    try writer.save(&self)
  }

  /// Saves the record if the stored one with its id still equals `original`. See
  /// ``RecordWriting/save(_:ifUnchanged:)``.
  ///
  /// - Throws: `.conflict` where something else is stored, or nothing; and the errors of `save()`.
  /// - Complexity: that of ``RecordWriting/save(_:ifUnchanged:)``.
  public mutating func save(
    ifUnchanged original: Self, in writer: some RecordWriting = AmbientStore()
  ) throws {
    try writer.save(&self, ifUnchanged: original)
  }

  /// Inserts the record. See ``RecordWriting/insert(_:)``.
  ///
  /// - Throws: `.idExists` when a record has its id; and the errors of `save()`.
  /// - Complexity: that of `save()`.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @inlinable  // As the verbs of writers, see `RecordWriting+Records`.
  public mutating func insert(in writer: some RecordWriting = AmbientStore()) throws {
    try writer.insert(&self)
  }

  /// Replaces the stored record that has the id of this one, and gives this one the changes of
  /// hooks and ``Timestamped``. See `RecordWriting.update(_:)`.
  ///
  /// - Throws: `.recordNotFound` when there is none, `.idUnassigned` for a record that was never
  ///   saved; and the errors of `save()`.
  /// - Complexity: that of `save()`.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @inlinable  // As the verbs of writers, see `RecordWriting+Records`.
  public mutating func update(in writer: some RecordWriting = AmbientStore()) throws {
    try writer.update(&self)
  }

  /// Deletes the record with the id of this one, by the rules of its associations. See
  /// ``RecordWriting/delete(_:_:)``.
  ///
  /// Your copy does not change; saving it inserts it again, under its id.
  ///
  /// - Returns: whether there was such a record.
  /// - Throws: `.noDefaultStore`, `.readOnly` inside a read; and the errors of
  ///   ``RecordWriting/delete(_:_:)``.
  /// - Complexity: that of ``RecordWriting/delete(_:_:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func delete(in writer: some RecordWriting = AmbientStore()) throws -> Bool {
    try writer.delete(Self.self, id)
  }

  /// Replaces your copy by the record that is stored under its id: unsaved changes are lost.
  ///
  /// - Throws: `.recordNotFound` when there is none, `.idUnassigned` for a record that was never
  ///   saved; the record is as it was then. Else as ``RecordReading/find(_:_:)->R?``.
  /// - Complexity: one search in the tree of the collection, O(log n).
  public mutating func reload(in reader: some RecordReading = AmbientStore()) throws {
    self = try reloaded(in: reader)
  }

  /// The effects of deleting the record, as a ``DeletionPlan``. Only reads.
  ///
  /// - Throws: `.noDefaultStore`; and the errors of ``RecordReading/deletionPlan(for:)-(R)``.
  /// - Complexity: that of ``RecordReading/deletionPlan(for:)-(R)``.
  public func deletionPlan(in reader: some RecordReading = AmbientStore()) throws -> DeletionPlan {
    try reader.deletionPlan(for: Self.self, id)
  }
}

// MARK: - Constants

extension Record {
  /// Saves the record and returns it as it is stored: with its id, and the changes of hooks and
  /// ``Timestamped``.
  ///
  /// ```swift
  /// let ada = try Person(name: "Ada").saved()
  /// ```
  ///
  /// - Throws: the errors of `save()`.
  /// - Complexity: that of `save()`.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func saved(in writer: some RecordWriting = AmbientStore()) throws -> Self {
    var record = self
    try record.save(in: writer)
    return record
  }

  /// Inserts the record and returns it as it is stored.
  ///
  /// - Throws: the errors of `insert()`.
  /// - Complexity: that of `save()`.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func inserted(in writer: some RecordWriting = AmbientStore()) throws -> Self {
    var record = self
    try record.insert(in: writer)
    return record
  }

  /// The record that is stored under the id of this one.
  ///
  /// - Throws: the errors of ``reload(in:)``.
  /// - Complexity: that of ``reload(in:)``.
  public func reloaded(in reader: some RecordReading = AmbientStore()) throws -> Self {
    if id._isUnassigned {
      throw LarchError(
        .idUnassigned, "The record was never saved, so there is nothing to reload; save it first."
      ) { $0.collection = Self.collectionName }
    }
    guard let stored = try reader.find(Self.self, id) else {
      throw LarchError(
        .recordNotFound, "No record has this id any more; use `save` to insert it again."
      ) {
        $0.collection = Self.collectionName
        $0.id = "\(id)"
      }
    }
    return stored
  }
}
