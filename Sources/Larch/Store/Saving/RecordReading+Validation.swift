extension RecordReading {
  /// All rules of its schema that the record breaks, in the order of their declarations; none for a
  /// record that may be saved.
  ///
  /// It checks every rule, including those that a save would skip because their fields did not
  /// change. Hooks do not run.
  ///
  /// - Throws: the errors of a custom rule; `.unknownCollection`.
  /// - Complexity: that of the rules; for each uniqueness rule a search, O(log n).
  public func validationErrors<R: Record>(of record: R) throws -> [ValidationError] {
    try _reading { tx in
      try tx.storage { _ in
        let collection = try tx.context.collection(of: R.self)
        return try tx.brokenRules(
          record, in: collection, collection.declarations(of: R.self))
      }
    }
  }

  /// Whether the record breaks no rule of its schema. See ``validationErrors(of:)``.
  ///
  /// - Throws: the errors of ``validationErrors(of:)``.
  /// - Complexity: that of ``validationErrors(of:)``.
  public func isValid<R: Record>(_ record: R) throws -> Bool {
    try validationErrors(of: record).isEmpty
  }

  /// Does nothing for a record that may be saved. See ``validationErrors(of:)``.
  ///
  /// - Throws: `.invalid` with all rules that the record breaks; and the errors of
  ///   ``validationErrors(of:)``.
  /// - Complexity: that of ``validationErrors(of:)``.
  public func validate<R: Record>(_ record: R) throws {
    try LarchError.throwInvalid(try validationErrors(of: record), record)
  }
}

extension ReadTransaction {
  /// The rules that the record breaks, among those that a change of fields asks for.
  final func brokenRules<R: Record>(
    _ record: R, changed: UInt64 = .max, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws -> [ValidationError] {
    try declarations.validations.errors(of: record, changed: changed) { place in
      try isTaken(record, declarations.indexes[place], place, in: collection)
    }
  }

  /// Whether another record has a value of this one in a unique index.
  private final func isTaken<R: Record>(
    _ record: R, _ declaration: IndexDeclaration<R>, _ place: Int,
    in collection: CollectionHandle
  ) throws -> Bool {
    guard let index = collection.indexes.first(where: { $0.position == place }) else {
      throw LarchError(
        .schemaMismatch,
        "The index of a rule of uniqueness is not in the file yet; open the file once for writing with the type, or call `buildIndexes(of:)` in the migration."
      ) {
        $0.collection = collection.stored.name
        $0.path = context.environment.path
      }
    }
    // The id excludes the record itself from the search. The unassigned id of a new record matches
    // no other.
    let id = try context.key(of: record.id)
    let lookup = UniqueLookup(context: context, index: index, collection: collection)
    var isTaken = false
    // Computed properties run code of the type, which must not use the transaction.
    context.isTakingIn = true
    defer { context.isTakingIn = false }
    context.ruleWriter.textForm = .exact
    try declaration.forEachKey(of: record, in: &context.ruleWriter) { writer in
      if isTaken || writer.hasNil { return }
      try writePending(for: index, beforeAdding: writer.bytes)
      let holder = try lookup.holder(of: writer.bytes, isCut: writer.isCut, besides: id) { _ in
        try wholeKeys(of: record, declaration)
      }
      isTaken = holder != nil
    }
    return isTaken
  }

  /// The keys of a record with their whole values, which are not cut.
  private final func wholeKeys<R: Record>(
    of record: R, _ declaration: IndexDeclaration<R>
  ) throws -> Set<[UInt8]> {
    var writer = KeyWriter(keepsWhole: true)
    var keys: Set<[UInt8]> = []
    try declaration.forEachKey(of: record, in: &writer) { writer in
      if !writer.hasNil { keys.insert(writer.withWhole { [UInt8]($0) }) }
    }
    return keys
  }
}

extension LarchError {
  /// Throws `.invalid`, unless there are no errors.
  static func throwInvalid<R: Record>(_ errors: [ValidationError], _ record: R) throws {
    if errors.isEmpty { return }
    throw LarchError(
      invalid: errors, collection: R.collectionName,
      id: record.id._isUnassigned ? nil : "\(record.id)")
  }
}
