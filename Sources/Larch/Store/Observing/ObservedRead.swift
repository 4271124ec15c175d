/// How the value of an observer is read, which changes of records can change it, and how two values
/// are compared.
struct ObservedRead<Value: Sendable>: Sendable {
  /// Adds the records of the value to the digest, if values are compared by it.
  let read: @Sendable (ReadTransaction, RowDigest) throws -> Value
  let comparison: ValueComparison<Value>
  /// Makes the test of changed records, in the transaction of its use; nil if each change counts.
  var test: (@Sendable (ReadTransaction) throws -> ObservedRecords?)?
  /// Makes what keeps the value and brings it up to date; nil if it is read again after each change.
  var patcher: (@Sendable () -> ValuePatcher<Value>?)?

  /// Whatever a closure reads.
  static func closure(
    _ read: @escaping @Sendable (ReadTransaction) throws -> Value
  ) -> ObservedRead {
    ObservedRead(read: { tx, _ in try read(tx) }, comparison: .equality(of: Value.self))
  }
}

/// Whether changes of the records of one collection can change the rows of a request.
struct ObservedRecords {
  /// The tree of the records.
  let tree: UInt32
  /// Whether a record passes the filter of the request, as stored bytes.
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

/// A request whose rows come from the records of one collection that pass a filter.
protocol FilteredRequest {
  /// Nil if each change of a record counts.
  func observedRecords(in tx: ReadTransaction) throws -> ObservedRecords?
}

/// A request whose rows are not records as they are stored.
protocol ComparedRequest<Row> {
  associatedtype Row
  var rowComparison: ValueComparison<[Row]> { get }
}

extension Selection: ComparedRequest {}

extension Query: FilteredRequest {
  func observedRecords(in tx: ReadTransaction) throws -> ObservedRecords? {
    // The bytes of a record do not show which related records it has.
    if details.asksRelated { return nil }
    let collection = try tx.context.collection(of: R.self)
    let access = RecordAccess<R>(tx.context, collection)
    guard let program = try FilterProgram.of([details.filter], context: tx.context, typed: access)
    else { return nil }
    return ObservedRecords(tree: collection.records.handle) { try program.matches($0, id: $1) }
  }
}

extension Selection: FilteredRequest {
  func observedRecords(in tx: ReadTransaction) throws -> ObservedRecords? {
    try query.observedRecords(in: tx)
  }
}

extension Related: FilteredRequest {
  func observedRecords(in tx: ReadTransaction) throws -> ObservedRecords? {
    try query.observedRecords(in: tx)
  }
}

extension Request {
  /// How the rows are read by an observer.
  func observedRead() -> ObservedRead<[Row]> where Row: Sendable {
    ObservedRead(
      read: { try Self._runner.runs.fetch(self, in: $0, noting: $1) },
      comparison: (self as? any ComparedRequest<Row>)?.rowComparison ?? .stored,
      test: { try (self as? any FilteredRequest)?.observedRecords(in: $0) },
      patcher: { (self as? any PatchedRequest<Row>)?.rowPatcher() })
  }
}

/// The trees of the collections and lists of a catalog.
struct DataTrees {
  /// The tree of the records, by the trees of the records and of each index.
  private var records: [UInt32: UInt32] = [:]
  private var all = TreeSet()

  init(_ catalog: Catalog) {
    for collection in catalog.collections {
      let tree = collection.records.handle
      for database in [collection.records] + collection.indexes.map(\.database) {
        records[database.handle] = tree
        all.insert(database.handle)
      }
    }
    for association in catalog.associations {
      guard let lists = association.lists else { continue }
      all.insert(lists.forward.handle)
      all.insert(lists.inverse.handle)
    }
  }

  /// Those of the trees whose contents a value can depend on. The others are of the catalog. A
  /// stored shape never changes, and a change of the schema changes no record.
  func data(_ trees: TreeSet) -> TreeSet { trees.intersection(all) }

  /// The trees of the records of these trees.
  func recordTrees(of trees: TreeSet) -> TreeSet { TreeSet(trees.trees.compactMap { records[$0] }) }

  /// The tree of the records of an index or collection; nil for a list.
  func records(of tree: UInt32) -> UInt32? { records[tree] }
}
