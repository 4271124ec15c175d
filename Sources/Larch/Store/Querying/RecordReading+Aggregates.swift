// Aggregates of the records of a query. All of them ignore nil.

extension RecordReading {
  /// The least value of a field, or nil if no record of the query has one.
  ///
  /// Nil and NaN are skipped.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: one search if an index over the field answers the query; otherwise the records
  ///   of the query.
  public func min<R: Record, Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, of query: Query<R> = R.all
  ) throws -> Value? {
    try extreme(keyPath, of: query, descends: false)
  }

  /// The greatest value of a field, or nil if no record of the query has one.
  ///
  /// Nil and NaN are skipped.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: one search if an index over the field answers the query; otherwise the records
  ///   of the query.
  public func max<R: Record, Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, of query: Query<R> = R.all
  ) throws -> Value? {
    try extreme(keyPath, of: query, descends: true)
  }

  /// The least value of an optional field, or nil if no record of the query has one.
  ///
  /// Nil and NaN are skipped.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: one search if an index over the field answers the query; otherwise the records
  ///   of the query.
  public func min<R: Record, Wrapped: IndexKey>(
    _ keyPath: any KeyPath<R, Wrapped?> & Sendable, of query: Query<R> = R.all
  ) throws -> Wrapped? {
    try extreme(keyPath, of: query, descends: false)
      ?? nil
  }

  /// The greatest value of an optional field, or nil if no record of the query has one.
  ///
  /// Nil and NaN are skipped.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: one search if an index over the field answers the query; otherwise the records
  ///   of the query.
  public func max<R: Record, Wrapped: IndexKey>(
    _ keyPath: any KeyPath<R, Wrapped?> & Sendable, of query: Query<R> = R.all
  ) throws -> Wrapped? {
    try extreme(keyPath, of: query, descends: true)
      ?? nil
  }

  private func extreme<R: Record, Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, of query: Query<R>, descends: Bool
  ) throws -> Value? {
    if FieldNode.of(keyPath).ownOrder != nil, let order = OwnOrder<Value>() {
      // No more values than the enum has cases, in its order.
      let values = try counts(by: keyPath, of: query).map(\.value)
      return descends ? values.last { !order.isNil($0) } : values.first { !order.isNil($0) }
    }
    let reference = TypedField.of(keyPath)
    var description = query.details
    let isPart = description.limit != nil || description.offset != 0 || description.after != nil
    guard isPart else {
      // The first in the order of the field: the end of an index, if there is one.
      description.filter = .all([
        description.filter, .field(FieldFilter(reference, .within(lower: nil, upper: nil))),
      ])
      description.order = [
        OrderTerm(field: reference, descends: descends)
      ]
      description.idsDescend = false
      description.limit = 1
      return try firstValue(keyPath, of: description, query.details, descends: descends)
    }
    // The order decides which records count, so all of them are read.
    return try _reading { tx in
      try tx.run(
        description, of: R.self, for: .fields([reference]), selecting: [reference], isAll: true
      ) {
        run, access in
        let coding = Value.keyCoding
        var best: [KeyValue]?
        var result: Value?
        while let row = try run.next() {
          let record = try run.values(of: 0) == nil ? access.decode(row, of: run) : nil
          let values =
            try run.values(of: 0)
            ?? record.map { coding.values(of: $0[keyPath: keyPath]) } ?? []
          guard FieldTest.within(lower: nil, upper: nil).matches(values) else { continue }
          if let best {
            let order = KeyValue.compare(values, best)
            guard descends ? order > 0 : order < 0 else { continue }
          }
          best = values
          result = try coding.read(values) ?? access.decode(row, of: run)[keyPath: keyPath]
        }
        return result
      }
    }
  }

  /// - Parameter query: the query as it was asked.
  private func firstValue<R: Record, Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, of description: QueryDescription,
    _ query: QueryDescription, descends: Bool
  ) throws -> Value? {
    let reference = TypedField.of(keyPath)
    return try _reading { tx in
      func first(isAll: Bool) throws -> Value? {
        try tx.run(
          description, of: R.self, for: .fields([reference]), selecting: [reference], isAll: isAll
        ) {
          run, access in
          switch try run.firstValue(of: 0) {
          case .none: return nil
          case .value(let known): if let value = Value.keyCoding.read([known]) { return value }
          case .unknown: break
          }
          guard let row = try run.next() else { return nil }
          // From its key values, or else from the decoded record.
          return try run.values(of: 0).flatMap { Value.keyCoding.read($0) }
            ?? access.decode(row, of: run)[keyPath: keyPath]
        }
      }
      guard tx.mayKeepAggregates else { return try first(isAll: true) }
      let row = ExtremeRow(details: description, field: reference, keyPath: keyPath)
      return try tx.kept(
        query, reference, { ExtremeAggregate($0, row, descends: descends, $2) }, read: first)
    }
  }
}

extension RecordReading {
  /// The sum of a field over the records of the query; zero if there are none.
  ///
  /// Integers are summed exactly. Floating-point numbers and `Decimal` are added in the order of
  /// the query, so that the sum is the same with every plan.
  ///
  /// Nil is skipped; with a NaN the sum is NaN.
  ///
  /// - Throws: `.overflow` if the sum overflows the type of the field; and the errors of
  ///   ``fetch(_:)``.
  /// - Complexity: the records of the query, without decoding for a stored field; no record is read
  ///   if an index answers the filter and has the field.
  public func sum<R: Record, Value: SummableKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, of query: Query<R> = R.all
  ) throws -> Value.Sum {
    let total = try total(TypedField.of(keyPath), of: query)
    // The usual types, without an optional, for which the runtime would be asked. `Sum` is the type
    // compared.
    if Value.Sum.self == Int.self, let sum = Int(exactly: total.whole) {
      return unsafeBitCast(sum, to: Value.Sum.self)
    }
    if Value.Sum.self == Double.self { return unsafeBitCast(total.real, to: Value.Sum.self) }
    return try otherSum(total, of: R.self, Value.self)
  }

  @inline(never)
  private func otherSum<R: Record, Value: SummableKey>(
    _ total: KeyTotal, of type: R.Type, _: Value.Type
  ) throws -> Value.Sum {
    guard let sum = Value.sum(total) else {
      throw KeyTotal.overflow(of: R.self)
    }
    return sum
  }

  /// The mean of a field over the records of the query; nil if none has a value.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: that of ``sum(_:of:)``.
  public func average<R: Record, Value: SummableKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, of query: Query<R> = R.all
  ) throws -> Double? {
    try total(TypedField.of(keyPath), of: query).mean
  }

  private func total<R: Record>(
    _ reference: FieldReference, of query: Query<R> = R.all
  ) throws -> KeyTotal {
    try _reading { tx in
      // Floating-point numbers and decimals are added in the order of the query.
      let isAnyOrder = reference.form.isWholeNumber && !query.details.isPart
      if isAnyOrder, let total = try tx.totalOfKey(reference, query.details, of: R.self) {
        return total
      }
      func read(isAll: Bool) throws -> KeyTotal {
        try tx.run(
          query.details, of: R.self,
          for: isAnyOrder ? .values([reference]) : .fields([reference]),
          selecting: [reference], isAll: isAll
        ) { run, access in
          try total(reference, of: run, access)
        }
      }
      return isAnyOrder && tx.mayKeepAggregates
        ? try tx.kept(query.details, reference, TotalAggregate<R>.init, read: read)
        : try read(isAll: true)
    }
  }

  private func total<R: Record>(
    _ reference: FieldReference, of run: PlanRun, _ access: RecordAccess<R>
  ) throws -> KeyTotal {
    if let total = try run.total(of: 0) { return total }
    var total = KeyTotal()
    while let row = try run.next() {
      if let value = try run.value(of: 0) {
        total.add(value)
      } else {
        let record = try access.bytes(of: row, run)
        for values in try access.values(of: reference, in: record) {
          for value in values { total.add(value) }
        }
      }
    }
    return total
  }
}

extension KeyForm {
  /// Whether values are whole numbers, or nil.
  var isWholeNumber: Bool {
    guard case .primitive(let primitive) = unwrapped.node else { return false }
    return primitive.isWholeNumber
  }
}
