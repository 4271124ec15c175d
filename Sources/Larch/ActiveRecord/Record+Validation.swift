extension Record {
  /// All rules of its schema that the record breaks, in the order of their declarations; none for a
  /// record that may be saved.
  ///
  /// If the type has a uniqueness rule, this reads the running transaction or the ambient store;
  /// other rules need no store. See ``RecordReading/validationErrors(of:)``.
  ///
  /// - Throws: `.noDefaultStore` where a store is needed and none is set; `.invalidSchema`; and the
  ///   errors of ``RecordReading/validationErrors(of:)``.
  /// - Complexity: that of ``RecordReading/validationErrors(of:)``.
  public var validationErrors: [ValidationError] {
    get throws {
      let program = try ValidationProgram.of(Self.self)
      if program.needsStore { return try AmbientStore().validationErrors(of: self) }
      return try program.errors(of: self) { _ in false }
    }
  }

  /// Whether the record breaks no rule of its schema. See ``validationErrors``.
  ///
  /// - Throws: the errors of ``validationErrors``.
  /// - Complexity: that of ``RecordReading/validationErrors(of:)``.
  public var isValid: Bool { get throws { try validationErrors.isEmpty } }

  /// Does nothing for a record that may be saved. See ``validationErrors``.
  ///
  /// - Throws: `.invalid` with all rules that the record breaks; and the errors of
  ///   ``validationErrors``.
  /// - Complexity: that of ``RecordReading/validationErrors(of:)``.
  public func validate() throws { try LarchError.throwInvalid(try validationErrors, self) }
}
