// What a record does by itself: the verbs of writers and readers for those who begin with the record.
// Each takes a store or a transaction, or finds it by itself: see `AmbientStore`.

extension Record {
  /// Inserts the record, or updates the one that has its id. See ``RecordWriting/save(_:)``.
  ///
  /// ```swift
  /// var ada = Person(name: "Ada")
  /// try ada.save(in: store)    // `ada.id` is assigned
  /// try ada.save()             // in the running transaction, or the default store
  /// ```
  ///
  /// Like everything that names no store, the second joins the running transaction
  /// (`Store.transaction(_:)`), and is one of its own outside of any, with its own flush of the
  /// disk. A constant is saved by `saved()`.
  ///
  /// In an asynchronous function the asynchronous form is meant, `try await ada.save()`.
  ///
  /// - Throws: `.noDefaultStore` when no store is set, `.readOnly` inside a read; as
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

  /// Saves the record where what is stored under its id still equals `original`. See
  /// ``RecordWriting/save(_:ifUnchanged:)``.
  ///
  /// - Throws: `.conflict` where something else is stored, or nothing; else as `save()`.
  /// - Complexity: as ``RecordWriting/save(_:ifUnchanged:)``.
  public mutating func save(
    ifUnchanged original: Self, in writer: some RecordWriting = AmbientStore()
  ) throws {
    try writer.save(&self, ifUnchanged: original)
  }

  /// Inserts the record. See ``RecordWriting/insert(_:)``.
  ///
  /// - Throws: `.idExists` when a record has its id; else as `save()`.
  /// - Complexity: as `save()`.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @inlinable  // As the verbs of writers, see `RecordWriting+Records`.
  public mutating func insert(in writer: some RecordWriting = AmbientStore()) throws {
    try writer.insert(&self)
  }

  /// Replaces the stored record that has the id of this one, and brings this one up to date with
  /// what hooks and ``Timestamped`` made of it. See `RecordWriting.update(_:)`.
  ///
  /// - Throws: `.recordNotFound` when there is none, `.idUnassigned` for a record that was never
  ///   saved; else as `save()`.
  /// - Complexity: as `save()`.
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
  /// The value in your hand stays as it is; saving it inserts it again, under its id.
  ///
  /// - Returns: whether there was one.
  /// - Throws: `.noDefaultStore`, `.readOnly` inside a read; as ``RecordWriting/delete(_:_:)``.
  /// - Complexity: as ``RecordWriting/delete(_:_:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func delete(in writer: some RecordWriting = AmbientStore()) throws -> Bool {
    try writer.delete(Self.self, id)
  }

  /// Replaces the record in your hand by the one that is stored under its id: what was changed
  /// and not saved is lost.
  ///
  /// - Throws: `.recordNotFound` when there is none, `.idUnassigned` for a record that was never
  ///   saved; the record is as it was then. Else as ``RecordReading/find(_:_:)->R?``.
  /// - Complexity: one search in the tree of the collection, O(log n).
  public mutating func reload(in reader: some RecordReading = AmbientStore()) throws {
    self = try reloaded(in: reader)
  }

  /// What ``DeletionPlan`` tells that deleting the record would do. Only reads.
  ///
  /// - Throws: `.noDefaultStore`; as ``RecordReading/deletionPlan(for:)-(R)``.
  /// - Complexity: as ``RecordReading/deletionPlan(for:)-(R)``.
  public func deletionPlan(in reader: some RecordReading = AmbientStore()) throws -> DeletionPlan {
    try reader.deletionPlan(for: Self.self, id)
  }
}

// MARK: - Constants

extension Record {
  /// The record as it is stored after a `save()`: with its id, and what hooks and
  /// ``Timestamped`` made of it.
  ///
  /// ```swift
  /// let ada = try Person(name: "Ada").saved()
  /// ```
  ///
  /// - Throws: as `save()`.
  /// - Complexity: as `save()`.
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

  /// The record as it is stored after an `insert()`.
  ///
  /// - Throws: as `insert()`.
  /// - Complexity: as `save()`.
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
  /// - Throws: as ``reload(in:)``.
  /// - Complexity: as ``reload(in:)``.
  public func reloaded(in reader: some RecordReading = AmbientStore()) throws -> Self {
    if id.isUnassigned {
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
