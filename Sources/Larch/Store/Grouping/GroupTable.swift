/// The values of one field of each group, without their type: see ``AnyAggregateColumn``.
class AnyGroupColumn {
  let reference: FieldReference
  /// The values of each group in the form of keys.
  @exclusivity(unchecked) final fileprivate(set) var keys: [[KeyValue]] = []

  fileprivate init(_ reference: FieldReference) { self.reference = reference }

  /// Negative, zero or positive as the values of a group come before, with or after those of another.
  fileprivate func order(_ a: Int, _ b: Int) -> Int { KeyValue.compare(keys[a], keys[b]) }

  /// The values of a record in the form of keys.
  fileprivate func key(of record: UnsafeRawPointer) -> [KeyValue] { [] }

  /// Adds a group.
  ///
  /// - Parameter record: returns the first record of the group, which may be needed for the value.
  fileprivate func add(_ key: [KeyValue], _ record: () throws -> UnsafeRawPointer) throws {}

  /// Adds a group; false if only a record has the value.
  func add(_ key: [KeyValue]) -> Bool { false }
}

/// The same with their type.
final class GroupColumn<R: Record, Value: IndexKey & Sendable>: AnyGroupColumn {
  private let keyPath: any KeyPath<R, Value> & Sendable
  private let coding = Value.keyCoding
  private let order = OwnOrder<Value>()
  @exclusivity(unchecked) private(set) var values: [Value] = []

  init(_ field: GroupField<R, Value>) {
    keyPath = field.keyPath
    super.init(field.reference)
  }

  private func field(of record: UnsafeRawPointer) -> Value {
    // The rows of a request are of its record type.
    record.assumingMemoryBound(to: R.self).pointee[keyPath: keyPath]
  }

  override fileprivate func order(_ a: Int, _ b: Int) -> Int {
    guard let order else { return super.order(a, b) }
    return KeyValue.compare([order.place(values[a])], [order.place(values[b])])
  }

  override fileprivate func key(of record: UnsafeRawPointer) -> [KeyValue] {
    coding.values(of: field(of: record)).map(\.ofKey)
  }

  override fileprivate func add(_ key: [KeyValue], _ record: () throws -> UnsafeRawPointer) throws {
    values.append(try coding.read(key) ?? field(of: record()))
    keys.append(key)
  }

  override func add(_ key: [KeyValue]) -> Bool {
    guard let value = coding.read(key) else { return false }
    values.append(value)
    keys.append(key)
    return true
  }
}

/// The groups of records that were read so far, each with its aggregates.
final class GroupTable {
  let fields: [AnyGroupColumn]
  let aggregates: [AnyAggregateColumn]
  @exclusivity(unchecked) private(set) var count = 0
  /// The number of each group by the bytes of its values.
  @exclusivity(unchecked) private var numbers = ByteTable()
  @exclusivity(unchecked) private var writer = KeyWriter(keepsWhole: true)
  @exclusivity(unchecked) private var bytes = ByteBuffer()

  init(_ fields: [AnyGroupColumn], _ aggregates: [AnyAggregateColumn]) {
    self.fields = fields
    self.aggregates = aggregates
  }

  /// The numbers of the groups, ascending by the values of their fields.
  var inOrder: [Int] {
    let groups = Array(0..<count)
    // Keys of an index come in this order.
    if zip(groups, groups.dropFirst()).allSatisfy({ precedes($0, $1) }) { return groups }
    return groups.sorted(by: precedes)
  }

  private func precedes(_ a: Int, _ b: Int) -> Bool {
    for field in fields {
      let order = field.order(a, b)
      if order != 0 { return order < 0 }
    }
    return false
  }

  /// Adds a group without records, whose values were added to the fields.
  func beginGroup() {
    for aggregate in aggregates { aggregate.begin() }
    count += 1
  }

  /// The number of the group with these values; `count` if there is none yet.
  func number(of keys: [[KeyValue]]) -> Int {
    writer.clear()
    for place in 0..<keys.count {
      _ = writer.append(keys[place], as: fields[place].reference.form, isLast: false)
    }
    bytes.removeAll()
    bytes.append(writer.bytes)
    // Keys that are cut may be equal; nil and a value differ only in the marks of the key.
    writer.withWhole { bytes.append($0) }
    return numbers.value(of: bytes.bytes, orSet: count)
  }

  // MARK: Group by group

  /// Adds a group with a number of records, if the aggregates are nothing but that.
  ///
  /// - Parameter record: returns one of the records.
  func add(_ values: [KeyValue], _ records: Int, _ record: () throws -> UnsafeRawPointer) throws {
    try fields[0].add(values, record)
    beginGroup()
    for aggregate in aggregates { aggregate.add(.bool, key: nil, records, to: count - 1) }
  }

  // MARK: Row by row

  /// Adds all rows of a run that selects the fields, and then those of the aggregates.
  ///
  /// - Parameter places: the place of the field of each aggregate in the selection.
  func addRows<R: Record>(
    _ run: PlanRun, _ access: RecordAccess<R>, _ places: [Int?]
  ) throws {
    var keys: [[KeyValue]] = Array(repeating: [], count: fields.count)
    let decoded = DecodedRecord<R>()
    while let row = try run.next() {
      decoded.drop()
      func record() throws -> UnsafeRawPointer {
        try decoded.address { try access.decode(row, of: run) }
      }
      for place in 0..<fields.count {
        keys[place] =
          if let value = try run.keyValue(of: place) {
            [value]
          } else {
            fields[place].key(of: try record())
          }
      }
      let group = number(of: keys)
      if group == count {
        for place in 0..<fields.count { try fields[place].add(keys[place], record) }
        beginGroup()
      }
      for place in 0..<aggregates.count {
        let known = try places[place].flatMap {
          // Only a sum may need the bits of a number.
          try aggregates[place].extreme == nil ? run.value(of: $0) : run.keyValue(of: $0)
        }
        try aggregates[place].add(known, to: group, record)
      }
    }
  }
}

/// The record of a row, decoded if it is needed.
final class DecodedRecord<R: Record> {
  private let memory = UnsafeMutablePointer<R>.allocate(capacity: 1)
  @exclusivity(unchecked) private var isThere = false

  deinit {
    drop()
    memory.deallocate()
  }

  func drop() {
    if isThere { memory.deinitialize(count: 1) }
    isThere = false
  }

  /// Where it is, until the next `drop`.
  func address(_ decode: () throws -> R) throws -> UnsafeRawPointer {
    if !isThere {
      memory.initialize(to: try decode())
      isThere = true
    }
    return UnsafeRawPointer(memory)
  }
}
