/// The records of a query, read one by one.
///
/// ```swift
/// try store.read { tx in
///   let people = try tx.cursor(Person.where { $0.age >= 18 })
///   while let person = try people.next() { names.append(person.name) }
/// }
/// ```
///
/// Created by ``ReadTransaction/cursor(_:)`` and valid inside the closure of its transaction.
public final class QueryCursor<R: Record> {
  private let rows: QueryRows
  private let access: RecordAccess<R>
  private let transaction: ReadTransaction

  init(_ rows: QueryRows, _ access: RecordAccess<R>, _ transaction: ReadTransaction) {
    self.rows = rows
    self.access = access
    self.transaction = transaction
  }

  /// The next record, or nil after the last one.
  ///
  /// - Throws: `.checksumMismatch`, `.decodingFailed`; `.transactionEnded` if the transaction has
  ///   ended.
  /// - Complexity: that of the plan for one more record.
  public func next() throws -> R? {
    // Without a closure that returns the record: its optional type would be looked up for each row.
    guard let run = rows.run else {
      return try transaction.storage { _ in try rows.nextVisited(access) }
    }
    guard let row = try transaction.storage({ _ in try run.next() }) else { return nil }
    return try access.decode(row, of: run)
  }

  /// Ends it before the last record, and frees its resources. The end of the transaction does this
  /// too.
  public func close() {
    if transaction.isLive { rows.end() }
  }
}

@available(*, unavailable)
extension QueryCursor: Sendable {}

/// The rows of a `QueryCursor`: an open run, or, if records may change meanwhile, the collected
/// ids.
final class QueryRows: OpenCursor {
  @exclusivity(unchecked) private(set) var run: PlanRun?
  private var ids: VisitedIDs?
  private let collection: CollectionHandle
  private let context: TransactionContext
  /// The transaction that keeps track of the open run.
  private var owner: ReadTransaction?
  /// Receives the cost of the run when it is closed, if the log reports slow operations.
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

  /// At the end of the transaction, or before one of its children begins. Ids outlive both.
  override func close() {
    guard let run else { return }
    run.close()
    onClose?(run)
    self.run = nil
  }

  /// Frees its resources: no row comes after that.
  func end() {
    close()
    ids = nil
  }

  /// The next of the collected ids that has a record.
  func nextVisited<R: Record>(_ access: RecordAccess<R>) throws -> R? {
    while let id = ids?.next() {
      let transaction = try context.transaction()
      let found = try id.withUnsafeBytes { id -> R? in
        guard let stored = try context.get(id, from: collection.records, in: transaction) else {
          return nil
        }
        return try context.decode(R.self, stored, id: id, in: collection)
      }
      if let found { return found }
    }
    return nil
  }
}

/// Collected ids, to be visited one after the other.
struct VisitedIDs {
  private var bytes: [UInt8] = []
  private var place = 0
  private(set) var count = 0
  /// The length of every id; nil if each has its length in the two bytes before it.
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
  /// The ids of the records of a query, before anything changes.
  final func matchingIDs<R: Record>(_ query: Query<R>) throws -> VisitedIDs {
    try run(query.details, of: R.self, for: .ids) { run, access in
      var ids = VisitedIDs(width: access.collection.stored.idKind.width)
      while let row = try run.next() { ids.append(row.id) }
      return ids
    }
  }

  /// The records of a query, read one by one.
  ///
  /// Use it for results that are too large for an array. ``RecordReading/forEach(_:_:)`` is shorter
  /// if one closure handles all records; its notes on changes and memory apply here too.
  ///
  /// - Throws: the errors of ``RecordReading/fetch(_:)``.
  /// - Complexity: O(1) if the plan yields the order of the query, otherwise that of the sort.
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
      let prepared = try prepare(query.details, for: needOfValues, in: collection)
      let access = RecordAccess<R>(context, collection, with: prepared.answers)
      if context.checksQueries { try QueryCheck.check(prepared, access, context) }
      let run = try PlanRun(
        prepared.plan, in: collection, context: context, typed: access,
        makingRecords: prepared.makesRecords)
      var onClose: ((PlanRun) -> Void)?
      if let timer, let began {
        onClose = { run in timer.endQuery(since: began, prepared, run) }
      }
      return QueryCursor(QueryRows(run, self, collection, onClose: onClose), access, self)
    }
  }
}
