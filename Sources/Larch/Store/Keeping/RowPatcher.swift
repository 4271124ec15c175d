/// Keeps the value of an observer, and brings it up to date from changed records.
///
/// Unchecked, since an observer uses it only while it holds the mutex of its state.
class ValuePatcher<Value>: @unchecked Sendable {
  enum Outcome {
    /// None of the records concerns the value.
    case same
    case changed(Value)
    /// The value must be read again.
    case unknown

    var isUnknown: Bool { if case .unknown = self { true } else { false } }
  }

  /// The tree whose records the value consists of; nil before the first read.
  var tree: UInt32? { nil }

  /// The value that is kept; nil if it must be read to have it.
  var current: Value? { nil }

  /// Reads the value, and keeps it.
  ///
  /// - Returns: the value, and whether it differs from the one that was kept.
  func read(_ tx: ReadTransaction) throws -> (value: Value, isSame: Bool) {
    fatalError("each patcher has its own")
  }

  /// Applies changes to the value that is kept.
  ///
  /// - Parameter changes: those of the records of `tree` since then, each id once.
  func patch(_ changes: [StoredChange], _ tx: ReadTransaction) -> Outcome { .unknown }

  /// Compares what is kept with a new read, which must be of the same state: for tests.
  func check(_ tx: ReadTransaction) throws {}
}

/// How the rows of a query are made of its records, one row of each.
protocol PatchedRows<R, Row>: Sendable {
  associatedtype R: Record
  associatedtype Row

  /// Which records are rows, and in which order.
  var details: QueryDescription { get }
  var rowComparison: ValueComparison<[Row]> { get }

  /// Reads all rows, and notes the place of each.
  func rows(in tx: ReadTransaction, noting places: RowPlaces) throws -> [Row]

  /// Returns what makes rows of changed records, whose bytes are not verified.
  func maker(
    _ access: RecordAccess<R>
  ) -> (_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> Row
}

/// The rows of a query, in its order.
///
/// Each row has its place in the order as bytes, which end with the id, so that the row of a changed
/// record is found by a binary search. Filter and order are evaluated on the stored bytes before and
/// after the change; a row is made only of a record that comes in or has changed.
///
/// A query with a limit knows nothing of the records after its last row. If one of them may have
/// become a row, it is read again.
final class RowPatcher<Rows: PatchedRows>: ValuePatcher<[Rows.Row]>, @unchecked Sendable {
  typealias Row = Rows.Row

  private let source: Rows
  private let comparison: ValueComparison<[Row]>
  private(set) var rows: [Row] = []
  private var places: [RowPlace] = []
  /// Of the records, if rows are compared by them; else none.
  private var hashes: [Int] = []
  /// Whether there may be records after the last row.
  private var hasMore = false
  private var recordTree: UInt32?
  /// The first and the last place that the last changes have touched.
  private var touched = (first: Int.max, last: 0)
  /// More changes are not applied.
  private let fewChanges: Int

  private var limit: Int? { source.details.limit }
  private var isHashed: Bool { if case .stored = comparison { true } else { false } }

  /// Nil for a query whose rows do not depend on the records alone, one by one.
  init?(_ source: Rows, fewChanges: Int = PatchLimits.fewChanges) {
    if source.details.reasonNotPatched != nil { return nil }
    self.source = source
    self.fewChanges = fewChanges
    comparison = source.rowComparison
  }

  override var tree: UInt32? { recordTree }

  override var current: [Row]? { recordTree == nil ? nil : rows }

  override func read(_ tx: ReadTransaction) throws -> (value: [Row], isSame: Bool) {
    let collection = try tx.context.collection(of: Rows.R.self)
    let noted = try notedPlaces(tx, collection)
    // Not kept beside the new ones, unless these are compared with them.
    if isHashed { rows = [] }
    let read = try source.rows(in: tx, noting: noted)
    // Without the place of each row, nothing can be patched.
    let isWhole = noted.places.count == read.count
    let isSame =
      recordTree != nil && (isHashed ? isWhole && hashes == noted.hashes : areSame(rows, read))
    recordTree = isWhole ? collection.records.handle : nil
    (rows, places, hashes) = (isWhole ? read : [], noted.places, noted.hashes)
    hasMore = limit.map { read.count >= $0 } ?? false
    return (read, isSame)
  }

  private func notedPlaces(
    _ tx: ReadTransaction, _ collection: CollectionHandle
  ) throws -> RowPlaces {
    RowPlaces(
      try order(tx, collection), needsRecord: isHashed || !source.details.order.isEmpty,
      isHashed: isHashed)
  }

  private func order(_ tx: ReadTransaction, _ collection: CollectionHandle) throws -> SortKey {
    SortKey(
      source.details.order, idsDescend: source.details.idsDescend,
      idKind: collection.stored.idKind, index: nil, context: tx.context,
      typed: RecordAccess<Rows.R>(tx.context, collection))
  }

  private func areSame(_ a: [Row], _ b: [Row]) -> Bool {
    comparison.isSame(.value(a), .value(b))
  }

  override func patch(_ changes: [StoredChange], _ tx: ReadTransaction) -> Outcome {
    guard changes.count <= fewChanges + rows.count / 16 else { return .unknown }
    // A read shows the errors of records and filters; a record that was no row may have one too.
    guard let steps = try? steps(changes, tx) else { return .unknown }
    if steps.isEmpty { return .same }
    // The next read is compared with what the observer has, not with what was begun here.
    let known = limit == nil ? nil : (isHashed ? [] : rows, hashes)
    let outcome = apply(steps)
    if outcome.isUnknown {
      if let known { (rows, hashes) = known } else { recordTree = nil }
    }
    return outcome
  }

  override func check(_ tx: ReadTransaction) throws {
    let collection = try tx.context.collection(of: Rows.R.self)
    let noted = try notedPlaces(tx, collection)
    let read = try source.rows(in: tx, noting: noted)
    // A row with a NaN is not even the same as itself.
    let isEqual = isHashed || !areSame(rows, rows) || areSame(rows, read)
    if noted.hashes == hashes, noted.places == places, isEqual { return }
    throw LarchError(
      .wrongAnswer,
      "The rows of an observer differ from a new read of its query; please report this bug in Larch."
    ) {
      $0.collection = collection.stored.name
      $0.detail = "\(rows.count) rows instead of \(read.count)"
    }
  }

  /// What a changed record does to the rows: where it was and where it is, if it passes the filter.
  private struct Step {
    var old: RowPlace?
    var new: RowPlace?
    var row: Row?
    var hash = 0
  }

  private func apply(_ steps: [Step]) -> Outcome {
    // Rows that are compared by their values may look the same after some have changed places.
    let isMoving = !isHashed && steps.contains { $0.old != $0.new }
    let before = isMoving ? rows : []
    touched = (.max, 0)
    var isChanged = false
    for step in steps {
      switch move(step) {
      case .unknown: return .unknown
      case .none: break
      case .moved: isChanged = true
      }
    }
    if isChanged, isMoving, before.count == rows.count {
      let last = min(rows.count, touched.last + 1 + 3 * steps.count)
      let part = min(touched.first, last)..<last
      isChanged = !areSame(Array(before[part]), Array(rows[part]))
    }
    return isChanged ? .changed(rows) : .same
  }

  /// Nil if the records are not those of the rows.
  private func steps(_ changes: [StoredChange], _ tx: ReadTransaction) throws -> [Step]? {
    let collection = try tx.context.collection(of: Rows.R.self)
    guard collection.records.handle == recordTree else { return nil }
    let access = RecordAccess<Rows.R>(tx.context, collection)
    let filter = try FilterProgram.of(
      [source.details.filter], context: tx.context, typed: access)
    let order = try order(tx, collection)
    let make = source.maker(access)
    /// The place of a record; nil if it does not pass the filter.
    func place(_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> RowPlace? {
      if let filter, try !filter.matches(record, id: id) { return nil }
      try order.write(record: record, id: id)
      return RowPlace(order.bytes)
    }
    var steps: [Step] = []
    for change in changes {
      var step = Step()
      try change.withRecords { old, new, id in
        step.old = try old.flatMap { try place($0, id) }
        guard let new, let found = try place(new, id) else { return }
        step.new = found
        step.row = try make(new, id)
        if isHashed { step.hash = RowPlaces.hash(id, new) }
      }
      if step.old != nil || step.new != nil { steps.append(step) }
    }
    return steps
  }

  private enum Move {
    case moved
    /// No row is another one.
    case none
    case unknown
  }

  private func move(_ step: Step) -> Move {
    var taken: Int?
    if let old = step.old {
      let found = places.firstPlace(notBefore: old)
      if found < places.count, places[found] == old {
        taken = found
      } else if !hasMore || found < places.count {
        return .unknown
      }
    }
    guard let new = step.new, let row = step.row else {
      guard let taken else { return .none }
      if hasMore { return .unknown }
      remove(taken)
      return .moved
    }
    if let taken, step.old == new {
      let isSame = !isHashed && areSame([rows[taken]], [row])
      // Two values may be equal and still not the same, as 0.0 and -0.0.
      if !isSame || !hasBytes(of: row, at: taken) { rows[taken] = row }
      if isHashed { hashes[taken] = step.hash }
      touch(taken)
      return isSame ? .none : .moved
    }
    if let taken {
      // A record after the last row may come before this one now.
      if hasMore, places.firstPlace(notBefore: new) == places.count { return .unknown }
      remove(taken)
    }
    let target = places.firstPlace(notBefore: new)
    if hasMore, taken == nil, target == places.count { return .none }
    insert(row, new, step.hash, at: target)
    if let limit, rows.count > limit {
      remove(rows.count - 1)
      hasMore = true
    } else if rows.count == limit {
      // With as many rows as the limit, a later record may come after them.
      hasMore = true
    }
    return .moved
  }

  private func hasBytes(of row: Row, at place: Int) -> Bool {
    rows.withUnsafeBufferPointer { rows in
      withUnsafePointer(to: row) { row in
        compareBytes(
          UnsafeRawBufferPointer(start: row, count: MemoryLayout<Row>.size),
          UnsafeRawBufferPointer(
            start: rows.baseAddress.map { $0 + place }, count: MemoryLayout<Row>.size)) == 0
      }
    }
  }

  private func insert(_ row: Row, _ place: RowPlace, _ hash: Int, at target: Int) {
    touch(target)
    rows.insert(row, at: target)
    places.insert(place, at: target)
    if isHashed { hashes.insert(hash, at: target) }
  }

  private func remove(_ place: Int) {
    touch(place)
    rows.remove(at: place)
    places.remove(at: place)
    if isHashed { hashes.remove(at: place) }
  }

  private func touch(_ place: Int) {
    touched = (min(touched.first, place), max(touched.last, place))
  }
}

extension StoredChange {
  /// Calls with the stored records before and after the change, not verified, and the id.
  func withRecords(
    _ body: (
      _ before: UnsafeRawBufferPointer?, _ after: UnsafeRawBufferPointer?,
      _ id: UnsafeRawBufferPointer
    ) throws -> Void
  ) rethrows {
    func open(
      _ stored: [UInt8]?, _ body: (UnsafeRawBufferPointer?) throws -> Void
    ) rethrows {
      guard let stored else { return try body(nil) }
      try stored.withUnsafeBytes { try body(RecordEnvelope.unverified($0)) }
    }
    try id.withUnsafeBytes { id in
      try open(before) { before in try open(after) { try body(before, $0, id) } }
    }
  }
}
