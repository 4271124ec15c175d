// The methods that only related records have. Those of every request are in `Request`.

extension Related {
  /// The ids of the related records, ascending.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: one search and the ids.
  public func ids(in reader: some RecordReading = AmbientStore()) throws -> [Target.ID] {
    try reader.ids(self)
  }

  /// Whether the record with this id is one of the related ones.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: one search.
  public func contains(_ id: Target.ID, in reader: some RecordReading = AmbientStore()) throws
    -> Bool
  {
    try reader.contains(id, in: self)
  }

  /// Whether a record is one of the related ones.
  ///
  /// - Throws: the errors of ``Request/fetch(in:)``.
  /// - Complexity: one search.
  public func contains(_ record: Target, in reader: some RecordReading = AmbientStore()) throws
    -> Bool
  {
    try reader.contains(record.id, in: self)
  }

  /// Calls the closure with each id of the related records. See ``RecordReading/forEachID(of:_:)``.
  ///
  /// - Throws: what `body` throws, and the errors of ``Request/fetch(in:)``.
  /// - Complexity: one search and the ids, in constant memory.
  public func forEachID(
    in reader: some RecordReading = AmbientStore(), _ body: (Target.ID) throws -> Void
  ) throws {
    try reader.forEachID(of: self, body)
  }

  /// Relates the record with this id to the owner. See ``RecordWriting/add(_:to:)-(Target.ID,_)``.
  ///
  /// - Throws: the errors of ``RecordWriting/add(_:to:)-(Target.ID,_)``.
  /// - Complexity: that of ``RecordWriting/add(_:to:)-(Target.ID,_)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func add(_ id: Target.ID, in writer: some RecordWriting = AmbientStore()) throws {
    try writer.add(id, to: self)
  }

  /// Relates a saved record to the owner by its id.
  ///
  /// - Throws: the errors of ``RecordWriting/add(_:to:)-(Target.ID,_)``.
  /// - Complexity: that of ``RecordWriting/add(_:to:)-(Target.ID,_)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func add(_ record: Target, in writer: some RecordWriting = AmbientStore()) throws {
    try writer.add(record.id, to: self)
  }

  /// Saves a record, which may be new, and relates it to the owner.
  ///
  /// - Throws: the errors of `RecordWriting.add(_:to:)`.
  /// - Complexity: that of `RecordWriting.add(_:to:)`.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func add(_ record: inout Target, in writer: some RecordWriting = AmbientStore()) throws {
    try writer.add(&record, to: self)
  }

  /// Relates the records with these ids to the owner. See ``RecordWriting/add(contentsOf:to:)``.
  ///
  /// - Throws: the errors of ``RecordWriting/add(contentsOf:to:)``.
  /// - Complexity: that of ``RecordWriting/add(contentsOf:to:)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func add<IDs: Sequence>(
    contentsOf ids: IDs, in writer: some RecordWriting = AmbientStore()
  ) throws
  where IDs.Element == Target.ID {
    try writer.add(contentsOf: ids, to: self)
  }

  /// Removes the record with this id from the related ones.
  ///
  /// - Throws: the errors of ``RecordWriting/remove(_:from:)-(Target.ID,_)``.
  /// - Complexity: that of ``RecordWriting/remove(_:from:)-(Target.ID,_)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func remove(_ id: Target.ID, in writer: some RecordWriting = AmbientStore()) throws {
    try writer.remove(id, from: self)
  }

  /// Removes a record from the related ones; it is not deleted.
  ///
  /// - Throws: the errors of ``RecordWriting/remove(_:from:)-(Target.ID,_)``.
  /// - Complexity: that of ``RecordWriting/remove(_:from:)-(Target.ID,_)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func remove(_ record: Target, in writer: some RecordWriting = AmbientStore()) throws {
    try writer.remove(record.id, from: self)
  }

  /// Removes all related records. The records are not deleted, but join records are.
  ///
  /// - Throws: the errors of ``RecordWriting/removeAll(from:)``.
  /// - Complexity: that of ``RecordWriting/removeAll(from:)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func removeAll(in writer: some RecordWriting = AmbientStore()) throws {
    try writer.removeAll(from: self)
  }

  /// Makes exactly the records with these ids the related ones.
  ///
  /// - Throws: the errors of ``RecordWriting/replace(_:with:)``.
  /// - Complexity: that of ``RecordWriting/replace(_:with:)``.
  @available(
    *, noasync,
    message: "it would block a thread that all tasks share: use `try await store.write { tx in … }`"
  )
  public func replace<IDs: Sequence>(with ids: IDs, in writer: some RecordWriting = AmbientStore())
    throws
  where IDs.Element == Target.ID {
    try writer.replace(self, with: ids)
  }
}
