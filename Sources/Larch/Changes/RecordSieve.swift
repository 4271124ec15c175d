/// Leaves out of a log the changed records that concern no listener.
///
/// Often all listeners of a collection say which records concern them (`ListenerRoutes`). Whoever
/// changes a record has its keys before and after the change at hand, and asks for these before anything is
/// copied. A record that is in no range, neither before nor after the change, is not kept. Nobody
/// misses it: a change of such a record is the same as none for all that the listeners read.
///
/// **Listeners that come during the write** are not among those that were asked. So the log notes how
/// many times listeners were filed when it began (`ChangeHub`), and those that were filed later get the
/// commit without the records: they read again.
///
/// A write of a record that was not announced is kept, so whoever does not know of this forgets nothing.
struct RecordSieve {
  /// The collections of which records are left out, by the trees of the records.
  private(set) var trees = TreeSet()
  /// The indexes by which listeners of these are found.
  private(set) var keyTrees = TreeSet()
  private var indexes: [(tree: UInt32, index: RouteIndex, keyTrees: TreeSet)] = []
  /// The number of filings when the write began.
  private var filings: UInt64 = 0
  /// The trees of which a record was left out.
  private var leftOut = TreeSet()
  /// The trees of which a record was kept whose keys are not known.
  private var unannounced = TreeSet()
  /// The id of the record that is about to be written, which lies there until the announcement ends.
  private var announced: UnsafeRawBufferPointer?
  private var announcedTree: UInt32 = 0
  private var isConcerned = false

  init() {}

  init(_ indexes: [(tree: UInt32, index: RouteIndex)], filings: UInt64) {
    self.filings = filings
    for (tree, index) in indexes {
      let keys = index.keyTrees
      self.indexes.append((tree, index, keys))
      trees.insert(tree)
      keyTrees.formUnion(keys)
    }
  }

  /// The listeners of a collection; guarded by the hub.
  func routes(of tree: UInt32) -> RouteIndex? {
    // There are few.
    for place in indexes.indices where indexes[place].tree == tree { return indexes[place].index }
    return nil
  }

  mutating func announce(_ id: UnsafeRawBufferPointer, in tree: UInt32, isConcerned: Bool) {
    (announced, announcedTree, self.isConcerned) = (id, tree, isConcerned)
  }

  mutating func endAnnouncement() { announced = nil }

  mutating func noteUnannounced(in tree: UInt32) { unannounced.insert(tree) }

  /// Whether a record that is about to be written is kept.
  mutating func keeps(_ id: UnsafeRawBufferPointer, in tree: UInt32) -> Bool {
    guard let announced, announcedTree == tree, announced.equals(id) else {
      unannounced.insert(tree)
      return true
    }
    if !isConcerned { leftOut.insert(tree) }
    return isConcerned
  }

  /// The indexes whose announced keys are not those of all records that are kept.
  var incompleteKeys: [UInt32] {
    if unannounced.isEmpty { return [] }
    return indexes.filter { unannounced.contains($0.tree) }.flatMap { Array($0.keyTrees) }
  }

  /// What a commit tells of it.
  ///
  /// - Parameter touched: the trees that were written to.
  func result(_ touched: TreeSet) -> Sifting {
    trees.isEmpty
      ? Sifting()
      : Sifting(
        trees: trees.intersection(touched), leftOut: leftOut.intersection(touched),
        filings: filings)
  }
}

/// Which records a commit has left out.
struct Sifting: Sendable {
  /// The trees of which only the records are there that concern a listener, and, unless they are
  /// unknown, the keys of these in all indexes by which listeners are found.
  var trees = TreeSet()
  /// Those of which a record is left out.
  var leftOut = TreeSet()
  /// Listeners that were filed later were not asked.
  var filings: UInt64 = 0
}

extension ChangeEvent {
  /// The event for listeners that were not asked which records to leave out.
  func unsifted() -> ChangeEvent {
    guard case .commit(let number, let changes) = self, !changes.sifting.leftOut.isEmpty else {
      return self
    }
    return .commit(
      number,
      CommittedChanges(
        trees: changes.trees, records: changes.records.without(changes.sifting.leftOut),
        since: changes.since, authorship: changes.authorship))
  }
}
