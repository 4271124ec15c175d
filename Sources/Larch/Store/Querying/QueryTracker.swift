/// Notes what a value is read from: the trees, and the filters of the queries that read them.
///
/// The rows, the number and the aggregates of a query depend only on the records that pass its
/// filter. So a change of a record that passes it neither before nor after the change has no effect
/// on what was read by the query.
final class QueryTracker: ReadTracker {
  /// A value that is read by more queries depends on all of the other collections.
  private static let limit = 64

  private(set) var filters: [ObservedFilter] = []
  /// The trees of which each change counts.
  private(set) var unfiltered = TreeSet()
  /// The trees of the collection that a query is reading; nil outside of queries.
  private var own: TreeSet?
  /// The aggregates of the closure that reads; nil if none are kept.
  var aggregates: KeptAggregates?

  override func didRead(_ tree: UInt32) {
    super.didRead(tree)
    aggregates?.didRead(tree)
    if own?.contains(tree) != true { unfiltered.insert(tree) }
  }

  /// The tracker of a transaction; nil if nobody observes what it reads.
  @inline(__always)
  static func of(_ transaction: LMDBTransaction) -> QueryTracker? {
    transaction.isWatched ? watching(transaction) : nil
  }

  @inline(never)
  private static func watching(_ transaction: LMDBTransaction) -> QueryTracker? {
    transaction.watcher as? QueryTracker
  }

  /// Begins a part that reads one collection by a filter. Returns what `end` takes.
  func begin(_ filter: ObservedFilter?, in collection: CollectionHandle) -> TreeSet? {
    let outer = own
    own = nil
    // What runs inside of another query is noted as if it had no filter.
    guard let filter, outer == nil, filters.count < Self.limit else { return outer }
    filters.append(filter)
    var trees = TreeSet()
    trees.insert(collection.records.handle)
    for index in collection.allIndexes { trees.insert(index.database.handle) }
    own = trees
    return outer
  }

  func end(_ outer: TreeSet?) { own = outer }

  /// Whether what begins now would be noted with its filter.
  var hasRoom: Bool { own == nil && filters.count < Self.limit }
}

extension ReadTransaction {
  /// Whether it is the read of an observer.
  final var isObserved: Bool {
    guard let transaction = try? live() else { return false }
    return QueryTracker.of(transaction) != nil
  }

  /// The stored record of a key.
  @inline(__always)
  final func record(
    _ key: UnsafeRawBufferPointer, of collection: CollectionHandle, in transaction: LMDBTransaction
  ) throws(LMDBError) -> UnsafeRawBufferPointer? {
    if transaction.isWatched { return try watchedRecord(key, of: collection, in: transaction) }
    return try context.get(key, from: collection.records, in: transaction)
  }

  /// An observer depends only on the record of this id.
  @inline(never)
  private final func watchedRecord(
    _ key: UnsafeRawBufferPointer, of collection: CollectionHandle, in transaction: LMDBTransaction
  ) throws(LMDBError) -> UnsafeRawBufferPointer? {
    let tracker = QueryTracker.of(transaction)
    let outer = tracker?.begin(ObservedFilter(id: key, in: collection), in: collection)
    defer { tracker?.end(outer ?? nil) }
    return try collection.records.get(key, in: transaction)
  }
}

/// A filter by which a value was read.
struct ObservedFilter: Sendable {
  private let kind: Kind
  /// The tree of the records. Behind the other, it takes no room of its own in a list.
  let tree: UInt32

  private enum Kind {
    case id(StoredID)
    case filter(FilterNode, any Record.Type)
  }

  /// One record by its id.
  init(id key: UnsafeRawBufferPointer, in collection: CollectionHandle) {
    tree = collection.records.handle
    kind = .id(StoredID(key))
  }

  /// The filter of a query; nil if each change counts.
  init?<R: Record>(_ query: QueryDescription, of type: R.Type, in collection: CollectionHandle) {
    // The bytes of a record do not show which related records it has.
    // With another number of records, or another length of texts, each of them matches otherwise.
    if query.filter.isAlways || query.asksRelated || query.isByRelevance { return nil }
    tree = collection.records.handle
    kind = .filter(query.filter, type)
  }

  /// Whether the same records pass another one, as far as the parts of both tell.
  func isSame(as other: ObservedFilter) -> Bool {
    switch (kind, other.kind) {
    case (.id(let a), .id(let b)): tree == other.tree && a == b
    case (.filter(let a, let type), .filter(let b, let otherType)):
      tree == other.tree && type == otherType && a.hasKnownParts && b.hasKnownParts
        && a.hasSameParts(as: b)
    default: false
    }
  }

  /// Where the records are that pass it; nil if any may.
  func bounds(_ collection: CollectionHandle) throws -> [RowBounds]? {
    switch kind {
    case .id(let id):
      [.ids([KeyRange(lower: id.stored, upper: id.stored + [0], needsCheck: false)])]
    case .filter(let filter, _):
      try Planner(schema: collection.schema, usable: collection.storedKeys).bounds(of: filter)
    }
  }

  /// The test of changed records, in the transaction of its use; nil if each change counts.
  func test(_ tx: ReadTransaction) throws -> ObservedRecords? {
    switch kind {
    case .id(let id): ObservedRecords { StoredID($1) == id }
    case .filter(let filter, let type): try Self.test(filter, of: type, tx)
    }
  }

  private static func test<R: Record>(
    _ filter: FilterNode, of type: R.Type, _ tx: ReadTransaction
  ) throws -> ObservedRecords? {
    let access = RecordAccess<R>(tx.context, try tx.context.collection(of: R.self))
    return try FilterProgram.of([filter], context: tx.context, typed: access).map { program in
      ObservedRecords { try program.matches($0, id: $1) }
    }
  }

  /// Its text in `explain`.
  func text(in schema: CollectionSchema) -> String {
    switch kind {
    case .id(let id): "id " + id.stored.withUnsafeBytes { schema.idKind.text(of: $0) }
    case .filter(let filter, _): "filter " + filter.text
    }
  }
}

/// Whether changes of the records of one collection can change what a query reads.
struct ObservedRecords {
  /// Whether a record passes the filter, as stored bytes.
  let matches: (_ record: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer) throws -> Bool

  /// A record that passes neither before nor after the change was no row and is none.
  func isChanged(by change: StoredChange) throws -> Bool {
    try change.id.withUnsafeBytes { id in
      for stored in [change.before, change.after] {
        let isMatch = try stored?.withUnsafeBytes {
          try matches(RecordEnvelope.unverified($0), id)
        }
        if isMatch == true { return true }
      }
      return false
    }
  }
}
