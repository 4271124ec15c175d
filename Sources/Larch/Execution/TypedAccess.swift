/// What only the record type can tell. The store gives the executor one that knows the type.
class TypedAccess {
  /// Whether all filters are true for the decoded record.
  func matches(_ filters: [FilterNode], _ record: UnsafeRawBufferPointer) throws -> Bool {
    preconditionFailure("overridden where the record type is known")
  }

  /// The values of a field, or of each of its elements, of the decoded record.
  func values(
    of field: FieldReference, in record: UnsafeRawBufferPointer
  ) throws -> [[KeyValue]] {
    preconditionFailure("overridden where the record type is known")
  }
}
