// The order of declarations is that of a user's needs: records, one record, figures, ids, pages.

extension RecordReading {
  /// The records that the query describes, in its order.
  ///
  /// ```swift
  /// let adults = try store.fetch(Person.where { $0.age >= 18 }.sorted(by: \.name))
  /// ```
  ///
  /// - Throws: `.invalidQuery` for a query that cannot be run as written, `.checksumMismatch` or
  ///   `.decodingFailed` for a stored record that cannot be read, `.unknownCollection`.
  /// - Complexity: what the plan says (see ``explain(_:running:)-(Query<R>,_)``): with an index
  ///   that fits, the logarithm of the collection and the records returned; without, all records.
  public func fetch<R: Record>(_ query: Query<R>) throws -> [R] {
    try _reading { tx in
      try tx.run(query.details, of: R.self, for: .records) { run, access in
        var records = RecordBuffer<R>(limit: query.details.limit)
        while let row = try run.next() {
          records.next().initialize(to: try access.decode(row, of: run))
          records.filled()
        }
        return records.takeArray()
      }
    }
  }

  /// The first record in the order of the query, or nil.
  ///
  /// - Throws: as ``fetch(_:)-(Query<R>)``.
  /// - Complexity: stops at the first record, where no sort is needed.
  public func first<R: Record>(_ query: Query<R>) throws -> R? {
    try _reading { tx in
      try tx.run(query.details.limitedToOne, of: R.self, for: .records) { run, access in
        guard let row = try run.next() else { return nil }
        return try access.decode(row, of: run)
      }
    }
  }

  /// How many records ``fetch(_:)-(Query<R>)`` would return. Reads none where an index tells.
  ///
  /// - Throws: as ``fetch(_:)-(Query<R>)``.
  /// - Complexity: the distinct keys of the range where one index answers the whole filter; else
  ///   that of ``fetch(_:)-(Query<R>)``, but nothing is decoded that the filter need not decode.
  public func count<R: Record>(_ query: Query<R>) throws -> Int {
    try _reading { tx in
      try tx.run(query.details, of: R.self, for: .count) { run, _ in try run.count() }
    }
  }

  /// Whether ``fetch(_:)-(Query<R>)`` would return any record.
  ///
  /// - Throws: as ``fetch(_:)-(Query<R>)``.
  /// - Complexity: stops at the first match, unless indexes are intersected: then their ids come
  ///   first.
  public func exists<R: Record>(_ query: Query<R>) throws -> Bool {
    try _reading { tx in
      try tx.run(query.details, of: R.self, for: .exists) { run, _ in try run.exists() }
    }
  }

  /// The ids of the records that ``fetch(_:)-(Query<R>)`` would return, in the same order.
  ///
  /// - Throws: as ``fetch(_:)-(Query<R>)``.
  /// - Complexity: reads no record where an index answers the whole filter.
  public func ids<R: Record>(_ query: Query<R>) throws -> [R.ID] {
    try _reading { tx in
      try tx.run(query.details, of: R.self, for: .ids) { run, access in
        var ids: [R.ID] = []
        while let row = try run.next() { ids.append(try access.id(of: row, run)) }
        return ids
      }
    }
  }

  /// Calls the closure with each record in the order of the query, one after the other.
  ///
  /// No array of all records is made. In a write transaction the closure may change records: those
  /// that are visited are the ones that matched when the loop began, as they are when their turn
  /// comes, without those that were deleted meanwhile.
  ///
  /// - Throws: what `body` throws, and as ``fetch(_:)-(Query<R>)``.
  /// - Complexity: constant memory where rows come in the order of the query; else, and in every
  ///   write transaction, the ids, which are 8 to 16 bytes a record for assigned and integer ones.
  ///   A sort that is larger than 64 MiB goes through a temporary file.
  public func forEach<R: Record>(_ query: Query<R>, _ body: (R) throws -> Void) throws {
    try _reading { tx in
      let cursor = try tx.cursor(query)
      defer { cursor.close() }
      while let record = try cursor.next() { try body(record) }
    }
  }

  /// The next records of the query, up to its limit, and the token that the page behind them
  /// begins at.
  ///
  /// ```swift
  /// var query = Person.all.sorted(by: \.name).limit(50)
  /// let page = try store.page(query)
  /// if let token = page.next { query = query.after(token) }
  /// ```
  ///
  /// Pages neither skip nor repeat a record that stays as it is, whatever is inserted or deleted
  /// between them.
  ///
  /// - Throws: as ``fetch(_:)-(Query<R>)``; `.invalidQuery` for a token of another order.
  /// - Complexity: with an index for the order, the records of the page; it does not grow with
  ///   the number of pages before. Without one, each page costs the whole query.
  public func page<R: Record>(_ query: Query<R>) throws -> Page<R> {
    try _reading { tx in
      var description = query.details
      let fields = description.order.map(\.field)
      let limit = description.limit
      // One more, to know whether there is a next page.
      if let limit, limit >= 0 { description.limit = limit == Int.max ? limit : limit + 1 }
      return try tx.run(description, of: R.self, for: .records, selecting: fields) { run, access in
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

  /// How the query would be answered, as text.
  ///
  /// ```swift
  /// print(try store.explain(query))
  /// ```
  ///
  /// The plan is that of ``fetch(_:)-(Query<R>)``; a count or a selection may have one that reads
  /// less.
  ///
  /// - Parameters:
  ///   - query: what is asked.
  ///   - running: runs the query, and tells how many index entries and records were looked at, and
  ///     how many returned.
  /// - Throws: as ``fetch(_:)-(Query<R>)``.
  /// - Complexity: a few searches in the indexes, without running.
  public func explain<R: Record>(_ query: Query<R>, running: Bool = false) throws -> String {
    try explain(query, for: .records, running: running)
  }

  /// How the query would be counted, as text: often from an index alone.
  ///
  /// - Throws: as ``fetch(_:)-(Query<R>)``.
  /// - Complexity: as ``explain(_:running:)-(Query<R>,_)``.
  public func explain<R: Record>(
    counting query: Query<R>, running: Bool = false
  ) throws -> String {
    try explain(query, for: .count, running: running)
  }

  /// How the selection would be answered, as text.
  ///
  /// - Throws: as ``fetch(_:)-(Query<R>)``.
  /// - Complexity: as ``explain(_:running:)-(Query<R>,_)``.
  public func explain<R: Record, Row>(
    _ selection: Selection<R, Row>, running: Bool = false
  ) throws -> String {
    let fields = selection.references
    return try explain(
      selection.query, for: fields.map { .fields($0) } ?? .records, running: running)
  }

  private func explain<R: Record>(
    _ query: Query<R>, for need: QueryNeed, running: Bool
  ) throws -> String {
    try _reading { tx in
      try tx.storage { _ in
        let collection = try tx.context.collection(of: R.self)
        var prepared = try tx.prepare(query.details, for: need, in: collection)
        if case .fields(let fields) = need { prepared.selecting = fields }
        guard running else { return prepared.text }
        let access = RecordAccess<R>(tx.context, collection, with: prepared.answers)
        return try tx.run(prepared, access) { run, _ in
          switch need {
          case .count: _ = try run.count()
          case .exists: _ = try run.exists()
          case .records, .ids, .fields: while try run.next() != nil {}
          }
          var counters = run.counters
          if let answers = prepared.answers { counters.add(answers.counters) }
          return prepared.text + "\n" + counters.text
        }
      }
    }
  }
}

/// Some records of a query, and where the next ones begin.
public struct Page<R: Record>: Sendable {
  /// The records, in the order of the query.
  public let records: [R]
  /// For ``Query/after(_:)``; nil when these are the last records.
  public let next: PageToken?
}
