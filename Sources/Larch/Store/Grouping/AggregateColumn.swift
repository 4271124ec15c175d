// What the aggregates of groups are collected in: an object for each aggregate, with the state of each group.

/// The value of one aggregate of each group, without its type and that of the records: classes with
/// those would be looked up in the runtime for each record.
class AnyAggregateColumn {
  /// One value of a group, if the aggregate is nothing but that.
  enum Extreme {
    case least, greatest
    /// One of these, but keys do not have the order of the values.
    case byOwnOrder
  }

  /// Nil if the aggregate needs all values.
  var extreme: Extreme? { nil }

  /// Adds a group without records.
  func begin() {}

  /// Adds a record to a group.
  ///
  /// - Parameters:
  ///   - known: the value of the field; nil if only the record has it.
  ///   - record: returns where the decoded record is.
  func add(_ known: KeyValue?, to group: Int, _ record: () throws -> UnsafeRawPointer) throws {}

  /// Adds several records whose key has this value; nil for nil.
  func add(
    _ primitive: KeyForm.Primitive, key: UnsafeRawBufferPointer?, _ times: Int, to group: Int
  ) {}

  /// Adds several whole numbers to a sum.
  func add(sum: Int128, of count: Int, to group: Int) {}

  /// Ends with the last record from a key; false if keys do not have the values.
  func endOfKeys() -> Bool { true }
}

/// The same with the type of the aggregate.
class AggregateColumn<Value>: AnyAggregateColumn {
  func value(of group: Int) throws -> Value {
    // Only Larch makes columns, and each overrides this.
    preconditionFailure("\(Self.self) has no values.")
  }
}

/// The number of records.
final class CountColumn: AggregateColumn<Int> {
  @exclusivity(unchecked) private var counts: [Int] = []

  override func begin() { counts.append(0) }

  override func add(_ known: KeyValue?, to group: Int, _ record: () throws -> UnsafeRawPointer) {
    counts[group] += 1
  }

  override func add(
    _ primitive: KeyForm.Primitive, key: UnsafeRawBufferPointer?, _ times: Int, to group: Int
  ) {
    counts[group] += times
  }

  override func value(of group: Int) -> Int { counts[group] }
}

/// A sum or a mean.
final class TotalColumn<R: Record, Field: SummableKey, Value>: AggregateColumn<Value> {
  private let keyPath: any KeyPath<R, Field> & Sendable
  private let coding = Field.keyCoding
  private let result: (KeyTotal) throws -> Value
  @exclusivity(unchecked) private var totals: [KeyTotal] = []

  init(
    _ keyPath: any KeyPath<R, Field> & Sendable, _ result: @escaping (KeyTotal) throws -> Value
  ) {
    self.keyPath = keyPath
    self.result = result
  }

  private func field(of record: UnsafeRawPointer) -> Field {
    // The rows of a request are of its record type.
    record.assumingMemoryBound(to: R.self).pointee[keyPath: keyPath]
  }

  override func begin() { totals.append(KeyTotal()) }

  override func add(_ known: KeyValue?, to group: Int, _ record: () throws -> UnsafeRawPointer)
    throws
  {
    if let known { return totals[group].add(known) }
    for value in coding.values(of: try field(of: record())) { totals[group].add(value) }
  }

  override func add(
    _ primitive: KeyForm.Primitive, key: UnsafeRawBufferPointer?, _ times: Int, to group: Int
  ) {
    if let key { totals[group].add(primitive, key: key, times) }
  }

  override func add(sum: Int128, of count: Int, to group: Int) {
    totals[group].whole += sum
    totals[group].count += count
  }

  override func value(of group: Int) throws -> Value { try result(totals[group]) }
}

/// The least or the greatest value.
final class ExtremeColumn<R: Record, Field: IndexKey, Value>: AggregateColumn<Value?> {
  private let keyPath: any KeyPath<R, Field> & Sendable
  private let coding = Field.keyCoding
  private let order = ValueOrder<Field>()
  private let descends: Bool
  private let result: (Field) -> Value?
  /// The best value of each group so far, and what it is compared by.
  @exclusivity(unchecked) private var values: [Field?] = []
  @exclusivity(unchecked) private var keys: [[KeyValue]] = []
  /// The same while keys are read: their bytes, which have the order of the values.
  @exclusivity(unchecked) private var bytes: [[UInt8]] = []
  @exclusivity(unchecked) private var primitive: KeyForm.Primitive?
  /// Whether a key did not have its value.
  @exclusivity(unchecked) private var isUnread = false

  init(
    _ keyPath: any KeyPath<R, Field> & Sendable, descends: Bool,
    _ result: @escaping (Field) -> Value?
  ) {
    self.keyPath = keyPath
    self.descends = descends
    self.result = result
  }

  private func field(of record: UnsafeRawPointer) -> Field {
    // The rows of a request are of its record type.
    record.assumingMemoryBound(to: R.self).pointee[keyPath: keyPath]
  }

  override var extreme: Extreme? { order.isOwn ? .byOwnOrder : descends ? .greatest : .least }

  override func begin() {
    values.append(nil)
    keys.append([])
    bytes.append([])
  }

  override func add(_ known: KeyValue?, to group: Int, _ record: () throws -> UnsafeRawPointer)
    throws
  {
    let key: [KeyValue]
    if let known {
      key = [known.ofKey]
    } else {
      key = coding.values(of: try field(of: record())).map(\.ofKey)
    }
    try add(key, to: group) { try coding.read(key) ?? field(of: record()) }
  }

  private func add(
    _ key: [KeyValue], to group: Int, _ value: () throws -> Field
  ) rethrows {
    guard FieldTest.within(lower: nil, upper: nil).matches(key) else { return }
    let place = try order.values(key, of: value)
    if values[group] != nil {
      let comparison = KeyValue.compare(place, keys[group])
      guard descends ? comparison > 0 : comparison < 0 else { return }
    }
    keys[group] = place
    values[group] = try value()
  }

  override func add(
    _ primitive: KeyForm.Primitive, key: UnsafeRawBufferPointer?, _ times: Int, to group: Int
  ) {
    guard let key else { return }
    if primitive.isFloatingPoint,
      ComparableNumber.of(primitive, key: key) == ComparableNumber.nan
    {
      return
    }
    if order.isOwn {
      let key = [KeyValue(primitive, key: key)]
      guard let value = coding.read(key) else { return isUnread = true }
      return add(key, to: group) { value }
    }
    self.primitive = primitive
    if keys[group].isEmpty {
      keys[group] = [.null]
    } else {
      let order = bytes[group].withUnsafeBytes { compareBytes(key, $0) }
      guard descends ? order > 0 : order < 0 else { return }
    }
    bytes[group] = [UInt8](key)
  }

  override func endOfKeys() -> Bool {
    guard let primitive else { return !isUnread }
    for group in keys.indices where !keys[group].isEmpty {
      let key = bytes[group].withUnsafeBytes { KeyValue(primitive, key: $0) }
      guard let value = coding.read([key]) else { return false }
      values[group] = value
    }
    return true
  }

  override func value(of group: Int) -> Value? { values[group].flatMap(result) }
}
