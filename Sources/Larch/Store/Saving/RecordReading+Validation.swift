extension RecordReading {
  /// All rules of its schema that the record breaks, in the order of their declarations; none for a
  /// record that may be saved.
  ///
  /// Every rule is asked, also those that a save would not ask since nothing of theirs changed.
  /// Hooks do not run.
  ///
  /// - Throws: what a rule of your own throws; `.unknownCollection`.
  /// - Complexity: that of the rules; for each rule of uniqueness a search, O(log n).
  public func validationErrors<R: Record>(of record: R) throws -> [ValidationError] {
    try _reading { tx in
      try tx.storage { _ in
        let collection = try tx.context.collection(of: R.self)
        // The compiler of schemas made it from the type.
        let declarations = unsafeDowncast(
          collection.schema.typed, to: TypedDeclarations<R>.self)
        return try tx.brokenRules(record, in: collection, declarations)
      }
    }
  }

  /// Whether the record breaks no rule of its schema. See ``validationErrors(of:)``.
  ///
  /// - Throws: as ``validationErrors(of:)``.
  /// - Complexity: as ``validationErrors(of:)``.
  public func isValid<R: Record>(_ record: R) throws -> Bool {
    try validationErrors(of: record).isEmpty
  }

  /// Does nothing for a record that may be saved. See ``validationErrors(of:)``.
  ///
  /// - Throws: `.invalid` with all rules that the record breaks; as ``validationErrors(of:)``.
  /// - Complexity: as ``validationErrors(of:)``.
  public func validate<R: Record>(_ record: R) throws {
    try LarchError.throwInvalid(try validationErrors(of: record), record)
  }
}

extension LarchError {
  /// Throws `.invalid`, unless there are no errors.
  static func throwInvalid<R: Record>(_ errors: [ValidationError], _ record: R) throws {
    if errors.isEmpty { return }
    throw LarchError(
      invalid: errors, collection: R.collectionName,
      id: record.id.isUnassigned ? nil : "\(record.id)")
  }
}
