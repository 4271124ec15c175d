/// The operations that need the record type. The store gives the executor an object that knows it.
class TypedAccess {
  /// How to read fields whose stored form differs; nil if there are none.
  var reading: FieldReading? { nil }

  /// How well records match, if the run is one of a query that is sorted by that.
  final var scores: SearchScores?

  /// How well a record matches.
  final func score(of id: UnsafeRawBufferPointer) throws -> Double {
    guard let scores else { throw TypedAccess.unknown }
    return try scores.score(of: id)
  }

  /// Whether all filters are true for the decoded record.
  func matches(
    _ filters: [FilterNode], _ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) throws -> Bool {
    throw TypedAccess.unknown
  }

  /// The answer of a filter about related records, for the whole run.
  func test(_ filter: RelatedFilter) throws -> RelatedTest { throw TypedAccess.unknown }

  /// The values of a field of related records, for the whole run.
  func order(_ value: RelatedValue, textForm: TextForm) throws -> RelatedOrder {
    throw TypedAccess.unknown
  }

  /// The value of a field of an order, from the record or a related one.
  final func orderValue(
    of field: FieldReference, in record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) throws -> [KeyValue] {
    if field.weights != nil { return [.double(try score(of: id))] }
    if let related = field.related {
      return try order(related, textForm: .exact).values(for: record, id: id)
    }
    return try values(of: field, in: record).first ?? [.null]
  }

  /// The values of a field, or of each of its elements, of the decoded record.
  func values(
    of field: FieldReference, in record: UnsafeRawBufferPointer
  ) throws -> [[KeyValue]] {
    throw TypedAccess.unknown
  }

  /// The error of an operation that this object was not made for.
  private static var unknown: LarchError {
    LarchError(
      .storage,
      "A plan needs something that only the record type knows; please report this bug in Larch.")
  }
}
