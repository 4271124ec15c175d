// The methods that only a query of records has. Those of every request are in `Request`.

extension RecordReading {
  /// The ids of the records that ``fetch(_:)`` would return, in the same order.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: reads no record if an index answers the whole filter.
  @inlinable  // As the verbs of `Request`.
  public func ids<R: Record>(_ query: Query<R>) throws -> [R.ID] {
    try _reading { try $0.allIDs(query) }
  }

  /// The next records of the query, up to its limit, and the token for the page after them.
  ///
  /// ```swift
  /// var query = Person.all.sorted(by: \.name).limit(50)
  /// let page = try store.page(query)
  /// if let token = page.next { query = query.after(token) }
  /// ```
  ///
  /// Pages neither skip nor repeat an unchanged record, whatever is inserted or deleted between
  /// them; but in the order of relevance each change may move others.
  ///
  /// - Throws: the errors of ``fetch(_:)``; `.invalidQuery` for a token of another order.
  /// - Complexity: with an index for the order, the records of the page; it does not grow with the
  ///   number of earlier pages. Without one, each page costs the whole query.
  public func page<R: Record>(_ query: Query<R>) throws -> Page<R> {
    try _reading { tx in
      var description = query.details
      let fields = description.order.map(\.field)
      let limit = description.limit
      // One more record, to know whether there is a next page.
      if let limit, limit >= 0 { description.limit = limit == Int.max ? limit : limit + 1 }
      return try tx.run(
        description, of: R.self, for: tx.needOfValues, selecting: fields, isAll: true
      ) { run, access in
        var records: [R] = []
        var last: PageToken?
        while let row = try run.next() {
          if records.count == limit { return Page(records: records, next: last) }
          records.append(try access.decode(row, of: run))
          if records.count == limit {
            last = try PageToken(description, at: row, of: run, access)
          }
        }
        return Page(records: records, next: nil)
      }
    }
  }
}

extension ReadTransaction {
  /// See ``RecordReading/ids(_:)``.
  @usableFromInline
  final func allIDs<R: Record>(_ query: Query<R>) throws -> [R.ID] {
    if let ids = try idsOfPrefix(query.details, of: R.self) { return ids }
    return try run(query.details, of: R.self, for: .ids, isAll: true) { run, access in
      try access.ids(of: run, limit: query.details.limit)
    }
  }
}

/// Some records of a query, and the start of the next page.
public struct Page<R: Record>: Sendable {
  /// The records, in the order of the query.
  public let records: [R]
  /// The argument for ``Query/after(_:)``; nil if these are the last records.
  public let next: PageToken?
}
