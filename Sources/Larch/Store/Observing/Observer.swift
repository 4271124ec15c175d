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
  let store: Store
  private let read: ObservedRead<Value>
  private let terms: Terms?
  /// Whether the store was open when the observation began. Then its end, however soon it comes, is no error.
  private let beganOpen: Bool
  let listener: ChangeListener
  /// What most observers do not have.
  private final class Terms: Sendable {
    let pace: ObservationPace?
    let rules: ObservationRules

    init(pace: ObservationPace?, rules: ObservationRules) {
      self.pace = pace
      self.rules = rules
    }
  }

  private var pace: ObservationPace? { terms?.pace }
  private var rules: ObservationRules { terms?.rules ?? ObservationRules() }
  /// Held while the value is read, so that uses of one iterator by several tasks take turns.
  let state = Locked(State())

  init(
    _ store: Store, _ read: ObservedRead<Value>, _ pace: ObservationPace?,
    _ rules: ObservationRules = ObservationRules()
  ) {
    self.store = store
    self.read = read
    beganOpen = !store.isClosed
    terms = pace == nil && rules.isUsual ? nil : Terms(pace: pace, rules: rules)
    listener = ChangeListener(
      owner: store, hearsForeign: store.options.observesOtherProcesses,
      wantsParts: rules.needsParts)
  }

  deinit { end() }

  func end() { store.environment.changes.remove(listener) }

  /// Drops the value after the end: whoever keeps the observer needs it no more.
  func forget() { state.withLock { $0.forget() } }

  /// See ``StoreObservation/AsyncIterator/next()``.
  func next() async throws -> Observed<Value>? {
    while true {
      await withTaskCancellationHandler {
        if isWaiting {
          await listener.wait()
          if hasPace { await pause() }
        }
      } onCancel: {
        end()
      }
      if Task.isCancelled {
        end()
        forget()
        return nil
      }
      if let value = try poll() { return value }
      if listener.isEnded { return nil }
    }
  }

  /// Whether a value can come only after an event.
  var isWaiting: Bool { state.withLock { $0.isStarted && $0.waiting.isEmpty } }

  /// Whether it does not want all writes alike.
  var hasRules: Bool { !rules.isUsual }

  /// Whether values come in intervals.
  var hasPace: Bool { pace != nil }

  /// Waits until the value may be read again, or the observer has ended.
  func pause() async {
    if let pause = state.withLock({ $0.pause }) { await listener.wait(for: pause) }
  }

  /// How many times the value was read, for tests of what wakes an observer.
  var reads: Int { state.withLock { Int($0.reads) } }

  /// How many times it was brought up to date without a read.
  var patches: Int { state.withLock { Int($0.patches) } }

  /// How many looks have shown that its value stays as it is.
  var looks: Int { state.withLock { Int($0.looks) } }

  /// What keeps its value, for tests of what observers share.
  var patcher: ValuePatcher<Value>? { state.withLock { $0.patcher } }

  /// How many commits have woken it.
  var wakes: Int { listener.received }

  /// The newest value, if it may be another one than the last; nil without one.
  func poll() throws -> Observed<Value>? {
    try state.withLock { state in
      defer { state.tidy() }
      if listener.isEnded {
        state.forget()
        return nil
      }
      let wasStarted = state.isStarted
      if !wasStarted {
        store.environment.changes.add(listener)
        // Without the commits of others, the changes that are known have gaps.
        if store.options.observesOtherProcesses {
          // Inside a transaction it must not wait for another observer: that one may wait for a read
          // to begin, and so for the end of this transaction, if the map grows.
          let shared = RunningScope.isInside ? SharedObjects() : store.shared
          if let patcher = read.patcher(shared) {
            state.keep(patcher)
          } else if read.keepsAggregates {
            state.keep(KeptAggregates())
          }
        }
      }
      state.isStarted = true
      do {
        guard let patcher = state.patcher else { return try newest(&state, isFirst: !wasStarted) }
        return try patcher.exclusively { try newest(&state, isFirst: !wasStarted) }
      } catch let error as LarchError
        where error.code == .closed && beganOpen && (listener.isEnded || store.isClosed)
      {
        // The end of the observation. A closure may also read another store that is closed: an error.
        end()
        state.forget()
        return nil
      } catch {
        end()
        state.forget()
        throw error
      }
    }
  }

  private func newest(_ state: inout State, isFirst: Bool) throws -> Observed<Value>? {
    if let value = try refresh(&state, isFirst: isFirst) { return value }
    while !state.waiting.isEmpty {
      if let value = try refresh(&state, isFirst: false) { return value }
    }
    return nil
  }

  private func refresh(_ state: inout State, isFirst: Bool) throws -> Observed<Value>? {
    let version = state.version
    let opening = store.environment.generation
    let takesMore = !state.waiting.isFull
    if takesMore {
      let events = store.environment.changes.take(listener).filter { $0.isLater(than: version) }
      if !events.isEmpty {
        state.waiting.add(
          events, rules, state.facts.trees,
          isByStep: rules.delivery == .each && pace == nil && state.patcher?.tree != nil)
      }
    }
    if !takesMore { store.environment.changes.undecide(listener) }
    let hasReset = state.waiting.hasReset
    var step = state.waiting.isEmpty ? WaitingWrites.Step() : state.waiting.next()
    let tracker = QueryTracker()
    var observed: Observed<Value>?
    try store.readTracked(by: tracker) { tx in
      let catalog = tx.context.catalog
      if state.catalog !== catalog {
        state.catalog = catalog
        state.routes.isCurrent = false
        state.aggregates?.forget()
      }
      let dataTrees = catalog.dataTrees
      let recordTrees = dataTrees.recordTrees(of: state.facts.trees)
      let seen = max(version, state.ahead)
      let usable = { (write: WaitingWrites.Write) in
        WaitingWrites.Write(
          event: write.event.usable(after: seen, recordTrees, catalog),
          isIgnored: write.isIgnored, part: write.part)
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
      var start: Start?
      if !isFirst, generation == state.generation, !step.isDue,
        let patched = try patch(&state, &step, &start, dataTrees, tx)
      {
        observed = patched.value
        return
      }
      if !state.waiting.isEmpty { step.writes += state.waiting.takeAll().map(usable) }
      // Whether all writes since the value are in the step now.
      var isWhole = false
      if generation == state.generation, takesMore,
        let rest = rest(after: step.writes.last, upTo: newest)
      {
        step.writes += WaitingWrites.writes(in: rest, rules, state.facts.trees).map(usable)
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
      let ignored = step.events(ignored: true)
      // What undoes something ignored changes what the view shows, although all together change nothing.
      if isStill == true, ignored.isEmpty || ignored.count == step.writes.count {
        state.version = newest
        return
      }
      // What the aggregates know is not looked for again.
      let isDue =
        step.isDue || (isStill == false && ignored.isEmpty)
        || state.isChanged(by: step.events(ignored: false), dataTrees, tx)
      let isIgnoring = !ignored.isEmpty && state.isChanged(by: ignored, dataTrees, tx)
      let last = step.writes.reduce(version) { max($0, $1.event.transaction) }
      guard isFirst || isDue || isIgnoring else {
        state.version = min(newest, last)
        return
      }
      let patched =
        !isFirst && isKnown
        ? try patchRelated(&state, step.writes, newest, dataTrees, tx) : nil
      if patched == nil {
        if !isKnown { state.aggregates?.forget() }
        state.aggregates?.begin()
        tracker.aggregates = state.aggregates
      }
      // If another file has come just now, it is not certain of which one the snapshot is.
      let here =
        opening == generation
        ? StoreState(generation: generation, transaction: newest) : nil
      let (value, isSame) =
        try patched ?? state.adopt(here, catalog) ?? readAll(&state, tx, here, tracker, dataTrees)
      state.pause = pace?.begin()
      (state.version, state.generation, state.ahead) = (newest, generation, 0)
      if !isFirst {
        // A write whose author is not known yet may be in what was read.
        if !isDue, !isKnown { (state.version, state.ahead) = (min(newest, last), newest) }
        if isSame, !step.isDue, !(isDue && isIgnoring) { return }
        if let start, state.isUndone(since: start) { return }
        for write in step.writes { state.authorship.add(write.event.authorship) }
        if !isDue { return }
        if !isWhole { state.authorship.addUnknownAuthor() }
      }
      observed = try state.observed(value, newest, tx)
    }
    store.environment.changes.listen(
      listener, to: state.facts.trees,
      recordTrees: state.catalog?.dataTrees.recordTrees(of: state.facts.trees) ?? TreeSet(),
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
    _ state: inout State, _ tx: ReadTransaction, _ here: StoreState?, _ tracker: QueryTracker,
    _ dataTrees: DataTrees
  ) throws -> (value: Value, isSame: Bool) {
    let result: (value: Value, isSame: Bool)
    if let patcher = state.patcher {
      result = try patcher.read(tx, at: here)
    } else {
      let digest = RowDigest()
      let value = try read.read(tx, digest)
      let comparison = read.comparison
      let kept = comparison.kept(value, digest)
      result = (value, comparison.isSame(state.last, kept))
      state.last = kept
    }
    state.didRead(tracker, dataTrees, tx.context.catalog)
    return result
  }

  /// Brings the kept value up to date with a snapshot, if it depends on several kinds of records. Nil
  /// if it must be read again.
  ///
  /// - Parameter writes: all between the value and the snapshot.
  private func patchRelated(
    _ state: inout State, _ writes: ArraySlice<WaitingWrites.Write>, _ newest: UInt64,
    _ dataTrees: DataTrees, _ tx: ReadTransaction
  ) throws -> (value: Value, isSame: Bool)? {
    guard let patcher = state.patcher, let related = patcher.related else { return nil }
    let generation = state.generation
    let here = StoreState(generation: generation, transaction: newest)
    let outcome = patcher.patch(to: here, at: tx) { start in
      writes.events(after: start, generation, rules)?
        .changes(ofRecords: related.records, state.facts.trees, dataTrees)
    }
    if !outcome.isUnknown, tx.context.checksQueries { try patcher.check(tx) }
    switch outcome {
    case .unknown: return nil
    case .same: return patcher.current.map { ($0, true) }
    case .changed(let value):
      state.patches &+= 1
      return (value, false)
    }
  }

  /// Brings the kept value up to date; nil if it must be read again.
  ///
  /// The commits that are known come in order and without a gap, so the value is then that of the
  /// last one, even if the transaction has a later state.
  private func patch(
    _ state: inout State, _ step: inout WaitingWrites.Step, _ start: inout Start?,
    _ dataTrees: DataTrees, _ tx: ReadTransaction
  ) throws -> (value: Observed<Value>?, Void)? {
    guard let patcher = state.patcher, let tree = patcher.tree,
      let last = step.writes.last?.event.transaction
    else { return nil }
    var newest: Value?
    let (generation, trees) = (state.generation, state.facts.trees)
    while !step.writes.isEmpty {
      let run = step.run(oneByOne: rules.delivery == .each, of: tree)
      guard let end = run.last?.state(generation), run.allSatisfy({ $0.event.isCommit }) else {
        return nil
      }
      // Held, it would be copied.
      newest = nil
      if start == nil, !hasRules, run.count < step.writes.count {
        start = patcher.mark.map { Start(mark: $0, authorship: state.authorship) }
      }
      let outcome = patcher.patch(to: end, tx) { start in
        run.events(after: start, generation, rules)?
          .commits(ofRecords: tree, trees, dataTrees)
      }
      switch outcome {
      case .unknown: return nil
      case .same: break
      case .changed(let value):
        state.patches &+= 1
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
    if step.isDue, let start, state.isUndone(since: start) { return (nil, ()) }
    if step.isDue, newest == nil {
      guard let current = patcher.current else { return nil }
      newest = current
    }
    return (try newest.map { try state.observed($0, last, tx) }, ())
  }
}
