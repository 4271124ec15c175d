extension Observer {
  /// What an observer has delivered, and what it waits for.
  struct State {
    var isStarted = false
    /// The commit up to which the last value is valid.
    var version: UInt64 = 0
    /// The opening of the file that it was read from.
    var generation = 0
    /// What the last value was read from.
    var facts = ReadFacts.nothing
    /// The declarations of the last read.
    var catalog: Catalog?
    /// Which changes of the trees concern it.
    var routes = ObservedRoutes()
    /// What the next value is compared with.
    var last = ValueComparison<Value>.Kept.nothing
    /// Keeps the rows of a query.
    var patcher: ValuePatcher<Value>?
    /// Keeps the aggregates of a closure.
    var aggregates: KeptAggregates?
    /// How many times the value was read, and how many times it was brought up to date.
    var reads = 0
    var patches = 0
    /// What waits until the value may be read again.
    var pause: ObservationPace.Pause?
    /// The changes that are not applied yet.
    var waiting = WaitingWrites()
    /// The writes that the next value has beyond the last one.
    var authorship = Authorship()
    /// The commit up to which ignored writes were read, if others may be among those after `version`.
    var ahead: UInt64 = 0
  }
}

extension Observer.State {
  mutating func routes(in environment: LMDBEnvironment) -> ListenerRoutes? {
    guard let catalog else { return nil }
    return routes.updated(
      trees: facts.trees, unfiltered: facts.unfiltered, facts.filters, catalog.dataTrees, catalog,
      environment)
  }

  mutating func forget() { (patcher, aggregates, last) = (nil, nil, .nothing) }

  /// Notes what the value was read from.
  mutating func didRead(
    _ tracker: QueryTracker, _ dataTrees: DataTrees, _ catalog: Catalog
  ) {
    aggregates?.end()
    if aggregates?.isAllKnown == true { patches += 1 } else { reads += 1 }
    var (trees, unfiltered) = (dataTrees.data(tracker.trees), tracker.unfiltered)
    // The record that becomes the first row was not read.
    if let tree = patcher?.tree { trees.insert(tree) }
    if let related = patcher?.related {
      trees.formUnion(related.all)
      unfiltered.formUnion(related.all)
    }
    let found = ReadFacts(
      trees: trees, unfiltered: unfiltered, filters: tracker.filters, catalog: catalog)
    // Most reads are like the one before. To find the routes again would cost more than such a read.
    if !facts.isSame(as: found) { note(found) }
    patcher?.note(facts)
  }

  /// Takes the value that another observer of the same request has read, if it has read this state.
  mutating func adopt(
    _ here: StoreState?, _ catalog: Catalog
  ) -> (value: Value, isSame: Bool)? {
    guard let here, let known = patcher?.adopt(at: here, catalog) else { return nil }
    reads += 1
    if facts !== known.facts { note(known.facts) }
    return (known.value, known.isSame)
  }

  private mutating func note(_ found: ReadFacts) {
    facts = found
    routes.isCurrent = false
  }

  /// A value that comes, with the writes in it.
  mutating func observed(_ value: Value, _ version: UInt64) -> Observed<Value> {
    defer { authorship = Authorship() }
    return Observed(value: value, version: StoreVersion(version), authorship: authorship)
  }

  /// Looks at writes that were published after the state was read that has them. That state gave no
  /// value, since all writes that were known then are ignored.
  func reviewLate(
    _ step: inout WaitingWrites.Step, _ dataTrees: DataTrees, _ tx: ReadTransaction
  ) {
    let late = step.writes.prefix { $0.event.transaction <= ahead }
    let others = late.filter { !$0.isIgnored }.map(\.event)
    step.isDue = isChanged(by: others, dataTrees, tx)
    if !step.isDue { step.writes = step.writes.dropFirst(late.count) }
  }

  /// Whether the value may be another one after these events.
  func isChanged(
    by events: [ChangeEvent], _ dataTrees: DataTrees, _ tx: ReadTransaction
  ) -> Bool {
    // Made at the first use, since most commits that come here have changed something.
    lazy var tests = Dictionary(grouping: facts.filters, by: \.tree).mapValues { filters in
      try? filters.map { try $0.test(tx) }
    }
    for event in events {
      guard case .commit(_, let changes) = event else { return true }
      for tree in facts.trees.intersection(changes.trees) {
        guard let records = dataTrees.records(of: tree), let items = changes.records[records] else {
          return true
        }
        if items.isEmpty { continue }
        if facts.unfiltered.contains(tree) { return true }
        // If a filter cannot be evaluated, the read shows the error.
        guard let tests = tests[records] ?? nil else { return true }
        for test in tests {
          guard let test else { return true }
          for item in items where (try? test.isChanged(by: item)) != false { return true }
        }
      }
    }
    return false
  }
}

extension Store {
  /// Reads the committed state, and notes the trees that are read.
  func readTracked(
    by tracker: QueryTracker, _ body: (ReadTransaction) throws -> Void
  ) throws {
    let (reader, open) = try beginRead(at: CodePlace(file: #fileID, line: #line))
    defer { environment.endRead(reader) }
    let context = try context(of: reader, open)
    context.begin(reader.transaction.tracked(by: tracker))
    defer { context.end() }
    let transaction = ReadTransaction(context)
    defer { transaction.end() }
    try withExtendedLifetime(tracker) {
      try RunningScope.enter(self, transaction) { try body(transaction) }
    }
    if let error = transaction.sequenceError { throw error }
  }
}
