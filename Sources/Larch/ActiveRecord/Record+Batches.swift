// The verbs for several records as static methods of their type, and for tasks.

extension Record {
  /// Saves records as one change. See ``RecordWriting/save(contentsOf:progress:)``.
  ///
  /// ```swift
  /// people = try Person.save(contentsOf: people).records
  /// ```
  ///
  /// - Throws: `.noDefaultStore` if no store is set, `.readOnly` inside a read; and the same errors.
  /// - Complexity: the same.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public static func save(
    contentsOf records: some Collection<Self>, in writer: some RecordWriting = AmbientStore(),
    progress: ((BatchProgress) throws -> Void)? = nil
  ) throws -> SavedBatch<Self> {
    try writer.save(contentsOf: records, progress: progress)
  }

  /// Saves records as one change, matched by a unique field. See
  /// ``RecordWriting/save(contentsOf:matching:progress:)``.
  ///
  /// - Throws: `.noDefaultStore` if no store is set, `.readOnly` inside a read; and the same errors.
  /// - Complexity: the same.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public static func save<Value: IndexKey>(
    contentsOf records: some Collection<Self>,
    matching field: any KeyPath<Self, Value> & Sendable,
    in writer: some RecordWriting = AmbientStore(),
    progress: ((BatchProgress) throws -> Void)? = nil
  ) throws -> SavedBatch<Self> {
    try writer.save(contentsOf: records, matching: field, progress: progress)
  }

  /// Deletes the records with these ids. See ``RecordWriting/delete(_:ids:progress:)``.
  ///
  /// - Throws: `.noDefaultStore` if no store is set, `.readOnly` inside a read; and the same errors.
  /// - Complexity: the same.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public static func delete(
    ids: some Collection<ID>, in writer: some RecordWriting = AmbientStore(),
    progress: ((BatchProgress) throws -> Void)? = nil
  ) throws -> DeletedBatch<Self> {
    try writer.delete(Self.self, ids: ids, progress: progress)
  }
}

extension Query {
  /// Changes each record, with progress and counts. See ``RecordWriting/update(_:progress:_:)``.
  ///
  /// - Throws: `.noDefaultStore` if no store is set, `.readOnly` inside a read; and the same errors.
  /// - Complexity: the same.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func update(
    in writer: some RecordWriting = AmbientStore(), progress: ((BatchProgress) throws -> Void)?,
    _ change: (inout R) throws -> Void
  ) throws -> UpdatedBatch {
    try writer.update(self, progress: progress, change)
  }
}

// MARK: - For tasks

extension Record {
  /// Saves records as one change, without blocking the task's thread.
  ///
  /// `progress` is called as by the synchronous form, on another thread. A cancelled task ends the
  /// batch there.
  ///
  /// - Throws: `CancellationError` if the task was cancelled before the end, and nothing is saved
  ///   then; the errors of the synchronous form.
  /// - Complexity: that of the synchronous form, and a change of threads.
  @discardableResult
  public nonisolated(nonsending) static func save(
    contentsOf records: [Self], in store: Store? = nil,
    progress: (@Sendable (BatchProgress) throws -> Void)? = nil
  ) async throws -> SavedBatch<Self> {
    try await AmbientStore.chosen(store).writeSuspending { tx in
      try tx.save(contentsOf: records, progress: cancellable(progress))
    }
  }

  /// Saves records as one change, matched by a unique field, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` if the task was cancelled before the end, and nothing is saved
  ///   then; the errors of the synchronous form.
  /// - Complexity: that of the synchronous form, and a change of threads.
  @discardableResult
  public nonisolated(nonsending) static func save<Value: IndexKey>(
    contentsOf records: [Self], matching field: any KeyPath<Self, Value> & Sendable,
    in store: Store? = nil, progress: (@Sendable (BatchProgress) throws -> Void)? = nil
  ) async throws -> SavedBatch<Self> {
    try await AmbientStore.chosen(store).writeSuspending { tx in
      try tx.save(contentsOf: records, matching: field, progress: cancellable(progress))
    }
  }

  /// Deletes the records with these ids, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` if the task was cancelled before the end, and nothing is deleted
  ///   then; the errors of the synchronous form.
  /// - Complexity: that of the synchronous form, and a change of threads.
  @discardableResult
  public nonisolated(nonsending) static func delete(
    ids: [ID], in store: Store? = nil,
    progress: (@Sendable (BatchProgress) throws -> Void)? = nil
  ) async throws -> DeletedBatch<Self> {
    try await AmbientStore.chosen(store).writeSuspending { tx in
      try tx.delete(Self.self, ids: ids, progress: cancellable(progress))
    }
  }
}

extension Query {
  /// Changes each record, with progress and counts, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError` if the task was cancelled before the end, and nothing is changed
  ///   then; the errors of the synchronous form.
  /// - Complexity: that of the synchronous form, and a change of threads.
  @discardableResult
  public nonisolated(nonsending) func update(
    in store: Store? = nil, progress: (@Sendable (BatchProgress) throws -> Void)?,
    _ change: @escaping @Sendable (inout R) throws -> Void
  ) async throws -> UpdatedBatch {
    try await AmbientStore.chosen(store).writeSuspending { tx in
      try tx.update(self, progress: cancellable(progress), change)
    }
  }
}

/// The same progress, which also ends the batch of a cancelled task.
private func cancellable(
  _ progress: (@Sendable (BatchProgress) throws -> Void)?
) -> (BatchProgress) throws -> Void {
  { step in
    try Task.checkCancellation()
    try progress?(step)
  }
}
