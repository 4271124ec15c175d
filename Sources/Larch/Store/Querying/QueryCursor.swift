/// The records of a query, one after the other as they are asked for.
///
/// ```swift
/// try store.read { tx in
///   let people = try tx.cursor(Person.where { $0.age >= 18 })
///   while let person = try people.next() { names.append(person.name) }
/// }
/// ```
///
/// Made by ``ReadTransaction/cursor(_:)`` and valid inside the closure of its transaction.
public final class QueryCursor<R: Record> {
  private let rows: QueryRows
  private let access: RecordAccess<R>
  private let transaction: ReadTransaction

  init(_ rows: QueryRows, _ access: RecordAccess<R>, _ transaction: ReadTransaction) {
    self.rows = rows
    self.access = access
    self.transaction = transaction
  }

  /// The next record, or nil behind the last one.
  ///
  /// - Throws: `.checksumMismatch`, `.decodingFailed`; `.transactionEnded` when the transaction
  ///   is over.
  /// - Complexity: what the plan of the query needs for one more record.
  public func next() throws -> R? {
    try transaction.storage { _ in try rows.next(access) }
  }

  /// Ends it before the last record, and gives back what it holds. Also done by the end of the
  /// transaction.
  public func close() {
    if transaction.isLive { rows.end() }
  }
}

@available(*, unavailable)
extension QueryCursor: Sendable {}

/// The rows behind a `QueryCursor`: a run that is under way, or, where records may change
/// meanwhile, the ids that it gave.
final class QueryRows: OpenCursor {
  private var run: PlanRun?
  private var ids: VisitedIDs?
  private let collection: CollectionHandle
  private let context: TransactionContext
  /// The transaction that knows of the open run.
  private var owner: ReadTransaction?
  /// Where the log wants to know of slow operations: what the run has cost, when it is closed.
  private var onClose: ((PlanRun) -> Void)?

  init(
    _ run: PlanRun, _ transaction: ReadTransaction, _ collection: CollectionHandle,
    onClose: ((PlanRun) -> Void)?
  ) {
    self.run = run
    self.onClose = onClose
    context = transaction.context
    self.collection = collection
    super.init()
    owner = transaction
    transaction.register(self)
  }

  init(_ ids: VisitedIDs, _ transaction: ReadTransaction, _ collection: CollectionHandle) {
    self.ids = ids
    context = transaction.context
    self.collection = collection
  }

  deinit {
    owner?.unregister(self)
    if let run { onClose?(run) }
  }

  /// With the end of the transaction, or before a child of it begins. Ids outlive both.
  override func close() {
    guard let run else { return }
    run.close()
    onClose?(run)
    self.run = nil
  }

  /// Gives back what it holds: no row comes after it.
  func end() {
    close()
    ids = nil
  }

  func next<R: Record>(_ access: RecordAccess<R>) throws -> R? {
    if let run {
      guard let row = try run.next() else { return nil }
      return try access.decode(row, of: run)
    }
    while let id = ids?.next() {
      let transaction = try context.transaction()
      let found = try id.withUnsafeBytes { id -> R? in
        guard let stored = try collection.records.get(id, in: transaction) else { return nil }
        return try context.decode(R.self, stored, id: id, in: collection)
      }
      if let found { return found }
    }
    return nil
  }
}

/// Ids that were collected, to be visited one after the other.
struct VisitedIDs {
  private var bytes: [UInt8] = []
  private var place = 0
  private(set) var count = 0
  /// The length of every id, or nil where each is told by two bytes before it.
  private let width: Int?

  init(width: Int?) { self.width = width }

  mutating func append(_ id: UnsafeRawBufferPointer) {
    if width == nil {
      bytes.append(UInt8(truncatingIfNeeded: id.count))
      bytes.append(UInt8(truncatingIfNeeded: id.count >> 8))
    }
    bytes.append(contentsOf: id)
    count += 1
  }

  mutating func next() -> [UInt8]? {
    guard place < bytes.count else { return nil }
    var size = width ?? 0
    if width == nil {
      size = Int(bytes[place]) | Int(bytes[place + 1]) << 8
      place += 2
    }
    defer { place += size }
    return Array(bytes[place..<(place + size)])
  }
}

extension ReadTransaction {
  /// The ids of the records of a query, before anything is done with them.
  final func matchingIDs<R: Record>(_ query: Query<R>) throws -> VisitedIDs {
    try run(query.details, of: R.self, for: .ids) { run, access in
      var ids = VisitedIDs(width: access.collection.stored.idKind.width)
      while let row = try run.next() { ids.append(row.id) }
      return ids
    }
  }

  /// The records of a query, one after the other as they are asked for.
  ///
  /// For what is too much for an array. ``RecordReading/forEach(_:_:)`` is the shorter way where
  /// one closure sees all of them; what is said there of changes and memory holds here too.
  ///
  /// - Throws: the errors of ``RecordReading/fetch(_:)``.
  /// - Complexity: O(1) where rows come in the order of the query, else what its sort needs.
  public final func cursor<R: Record>(_ query: Query<R>) throws -> QueryCursor<R> {
    if self is WriteTransaction {
      return try run(query.details, of: R.self, for: .ids) { run, access in
        var ids = VisitedIDs(width: access.collection.stored.idKind.width)
        while let row = try run.next() { ids.append(row.id) }
        return QueryCursor(QueryRows(ids, self, access.collection), access, self)
      }
    }
    return try storage { _ in
      let collection = try context.collection(of: R.self)
      let timer = context.timer
      let began = timer?.beginQuery()
      let prepared = try prepare(query.details, for: .records, in: collection)
      let access = RecordAccess<R>(context, collection, with: prepared.answers)
      if context.checksQueries { try QueryCheck.check(prepared, access, context) }
      let run = try PlanRun(prepared.plan, in: collection, context: context, typed: access)
      var onClose: ((PlanRun) -> Void)?
      if let timer, let began {
        onClose = { run in timer.endQuery(since: began, prepared, run) }
      }
      return QueryCursor(QueryRows(run, self, collection, onClose: onClose), access, self)
    }
  }
}
