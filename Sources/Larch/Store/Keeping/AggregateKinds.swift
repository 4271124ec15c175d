// The kinds of aggregates that an observer keeps. Each change adds what the record is now and takes away
// what it was.

/// The number of records.
final class CountAggregate<R: Record>: Aggregate<R, Int> {
  private var count = 0

  override var value: Int { count }

  override func keep(_ value: Int) { count = value }

  override func areSame(_ a: Int, _ b: Int) -> Bool { a == b }

  override func apply(_ changes: ChangesByTree, _ tx: ReadTransaction) throws -> Outcome {
    let before = count
    try forEach(changes, tx) { old, new, _, _ in
      count += (new == nil ? 0 : 1) - (old == nil ? 0 : 1)
    }
    return count == before ? .same : .changed
  }

  override func isStill(
    from old: UnsafeRawBufferPointer?, to new: UnsafeRawBufferPointer?,
    _ id: UnsafeRawBufferPointer,
    _ program: AggregateProgram<R>
  ) throws -> Bool { (old == nil) == (new == nil) }
}

/// Whether there is a record. When one leaves, it is not known whether there are others, unless another
/// one has come since.
final class ExistsAggregate<R: Record>: Aggregate<R, Bool> {
  private var exists = false

  override var value: Bool { exists }

  override func keep(_ value: Bool) { exists = value }

  override func areSame(_ a: Bool, _ b: Bool) -> Bool { a == b }

  override var mostMembers: Int? { 1 }

  override func apply(_ changes: ChangesByTree, _ tx: ReadTransaction) throws -> Outcome {
    var (isThere, hasLeft) = (false, false)
    try forEach(changes, tx) { _, new, _, _ in
      if new == nil { hasLeft = true } else { isThere = true }
    }
    if !isThere { return hasLeft && !hasMember ? .unknown : .same }
    defer { exists = true }
    return exists ? .same : .changed
  }

  override func isStill(
    from old: UnsafeRawBufferPointer?, to new: UnsafeRawBufferPointer?,
    _ id: UnsafeRawBufferPointer,
    _ program: AggregateProgram<R>
  ) throws -> Bool { exists && new != nil }
}

/// The sum and the number of the values of a field of whole numbers.
final class TotalAggregate<R: Record>: Aggregate<R, KeyTotal> {
  private var total = KeyTotal()

  override var value: KeyTotal { total }

  override func keep(_ value: KeyTotal) {
    total = value
    isKept = value.isWhole
  }

  override func areSame(_ a: KeyTotal, _ b: KeyTotal) -> Bool {
    a.whole == b.whole && a.count == b.count && a.isWhole == b.isWhole
  }

  override func apply(_ changes: ChangesByTree, _ tx: ReadTransaction) throws -> Outcome {
    let before = total
    var isKnown = true
    try forEach(changes, tx) { old, new, id, program in
      for value in try old.map({ try program.values($0, id) }) ?? [] {
        isKnown = total.remove(value) && isKnown
      }
      for value in try new.map({ try program.values($0, id) }) ?? [] { total.add(value) }
    }
    guard isKnown, total.isWhole else { return .unknown }
    return areSame(total, before) ? .same : .changed
  }

  override func isStill(
    from old: UnsafeRawBufferPointer?, to new: UnsafeRawBufferPointer?,
    _ id: UnsafeRawBufferPointer,
    _ program: AggregateProgram<R>
  ) throws -> Bool { try program.isSame(old, new, id) }
}

/// The least or the greatest value of a field: a window of one row in the order of the field. A
/// better value takes its place. When it leaves, the next one is known only if it was the best before.
final class ExtremeAggregate<R: Record, Value: IndexKey>: Aggregate<R, Value?> {
  private let patcher: RowPatcher<ExtremeRow<R, Value>>
  private let descends: Bool

  init?(
    _ query: QueryDescription, _ row: ExtremeRow<R, Value>, descends: Bool, _ tree: UInt32
  ) {
    let fewChanges = query.filter.asksRelated ? nil : 1_000
    guard let patcher = RowPatcher(row, fewChanges: fewChanges) else { return nil }
    self.patcher = patcher
    self.descends = descends
    super.init(query, row.field, tree)
  }

  override var value: Value? { patcher.first }

  override func read(_ tx: ReadTransaction, _ plain: () throws -> Value?) throws -> Value? {
    let value = try patcher.read(tx).value.first
    isKept = patcher.current != nil
    return value
  }

  override func areSame(_ a: Value?, _ b: Value?) -> Bool {
    guard let a, let b else { return a == nil && b == nil }
    let (one, other) = (Value.values(of: a), Value.values(of: b))
    return one.count == other.count && zip(one, other).allSatisfy { $0.isIdentical(to: $1) }
  }

  override func isSame(as other: KeptAggregate) -> Bool {
    (other as? Self)?.descends == descends && super.isSame(as: other)
  }

  override func apply(_ changes: ChangesByTree, _ tx: ReadTransaction) throws -> Outcome {
    let outcome =
      patcher.related == nil
      ? patcher.patch(changes[tree] ?? [], tx) : patcher.patch(changes, at: tx)
    return switch outcome {
    case .same: .same
    case .changed: .changed
    case .unknown: .unknown
    }
  }
}

/// The first value in the order of a field.
struct ExtremeRow<R: Record, Value: IndexKey>: PatchedRows {
  /// With the order of the field, and a limit of one.
  let details: QueryDescription
  let field: FieldReference
  let keyPath: any KeyPath<R, Value> & Sendable

  var rowComparison: ValueComparison<[Value]> { .stored }

  func rows(
    of query: QueryDescription, in tx: ReadTransaction, noting places: RowPlaces
  ) throws -> [Value] {
    try tx.run(query, of: R.self, for: .fields([field]), selecting: [field]) { run, access in
      var values: [Value] = []
      while let row = try run.next() {
        places.add(id: row.id, try row.record ?? run.record())
        let known = try run.values(of: 0).flatMap { Value.keyCoding.read($0) }
        values.append(try known ?? access.decode(row, of: run)[keyPath: keyPath])
      }
      return values
    }
  }

  func maker(
    _ access: RecordAccess<R>
  ) -> (_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> Value {
    let bytes = SelectedBytes(field, access.context, access.collection.reading)
    return { record, id in
      let known = try bytes.value(in: record, id: id, access.context.shapes)
      return try known.flatMap { Value.keyCoding.read([$0]) }
        ?? access.context.coder.decode(R.self, from: record)[keyPath: keyPath]
    }
  }
}

/// The number of records with each value of a field, ascending by value.
///
/// Only for values that their keys determine: of others, a record has the value of the group, and
/// which one depends on the plan.
final class GroupsAggregate<R: Record, Value: IndexKey>: Aggregate<R, [(value: Value, count: Int)]>
{
  private var groups: [(value: Value, count: Int)] = []
  /// The values of the keys of the groups.
  private var keys: [[KeyValue]] = []
  private let coding = Value.keyCoding

  override var value: [(value: Value, count: Int)] { groups }

  override func keep(_ value: [(value: Value, count: Int)]) {
    groups = value
    keys = value.map { key(of: $0.value) }
    isKept = keys.allSatisfy { coding.read($0) != nil }
  }

  private func key(of value: Value) -> [KeyValue] { coding.values(of: value).map(\.ofKey) }

  override func areSame(
    _ a: [(value: Value, count: Int)], _ b: [(value: Value, count: Int)]
  ) -> Bool {
    a.count == b.count
      && zip(a, b).allSatisfy { one, other in
        one.count == other.count
          && zip(key(of: one.value), key(of: other.value)).allSatisfy { $0.isIdentical(to: $1) }
      }
  }

  override func apply(_ changes: ChangesByTree, _ tx: ReadTransaction) throws -> Outcome {
    var (isKnown, isChanged) = (true, false)
    try forEach(changes, tx) { old, new, id, program in
      let old = try old.map { try program.values($0, id).map(\.ofKey) }
      let new = try new.map { try program.values($0, id).map(\.ofKey) }
      if let old, let new, KeyValue.compare(old, new) == 0 { return }
      isChanged = true
      if let old, !add(old, -1) { isKnown = false }
      if let new, !add(new, 1) { isKnown = false }
    }
    return isKnown ? isChanged ? .changed : .same : .unknown
  }

  override func isStill(
    from old: UnsafeRawBufferPointer?, to new: UnsafeRawBufferPointer?,
    _ id: UnsafeRawBufferPointer,
    _ program: AggregateProgram<R>
  ) throws -> Bool { try program.isSame(old, new, id) }

  private func add(_ key: [KeyValue], _ change: Int) -> Bool {
    let place = keys.placeAfter { KeyValue.compare($0, key) < 0 }
    if place < keys.count, KeyValue.compare(keys[place], key) == 0 {
      groups[place].count += change
      if groups[place].count == 0 {
        groups.remove(at: place)
        keys.remove(at: place)
      }
      return true
    }
    guard change > 0, let value = coding.read(key) else { return false }
    groups.insert((value, change), at: place)
    keys.insert(key, at: place)
    return true
  }
}
