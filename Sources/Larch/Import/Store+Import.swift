internal import Foundation

extension Record {
  /// Imports the elements of a JSON text as records of this type, without blocking the task's
  /// thread. See ``Store/importJSON(_:from:map:existing:onError:batchSize:options:progress:)``.
  ///
  /// ```swift
  /// let report = try await Person.importJSON(from: .file("people.json"), onError: .skip)
  /// ```
  ///
  /// Without `store` it uses that of the task, or else ``Store/default``.
  ///
  /// - Throws: `.noDefaultStore` if no store is set, and the same errors.
  /// - Complexity: the same.
  @discardableResult
  public static func importJSON(
    from source: JSONSource, map: ImportMap<Self>? = nil, existing: ImportExisting = .replace,
    onError policy: ImportErrorPolicy = .stop, batchSize: Int = 1000,
    options: ImportOptions = ImportOptions(), in store: Store? = nil,
    progress: (@Sendable (ImportProgress) -> Void)? = nil
  ) async throws -> ImportReport {
    try await AmbientStore.chosen(store).importJSON(
      Self.self, from: source, map: map, existing: existing, onError: policy, batchSize: batchSize,
      options: options, progress: progress)
  }

  /// Imports the elements of a JSON text as records of this type, matched by a unique field,
  /// without blocking the task's thread. See
  /// ``Store/importJSON(_:from:map:matching:existing:onError:batchSize:options:progress:)``.
  ///
  /// Without `store` it uses that of the task, or else ``Store/default``.
  ///
  /// - Throws: `.noDefaultStore` if no store is set, and the same errors.
  /// - Complexity: the same.
  @discardableResult
  public static func importJSON<Value: IndexKey & Decodable>(
    from source: JSONSource, map: ImportMap<Self>? = nil,
    matching field: any KeyPath<Self, Value> & Sendable,
    existing: ImportExisting = .replace, onError policy: ImportErrorPolicy = .stop,
    batchSize: Int = 1000, options: ImportOptions = ImportOptions(), in store: Store? = nil,
    progress: (@Sendable (ImportProgress) -> Void)? = nil
  ) async throws -> ImportReport {
    try await AmbientStore.chosen(store).importJSON(
      Self.self, from: source, map: map, matching: field, existing: existing, onError: policy,
      batchSize: batchSize, options: options, progress: progress)
  }
}

extension Store {
  /// Imports the elements of a JSON text as records, without blocking the task's thread. See
  /// ``RecordWriting/importJSON(_:from:map:existing:onError:batchSize:options:progress:)``.
  ///
  /// If the task is cancelled, the import ends before the next batch: with `.skip` earlier batches
  /// stay, with `.stop` nothing is imported.
  ///
  /// - Throws: the same errors, and `CancellationError`.
  /// - Complexity: the same, on a separate thread.
  @discardableResult
  public func importJSON<R: Record>(
    _ type: R.Type = R.self, from source: JSONSource, map: ImportMap<R>? = nil,
    existing: ImportExisting = .replace,
    onError policy: ImportErrorPolicy = .stop, batchSize: Int = 1000,
    options: ImportOptions = ImportOptions(),
    progress: (@Sendable (ImportProgress) -> Void)? = nil
  ) async throws -> ImportReport {
    try await offThread { isCancelled in
      try self._importJSON(
        ImportRequest<R>(
          map: map, matcher: nil, existing: existing, policy: policy, batchSize: batchSize,
          options: options, isCancelled: isCancelled, progress: progress),
        from: source)
    }
  }

  /// Imports the elements of a JSON text as records, matched by a unique field, without blocking
  /// the task's thread. See
  /// ``RecordWriting/importJSON(_:from:map:matching:existing:onError:batchSize:options:progress:)``.
  ///
  /// - Throws: the same errors, and `CancellationError`.
  /// - Complexity: the same, on a separate thread.
  @discardableResult
  public func importJSON<R: Record, Value: IndexKey & Decodable>(
    _ type: R.Type = R.self, from source: JSONSource, map: ImportMap<R>? = nil,
    matching field: any KeyPath<R, Value> & Sendable, existing: ImportExisting = .replace,
    onError policy: ImportErrorPolicy = .stop, batchSize: Int = 1000,
    options: ImportOptions = ImportOptions(),
    progress: (@Sendable (ImportProgress) -> Void)? = nil
  ) async throws -> ImportReport {
    try await offThread { isCancelled in
      try self._importJSON(
        ImportRequest<R>(
          map: map, matcher: .by(field), existing: existing, policy: policy, batchSize: batchSize,
          options: options, isCancelled: isCancelled, progress: progress),
        from: source)
    }
  }

  /// Exports the records of a query to a JSON file, without blocking the task's thread. See
  /// ``RecordReading/exportJSON(_:to:options:progress:)-(Query<R>,_,_,_)``.
  ///
  /// - Returns: the number of records written.
  /// - Throws: the same errors, and `CancellationError`: the file is as it was then.
  /// - Complexity: the same, on a separate thread.
  @discardableResult
  public func exportJSON<R: Record>(
    _ query: Query<R>, to destination: JSONDestination, options: ExportOptions = ExportOptions(),
    progress: (@Sendable (ExportProgress) -> Void)? = nil
  ) async throws -> Int {
    try await offThread { isCancelled in
      let file = try ReplacementFile(destination.path)
      let count = try self.exportJSON(query, options: options, progress: progress) { piece in
        if isCancelled() { throw CancellationError() }
        try file.write(piece)
      }
      try file.takePlace()
      return count
    }
  }

  /// Runs `body` on a thread that may block, and lets it know if the task is cancelled.
  ///
  /// It is not the queue of writes: other writes continue between the batches.
  private func offThread<T: Sendable>(
    _ body: @escaping @Sendable (@escaping @Sendable () -> Bool) throws -> T
  ) async throws -> T {
    try Task.checkCancellation()
    let isCancelled = Locked(false)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        DispatchQueue(label: "larch.import").async {
          continuation.resume(with: Result { try body { isCancelled.withLock { $0 } } })
        }
      }
    } onCancel: {
      isCancelled.withLock { $0 = true }
    }
  }
}
