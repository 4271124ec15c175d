extension Observer {
  /// What an observer had delivered last, when it began to apply several writes one after the other.
  struct Start {
    /// See `ValuePatcher.mark`.
    let mark: Any
    let authorship: Authorship
  }

  /// What an observer has delivered, and what it waits for.
  ///
  /// There may be very many observers, and nearly all of them wait. So what only others have is in an
  /// object of its own.
  struct State {
    /// The commit up to which the last value is valid.
    var version: UInt64 = 0
    /// The opening of the file that it was read from.
    var generation = 0
    /// What the last value was read from.
    var facts = ReadFacts.nothing
    /// The declarations of the last read.
    var catalog: Catalog?
    private var keeper = Keeper.nothing
    /// Nil if there is nothing in it.
    private var pending: Pending?
    /// Which changes of the trees concern it.
    var routes = ObservedRoutes()
    var isStarted = false
    /// How many times the value was read, and how many times it was brought up to date.
    var reads: UInt32 = 0
    /// What the next value is compared with.
    var last = ValueComparison<Value>.Kept.nothing
    var patches: UInt32 = 0
    /// How many looks have shown that the value stays as it is.
    var looks: UInt32 = 0

    /// What brings the value up to date.
    private enum Keeper {
      case nothing
      case rows(ValuePatcher<Value>)
      case aggregates(KeptAggregates)
    }

    /// What is there between two values only.
    private final class Pending {
      var pause: ObservationPace.Pause?
      var waiting = WaitingWrites()
      var authorship = Authorship()
      var ahead: UInt64 = 0

      var isEmpty: Bool {
        pause == nil && waiting.isEmpty && authorship.count == 0 && ahead == 0
      }
    }

    /// Keeps the rows of a query.
    var patcher: ValuePatcher<Value>? {
      if case .rows(let patcher) = keeper { patcher } else { nil }
    }

    /// Keeps the aggregates of a closure.
    var aggregates: KeptAggregates? {
      if case .aggregates(let aggregates) = keeper { aggregates } else { nil }
    }

    mutating func keep(_ patcher: ValuePatcher<Value>) { keeper = .rows(patcher) }
    mutating func keep(_ aggregates: KeptAggregates) { keeper = .aggregates(aggregates) }

    /// What waits until the value may be read again.
    var pause: ObservationPace.Pause? {
      get { pending?.pause }
      set { if newValue != nil || pending != nil { made().pause = newValue } }
    }

    /// The changes that are not applied yet.
    var waiting: WaitingWrites {
      get { pending?.waiting ?? WaitingWrites() }
      _modify { yield &made().waiting }
    }

    /// The writes that the next value has beyond the last one.
    var authorship: Authorship {
      get { pending?.authorship ?? Authorship() }
      _modify { yield &made().authorship }
    }

    /// The commit up to which ignored writes were read, if others may be among those after `version`.
    var ahead: UInt64 {
      get { pending?.ahead ?? 0 }
      set { if newValue != 0 || pending != nil { made().ahead = newValue } }
    }

    private mutating func made() -> Pending {
      if let pending { return pending }
      let made = Pending()
      pending = made
      return made
    }

    /// Gives back what is empty.
    mutating func tidy() {
      if pending?.isEmpty == true { pending = nil }
    }

    mutating func forget() { (keeper, last) = (.nothing, .nothing) }
  }
}

extension Observer.State {
  mutating func routes(in environment: LMDBEnvironment) -> ListenerRoutes? {
    guard let catalog else { return nil }
    return routes.updated(
      trees: facts.trees, unfiltered: facts.unfiltered, facts.filters, catalog.dataTrees, catalog,
      environment)
  }

  /// Notes what the value was read from.
  mutating func didRead(
    _ tracker: QueryTracker, _ dataTrees: DataTrees, _ catalog: Catalog
  ) {
    aggregates?.end()
    if aggregates?.isAllKnown == true { patches &+= 1 } else { reads &+= 1 }
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
    reads &+= 1
    if facts !== known.facts { note(known.facts) }
    return (known.value, known.isSame)
  }

  private mutating func note(_ found: ReadFacts) {
    facts = found
    routes.isCurrent = false
  }

  /// A value that comes, with the writes in it.
  ///
  /// - Parameter commit: the last one that the value has, which may be before the state that is read.
  mutating func observed(
    _ value: Value, _ commit: UInt64, _ tx: ReadTransaction
  ) throws -> Observed<Value> {
    let version = try tx.version(ofCommit: commit)
    defer { if authorship.count > 0 { authorship = Authorship() } }
    return Observed(value: value, version: version, authorship: authorship)
  }

  /// Whether writes that were applied one after the other have undone each other, so that no value comes.
  mutating func isUndone(since start: Observer.Start) -> Bool {
    guard patcher?.isSame(as: start.mark) == true else { return false }
    if authorship.count != start.authorship.count { authorship = start.authorship }
    return true
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
    context.begin(reader.transaction.tracked(by: tracker), isReading: true)
    defer { context.end() }
    let transaction = ReadTransaction(context)
    defer { transaction.end() }
    try withExtendedLifetime(tracker) {
      try RunningScope.enter(self, transaction) { try body(transaction) }
    }
    if let error = transaction.sequenceError { throw error }
  }
}
