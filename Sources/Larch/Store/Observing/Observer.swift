/// One observer of a store: it reads a value, waits for changes that concern it, and reads again.
///
/// It keeps no transaction between two reads. While it reads, it notes which trees of the file are
/// read. Only a commit that changes one of them wakes it. If the commit says which records it
/// changed, and none of them passes the filter of the request, nothing is read.
///
/// **No gap and no double.** `take` comes before the snapshot. So the snapshot has all commits that
/// were taken, and perhaps later ones, which are dropped by their number when it has been read.
///
/// The rows of a query or a selection are brought up to date from the changed records, if these are
/// known (`ValuePatcher`), and so are the aggregates that a closure asks for (`KeptAggregates`). Any
/// other value is read again as a whole.
final class Observer<Value: Sendable>: Sendable {
  fileprivate struct State {
    var isStarted = false
    /// The commit up to which the last value is valid.
    var version: UInt64 = 0
    /// The opening of the file that it was read from.
    var generation = 0
    /// What the last value was read from.
    var trees = TreeSet()
    /// Those of them that were not read by queries with a filter, and the filters of the others.
    var unfiltered = TreeSet()
    var filters: [ObservedFilter] = []
    var dataTrees: (trees: DataTrees, catalog: Catalog)?
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

  let store: Store
  private let read: ObservedRead<Value>
  private let pace: ObservationPace?
  private let rules: ObservationRules
  private let listener: ChangeListener
  /// Held while the value is read, so that uses of one iterator by several tasks take turns.
  private let state = Locked(State())

  init(
    _ store: Store, _ read: ObservedRead<Value>, _ pace: ObservationPace?,
    _ rules: ObservationRules = ObservationRules()
  ) {
    self.store = store
    self.read = read
    self.pace = pace
    self.rules = rules
    listener = ChangeListener(
      owner: store, hearsForeign: store.options.observesOtherProcesses,
      wantsParts: rules.needsParts)
  }

  deinit { end() }

  func end() { store.environment.changes.remove(listener) }

  /// See ``StoreObservation/AsyncIterator/next()``.
  func next() async throws -> Observed<Value>? {
    while true {
      await withTaskCancellationHandler {
        if state.withLock({ $0.isStarted && $0.waiting.isEmpty }) {
          await listener.wait()
          if !listener.isEnded { await state.withLock({ $0.pause })?() }
        }
      } onCancel: {
        end()
      }
      if Task.isCancelled {
        end()
        return nil
      }
      if let value = try poll() { return value }
      if listener.isEnded { return nil }
    }
  }

  /// Waits until all that was committed before this call is delivered, or the observer has ended.
  ///
  /// - Returns: whether it has ended.
  func settle() async -> Bool {
    await listener.settle()
    return listener.isEnded
  }

  /// How many times the value was read, for tests of what wakes an observer.
  var reads: Int { state.withLock { $0.reads } }

  /// How many times it was brought up to date without a read.
  var patches: Int { state.withLock { $0.patches } }

  /// How many commits have woken it.
  var wakes: Int { listener.received }

  /// The newest value, if it may be another one than the last; nil without one.
  func poll() throws -> Observed<Value>? {
    try state.withLock { state in
      if listener.isEnded { return nil }
      let wasStarted = state.isStarted
      if !wasStarted {
        store.environment.changes.add(listener)
        // Without the commits of others, the changes that are known have gaps.
        if store.options.observesOtherProcesses {
          state.patcher = read.patcher?()
          state.aggregates = read.keepsAggregates ? KeptAggregates() : nil
        }
      }
      state.isStarted = true
      do {
        if let value = try refresh(&state, isFirst: !wasStarted) { return value }
        while !state.waiting.isEmpty {
          if let value = try refresh(&state, isFirst: false) { return value }
        }
        return nil
      } catch let error as LarchError where error.code == .closed && wasStarted {
        end()
        return nil
      } catch {
        end()
        throw error
      }
    }
  }

  private func refresh(_ state: inout State, isFirst: Bool) throws -> Observed<Value>? {
    let version = state.version
    let takesMore = !state.waiting.isFull
    if takesMore {
      state.waiting.add(
        store.environment.changes.take(listener).filter { $0.isLater(than: version) }, rules,
        state.trees,
        isByStep: rules.delivery == .each && pace == nil && state.patcher?.tree != nil)
    }
    let hasReset = state.waiting.hasReset
    var step = state.waiting.next()
    let tracker = QueryTracker()
    var observed: Observed<Value>?
    try store.readTracked(by: tracker) { tx in
      let catalog = tx.context.catalog
      if state.dataTrees?.catalog !== catalog {
        state.dataTrees = (DataTrees(catalog), catalog)
        state.aggregates?.forget()
      }
      guard let dataTrees = state.dataTrees?.trees else { return }
      let recordTrees = dataTrees.recordTrees(of: state.trees)
      let seen = max(version, state.ahead)
      let usable = { (write: WaitingWrites.Write) in
        WaitingWrites.Write(
          event: write.event.usable(after: seen, recordTrees, catalog),
          isIgnored: write.isIgnored)
      }
      step.writes = ArraySlice(step.writes.map(usable))
      // A commit that failed is an event, and perhaps its number will be that of another one.
      let newest = try tx.version.transaction
      // The last read may itself have found that the file was exchanged, before the event came.
      let generation = store.environment.generation
      let isReset = generation != state.generation && hasReset
      // The next write of the same commit may wait.
      if !isFirst, newest == version, !isReset, step.writes.first?.event.transaction != version {
        return
      }
      let isAhead = state.ahead > version
      if isAhead { state.reviewLate(&step, dataTrees, tx) }
      guard isFirst || !step.writes.isEmpty else { return }
      if !isFirst, generation == state.generation, !step.isDue,
        let patched = try patch(&state, &step, dataTrees, tx)
      {
        observed = patched.value
        return
      }
      step.writes += state.waiting.takeAll().map(usable)
      // Whether all writes since the value are in the step now.
      var isWhole = false
      if generation == state.generation, takesMore,
        let rest = rest(after: step.writes.last, upTo: newest)
      {
        step.writes += WaitingWrites.writes(in: rest, rules, state.trees).map(usable)
        isWhole = true
      }
      // The aggregates of a value that is ahead have a part of them already.
      let isKnown = isWhole && !isAhead
      // Nil if the aggregates alone do not tell.
      let isStill =
        isKnown
        ? state.aggregates?.advance(tx) { records, trees in
          step.writes.map(\.event).changes(ofRecords: records, dataTrees.data(trees), dataTrees)
        } : nil
      if isStill == true {
        state.version = newest
        return
      }
      let isDue = step.isDue || state.isChanged(by: step.events(ignored: false), dataTrees, tx)
      let ignored = step.events(ignored: true)
      let isIgnoring = !ignored.isEmpty && state.isChanged(by: ignored, dataTrees, tx)
      let last = step.writes.reduce(version) { max($0, $1.event.transaction) }
      guard isFirst || isDue || isIgnoring else {
        state.version = min(newest, last)
        return
      }
      let patched =
        !isFirst && isKnown
        ? try patchRelated(&state, step.writes.map(\.event), dataTrees, tx) : nil
      if patched == nil {
        if !isKnown { state.aggregates?.forget() }
        state.aggregates?.begin()
        tracker.aggregates = state.aggregates
      }
      let (value, isSame) = try patched ?? readAll(&state, tx)
      if patched == nil { state.didRead(tracker, dataTrees) }
      state.pause = pace?.begin()
      (state.version, state.generation, state.ahead) = (newest, generation, 0)
      if !isFirst {
        // A write whose author is not known yet may be in what was read.
        if !isDue, !isKnown { (state.version, state.ahead) = (min(newest, last), newest) }
        if isSame, !step.isDue, !(isDue && isIgnoring) { return }
        for write in step.writes { state.authorship.add(write.event.authorship) }
        if !isDue { return }
        if !isWhole { state.authorship.addUnknownAuthor() }
      }
      observed = state.observed(value, newest)
    }
    store.environment.changes.listen(
      listener, to: state.trees,
      recordTrees: state.dataTrees?.trees.recordTrees(of: state.trees) ?? TreeSet(),
      // A commit may change nothing as a whole, although each of its writes does.
      routes: rules.needsParts ? nil : state.routes(in: store.environment), after: state.version,
      read: state.ahead)
    return observed
  }
}

extension Observer {
  /// The events between the last write that was taken and the state of a snapshot; nil if it is not
  /// certain that these are then all since the last value.
  private func rest(
    after last: WaitingWrites.Write?, upTo newest: UInt64
  ) -> [ChangeEvent]? {
    if last?.event.transaction == newest { return [] }
    return store.environment.changes.takeRest(listener, upTo: newest)
  }

  /// Reads the value, and says whether it is the same as the one before.
  private func readAll(
    _ state: inout State, _ tx: ReadTransaction
  ) throws -> (value: Value, isSame: Bool) {
    if let patcher = state.patcher { return try patcher.read(tx) }
    let digest = RowDigest()
    let value = try read.read(tx, digest)
    let kept = read.comparison.kept(value, digest)
    defer { state.last = kept }
    return (value, read.comparison.isSame(state.last, kept))
  }

  /// Brings the kept value up to date with a snapshot, if it depends on several kinds of records. Nil
  /// if it must be read again.
  ///
  /// - Parameter events: all between the value and the snapshot.
  private func patchRelated(
    _ state: inout State, _ events: [ChangeEvent], _ dataTrees: DataTrees, _ tx: ReadTransaction
  ) throws -> (value: Value, isSame: Bool)? {
    guard let patcher = state.patcher, let related = patcher.related,
      let changes = events.changes(ofRecords: related.records, state.trees, dataTrees)
    else { return nil }
    let outcome = patcher.patch(changes, at: tx)
    if !outcome.isUnknown, tx.context.checksQueries { try patcher.check(tx) }
    switch outcome {
    case .unknown: return nil
    case .same: return patcher.current.map { ($0, true) }
    case .changed(let value):
      state.patches += 1
      return (value, false)
    }
  }

  /// Brings the kept value up to date; nil if it must be read again.
  ///
  /// The commits that are known come in order and without a gap, so the value is then that of the
  /// last one, even if the transaction has a later state.
  private func patch(
    _ state: inout State, _ step: inout WaitingWrites.Step, _ dataTrees: DataTrees,
    _ tx: ReadTransaction
  ) throws -> (value: Observed<Value>?, Void)? {
    guard let patcher = state.patcher, let tree = patcher.tree,
      let last = step.writes.last?.event.transaction
    else { return nil }
    var newest: Value?
    while !step.writes.isEmpty {
      let run = step.run(oneByOne: rules.delivery == .each)
      guard let changes = run.map(\.event).changes(ofRecords: tree, state.trees, dataTrees) else {
        return nil
      }
      // Held, it would be copied.
      newest = nil
      switch patcher.patch(changes, tx) {
      case .unknown: return nil
      case .same: break
      case .changed(let value):
        state.patches += 1
        state.pause = pace?.begin()
        for write in run { state.authorship.add(write.event.authorship) }
        if !run.allSatisfy(\.isIgnored) { step.isDue = true }
        if step.isDue { newest = value }
      }
      step.writes = step.writes.dropFirst(run.count)
      state.version = run.reduce(state.version) { max($0, $1.event.transaction) }
    }
    if tx.context.checksQueries, state.waiting.isEmpty, try tx.version.transaction == last {
      try patcher.check(tx)
    }
    if step.isDue, newest == nil {
      guard let current = patcher.current else { return nil }
      newest = current
    }
    return (newest.map { state.observed($0, last) }, ())
  }
}

extension Observer.State {
  fileprivate mutating func routes(in environment: LMDBEnvironment) -> ListenerRoutes? {
    guard let (dataTrees, catalog) = dataTrees else { return nil }
    return routes.updated(
      trees: trees, unfiltered: unfiltered, filters, dataTrees, catalog, environment)
  }

  /// Notes what the value was read from.
  fileprivate mutating func didRead(_ tracker: QueryTracker, _ dataTrees: DataTrees) {
    aggregates?.end()
    if aggregates?.isAllKnown == true { patches += 1 } else { reads += 1 }
    trees = dataTrees.data(tracker.trees)
    (unfiltered, filters) = (tracker.unfiltered, tracker.filters)
    routes.isCurrent = false
    // The record that becomes the first row was not read.
    if let tree = patcher?.tree { trees.insert(tree) }
    if let related = patcher?.related {
      trees.formUnion(related.all)
      unfiltered.formUnion(related.all)
    }
  }

  /// A value that comes, with the writes in it.
  fileprivate mutating func observed(_ value: Value, _ version: UInt64) -> Observed<Value> {
    defer { authorship = Authorship() }
    return Observed(value: value, version: StoreVersion(version), authorship: authorship)
  }

  /// Looks at writes that were published after the state was read that has them. That state gave no
  /// value, since all writes that were known then are ignored.
  fileprivate func reviewLate(
    _ step: inout WaitingWrites.Step, _ dataTrees: DataTrees, _ tx: ReadTransaction
  ) {
    let late = step.writes.prefix { $0.event.transaction <= ahead }
    let others = late.filter { !$0.isIgnored }.map(\.event)
    step.isDue = isChanged(by: others, dataTrees, tx)
    if !step.isDue { step.writes = step.writes.dropFirst(late.count) }
  }

  /// Whether the value may be another one after these events.
  fileprivate func isChanged(
    by events: [ChangeEvent], _ dataTrees: DataTrees, _ tx: ReadTransaction
  ) -> Bool {
    // Made at the first use, since most commits that come here have changed something.
    lazy var tests = Dictionary(grouping: filters, by: \.tree).mapValues { filters in
      try? filters.map { try $0.test(tx) }
    }
    for event in events {
      guard case .commit(_, let changes) = event else { return true }
      for tree in trees.intersection(changes.trees).trees {
        guard let records = dataTrees.records(of: tree), let items = changes.records[records] else {
          return true
        }
        if items.isEmpty { continue }
        if unfiltered.contains(tree) { return true }
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
