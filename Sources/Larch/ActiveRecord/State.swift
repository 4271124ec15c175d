extension Record {
  /// Whether the record is new, changed, unchanged or deleted, compared with the stored one. See
  /// ``RecordReading/state(of:)``.
  ///
  /// - Throws: `.noDefaultStore`; and the errors of ``RecordReading/state(of:)``.
  /// - Complexity: that of ``RecordReading/state(of:)``.
  public func state(in reader: some RecordReading = AmbientStore()) throws -> RecordState {
    try reader.state(of: self)
  }

  /// The fields in which the record differs from the stored one with its id. See
  /// ``RecordReading/changes(of:)``.
  ///
  /// - Throws: `.noDefaultStore`; and the errors of ``RecordReading/changes(of:)``.
  /// - Complexity: that of ``RecordReading/changes(of:)``.
  public func changes(in reader: some RecordReading = AmbientStore()) throws -> [FieldChange] {
    try reader.changes(of: self)
  }

  /// A tracked copy of the record, which can be edited, reverted and persisted, compared with the
  /// stored record. See ``Tracked``.
  ///
  /// - Throws: `.noDefaultStore`; and the errors of ``RecordReading/find(_:_:)->R?``.
  /// - Complexity: that of ``RecordReading/find(_:_:)->R?``.
  public func tracked(in reader: some RecordReading = AmbientStore()) throws -> Tracked<Self> {
    try Tracked(self, in: reader)
  }
}
