/// How the value of an observer is read, and how two values are compared.
struct ObservedRead<Value: Sendable>: Sendable {
  /// Adds the records of the value to the digest, if values are compared by it.
  let read: @Sendable (ReadTransaction, RowDigest) throws -> Value
  let comparison: ValueComparison<Value>
  /// Makes what keeps the value and brings it up to date; nil if it is read again after each change.
  var patcher: (@Sendable (_ shared: SharedObjects) -> ValuePatcher<Value>?)?
  /// Whether aggregates that are read are kept and brought up to date.
  var keepsAggregates = false

  /// Whatever a closure reads.
  static func closure(
    _ read: @escaping @Sendable (ReadTransaction) throws -> Value
  ) -> ObservedRead {
    ObservedRead(
      read: { tx, _ in try read(tx) }, comparison: .equality(of: Value.self), keepsAggregates: true)
  }
}

/// A request whose rows are not records as they are stored.
protocol ComparedRequest<Row> {
  associatedtype Row
  var rowComparison: ValueComparison<[Row]> { get }
}

extension Selection: ComparedRequest {}

extension Request {
  /// How the rows are read by an observer.
  func observedRead() -> ObservedRead<[Row]> where Row: Sendable {
    ObservedRead(
      read: { try Self._runner.runs.fetch(self, in: $0, noting: $1) },
      comparison: (self as? any ComparedRequest<Row>)?.rowComparison ?? .stored,
      patcher: { (self as? any PatchedRequest<Row>)?.rowPatcher(in: $0) })
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
