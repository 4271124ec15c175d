extension RecordWriting {
  /// Imports the elements of a JSON text as records: new records are inserted, existing ones
  /// updated.
  ///
  /// ```swift
  /// let report = try store.importJSON(Person.self, from: .file("people.json"), onError: .skip)
  /// ```
  ///
  /// An element matches the record that has its id. An element without an id is a new record, if
  /// the store assigns the ids or they are `UUID`s. An absent key has the `Default` of its
  /// property, even an optional one. Null is nil, or an empty list for the ids of an association.
  /// Unknown keys are ignored, and ``ImportReport/unknownKeys`` names them;
  /// ``ImportOptions/unknownKeys`` can refuse them.
  ///
  /// On a store, `.skip` makes each batch a transaction of its own, and `.stop` makes one of all
  /// batches. Elements may refer to later elements of the text. If several elements have the
  /// same id, the last one counts. In a transaction the import is a part of it; references are
  /// checked at its end, as for every save.
  ///
  /// - Parameters:
  ///   - type: the type of the elements.
  ///   - source: a file, bytes or text, with an array or one element per line.
  ///   - map: how elements become records, if their keys are not those of the type.
  ///   - existing: what happens to an existing record: it is replaced, or keeps the fields that the
  ///     element does not have.
  ///   - policy: whether an element that cannot be imported stops the import, so that nothing is
  ///     imported, or is skipped.
  ///   - batchSize: the number of elements per batch.
  ///   - options: the format and the limits of elements.
  ///   - progress: called after each batch; with `.stop` before the commit, and again from the
  ///     beginning if the transaction must be repeated.
  /// - Returns: the counts, and the elements that were not imported.
  /// - Throws: `.importStopped` with an ``ImportFailure`` as its cause; `.fileNotFound`,
  ///   `.accessDenied`; the errors of a transaction. Earlier batches stay. For a wrong map, before
  ///   an element is read: `.invalidImportMap`; for its ``Linked`` lines `.unsuitableMatch`,
  ///   `.unsuitableAssociation`, `.unknownAssociation` and `.unknownCollection`.
  /// - Complexity: that of ``save(_:)`` for each element. It needs memory for a batch, and about 40
  ///   bytes and a key for each element that refers to a later one; with `.stop`, that of a transaction.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func importJSON<R: Record>(
    _ type: R.Type = R.self, from source: JSONSource, map: ImportMap<R>? = nil,
    existing: ImportExisting = .replace,
    onError policy: ImportErrorPolicy = .stop, batchSize: Int = 1000,
    options: ImportOptions = ImportOptions(), progress: ((ImportProgress) -> Void)? = nil
  ) throws -> ImportReport {
    try _importJSON(
      ImportRequest<R>(
        map: map, matcher: nil, existing: existing, policy: policy, batchSize: batchSize,
        options: options,
        progress: progress),
      from: source)
  }

  /// Imports the elements of a JSON text as records: an element matches the record that has the
  /// same value in a unique field.
  ///
  /// ```swift
  /// try store.importJSON(Person.self, from: .file("people.json"), matching: \.email)
  /// ```
  ///
  /// A matched record keeps its id, whatever the element has. An element that matches no record, or
  /// has nil in the field, is inserted; it is refused if its id exists.
  ///
  /// - Parameters:
  ///   - type: the type of the elements.
  ///   - source: a file, bytes or text, with an array or one element per line.
  ///   - map: how elements become records, if their keys are not those of the type.
  ///   - field: a field with its own `Unique`.
  ///   - existing: what happens to an existing record.
  ///   - policy: whether an element that cannot be imported stops the import or is skipped.
  ///   - batchSize: the number of elements per batch.
  ///   - options: the format and the limits of elements.
  ///   - progress: called after each batch.
  /// - Throws: `.unsuitableMatch` for another field, and the errors of
  ///   ``importJSON(_:from:map:existing:onError:batchSize:options:progress:)``, which describes the
  ///   other parameters.
  /// - Complexity: the same, and a search for each element.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  @discardableResult
  public func importJSON<R: Record, Value: IndexKey & Decodable>(
    _ type: R.Type = R.self, from source: JSONSource, map: ImportMap<R>? = nil,
    matching field: any KeyPath<R, Value> & Sendable, existing: ImportExisting = .replace,
    onError policy: ImportErrorPolicy = .stop, batchSize: Int = 1000,
    options: ImportOptions = ImportOptions(), progress: ((ImportProgress) -> Void)? = nil
  ) throws -> ImportReport {
    try _importJSON(
      ImportRequest<R>(
        map: map, matcher: .by(field), existing: existing, policy: policy, batchSize: batchSize,
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

  /// Whether the import is a part of a longer transaction.
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
