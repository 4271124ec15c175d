extension RecordWriting {
  /// Takes the elements of a JSON text in as records: those that are not there are inserted, the
  /// others updated.
  ///
  /// ```swift
  /// let report = try store.importJSON(Person.self, from: .file("people.json"), onError: .skip)
  /// ```
  ///
  /// An element is the record that has its id. Without an id it is a new record, where the store
  /// assigns ids or they are `UUID`s. A key that is absent has the `Default` of its property, also
  /// of an optional one; null is nil there, and an empty list for ids that an association keeps.
  /// Keys that the type does not know are passed over, and ``ImportReport/unknownKeys`` names them;
  /// ``ImportOptions/unknownKeys`` can refuse them.
  ///
  /// On a store, `.skip` makes each batch a transaction of its own, and `.stop` all of them one.
  /// Elements may refer to others that come later in the text. In a transaction the import is a
  /// part of it; where a reference leads is checked at its end, as for every save.
  ///
  /// - Parameters:
  ///   - type: what the elements are.
  ///   - source: a file, bytes or text, an array or an element a line.
  ///   - existing: what happens to a record that is there: it is replaced, or keeps the fields
  ///     that the element does not have.
  ///   - policy: whether an element that cannot go in stops the import, so that nothing goes in,
  ///     or is skipped.
  ///   - batchSize: how many elements go in together.
  ///   - options: how elements are read, and how large one may be.
  ///   - progress: called after each batch; with `.stop`, before the commit, and from the
  ///     beginning again where the transaction had to be repeated.
  /// - Returns: what was done, and which elements did not go in.
  /// - Throws: `.importStopped` with an ``ImportFailure`` as its cause; `.fileNotFound`,
  ///   `.accessDenied`; what a transaction throws. Batches that went in before stay.
  /// - Complexity: as ``save(_:)`` for each element. Memory for a batch, and about 40 bytes for
  ///   each element that refers to a later one; with `.stop`, what a transaction holds.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func importJSON<R: Record>(
    _ type: R.Type = R.self, from source: JSONSource, existing: ImportExisting = .replace,
    onError policy: ImportErrorPolicy = .stop, batchSize: Int = 1000,
    options: ImportOptions = ImportOptions(), progress: ((ImportProgress) -> Void)? = nil
  ) throws -> ImportReport {
    try _importJSON(
      ImportRequest<R>(
        matcher: nil, existing: existing, policy: policy, batchSize: batchSize, options: options,
        progress: progress),
      from: source)
  }

  /// Takes the elements of a JSON text in as records: an element is the record that has the same
  /// value in a unique field.
  ///
  /// ```swift
  /// try store.importJSON(Person.self, from: .file("people.json"), matching: \.email)
  /// ```
  ///
  /// A record that is matched keeps its id, whatever the element says. An element that matches
  /// none, or has nil there, is inserted; if it brings an id that is taken, it cannot go in.
  ///
  /// - Parameters:
  ///   - type: what the elements are.
  ///   - source: a file, bytes or text, an array or an element a line.
  ///   - field: declared `Unique` by itself.
  ///   - existing: what happens to a record that is there.
  ///   - policy: whether an element that cannot go in stops the import or is skipped.
  ///   - batchSize: how many elements go in together.
  ///   - options: how elements are read, and how large one may be.
  ///   - progress: called after each batch.
  /// - Throws: `.unsuitableMatch` for another field, and as
  ///   ``importJSON(_:from:existing:onError:batchSize:options:progress:)``, where more is said of
  ///   the other parameters.
  /// - Complexity: the same, and a search for each element.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func importJSON<R: Record, Value: IndexKey & Decodable>(
    _ type: R.Type = R.self, from source: JSONSource,
    matching field: any KeyPath<R, Value> & Sendable, existing: ImportExisting = .replace,
    onError policy: ImportErrorPolicy = .stop, batchSize: Int = 1000,
    options: ImportOptions = ImportOptions(), progress: ((ImportProgress) -> Void)? = nil
  ) throws -> ImportReport {
    try _importJSON(
      ImportRequest<R>(
        matcher: .by(field), existing: existing, policy: policy, batchSize: batchSize,
        options: options, progress: progress),
      from: source)
  }

  func _importJSON<R: Record>(
    _ request: ImportRequest<R>, from source: JSONSource
  ) throws -> ImportReport {
    let isInside = try isInTransaction
    let importer = try RecordImporter(request, from: source)
    switch request.policy {
    case .skip: return try importer.importBatches(in: self, isWhole: !isInside)
    case .stop:
      return try _writing { tx in
        if !isInside { return try importer.importAll(in: tx, isWhole: true) }
        return try tx.undoablePart { try importer.importAll(in: tx, isWhole: false) }
      }
    }
  }

  /// Whether what is written is a part of a transaction that goes on.
  private var isInTransaction: Bool {
    get throws {
      if let ambient = self as? AmbientStore {
        guard case .transaction = try ambient._target() else { return false }
        return true
      }
      return self is WriteTransaction
    }
  }
}
