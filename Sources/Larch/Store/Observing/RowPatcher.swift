/// Keeps the value of an observer, and brings it up to date from changed records.
///
/// Unchecked, since an observer uses it only while it holds the mutex of its state.
class ValuePatcher<Value: Sendable>: @unchecked Sendable {
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

/// The rows of a query, in its order.
///
/// Each row has its place in the order as bytes, which end with the id, so that the row of a changed
/// record is found by a binary search. Filter and order are evaluated on the stored bytes before and
/// after the change; only a record that comes in or has changed is decoded.
///
/// A query with a limit knows nothing of the records after its last row. If one of them may have
/// become a row, it is read again.
final class RowPatcher<R: Record>: ValuePatcher<[R]>, @unchecked Sendable {
  private let query: Query<R>
  private var rows: [R] = []
  private var places: [RowPlace] = []
  private var hashes: [Int] = []
  /// Whether there may be records after the last row.
  private var hasMore = false
  private var recordTree: UInt32?

  /// To move the rows after a place costs more than to read them again if there are many changes.
  private static var fewChanges: Int { 16 }

  /// Nil for a query whose rows do not depend on the records alone, one by one.
  init?(_ query: Query<R>) {
    let details = query.details
    if details.asksRelated || details.offset != 0 || details.after != nil || details.limit == 0 {
      return nil
    }
    self.query = query
  }

  override var tree: UInt32? { recordTree }

  override var current: [R]? { recordTree == nil ? nil : rows }

  override func read(_ tx: ReadTransaction) throws -> (value: [R], isSame: Bool) {
    let collection = try tx.context.collection(of: R.self)
    let noted = RowPlaces(try order(tx, collection))
    rows = []
    let read = try query.observedRows(in: tx, noting: noted)
    // Without the place of each row, nothing can be patched or compared.
    let isWhole = noted.places.count == read.count
    let isSame = isWhole && recordTree != nil && hashes == noted.hashes
    recordTree = isWhole ? collection.records.handle : nil
    (rows, places, hashes) = (isWhole ? read : [], noted.places, noted.hashes)
    hasMore = query.details.limit.map { read.count >= $0 } ?? false
    return (read, isSame)
  }

  private func order(_ tx: ReadTransaction, _ collection: CollectionHandle) throws -> SortKey {
    SortKey(
      query.details.order, idsDescend: query.details.idsDescend, idKind: collection.stored.idKind,
      index: nil, context: tx.context, typed: RecordAccess<R>(tx.context, collection))
  }

  override func patch(_ changes: [StoredChange], _ tx: ReadTransaction) -> Outcome {
    guard changes.count <= Self.fewChanges + rows.count / 16 else { return .unknown }
    // The next read is compared with what the observer has, not with what was begun here.
    let known = query.details.limit == nil ? nil : hashes
    // A read shows the errors of records and filters; a record that was no row may have one too.
    if let outcome = try? apply(changes, tx), !outcome.isUnknown { return outcome }
    if let known { hashes = known } else { recordTree = nil }
    return .unknown
  }

  override func check(_ tx: ReadTransaction) throws {
    let collection = try tx.context.collection(of: R.self)
    let noted = RowPlaces(try order(tx, collection))
    _ = try query.observedRows(in: tx, noting: noted)
    guard noted.hashes != hashes || noted.places != places else { return }
    throw LarchError(
      .wrongAnswer,
      "The rows of an observer differ from a new read of its query; please report this bug in Larch."
    ) {
      $0.collection = collection.stored.name
      $0.detail = "\(hashes.count) rows instead of \(noted.hashes.count)"
    }
  }

  private func apply(_ changes: [StoredChange], _ tx: ReadTransaction) throws -> Outcome {
    let collection = try tx.context.collection(of: R.self)
    guard collection.records.handle == recordTree else { return .unknown }
    let access = RecordAccess<R>(tx.context, collection)
    let filter = try FilterProgram.of([query.details.filter], context: tx.context, typed: access)
    let order = try order(tx, collection)
    /// The place of a record; nil if it does not pass the filter.
    func place(_ stored: [UInt8]?, _ id: [UInt8]) throws -> RowPlace? {
      try stored?.withUnsafeBytes { stored in
        try id.withUnsafeBytes { id in
          let record = RecordEnvelope.unverified(stored)
          if let filter, try !filter.matches(record, id: id) { return nil }
          try order.write(record: record, id: id)
          return RowPlace(order.bytes)
        }
      }
    }
    var isChanged = false
    for change in changes {
      let old = try place(change.before, change.id)
      let new = try place(change.after, change.id)
      if old == nil, new == nil { continue }
      let record = new == nil ? nil : try decoded(change, tx)
      let hash = change.after.map { RowPlaces.hash(change.id, $0) }
      switch move(from: old, to: new, record, hash ?? 0) {
      case .unknown: return .unknown
      case .outside: break
      case .moved: isChanged = true
      }
    }
    return isChanged ? .changed(rows) : .same
  }

  private func decoded(_ change: StoredChange, _ tx: ReadTransaction) throws -> R? {
    try change.after?.withUnsafeBytes {
      try tx.context.coder.decode(R.self, from: RecordEnvelope.unverified($0))
    }
  }

  private enum Move {
    case moved
    /// After the last row.
    case outside
    case unknown
  }

  private func move(from old: RowPlace?, to new: RowPlace?, _ record: R?, _ hash: Int) -> Move {
    var taken: Int?
    if let old {
      let found = places.firstPlace(notBefore: old)
      if found < places.count, places[found] == old {
        taken = found
      } else if !hasMore || found < places.count {
        return .unknown
      }
    }
    guard let new, let record else {
      guard let taken else { return .outside }
      if hasMore { return .unknown }
      remove(taken)
      return .moved
    }
    if let taken, old == new {
      rows[taken] = record
      hashes[taken] = hash
      return .moved
    }
    if let taken {
      // A record after the last row may come before this one now.
      if hasMore, places.firstPlace(notBefore: new) == places.count { return .unknown }
      remove(taken)
    }
    let target = places.firstPlace(notBefore: new)
    if hasMore, taken == nil, target == places.count { return .outside }
    rows.insert(record, at: target)
    places.insert(new, at: target)
    hashes.insert(hash, at: target)
    if let limit = query.details.limit, rows.count > limit {
      remove(rows.count - 1)
      hasMore = true
    } else if rows.count == query.details.limit {
      // With as many rows as the limit, a later record may come after them.
      hasMore = true
    }
    return .moved
  }

  private func remove(_ place: Int) {
    rows.remove(at: place)
    places.remove(at: place)
    hashes.remove(at: place)
  }
}

/// The place of a row in an order: the bytes of its sort key.
struct RowPlace: Comparable {
  /// The first eight bytes, which decide most comparisons and are all of many keys.
  private let head: UInt64
  private let count: Int
  private let tail: [UInt8]

  init(_ key: UnsafeRawBufferPointer) {
    var head: UInt64 = 0
    for place in 0..<8 { head = head << 8 | (place < key.count ? UInt64(key[place]) : 0) }
    self.head = head
    count = key.count
    tail = [UInt8](key.dropFirst(8))
  }

  static func < (a: RowPlace, b: RowPlace) -> Bool {
    if a.head != b.head { return a.head < b.head }
    // A key of fewer than eight bytes is filled up with zeros.
    if a.tail.isEmpty || b.tail.isEmpty { return a.count < b.count }
    return a.tail.withUnsafeBytes { a in b.tail.withUnsafeBytes { compareBytes(a, $0) < 0 } }
  }
}

extension [RowPlace] {
  /// The number of places before one.
  fileprivate func firstPlace(notBefore place: RowPlace) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < place { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

/// Notes the place and a hash of each row of a query while it is read.
private final class RowPlaces: RowDigest {
  private let order: SortKey
  private(set) var places: [RowPlace] = []
  private(set) var hashes: [Int] = []

  init(_ order: SortKey) { self.order = order }

  override func add(id: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer?) {
    guard let record, (try? order.write(record: record, id: id)) != nil else { return }
    places.append(RowPlace(order.bytes))
    hashes.append(Self.hash(id, record))
  }

  static func hash(_ id: [UInt8], _ stored: [UInt8]) -> Int {
    id.withUnsafeBytes { id in
      stored.withUnsafeBytes { hash(id, RecordEnvelope.unverified($0)) }
    }
  }

  private static func hash(
    _ id: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer
  ) -> Int {
    var hasher = Hasher()
    hasher.combine(id.count)
    hasher.combine(bytes: id)
    hasher.combine(bytes: record)
    return hasher.finalize()
  }
}

/// A request whose rows can be kept and brought up to date.
protocol PatchedRequest<Row>: Request {
  /// Nil if the rows must be read again after each change.
  func rowPatcher() -> ValuePatcher<[Row]>?
}

extension Query: PatchedRequest {
  func rowPatcher() -> ValuePatcher<[R]>? { RowPatcher(self) }
}

extension [ChangeEvent] {
  /// The changes of the records of a tree by all events, each id once; nil if some are not known.
  ///
  /// - Parameter trees: those that count, with what they belong to.
  func changes(ofRecords tree: UInt32, _ trees: TreeSet, _ dataTrees: DataTrees) -> [StoredChange]?
  {
    var lists: [[StoredChange]] = []
    for event in self {
      guard case .commit(_, let changes) = event else { return nil }
      let changed = trees.intersection(changes.trees).trees
      if changed.isEmpty { continue }
      guard changed.allSatisfy({ dataTrees.records(of: $0) == tree }),
        let items = changes.records[tree]
      else { return nil }
      lists.append(items)
    }
    guard lists.count > 1 else { return lists.first ?? [] }
    var places: [[UInt8]: Int] = [:]
    var all: [StoredChange] = []
    for change in lists.joined() {
      guard let place = places[change.id] else {
        places[change.id] = all.count
        all.append(change)
        continue
      }
      all[place] = StoredChange(
        id: change.id, before: all[place].before, after: change.after)
    }
    return all.filter { $0.before != $0.after }
  }
}
