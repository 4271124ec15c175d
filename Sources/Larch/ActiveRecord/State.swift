extension Record {
  /// How the record stands to what is stored under its id. See
  /// ``RecordReading/state(of:)``.
  ///
  /// - Throws: `.noDefaultStore`; as ``RecordReading/state(of:)``.
  /// - Complexity: as ``RecordReading/state(of:)``.
  public func state(in reader: some RecordReading = AmbientStore()) throws -> RecordState {
    try reader.state(of: self)
  }

  /// The fields that the record and what is stored under its id differ in. See
  /// ``RecordReading/changes(of:)``.
  ///
  /// - Throws: `.noDefaultStore`; as ``RecordReading/changes(of:)``.
  /// - Complexity: as ``RecordReading/changes(of:)``.
  public func changes(in reader: some RecordReading = AmbientStore()) throws -> [FieldChange] {
    try reader.changes(of: self)
  }

  /// The record, to be edited, reverted and persisted, compared with what is stored under
  /// its id. See ``Tracked``.
  ///
  /// - Throws: `.noDefaultStore`; as ``RecordReading/find(_:_:)->R?``.
  /// - Complexity: as ``RecordReading/find(_:_:)->R?``.
  public func tracked(in reader: some RecordReading = AmbientStore()) throws -> Tracked<Self> {
    try Tracked(self, in: reader)
  }
}
