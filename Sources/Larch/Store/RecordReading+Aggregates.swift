// Figures over the records of a query. Nil counts for nothing in any of them.

extension RecordReading {
  /// The least value of a field, or nil when no record of the query has one.
  ///
  /// Nil and NaN are passed over.
  ///
  /// - Throws: as ``fetch(_:)``.
  /// - Complexity: one search where an index over the field answers the query; else its records.
  public func min<R: Record, Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, of query: Query<R>
  ) throws -> Value? {
    try extreme(TypedField.of(keyPath), { $0[keyPath: keyPath] }, of: query, descends: false)
  }

  /// The greatest value of a field, or nil when no record of the query has one.
  ///
  /// Nil and NaN are passed over.
  ///
  /// - Throws: as ``fetch(_:)``.
  /// - Complexity: one search where an index over the field answers the query; else its records.
  public func max<R: Record, Value: IndexKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, of query: Query<R>
  ) throws -> Value? {
    try extreme(TypedField.of(keyPath), { $0[keyPath: keyPath] }, of: query, descends: true)
  }

  /// The least value of an optional field, or nil when no record of the query has one.
  ///
  /// Nil and NaN are passed over.
  ///
  /// - Throws: as ``fetch(_:)``.
  /// - Complexity: one search where an index over the field answers the query; else its records.
  public func min<R: Record, Wrapped: IndexKey>(
    _ keyPath: any KeyPath<R, Wrapped?> & Sendable, of query: Query<R>
  ) throws -> Wrapped? {
    try extreme(TypedField.of(keyPath), { $0[keyPath: keyPath] }, of: query, descends: false)
      ?? nil
  }

  /// The greatest value of an optional field, or nil when no record of the query has one.
  ///
  /// Nil and NaN are passed over.
  ///
  /// - Throws: as ``fetch(_:)``.
  /// - Complexity: one search where an index over the field answers the query; else its records.
  public func max<R: Record, Wrapped: IndexKey>(
    _ keyPath: any KeyPath<R, Wrapped?> & Sendable, of query: Query<R>
  ) throws -> Wrapped? {
    try extreme(TypedField.of(keyPath), { $0[keyPath: keyPath] }, of: query, descends: true)
      ?? nil
  }

  private func extreme<R: Record, Value: IndexKey>(
    _ reference: FieldReference, _ read: (R) -> Value, of query: Query<R>, descends: Bool
  ) throws -> Value? {
    var description = query.details
    let isPart = description.limit != nil || description.offset != 0 || description.after != nil
    guard isPart else {
      // The first in the order of the field: the end of an index, where there is one.
      description.filter = .all([
        description.filter, .field(FieldFilter(reference, .within(lower: nil, upper: nil))),
      ])
      description.order = [
        OrderTerm(field: reference, descends: descends, ignoresCase: false)
      ]
      description.idsDescend = false
      description.limit = 1
      return try firstValue(reference, read, of: description)
    }
    // Which records count depends on their order, so all of them are looked at.
    return try _reading { tx in
      try tx.run(description, of: R.self, for: .fields([reference]), selecting: [reference]) {
        run, access in
        var best: [KeyValue]?
        var result: Value?
        while let row = try run.next() {
          let record = try run.values(of: 0) == nil ? access.decode(row, of: run) : nil
          let values = try run.values(of: 0) ?? record.map { Value.values(of: read($0)) } ?? []
          guard FieldTest.within(lower: nil, upper: nil).matches(values) else { continue }
          if let best {
            let order = KeyValue.compare(values, best)
            guard descends ? order > 0 : order < 0 else { continue }
          }
          best = values
          result = try value(values, row, run, access, read)
        }
        return result
      }
    }
  }

  private func firstValue<R: Record, Value: IndexKey>(
    _ reference: FieldReference, _ read: (R) -> Value, of description: QueryDescription
  ) throws -> Value? {
    try _reading { tx in
      try tx.run(description, of: R.self, for: .fields([reference]), selecting: [reference]) {
        run, access in
        guard let row = try run.next() else { return nil }
        return try value(try run.values(of: 0), row, run, access, read)
      }
    }
  }

  /// A value from its key values, or else from the decoded record.
  private func value<R: Record, Value: IndexKey>(
    _ values: [KeyValue]?, _ row: QueryRow, _ run: PlanRun, _ access: RecordAccess<R>,
    _ read: (R) -> Value
  ) throws -> Value {
    if let values {
      var list = KeyValues(values)
      if let value = Value._read(from: &list) { return value }
    }
    return read(try access.decode(row, of: run))
  }
}

extension RecordReading {
  /// The sum of a field over the records of the query; zero when there are none.
  ///
  /// Whole numbers are summed exactly. Floating-point numbers are added in the order of the query,
  /// so that the sum is the same with every index and without.
  ///
  /// - Throws: `.overflow` when the type of the field cannot hold the sum; as ``fetch(_:)``.
  /// - Complexity: the records of the query; none is decoded.
  public func sum<R: Record, Value: SummableKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, of query: Query<R>
  ) throws -> Value.Sum {
    let total = try total(TypedField.of(keyPath), of: query)
    guard let sum = Value._sum(total) else {
      throw LarchError(
        .overflow,
        "The sum is greater than the type of the field can hold; use `average`, or sum the values yourself."
      ) { $0.collection = R.collectionName }
    }
    return sum
  }

  /// The mean of a field over the records of the query; nil when none has a value.
  ///
  /// - Throws: as ``fetch(_:)``.
  /// - Complexity: the records of the query; none is decoded.
  public func average<R: Record, Value: SummableKey>(
    _ keyPath: any KeyPath<R, Value> & Sendable, of query: Query<R>
  ) throws -> Double? {
    let total = try total(TypedField.of(keyPath), of: query)
    guard total.count > 0 else { return nil }
    let sum = total.isWhole ? Double(total.whole) : total.real
    return sum / Double(total.count)
  }

  private func total<R: Record>(
    _ reference: FieldReference, of query: Query<R>
  ) throws -> KeyTotal {
    try _reading { tx in
      try tx.run(
        query.details, of: R.self, for: .fields([reference]), selecting: [reference]
      ) { run, access in
        var total = KeyTotal()
        while let row = try run.next() {
          if let values = try run.values(of: 0) {
            for value in values { total.add(value) }
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
  }
}

extension RecordReading {
  /// How many records of the query have each value of a field, ascending by value.
  ///
  /// ```swift
  /// for city in try store.counts(by: \.city, of: Person.all) { print(city.value, city.count) }
  /// ```
  ///
  /// Nil is a value here, and all NaN are one.
  ///
  /// - Throws: as ``fetch(_:)``.
  /// - Complexity: the distinct keys of an index over the field, where the query is all records;
  ///   else the records of the query.
  public func counts<R: Record, Value: IndexKey>(
    by keyPath: any KeyPath<R, Value> & Sendable, of query: Query<R>
  ) throws -> [(value: Value, count: Int)] {
    let reference = TypedField.of(keyPath)
    return try _reading { tx in
      try tx.run(
        query.details, of: R.self, for: .fields([reference]), selecting: [reference]
      ) { run, access in
        var groups: [[UInt8]: (value: Value, values: [KeyValue], count: Int)] = [:]
        var writer = KeyWriter(keepsWhole: true)
        while let row = try run.next() {
          let known = try run.values(of: 0)
          let values: [KeyValue]
          var decoded: Value?
          if let known {
            values = known
          } else {
            let value = try access.decode(row, of: run)[keyPath: keyPath]
            decoded = value
            values = Value.values(of: value)
          }
          writer.clear()
          _ = writer.append(values, as: reference.form)
          // Nil and a value differ in their mark, which is not among the whole values.
          let key = [UInt8](writer.bytes) + writer.withWhole { [UInt8]($0) }
          if groups[key]?.count == nil {
            var list = KeyValues(values)
            let value =
              try decoded ?? Value._read(from: &list)
              ?? access.decode(row, of: run)[keyPath: keyPath]
            groups[key] = (value, values, 1)
          } else {
            groups[key]?.count += 1
          }
        }
        return groups.values.sorted { KeyValue.compare($0.values, $1.values) < 0 }
          .map { ($0.value, $0.count) }
      }
    }
  }
}

/// A number, or an optional number, that can be summed up.
public protocol SummableKey: IndexKey {
  /// The type of a sum.
  associatedtype Sum

  /// The sum as this type tells it; nil where it cannot hold it. Met by Larch.
  static func _sum(_ total: KeyTotal) -> Sum?
}

/// A sum that is being made. You never need one.
public struct KeyTotal {
  var whole: Int128 = 0
  var real = 0.0
  var isWhole = true
  var count = 0

  mutating func add(_ value: KeyValue) {
    switch value {
    case .signed(let value): whole += Int128(value)
    case .unsigned(let value): whole += Int128(value)
    case .float(let value):
      isWhole = false
      real += Double(value)
    case .double(let value):
      isWhole = false
      real += value
    case .null, .bool, .date, .string, .data, .uuid, .url: return
    }
    count += 1
  }
}

extension SummableKey where Self: FixedWidthInteger {
  /// Exact, where the type can hold it.
  public static func _sum(_ total: KeyTotal) -> Self? { Self(exactly: total.whole) }
}

extension Int: SummableKey {}
extension Int8: SummableKey {}
extension Int16: SummableKey {}
extension Int32: SummableKey {}
extension Int64: SummableKey {}
extension UInt: SummableKey {}
extension UInt8: SummableKey {}
extension UInt16: SummableKey {}
extension UInt32: SummableKey {}
extension UInt64: SummableKey {}

extension Double: SummableKey {
  /// The sum in the order of the query.
  public static func _sum(_ total: KeyTotal) -> Double? { total.real }
}

extension Float: SummableKey {
  /// Summed as Double, then rounded.
  public static func _sum(_ total: KeyTotal) -> Float? { Float(total.real) }
}

extension Optional: SummableKey where Wrapped: SummableKey {
  /// As the value in it; nil is passed over.
  public static func _sum(_ total: KeyTotal) -> Wrapped.Sum? { Wrapped._sum(total) }
}
