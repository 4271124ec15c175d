// The changes of single records and of queries where a task must not block its thread while the
// disk is flushed. In an asynchronous function Swift picks these, and asks for `await`.

extension Store {
  /// Inserts the record, or updates the one that has its id, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` when the task was cancelled before its turn came, and nothing is
  ///   written then; as ``RecordWriting/save(_:)``.
  /// - Complexity: as ``RecordWriting/save(_:)``, beside a change of threads.
  public nonisolated(nonsending) func save<R: Record>(_ record: inout R) async throws {
    let original = record
    record = try await writeSuspending { tx in
      var record = original
      try tx.save(&record)
      return record
    }
  }

  /// Saves the record where what is stored under its id still equals `original`, without blocking
  /// the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/save(_:ifUnchanged:)``.
  /// - Complexity: as ``RecordWriting/save(_:ifUnchanged:)``, beside a change of threads.
  public nonisolated(nonsending) func save<R: Record>(
    _ record: inout R, ifUnchanged original: R
  ) async throws {
    let before = record
    record = try await writeSuspending { tx in
      var record = before
      try tx.save(&record, ifUnchanged: original)
      return record
    }
  }

  /// Inserts the record, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/insert(_:)``.
  /// - Complexity: as ``RecordWriting/insert(_:)``, beside a change of threads.
  public nonisolated(nonsending) func insert<R: Record>(_ record: inout R) async throws {
    let original = record
    record = try await writeSuspending { tx in
      var record = original
      try tx.insert(&record)
      return record
    }
  }

  /// Replaces the stored record that has the id of this one, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as `RecordWriting.update(_:)`.
  /// - Complexity: as `RecordWriting.update(_:)`, beside a change of threads.
  public nonisolated(nonsending) func update<R: Record>(_ record: R) async throws {
    try await writeSuspending { tx in try tx.update(record) }
  }

  /// Replaces the stored record that has the id of this one, and brings the record up to date,
  /// without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as `RecordWriting.update(_:)`.
  /// - Complexity: as `RecordWriting.update(_:)`, beside a change of threads.
  public nonisolated(nonsending) func update<R: Record>(_ record: inout R) async throws {
    let original = record
    record = try await writeSuspending { tx in
      var record = original
      try tx.update(&record)
      return record
    }
  }

  /// Deletes the record with the id of this one, by the rules of its associations, without blocking
  /// the task's thread.
  ///
  /// - Returns: whether there was one.
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/delete(_:)-(R)``.
  /// - Complexity: as ``RecordWriting/delete(_:)-(R)``, beside a change of threads.
  @discardableResult
  public nonisolated(nonsending) func delete<R: Record>(_ record: R) async throws -> Bool {
    try await delete(R.self, record.id)
  }

  /// Deletes the record with this id, by the rules of its associations, without blocking the task's
  /// thread.
  ///
  /// - Returns: whether there was one.
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/delete(_:_:)``.
  /// - Complexity: as ``RecordWriting/delete(_:_:)``, beside a change of threads.
  @discardableResult
  public nonisolated(nonsending) func delete<R: Record>(_ type: R.Type, _ id: R.ID) async throws
    -> Bool
  {
    try await writeSuspending { tx in try tx.delete(type, id) }
  }

  /// Deletes the records that the query describes, without blocking the task's thread.
  ///
  /// - Returns: how many records the query described.
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/delete(_:)-(Query<R>)``.
  /// - Complexity: as ``RecordWriting/delete(_:)-(Query<R>)``, beside a change of threads.
  @discardableResult
  public nonisolated(nonsending) func delete<R: Record>(_ query: Query<R>) async throws -> Int {
    try await writeSuspending { tx in try tx.delete(query) }
  }

  /// Changes each record that the query describes, and saves it, without blocking the task's
  /// thread.
  ///
  /// - Returns: how many records were given to the closure.
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/update(_:_:)``.
  /// - Complexity: as ``RecordWriting/update(_:_:)``, beside a change of threads.
  @discardableResult
  public nonisolated(nonsending) func update<R: Record>(
    _ query: Query<R>, _ change: @escaping @Sendable (inout R) throws -> Void
  ) async throws -> Int {
    try await writeSuspending { tx in try tx.update(query, change) }
  }

  /// Deletes all records of the type, without blocking the task's thread.
  ///
  /// - Returns: how many there were.
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/erase(_:)``.
  /// - Complexity: as ``RecordWriting/erase(_:)``, beside a change of threads.
  @discardableResult
  public nonisolated(nonsending) func erase<R: Record>(_ type: R.Type) async throws -> Int {
    try await writeSuspending { tx in try tx.erase(type) }
  }

  /// The record whose field has this value, or a new one that is inserted, without blocking the
  /// task's thread.
  ///
  /// ```swift
  /// let tag = try await store.findOrCreate(by: \.name, "swift") { Tag(name: "swift") }
  /// ```
  ///
  /// - Returns: the record that was found, the first by id if there are several; else the new one
  ///   with its id.
  /// - Throws: `CancellationError` as `write`, and as the synchronous
  ///   form.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func findOrCreate<R: Record, Value: IndexKey & Sendable>(
    _ type: R.Type = R.self, by keyPath: any KeyPath<R, Value> & Sendable, _ value: Value,
    create: @escaping @Sendable () throws -> R
  ) async throws -> R {
    try await write { tx in try tx.findOrCreate(R.self, by: keyPath, value, create: create) }
  }
}
