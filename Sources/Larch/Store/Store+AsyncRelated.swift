// What can be changed of associations, for callers that must not wait on their thread: each is the
// synchronous form in a write of its own. In an asynchronous function Swift picks these.

extension Store {
  /// Relates the record with this id to the owner, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/add(_:to:)-(Target.ID,_)``.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func add<Owner: Record, Target: Record>(
    _ id: Target.ID, to related: Related<Owner, Target>
  ) async throws {
    try await write { tx in try tx.add(id, to: related) }
  }

  /// Relates a saved record to the owner, as its id does, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/add(_:to:)-(Target.ID,_)``.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func add<Owner: Record, Target: Record>(
    _ record: Target, to related: Related<Owner, Target>
  ) async throws {
    try await add(record.id, to: related)
  }

  /// Relates the records with these ids to the owner, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/add(contentsOf:to:)``.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func add<Owner: Record, Target: Record, IDs: Sequence>(
    contentsOf ids: IDs, to related: Related<Owner, Target>
  ) async throws where IDs.Element == Target.ID {
    let ids = Array(ids)
    try await write { tx in try tx.add(contentsOf: ids, to: related) }
  }

  /// Saves a record, which may be new, and relates it to the owner, without blocking the task's
  /// thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as the synchronous form.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func add<Owner: Record, Target: Record>(
    _ record: inout Target, to related: Related<Owner, Target>
  ) async throws {
    let before = record
    record = try await write { tx in
      var record = before
      try tx.add(&record, to: related)
      return record
    }
  }

  /// Takes the record with this id away from the related ones, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/remove(_:from:)-(Target.ID,_)``.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func remove<Owner: Record, Target: Record>(
    _ id: Target.ID, from related: Related<Owner, Target>
  ) async throws {
    try await write { tx in try tx.remove(id, from: related) }
  }

  /// Takes a record away from the related ones, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/remove(_:from:)-(Target.ID,_)``.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func remove<Owner: Record, Target: Record>(
    _ record: Target, from related: Related<Owner, Target>
  ) async throws {
    try await remove(record.id, from: related)
  }

  /// Takes all related records away, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/removeAll(from:)``.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func removeAll<Owner: Record, Target: Record>(
    from related: Related<Owner, Target>
  ) async throws {
    try await write { tx in try tx.removeAll(from: related) }
  }

  /// Makes the records with these ids, and no others, the related ones, without blocking the task's
  /// thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as ``RecordWriting/replace(_:with:)``.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func replace<Owner: Record, Target: Record, IDs: Sequence>(
    _ related: Related<Owner, Target>, with ids: IDs
  ) async throws where IDs.Element == Target.ID {
    let ids = Array(ids)
    try await write { tx in try tx.replace(related, with: ids) }
  }
}

extension Store {
  /// Relates the record with this id to the owner, and changes the owner in your hand too, without
  /// blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as the synchronous form.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func add<A: Association>(
    _ id: A.Target.ID, to owner: inout A.Owner, _ association: A
  ) async throws {
    let before = owner
    owner = try await write { tx in
      var owner = before
      try tx.add(id, to: &owner, association)
      return owner
    }
  }

  /// Relates a saved record to the owner, and changes the owner in your hand too, without blocking
  /// the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as the synchronous form.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func add<A: Association>(
    _ record: A.Target, to owner: inout A.Owner, _ association: A
  ) async throws {
    try await add(record.id, to: &owner, association)
  }

  /// Takes the record with this id away from the related ones, and changes the owner in your hand
  /// too, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as the synchronous form.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func remove<A: Association>(
    _ id: A.Target.ID, from owner: inout A.Owner, _ association: A
  ) async throws {
    let before = owner
    owner = try await write { tx in
      var owner = before
      try tx.remove(id, from: &owner, association)
      return owner
    }
  }

  /// Takes a record away from the related ones, and changes the owner in your hand too, without
  /// blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as the synchronous form.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func remove<A: Association>(
    _ record: A.Target, from owner: inout A.Owner, _ association: A
  ) async throws {
    try await remove(record.id, from: &owner, association)
  }

  /// Makes the records with these ids, and no others, the related ones, and changes the owner in
  /// your hand too, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as ``save(_:)``; as the synchronous form.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) func replace<A: Association, IDs: Sequence>(
    _ association: A, of owner: inout A.Owner, with ids: IDs
  ) async throws where IDs.Element == A.Target.ID {
    let ids = Array(ids)
    let before = owner
    owner = try await write { tx in
      var owner = before
      try tx.replace(association, of: &owner, with: ids)
      return owner
    }
  }
}
