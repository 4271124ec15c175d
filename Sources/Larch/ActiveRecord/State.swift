extension Record {
  /// How the record stands to what the ambient store has under its id. See
  /// ``RecordReading/state(of:)``.
  ///
  /// A type with a property of this name has its own; ask `AmbientStore().state(of: record)` there.
  ///
  /// - Throws: `.noDefaultStore`; as ``RecordReading/state(of:)``.
  /// - Complexity: as ``RecordReading/state(of:)``.
  public var state: RecordState {
    get throws { try AmbientStore().state(of: self) }
  }

  /// The fields that the record and what the ambient store has under its id differ in. See
  /// ``RecordReading/changes(of:)``.
  ///
  /// - Throws: `.noDefaultStore`; as ``RecordReading/changes(of:)``.
  /// - Complexity: as ``RecordReading/changes(of:)``.
  public func changes() throws -> [FieldChange] { try AmbientStore().changes(of: self) }

  /// The record, to be edited, reverted and persisted, compared with what the ambient store has
  /// under its id. See ``Tracked``.
  ///
  /// - Throws: `.noDefaultStore`; as ``ReadTransaction/find(_:_:)``.
  /// - Complexity: as ``ReadTransaction/find(_:_:)``.
  public func tracked() throws -> Tracked<Self> { try Tracked(self, in: AmbientStore()) }
}
