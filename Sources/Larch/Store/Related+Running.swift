// The same as the methods of a store or a transaction, for those who begin with the related
// records.

extension RelatedOne {
  /// The one related record, or nil. See ``RecordReading/fetch(_:)-(RelatedOne<Owner,Target>)``.
  ///
  /// - Throws: as ``Related/fetch(in:)``.
  /// - Complexity: two searches.
  public func fetch(in reader: some RecordReading = AmbientStore()) throws -> Target? {
    try reader.fetch(self)
  }
}

extension Related {
  /// The related records. See ``RecordReading/fetch(_:)-(Related<Owner,Target>)``.
  ///
  /// ```swift
  /// let people = try acme.people.fetch(in: store)
  /// ```
  ///
  /// - Throws: `.unknownAssociation`, `.unsavedReference`, and as ``Query/fetch(in:)``.
  /// - Complexity: one search in the list, and one for each record.
  public func fetch(in reader: some RecordReading = AmbientStore()) throws -> [Target] {
    try reader.fetch(self)
  }

  /// The related record with the lowest id, or nil.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: two searches.
  public func first(in reader: some RecordReading = AmbientStore()) throws -> Target? {
    try reader.first(self)
  }

  /// How many related records there are. See
  /// ``RecordReading/count(_:)-(Related<Owner,Target>)``.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: one search, whatever the length of the list.
  public func count(in reader: some RecordReading = AmbientStore()) throws -> Int {
    try reader.count(self)
  }

  /// Whether there is any related record.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: one search.
  public func exists(in reader: some RecordReading = AmbientStore()) throws -> Bool {
    try reader.exists(self)
  }

  /// The ids of the related records, ascending.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: one search and the ids.
  public func ids(in reader: some RecordReading = AmbientStore()) throws -> [Target.ID] {
    try reader.ids(self)
  }

  /// Whether the record with this id is one of the related ones.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: one search.
  public func contains(_ id: Target.ID, in reader: some RecordReading = AmbientStore()) throws
    -> Bool
  {
    try reader.contains(id, in: self)
  }

  /// Whether a record is one of the related ones.
  ///
  /// - Throws: as ``fetch(in:)``.
  /// - Complexity: one search.
  public func contains(_ record: Target, in reader: some RecordReading = AmbientStore()) throws
    -> Bool
  {
    try reader.contains(record.id, in: self)
  }

  /// Calls the closure with each related record. See
  /// ``RecordReading/forEach(_:_:)-(Related<Owner,Target>,_)``.
  ///
  /// - Throws: what `body` throws, and as ``fetch(in:)``.
  /// - Complexity: one search for each record, in constant memory.
  public func forEach(
    in reader: some RecordReading = AmbientStore(), _ body: (Target) throws -> Void
  ) throws {
    try reader.forEach(self, body)
  }

  /// Calls the closure with each id of the related records. See
  /// ``RecordReading/forEachID(of:_:)``.
  ///
  /// - Throws: what `body` throws, and as ``fetch(in:)``.
  /// - Complexity: one search and the ids, in constant memory.
  public func forEachID(
    in reader: some RecordReading = AmbientStore(), _ body: (Target.ID) throws -> Void
  ) throws {
    try reader.forEachID(of: self, body)
  }

  /// Relates the record with this id to the owner. See ``RecordWriting/add(_:to:)-(Target.ID,_)``.
  ///
  /// - Throws: as ``RecordWriting/add(_:to:)-(Target.ID,_)``.
  /// - Complexity: as ``RecordWriting/add(_:to:)-(Target.ID,_)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await store.add(…, to: …)` and the like; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func add(_ id: Target.ID, in writer: some RecordWriting = AmbientStore()) throws {
    try writer.add(id, to: self)
  }

  /// Relates a saved record to the owner, as its id does.
  ///
  /// - Throws: as ``RecordWriting/add(_:to:)-(Target.ID,_)``.
  /// - Complexity: as ``RecordWriting/add(_:to:)-(Target.ID,_)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await store.add(…, to: …)` and the like; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func add(_ record: Target, in writer: some RecordWriting = AmbientStore()) throws {
    try writer.add(record.id, to: self)
  }

  /// Saves a record, which may be new, and relates it to the owner.
  ///
  /// - Throws: as `RecordWriting.add(_:to:)`.
  /// - Complexity: as `RecordWriting.add(_:to:)`.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await store.add(…, to: …)` and the like; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func add(_ record: inout Target, in writer: some RecordWriting = AmbientStore()) throws {
    try writer.add(&record, to: self)
  }

  /// Relates the records with these ids to the owner. See ``RecordWriting/add(contentsOf:to:)``.
  ///
  /// - Throws: as ``RecordWriting/add(contentsOf:to:)``.
  /// - Complexity: as ``RecordWriting/add(contentsOf:to:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await store.add(…, to: …)` and the like; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func add<IDs: Sequence>(
    contentsOf ids: IDs, in writer: some RecordWriting = AmbientStore()
  ) throws
  where IDs.Element == Target.ID {
    try writer.add(contentsOf: ids, to: self)
  }

  /// Takes the record with this id away from the related ones.
  ///
  /// - Throws: as ``RecordWriting/remove(_:from:)-(Target.ID,_)``.
  /// - Complexity: as ``RecordWriting/remove(_:from:)-(Target.ID,_)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await store.add(…, to: …)` and the like; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func remove(_ id: Target.ID, in writer: some RecordWriting = AmbientStore()) throws {
    try writer.remove(id, from: self)
  }

  /// Takes a record away from the related ones; it is not deleted.
  ///
  /// - Throws: as ``RecordWriting/remove(_:from:)-(Target.ID,_)``.
  /// - Complexity: as ``RecordWriting/remove(_:from:)-(Target.ID,_)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await store.add(…, to: …)` and the like; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func remove(_ record: Target, in writer: some RecordWriting = AmbientStore()) throws {
    try writer.remove(record.id, from: self)
  }

  /// Takes all related records away; none of them is deleted, but join records are.
  ///
  /// - Throws: as ``RecordWriting/removeAll(from:)``.
  /// - Complexity: as ``RecordWriting/removeAll(from:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await store.add(…, to: …)` and the like; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func removeAll(in writer: some RecordWriting = AmbientStore()) throws {
    try writer.removeAll(from: self)
  }

  /// Makes the records with these ids, and no others, the related ones.
  ///
  /// - Throws: as ``RecordWriting/replace(_:with:)``.
  /// - Complexity: as ``RecordWriting/replace(_:with:)``.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await store.add(…, to: …)` and the like; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func replace<IDs: Sequence>(with ids: IDs, in writer: some RecordWriting = AmbientStore())
    throws
  where IDs.Element == Target.ID {
    try writer.replace(self, with: ids)
  }
}
