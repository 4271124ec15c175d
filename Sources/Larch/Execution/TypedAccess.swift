/// What only the record type can tell. The store gives the executor one that knows the type.
class TypedAccess {
  /// How the fields of its records are read that are stored in another way; nil where none is.
  var reading: FieldReading? { nil }

  /// Whether all filters are true for the decoded record.
  func matches(
    _ filters: [FilterNode], _ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) throws -> Bool {
    throw TypedAccess.unknown
  }

  /// What answers a filter about related records for all of the run.
  func test(_ filter: RelatedFilter) throws -> RelatedTest { throw TypedAccess.unknown }

  /// The values of a field, or of each of its elements, of the decoded record.
  func values(
    of field: FieldReference, in record: UnsafeRawBufferPointer
  ) throws -> [[KeyValue]] {
    throw TypedAccess.unknown
  }

  /// What is asked of one that is made for the other question alone.
  private static var unknown: LarchError {
    LarchError(
      .storage, "A plan asked for what only the record type tells; this is a fault of Larch.")
  }
}
