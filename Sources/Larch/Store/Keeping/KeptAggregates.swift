/// The aggregates that the closure of an observer has read: counts, whole sums, extremes and groups.
///
/// They are kept with the query that they are of. Before the closure runs again, each is brought up
/// to date from the records that have changed since. An aggregate that the closure asks for again is
/// then known: nothing is read. It is the same one if the parts of its query are the same, with the
/// same constants.
///
/// All aggregates of a run are of the snapshot in which the closure runs. So they are used only if
/// all changes up to that snapshot are known, and else forgotten.
///
/// Used only while the mutex of an observer is held.
final class KeptAggregates: @unchecked Sendable {
  /// More changes are not applied, since a read may cost less.
  private static let changeLimit = 1_000

  /// Those of the last run, which are valid for the snapshot of the next one.
  private var last: [KeptAggregate] = []
  /// Those that the running closure has asked for.
  private var next: [KeptAggregate] = []
  /// Where the next aggregate probably is: closures mostly ask in the same order.
  private var place = 0
  /// The trees of the aggregate that is being read; nil outside of aggregates.
  private var part: TreeSet?
  /// How many aggregates of the run were known, and how many were read.
  private var known = 0
  private var missed = 0
  /// Whether the run has read something else.
  private var readsMore = false

  /// Whether the run had nothing to read, since all its aggregates were known.
  var isAllKnown: Bool { known > 0 && missed == 0 && !readsMore }

  /// Whether the value that was read last depends on nothing but the aggregates in `last`.
  private var isWhole = false

  func forget() { (last, isWhole) = ([], false) }

  /// Applies the changes since the last run.
  ///
  /// - Parameter changes: all changes since then of the records of these trees, if others that belong to
  ///   them, and lists, count too; nil if some are not known.
  /// - Returns: whether another run would find the same aggregates, and nothing else; nil if the
  ///   last one has read something else too.
  func advance(
    _ tx: ReadTransaction, changes: (_ records: TreeSet, _ trees: TreeSet) -> ChangesByTree?
  ) -> Bool? {
    var found: [(records: TreeSet, changes: ChangesByTree?)] = []
    func changed(_ records: TreeSet) -> ChangesByTree? {
      if let known = found.first(where: { $0.records == records }) { return known.changes }
      var trees = TreeSet()
      for aggregate in last where aggregate.records == records {
        trees.formUnion(aggregate.trees)
      }
      let changes = changes(records, trees)
      found.append((records, changes))
      return changes
    }
    var isSame = true
    let kept = last.filter { aggregate in
      guard let changes = changed(aggregate.records),
        changes.greatestCount <= Self.changeLimit,
        // A read shows the errors of records and filters.
        let outcome = try? aggregate.apply(changes, tx), outcome != .unknown
      else {
        isWhole = false
        return false
      }
      if outcome == .changed { isSame = false }
      return true
    }
    last = kept
    return isWhole ? isSame : nil
  }

  /// Whether another run would find the same aggregates, and nothing else, after each change of a commit by
  /// itself. False if the bytes of the records do not tell.
  ///
  /// - Parameters:
  ///   - changes: those of the records of `tree`.
  ///   - trees: the changed trees, which belong to these records.
  func areStill(
    _ changes: RecordChanges, of tree: UInt32, _ trees: TreeSet, _ tx: ReadTransaction
  ) throws -> Bool {
    guard isWhole else { return false }
    return try last.allSatisfy { aggregate in
      if aggregate.related != nil { return false }
      if aggregate.tree == tree { return try aggregate.isStill(changes, tx) }
      return !aggregate.trees.intersects(trees)
    }
  }

  /// What the aggregates depend on beside the records of their queries; nil for nothing.
  var related: RelatedTrees? {
    last.reduce(nil) { all, aggregate in
      guard let related = aggregate.related else { return all }
      var all = all ?? related
      all.formUnion(related)
      return all
    }
  }

  /// Begins with a run of the closure.
  func begin() {
    (next, place, known, missed, readsMore) = ([], 0, 0, 0, false)
  }

  /// Ends a run.
  func end() {
    (last, next) = (next, [])
    isWhole = !last.isEmpty && !readsMore
  }

  func didRead(_ tree: UInt32) {
    if part?.insert(tree) == nil { readsMore = true }
  }

  /// The aggregate that was kept, if it is the same as a new one.
  fileprivate func find<Aggregate: KeptAggregate>(_ wanted: Aggregate) -> Aggregate? {
    if place < last.count, let found = last[place].same(as: wanted) { return keep(found) }
    for list in [last, next] {
      for candidate in list { if let found = candidate.same(as: wanted) { return keep(found) } }
    }
    return nil
  }

  private func keep<Aggregate: KeptAggregate>(_ aggregate: Aggregate) -> Aggregate {
    place += 1
    known += 1
    if !next.contains(where: { $0 === aggregate }) { next.append(aggregate) }
    return aggregate
  }

  /// Notes what an aggregate is read from, and keeps it.
  fileprivate func add(_ aggregate: KeptAggregate, reading read: () throws -> Void) rethrows {
    place += 1
    missed += 1
    part = TreeSet()
    defer { part = nil }
    var isRead = false
    // After an error, what was read is noted as if it were something else.
    defer { if !isRead { readsMore = true } }
    try read()
    guard aggregate.isKept else { return }
    isRead = true
    aggregate.trees = part ?? TreeSet()
    next.append(aggregate)
  }

  /// Runs what reads nothing of the data that is not noted elsewhere.
  fileprivate func withoutNoting<T>(_ body: () throws -> T) rethrows -> T {
    part = TreeSet()
    defer { part = nil }
    return try body()
  }
}

/// An aggregate and what is needed to bring it up to date. Each kind has its own class.
class KeptAggregate {
  enum Outcome { case same, changed, unknown }

  let query: QueryDescription
  let field: FieldReference?
  /// The tree of the records.
  let tree: UInt32
  /// What it was read from, and the records.
  fileprivate(set) var trees = TreeSet()
  /// What it depends on beside its own records, if its filter goes across an association.
  fileprivate(set) var related: RelatedTrees?
  /// The trees of the records that it depends on.
  fileprivate var records: TreeSet { related?.records ?? TreeSet([tree]) }
  /// Whether it can be brought up to date, after it was read.
  var isKept = true
  /// See `ObserverPrograms`.
  let number = ObserverPrograms.newNumber()

  init(_ query: QueryDescription, _ field: FieldReference?, _ tree: UInt32) {
    self.query = query
    self.field = field
    self.tree = tree
  }

  /// Applies changes of all records that it depends on, each id once, in a snapshot after them.
  func apply(_ changes: ChangesByTree, _ tx: ReadTransaction) throws -> Outcome { .unknown }

  /// Whether each change of a commit leaves the value as it is.
  func isStill(_ changes: RecordChanges, _ tx: ReadTransaction) throws -> Bool { false }

  /// Whether another aggregate of the same class is this one.
  func isSame(as other: KeptAggregate) -> Bool {
    guard tree == other.tree, query.hasSameParts(as: other.query) else { return false }
    guard let field, let otherField = other.field else { return field == nil && other.field == nil }
    return field.hasSameParts(as: otherField)
  }

  fileprivate final func same<Aggregate: KeptAggregate>(as wanted: Aggregate) -> Aggregate? {
    guard type(of: self) == type(of: wanted), isSame(as: wanted) else { return nil }
    return self as? Aggregate
  }
}

extension ReadTransaction {
  /// Whether an observer may know aggregates of queries.
  @inline(__always)
  var mayKeepAggregates: Bool { context.current?.isObserved ?? false }

  /// An aggregate of all records of a query: the one that the observer keeps, or else a new one.
  ///
  /// - Parameter read: reads it; its argument is the `isAll` of `run`.
  @inline(never)
  func kept<R: Record, Value>(
    _ query: QueryDescription, _ field: FieldReference? = nil,
    _ make: (QueryDescription, FieldReference?, UInt32) -> Aggregate<R, Value>?,
    read: (_ isAll: Bool) throws -> Value
  ) throws -> Value {
    try storage { transaction in
      guard let tracker = QueryTracker.of(transaction), let aggregates = tracker.aggregates,
        tracker.hasRoom, query.hasKnownParts
      else { return try read(true) }
      let collection = try context.collection(of: R.self)
      guard let wanted = make(query, field, collection.records.handle) else {
        return try read(true)
      }
      // The aggregate depends only on records that pass the filter, whether it is read or known.
      let outer = tracker.begin(
        ObservedFilter(query, of: R.self, in: collection), in: collection)
      defer { tracker.end(outer) }
      guard let known = aggregates.find(wanted) else {
        var value: Value?
        try aggregates.add(wanted) {
          value = try wanted.read(self) { try read(false) }
          // A record that comes in was not read, and the plan of another state may read it.
          tracker.didRead(wanted.tree)
          wanted.related = try RelatedTrees(query.dependencies, of: collection, context)
          for tree in wanted.related?.all ?? TreeSet() { tracker.didRead(tree) }
        }
        if let value { return value }
        return try read(false)
      }
      return try aggregates.withoutNoting {
        for tree in known.trees { tracker.didRead(tree) }
        if context.checksQueries, !known.areSame(known.value, try read(false)) {
          throw LarchError(
            .wrongAnswer,
            "An aggregate of an observer differs from a new read of it; please report this bug in Larch."
          ) { $0.collection = collection.stored.name }
        }
        return known.value
      }
    }
  }
}
