/// The values of one field of each group, without their type.
class AnyGroupColumn<R: Record> {
  let reference: FieldReference
  /// The values of each group in the form of keys.
  final fileprivate(set) var keys: [[KeyValue]] = []

  fileprivate init(_ reference: FieldReference) { self.reference = reference }

  /// The values of a record in the form of keys.
  fileprivate func key(of record: R) -> [KeyValue] { [] }

  /// Adds a group.
  ///
  /// - Parameter record: returns the first record of the group, which may be needed for the value.
  fileprivate func add(_ key: [KeyValue], _ record: () throws -> R) throws {}

  /// Adds a group; false if only a record has the value.
  fileprivate func add(_ key: [KeyValue]) -> Bool { false }
}

/// The same with their type.
final class GroupColumn<R: Record, Value: IndexKey & Sendable>: AnyGroupColumn<R> {
  private let keyPath: any KeyPath<R, Value> & Sendable
  private let coding = Value.keyCoding
  private(set) var values: [Value] = []

  init(_ field: GroupField<R, Value>) {
    keyPath = field.keyPath
    super.init(field.reference)
  }

  override fileprivate func key(of record: R) -> [KeyValue] {
    coding.values(of: record[keyPath: keyPath]).map(\.ofKey)
  }

  override fileprivate func add(_ key: [KeyValue], _ record: () throws -> R) throws {
    values.append(try coding.read(key) ?? record()[keyPath: keyPath])
    keys.append(key)
  }

  override fileprivate func add(_ key: [KeyValue]) -> Bool {
    guard let value = coding.read(key) else { return false }
    values.append(value)
    keys.append(key)
    return true
  }
}

/// The groups of records that were read so far, each with its aggregates.
final class GroupTable<R: Record> {
  private let fields: [AnyGroupColumn<R>]
  private let aggregates: [AnyAggregateColumn<R>]
  private(set) var count = 0
  /// The number of each group by the bytes of its values.
  private var numbers = ByteTable()
  private var writer = KeyWriter(keepsWhole: true)
  private var bytes = ByteBuffer()

  init(_ fields: [AnyGroupColumn<R>], _ aggregates: [AnyAggregateColumn<R>]) {
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
      let order = KeyValue.compare(field.keys[a], field.keys[b])
      if order != 0 { return order < 0 }
    }
    return false
  }

  private func beginGroup() {
    for aggregate in aggregates { aggregate.begin() }
    count += 1
  }

  /// The number of the group with these values; `count` if there is none yet.
  private func number(of keys: [[KeyValue]]) -> Int {
    writer.clear()
    for (place, key) in keys.enumerated() {
      _ = writer.append(key, as: fields[place].reference.form, isLast: false)
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
  func add(_ values: [KeyValue], _ records: Int, _ record: () throws -> R) throws {
    try fields[0].add(values, record)
    beginGroup()
    for aggregate in aggregates { aggregate.add(.bool, key: nil, records, to: count - 1) }
  }

  // MARK: Row by row

  /// Adds all rows of a run that selects the fields, and then those of the aggregates.
  ///
  /// - Parameter places: the place of the field of each aggregate in the selection.
  func addRows(_ run: PlanRun, _ access: RecordAccess<R>, _ places: [Int?]) throws {
    var keys: [[KeyValue]] = Array(repeating: [], count: fields.count)
    while let row = try run.next() {
      var decoded: R?
      func record() throws -> R {
        if let decoded { return decoded }
        let record = try access.decode(row, of: run)
        decoded = record
        return record
      }
      for place in fields.indices {
        keys[place] =
          if let value = try run.value(of: place) {
            [value.ofKey]
          } else {
            fields[place].key(of: try record())
          }
      }
      let group = number(of: keys)
      if group == count {
        for place in fields.indices { try fields[place].add(keys[place], record) }
        beginGroup()
      }
      for (place, aggregate) in aggregates.enumerated() {
        let known = try places[place].flatMap { try run.value(of: $0) }
        try aggregate.add(known, to: group, record)
      }
    }
  }

  // MARK: Key by key

  /// Adds all keys of an index that has the fields and those of the aggregates.
  ///
  /// - Returns: false if keys are not enough. The table cannot be used then.
  func addKeys(_ keys: WholeKeys, _ places: [Int?]) throws -> Bool {
    let width = (keys.components[0..<fields.count].max() ?? 0) + 1
    var values: [[KeyValue]] = Array(repeating: [], count: fields.count)
    var group = 0
    var isReadable = true
    // The bytes of the keys up to the last field of the group.
    var last = ByteBuffer()
    let isWhole = try keys.forEachKey { components, entries in
      guard let prefix = try components.prefix(width) else { return false }
      if count == 0 || !prefix.equals(last.bytes) {
        last.removeAll()
        last.append(prefix)
        for place in fields.indices {
          switch try components.component(keys.components[place]) {
          case .cut: return false
          case .null: values[place] = [.null]
          case .value(let bytes): values[place] = [KeyValue(keys.primitives[place], key: bytes)]
          }
        }
        group = number(of: values)
        if group == count {
          for place in fields.indices where !fields[place].add(values[place]) {
            isReadable = false
            return false
          }
          beginGroup()
        }
      }
      for (place, aggregate) in aggregates.enumerated() {
        guard let field = places[place] else {
          aggregate.add(.bool, key: nil, entries, to: group)
          continue
        }
        switch try components.component(keys.components[field]) {
        case .cut: return false
        case .null: aggregate.add(keys.primitives[field], key: nil, entries, to: group)
        case .value(let bytes):
          aggregate.add(keys.primitives[field], key: bytes, entries, to: group)
        }
      }
      return true
    }
    return isWhole && isReadable && aggregates.allSatisfy { $0.endOfKeys() }
  }
}
