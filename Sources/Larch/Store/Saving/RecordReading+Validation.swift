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
        // The compiler of schemas made it from the type.
        let declarations = unsafeDowncast(
          collection.schema.typed, to: TypedDeclarations<R>.self)
        return try tx.brokenRules(record, in: collection, declarations)
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

extension LarchError {
  /// Throws `.invalid`, unless there are no errors.
  static func throwInvalid<R: Record>(_ errors: [ValidationError], _ record: R) throws {
    if errors.isEmpty { return }
    throw LarchError(
      invalid: errors, collection: R.collectionName,
      id: record.id._isUnassigned ? nil : "\(record.id)")
  }
}
