extension WithRelated: PatchedQuery, PatchedRows {
  var reasonNotPatched: String? {
    form.hasRelatedOrder
      ? "the order of its related records is that of further ones" : query.details.reasonNotPatched
  }

  typealias R = Owner

  var details: QueryDescription { query.details }
  var rowComparison: ValueComparison<[Row]> { .stored }

  var dependencies: [RelatedDependency] {
    details.dependencies
      + form.parts.map { RelatedDependency(filter: $0.dependency, isContent: true) }
  }

  func rows(
    of query: QueryDescription, in tx: ReadTransaction, noting places: RowPlaces
  ) throws -> [Row] {
    var request = self
    request.query.details = query
    return try request.observedRows(in: tx, noting: places)
  }

  func maker(
    _ access: RecordAccess<Owner>
  ) -> (_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> Row {
    { _, _ in throw RelatedCandidates.Unknown.otherRows }
  }
}
