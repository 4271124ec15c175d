// The same verbs for tasks, which must not block their thread while the disk is flushed. In an
// asynchronous function Swift chooses these, and requires `await`; in a synchronous one, and in the
// closure of a transaction, it chooses the synchronous ones. Without a store each uses that of the
// task, or else `Store.default`.

extension Record {
  /// Inserts the record, or updates the one that has its id, without blocking the task's thread.
  ///
  /// ```swift
  /// func register(_ name: String) async throws -> Person {
  ///   var person = Person(name: name)
  ///   try await person.save()
  ///   return person
  /// }
  /// ```
  ///
  /// It is a transaction of its own and resumes when the data is on disk. Swift does not allow
  /// changing a property of an actor across a suspension: save a copy, or use `saved()`.
  ///
  /// - Throws: `CancellationError` if the task was cancelled before its turn, and nothing is
  ///   written then, and the errors of the synchronous form. The record is as it was, its id too.
  /// - Complexity: that of the synchronous form, and a change of threads.
  public nonisolated(nonsending) mutating func save(in store: Store? = nil) async throws {
    self = try await saved(in: store)
  }

  /// Saves the record if the stored one with its id still equals `original`, without blocking the
  /// task's thread.
  ///
  /// - Throws: `CancellationError` like `save()`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form, and a change of threads.
  public nonisolated(nonsending) mutating func save(
    ifUnchanged original: Self, in store: Store? = nil
  ) async throws {
    let before = self
    self = try await AmbientStore.chosen(store).writeSuspending { tx in
      var record = before
      try tx.store(&record, ifUnchanged: original)
      return record
    }
  }

  /// Inserts the record, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` like `save()`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form, and a change of threads.
  public nonisolated(nonsending) mutating func insert(in store: Store? = nil) async throws {
    self = try await inserted(in: store)
  }

  /// Replaces the stored record that has the id of this one, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` like `save()`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form, and a change of threads.
  public nonisolated(nonsending) mutating func update(in store: Store? = nil) async throws {
    let before = self
    self = try await AmbientStore.chosen(store).writeSuspending { tx in
      var record = before
      try tx.update(&record)
      return record
    }
  }

  /// Deletes the record with the id of this one, by the rules of its associations, without blocking
  /// the task's thread.
  ///
  /// - Returns: whether there was such a record.
  /// - Throws: `CancellationError` like `save()`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form, and a change of threads.
  @discardableResult
  public nonisolated(nonsending) func delete(in store: Store? = nil) async throws -> Bool {
    try await Self.delete(id, in: store)
  }

  /// Saves the record and returns it as it is stored.
  ///
  /// - Throws: the errors of `save()`.
  /// - Complexity: that of `save()`.
  public nonisolated(nonsending) func saved(in store: Store? = nil) async throws -> Self {
    try await AmbientStore.chosen(store).writeSuspending { tx in
      var record = self
      try tx.save(&record)
      return record
    }
  }

  /// Inserts the record and returns it as it is stored.
  ///
  /// - Throws: the errors of `insert()`.
  /// - Complexity: that of `save()`.
  public nonisolated(nonsending) func inserted(in store: Store? = nil) async throws -> Self {
    try await AmbientStore.chosen(store).writeSuspending { tx in
      var record = self
      try tx.insert(&record)
      return record
    }
  }
}

extension Record {
  /// The record whose field has this value, or a new one that is inserted, without blocking the
  /// task's thread.
  ///
  /// - Throws: `CancellationError` like `save()`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form, and a change of threads.
  public nonisolated(nonsending) static func findOrCreate<Value: IndexKey & Sendable>(
    by keyPath: any KeyPath<Self, Value> & Sendable, equals value: Value,
    in store: Store? = nil, create: @escaping @Sendable () throws -> Self
  ) async throws -> Self {
    try await AmbientStore.chosen(store).writeSuspending { tx in
      try tx.findOrCreate(Self.self, by: keyPath, equals: value, create: create)
    }
  }

  /// Deletes the record with this id, by the rules of its associations, without blocking the task's
  /// thread.
  ///
  /// - Returns: whether there was such a record.
  /// - Throws: `CancellationError` like `save()`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form, and a change of threads.
  @discardableResult
  public nonisolated(nonsending) static func delete(
    _ id: ID, in store: Store? = nil
  ) async throws -> Bool {
    try await AmbientStore.chosen(store).writeSuspending { tx in try tx.delete(Self.self, id) }
  }

  /// Deletes all records of the type at once, without their hooks and without blocking the task's
  /// thread.
  ///
  /// - Returns: the number of deleted records.
  /// - Throws: `CancellationError` like `save()`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form, and a change of threads.
  @discardableResult
  public nonisolated(nonsending) static func erase(in store: Store? = nil) async throws -> Int {
    try await AmbientStore.chosen(store).writeSuspending { tx in try tx.erase(Self.self) }
  }
}

extension Query {
  /// Deletes the records, without blocking the task's thread.
  ///
  /// - Returns: the number of deleted records.
  /// - Throws: `CancellationError` if the task was cancelled before its turn, and the errors of
  ///   ``delete(in:)``.
  /// - Complexity: that of ``delete(in:)``, and a change of threads.
  @discardableResult
  public nonisolated(nonsending) func delete(in store: Store? = nil) async throws -> Int {
    try await AmbientStore.chosen(store).writeSuspending { tx in try tx.delete(self) }
  }

  /// Changes each of the records, without blocking the task's thread.
  ///
  /// - Returns: the number of records that the closure received.
  /// - Throws: `CancellationError` if the task was cancelled before its turn, and the errors of
  ///   ``update(in:_:)``.
  /// - Complexity: that of ``update(in:_:)``, and a change of threads.
  @discardableResult
  public nonisolated(nonsending) func update(
    in store: Store? = nil, _ change: @escaping @Sendable (inout R) throws -> Void
  ) async throws -> Int {
    try await AmbientStore.chosen(store).writeSuspending { tx in try tx.update(self, change) }
  }
}
