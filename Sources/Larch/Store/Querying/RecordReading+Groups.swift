extension RecordReading {
  /// The number of records of the query with each value of a field, ascending by value.
  ///
  /// ```swift
  /// for city in try store.counts(by: \.city, of: Person.all) { print(city.value, city.count) }
  /// ```
  ///
  /// Nil counts as a value, and all NaN as one. Values that are equal are one group, as in
  /// `Dictionary(grouping:by:)`, and the group has the value of their keys: 0.0 for -0.0, and a
  /// text in its composed form.
  ///
  /// - Throws: the errors of ``fetch(_:)``.
  /// - Complexity: one step for each distinct key, and no record, with an index that begins with the
  ///   field, or with fields that the filter sets equal and then the field; otherwise that of
  ///   ``sum(_:of:)``. Each distinct value is in memory.
  public func counts<R: Record, Value: IndexKey>(
    by keyPath: any KeyPath<R, Value> & Sendable, of query: Query<R> = R.all
  ) throws -> [(value: Value, count: Int)] {
    let reference = TypedField.of(keyPath)
    return try _reading { tx in
      // Which rows count depends on the order only if not all of them do.
      let need: QueryNeed =
        query.details.isPart ? .fields([reference]) : .counts(reference)
      func read(isAll: Bool) throws -> [(value: Value, count: Int)] {
        try tx.run(
          query.details, of: R.self, for: need, selecting: [reference], isAll: isAll
        ) { run, access in
          try groups(by: keyPath, reference, of: run, access)
        }
      }
      let counts =
        tx.mayKeepAggregates
        ? try tx.kept(query.details, reference, GroupsAggregate<R, Value>.init, read: read)
        : try read(isAll: true)
      guard FieldNode.of(keyPath).ownOrder != nil, let order = OwnOrder<Value>() else {
        return counts
      }
      return counts.sorted {
        KeyValue.compare([order.place($0.value)], [order.place($1.value)]) < 0
      }
    }
  }

  private func groups<R: Record, Value: IndexKey>(
    by keyPath: any KeyPath<R, Value> & Sendable, _ reference: FieldReference, of run: PlanRun,
    _ access: RecordAccess<R>
  ) throws -> [(value: Value, count: Int)] {
    let coding = Value.keyCoding
    if run.plan.groups != nil {
      var groups: [(value: Value, count: Int)] = []
      try run.forEachCountedGroup(of: 0) { values, count, id in
        if let value = coding.read(values) { return groups.append((value, count)) }
        // Only the record has the value, or the error.
        let record = try run.reader.read(id)
        let value = try access.decode(QueryRow(id: id, record: record), of: run)
        groups.append((value[keyPath: keyPath], count))
      }
      return groups
    }
    var groups = ValueGroups<Value>(reference.form)
    let isGrouped = try run.forEachGroup(of: 0) { values, count, id in
      try groups.add(values, count) {
        if let value = coding.read(values) { return value }
        // Only the record has the value, or the error.
        let id = try id()
        let record = try run.reader.read(id)
        return try access.decode(QueryRow(id: id, record: record), of: run)[keyPath: keyPath]
      }
    }
    if isGrouped { return groups.sorted }
    while let row = try run.next() {
      if let value = try run.keyValue(of: 0) {
        let values = [value]
        try groups.add(values, 1) {
          try coding.read(values) ?? access.decode(row, of: run)[keyPath: keyPath]
        }
      } else {
        let value = try access.decode(row, of: run)[keyPath: keyPath]
        let values = coding.values(of: value).map(\.ofKey)
        try groups.add(values, 1) { coding.read(values) ?? value }
      }
    }
    return groups.sorted
  }
}

extension RecordReading {
  /// Not available: a field of a related record.
  @available(
    *, unavailable,
    message:
      "only fields of the record itself are read here; for those of related records, fetch the records `with` the association and read them in Swift"
  )
  @_disfavoredOverload
  public func counts<R: Record, Value>(
    by keyPath: KeyPath<RelatedFields<R>, Value>, of query: Query<R> = R.all
  ) throws -> [(value: Value, count: Int)] { [] }
}

extension Query {
  /// Not available: a field of a related record.
  @available(
    *, unavailable,
    message:
      "only fields of the record itself are read here; for those of related records, fetch the records `with` the association and read them in Swift"
  )
  @_disfavoredOverload
  public func counts<Value>(
    by keyPath: KeyPath<RelatedFields<R>, Value>, in reader: some RecordReading = AmbientStore()
  ) throws -> [(value: Value, count: Int)] { [] }
}

/// The number of occurrences of each value.
private struct ValueGroups<Value>: ~Copyable {
  private let form: KeyForm
  private var groups: [[UInt8]: (value: Value, values: [KeyValue], count: Int)] = [:]
  private var writer = KeyWriter(keepsWhole: true)

  init(_ form: KeyForm) { self.form = form }

  /// - Parameter make: returns the value at its first occurrence.
  mutating func add(
    _ values: [KeyValue], _ count: Int, _ make: () throws -> Value
  ) throws {
    writer.clear()
    _ = writer.append(values, as: form)
    // Nil and a value differ in their mark, which is not a part of the whole values.
    let key = [UInt8](writer.bytes) + writer.withWhole { [UInt8]($0) }
    if let place = groups.index(forKey: key) {
      groups.values[place].count += count
    } else {
      groups[key] = (try make(), values, count)
    }
  }

  /// Ascending by value.
  var sorted: [(value: Value, count: Int)] {
    groups.values.sorted { KeyValue.compare($0.values, $1.values) < 0 }
      .map { ($0.value, $0.count) }
  }
}
