/// The query of one type in a family, without the type.
class FamilyMember<Row>: @unchecked Sendable {  // Its subclass has only constants.
  struct FoundRow {
    /// Where it is in the common order: keys of all members are compared.
    let key: RowPlace
    let value: Row
    /// A hash of the record and its id, for an observer.
    let hash: Int
  }

  let collection: String
  let order: [OrderTerm]

  fileprivate init(_ collection: String, _ order: [OrderTerm]) {
    self.collection = collection
    self.order = order
  }

  func rows(
    in tx: ReadTransaction, atMost limit: Int?, isNoting: Bool
  ) throws -> [FoundRow] { [] }

  func count(in tx: ReadTransaction) throws -> Int { 0 }
  func exists(in tx: ReadTransaction) throws -> Bool { false }

  func explain(
    in tx: ReadTransaction, atMost limit: Int?, counting: Bool, running: Bool
  ) throws -> String { "" }

  func filtered(_ isIncluded: @escaping @Sendable (Row) -> Bool) -> FamilyMember { self }

  /// Whether the bytes of their sort keys can be compared.
  final func isOrdered(as other: FamilyMember) -> Bool {
    order.count == other.order.count
      && zip(order, other.order).allSatisfy { a, b in
        a.field.form == b.field.form && a.field.caseOrder == b.field.caseOrder
          && a.descends == b.descends && a.textForm == b.textForm
      }
  }
}

final class QueriedMember<R: Record, Row>: FamilyMember<Row>, @unchecked Sendable {
  private let query: Query<R>

  init(_ query: Query<R>) {
    self.query = query
    super.init(R.collectionName, query.details.order)
  }

  override func rows(
    in tx: ReadTransaction, atMost limit: Int?, isNoting: Bool
  ) throws -> [FoundRow] {
    let details = limited(to: limit).details
    return try tx.run(details, of: R.self, for: .records, isAll: true) { run, access in
      let key = SortKey(
        details.order, idsDescend: false, idKind: access.collection.stored.idKind, index: nil,
        context: tx.context, typed: access)
      let rows = RecordBuffer<FoundRow>(limit: details.limit)
      while let row = try run.next() {
        let record = try row.record ?? run.record()
        try key.write(record: record, id: row.id)
        // Ids of different types are not compared.
        let place = RowPlace(UnsafeRawBufferPointer(rebasing: key.bytes[..<key.countBeforeID]))
        let value = try access.decode(QueryRow(id: row.id, record: record), of: run)
        guard let shared = value as? Row else { throw Self.otherType }
        let hash = isNoting ? RecordHash.of(row.id, record) : 0
        rows.next().initialize(to: FoundRow(key: place, value: shared, hash: hash))
        rows.filled()
      }
      return rows.takeArray()
    }
  }

  override func count(in tx: ReadTransaction) throws -> Int { try query.rowCount(in: tx) }
  override func exists(in tx: ReadTransaction) throws -> Bool { try query.hasRow(in: tx) }

  override func explain(
    in tx: ReadTransaction, atMost limit: Int?, counting: Bool, running: Bool
  ) throws -> String {
    try tx.explain(
      counting ? query : limited(to: limit), for: counting ? .count : .records, running: running)
  }

  override func filtered(_ isIncluded: @escaping @Sendable (Row) -> Bool) -> FamilyMember<Row> {
    QueriedMember(query.filter { ($0 as? Row).map(isIncluded) ?? true })
  }

  private func limited(to limit: Int?) -> Query<R> {
    guard let limit, query.details.limit ?? .max > limit else { return query }
    return query.limit(limit)
  }

  private static var otherType: LarchError {
    LarchError(
      .invalidQuery,
      "A query of a family has records that are not of its type; make them conform to its protocol, or leave the query out."
    ) {
      $0.collection = R.collectionName
      $0.detail = String(describing: Row.self)
    }
  }
}
