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

  /// What tells a value of a related record for all of the run.
  func order(_ value: RelatedValue, ignoresCase: Bool) throws -> RelatedOrder {
    throw TypedAccess.unknown
  }

  /// The value of a field of an order, of the record or of a related one.
  final func orderValue(
    of field: FieldReference, in record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) throws -> [KeyValue] {
    if let related = field.related {
      return try order(related, ignoresCase: false).values(for: record, id: id)
    }
    return try values(of: field, in: record).first ?? [.null]
  }

  /// The values of a field, or of each of its elements, of the decoded record.
  func values(
    of field: FieldReference, in record: UnsafeRawBufferPointer
  ) throws -> [[KeyValue]] {
    throw TypedAccess.unknown
  }

  /// What is asked of one that is made for the other question alone.
  private static var unknown: LarchError {
    LarchError(
      .storage,
      "A plan needs something that only the record type knows; please report this bug in Larch.")
  }
}
