// The same where a task must not block its thread while the disk is flushed. In an asynchronous
// function Swift picks these, and asks for `await`; in a synchronous one, and in the closure of a
// transaction, it picks the synchronous ones. Without a store each takes that of the task, else
// `Store.default`.

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
  /// It is a transaction of its own and resumes when the data is on disk. A property of an actor
  /// cannot be changed across a suspension: save a copy, or use `saved()`.
  ///
  /// - Throws: `CancellationError` when the task was cancelled before its turn came, and nothing is
  ///   written then; as the synchronous form. The record is as it was, its id too.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) mutating func save(in store: Store? = nil) async throws {
    self = try await saved(in: store)
  }

  /// Saves the record where what is stored under its id still equals `original`, without blocking
  /// the task's thread.
  ///
  /// - Throws: `CancellationError` as `save()`, and as the synchronous form.
  /// - Complexity: as the synchronous form, beside a change of threads.
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
  /// - Throws: `CancellationError` as `save()`, and as the synchronous form.
  /// - Complexity: as the synchronous form, beside a change of threads.
  public nonisolated(nonsending) mutating func insert(in store: Store? = nil) async throws {
    self = try await inserted(in: store)
  }

  /// Replaces the stored record that has the id of this one, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` as `save()`, and as the synchronous form.
  /// - Complexity: as the synchronous form, beside a change of threads.
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
  /// - Returns: whether there was one.
  /// - Throws: `CancellationError` as `save()`, and as the synchronous form.
  /// - Complexity: as the synchronous form, beside a change of threads.
  @discardableResult
  public nonisolated(nonsending) func delete(in store: Store? = nil) async throws -> Bool {
    try await Self.delete(id, in: store)
  }

  /// The record as it is stored after a `save()`.
  ///
  /// - Throws: as `save()`.
  /// - Complexity: as `save()`.
  public nonisolated(nonsending) func saved(in store: Store? = nil) async throws -> Self {
    try await AmbientStore.chosen(store).writeSuspending { tx in
      var record = self
      try tx.save(&record)
      return record
    }
  }

  /// The record as it is stored after an `insert()`.
  ///
  /// - Throws: as `insert()`.
  /// - Complexity: as `save()`.
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
  /// - Throws: `CancellationError` as `save()`, and as the synchronous form.
  /// - Complexity: as the synchronous form, beside a change of threads.
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
  /// - Returns: whether there was one.
  /// - Throws: `CancellationError` as `save()`, and as the synchronous form.
  /// - Complexity: as the synchronous form, beside a change of threads.
  @discardableResult
  public nonisolated(nonsending) static func delete(
    _ id: ID, in store: Store? = nil
  ) async throws -> Bool {
    try await AmbientStore.chosen(store).writeSuspending { tx in try tx.delete(Self.self, id) }
  }

  /// Deletes all records of the type at once, without their hooks and without blocking the task's
  /// thread.
  ///
  /// - Returns: how many there were.
  /// - Throws: `CancellationError` as `save()`, and as the synchronous form.
  /// - Complexity: as the synchronous form, beside a change of threads.
  @discardableResult
  public nonisolated(nonsending) static func erase(in store: Store? = nil) async throws -> Int {
    try await AmbientStore.chosen(store).writeSuspending { tx in try tx.erase(Self.self) }
  }
}

extension Query {
  /// Deletes the records, without blocking the task's thread.
  ///
  /// - Returns: how many there were.
  /// - Throws: `CancellationError` when the task was cancelled before its turn came, and as
  ///   ``delete(in:)``.
  /// - Complexity: as ``delete(in:)``, beside a change of threads.
  @discardableResult
  public nonisolated(nonsending) func delete(in store: Store? = nil) async throws -> Int {
    try await AmbientStore.chosen(store).writeSuspending { tx in try tx.delete(self) }
  }

  /// Changes each of the records, without blocking the task's thread.
  ///
  /// - Returns: how many records were given to the closure.
  /// - Throws: `CancellationError` when the task was cancelled before its turn came, and as
  ///   ``update(in:_:)``.
  /// - Complexity: as ``update(in:_:)``, beside a change of threads.
  @discardableResult
  public nonisolated(nonsending) func update(
    in store: Store? = nil, _ change: @escaping @Sendable (inout R) throws -> Void
  ) async throws -> Int {
    try await AmbientStore.chosen(store).writeSuspending { tx in try tx.update(self, change) }
  }
}
