internal import Synchronization

/// Notices the commits of other processes in a file, and finds out which trees they changed.
///
/// **Noticing.** While somebody listens, a thread waits until the system tells that the file was
/// written to (`FileSignal`), and then compares the number of the newest commit with the last one
/// that was published. Writers need not know of it, so they may be of any version, or no Larch at all.
///
/// **What changed.** The watch knows the root pages of the trees at the last state that it looked at
/// (`TreeRoots`), and holds a read of that state or of an earlier one, the *pin*. As long as the pin
/// is held, no page of these states is used again. So the trees with another root page are exactly
/// those that have changed. Without the pin, the answer is certain for two commits more, since LMDB
/// uses the pages that a commit has freed only in the second one after it. Otherwise everything may
/// have changed, and all observers read again.
///
/// **Which records.** Of the changed trees whose records somebody wants, the pages of both states are
/// compared (`TreeChanges`). For that, the old state must be held by the pin, or be that of the commit
/// before. Without it, or with too many changes, it is only known that the tree has changed. The answer
/// is what changed since the last commit that was published: what this process has published since
/// the old state is taken out (`PublishedChanges`).
///
/// **Order.** A commit of this process whose number is the next one is published as it is. Any other
/// number proves that others have committed since. Then the trees are compared before the commit is
/// published, with the write lock held, and the answer is published for all commits together. So no
/// observer takes a state for known that lacks a commit.
///
/// **Nobody waits for pages.** The thread compares pages without the mutex. A commit of this process
/// that comes meanwhile does not wait for the answer: it publishes the changed trees for the thread, and
/// then itself. The answer comes too late then, and is dropped; observers of these trees read again.
///
/// Unchecked, since `state` has a mutex. It comes before those of the registry and of `ReaderPool`,
/// and no thread waits for a read or for the write lock with it.
final class CommitWatch: ForeignCommits, @unchecked Sendable {
  private struct State {
    /// How many listeners want to hear of others.
    var listeners = 0
    /// When the last one ended.
    var lastEnd: Int64 = 0
    /// The thread that belongs to them. It stays for a while without one, for the next one: a program that
    /// observes for each request would begin a thread, and a queue of the system, for each of them.
    var thread: CommitWatchThread?
    var roots: TreeRoots? { didSet { published = PublishedChanges() } }
    /// What this process has published since the state of the roots.
    var published = PublishedChanges()
    var pin: LMDBHeldRead?
    /// The last commit that was published, or that nobody needs to hear of; nil if that is unknown.
    var known: UInt64?
    /// A commit of this process is about to be published.
    var isCommitting = false
    /// How many of them were published since the last look.
    var ownCommits = 0
    /// The thread has found `isCommitting`.
    var mustLookAgain = false
    /// The commits that the thread looks at, and has not published yet.
    var compared: PageComparison?
    /// Whether the thread uses the pin.
    var isComparing = false
    var counts = Counts()

    /// What a look of a thread finds that nobody wants; nil if somebody does.
    func unheard(by thread: CommitWatchThread) -> Finding? {
      if self.thread !== thread { return .ended }
      return listeners == 0 ? .unheard(since: lastEnd) : nil
    }
  }

  /// How many commits of this process the pin may lag behind. The thread may not get its turn while
  /// this process writes all the time, and until then nothing that is freed is used again.
  private static let lag: UInt64 = 16

  /// For how many commits of this process one of others counts as company.
  private static let company = 256

  private unowned let environment: LMDBEnvironment
  /// How many more commits of this process others keep company.
  private let rest = Atomic<Int>(0)
  private let state = Locked(State())
  /// Called by the thread before it compares pages: for tests, which set it while nobody listens.
  nonisolated(unsafe) var willCompare: (() -> Void)?

  init(_ environment: LMDBEnvironment) { self.environment = environment }

  var counts: Counts { state.withLock { $0.counts } }

  /// Whether it has a thread, for tests.
  var hasThread: Bool { state.withLock { $0.thread != nil } }

  // MARK: For the hub

  func begin() -> UInt64? {
    // A child process has no thread, and perhaps a mutex that nobody will unlock.
    if environment.isForked { return nil }
    return state.withLock { state in
      state.listeners += 1
      guard state.listeners == 1 else { return nil }
      (state.known, state.roots, state.pin, state.compared) = (nil, nil, nil, nil)
      state.ownCommits = 0
      // Without a reader, the first look of the thread counts as a change of everything.
      if let reader = environment.beginReadWithoutWaiting() {
        state.roots = try? roots(reader)
        state.known = state.roots?.transaction
        state.pin = pin(reader)
      }
      // One that the system does not tell tries again as a new one.
      if let thread = state.thread {
        if state.counts.isTold != false { return state.known }
        thread.wake()
      }
      state.counts.isTold = nil
      state.counts.threads += 1
      let thread = CommitWatchThread(environment, self)
      state.thread = thread
      thread.start()
      return state.known
    }
  }

  func end() {
    if environment.isForked { return }
    let ended: (CommitWatchThread?, LMDBHeldRead?) = state.withLock { state in
      state.listeners -= 1
      if state.listeners > 0 { return (nil, nil) }
      state.lastEnd = MonotonicTime.now.nanoseconds
      defer { (state.pin, state.compared) = (nil, nil) }
      return (state.thread, state.pin)
    }
    ended.0?.wake()
    if let pin = ended.1 { environment.endHeldRead(pin) }
  }

  func endThread() {
    if environment.isForked { return }
    let thread: CommitWatchThread? = state.withLock { state in
      guard state.listeners == 0 else { return nil }
      defer { state.thread = nil }
      return state.thread
    }
    thread?.wake()
  }

  func willCommit() { state.withLock { $0.isCommitting = true } }

  var hasCompany: Bool { rest.load(ordering: .relaxed) > 0 }

  func didEndCommit() {
    let thread: CommitWatchThread? = state.withLock { state in
      state.isCommitting = false
      defer { state.mustLookAgain = false }
      return state.mustLookAgain ? state.thread : nil
    }
    thread?.wake()
  }

  func publish(_ event: ChangeEvent?, transaction: UInt64) -> Bool {
    var reader: LMDBReader?
    var ended: LMDBHeldRead?
    let waiting: [ListenerWaiter] = state.withLock { state in
      if state.listeners == 0 { return event.map(environment.changes.file) ?? [] }
      let before = publishUncompared(&state)
      if let known = state.known {
        // A look has found it already: its write began when nobody listened.
        if transaction <= known { return before }
        if transaction == known &+ 1 {
          state.known = transaction
          state.ownCommits += 1
          let rest = rest.load(ordering: .relaxed)
          if rest > 0 { self.rest.store(rest - 1, ordering: .relaxed) }
          state.published.add(event)
          if let pin = state.pin, transaction >= pin.snapshot &+ Self.lag {
            ended = movePin(&state, to: transaction)
          }
          return before + (event.map(environment.changes.file) ?? [])
        }
      }
      reader = environment.beginReadWithoutWaiting()
      guard let reader, reader.transaction.id >= transaction else {
        (state.known, state.roots) = (transaction, nil)
        return before + environment.changes.file(.anything(transaction))
      }
      return before + workOffAll(reader, &state)
    }
    if let reader { environment.endRead(reader) }
    if let ended { environment.endHeldRead(ended) }
    environment.changes.postpone(waiting)
    return true
  }

  func reset() {
    if environment.isForked { return }
    let thread = state.withLock { state in
      // The pin was ended, as all reads were.
      (state.known, state.roots, state.pin, state.compared) = (nil, nil, nil, nil)
      return state.thread
    }
    thread?.watchAgain()
  }

  // MARK: For the thread

  func noteWake() { state.withLock { $0.counts.wakes += 1 } }

  func note(isTold: Bool, by thread: CommitWatchThread) {
    state.withLock { if $0.thread === thread { $0.counts.isTold = isTold } }
  }

  /// Whether a thread can end, since nobody listens.
  func release(_ thread: CommitWatchThread) -> Bool {
    state.withLock { state in
      guard state.thread === thread else { return true }
      guard state.listeners == 0 else { return false }
      state.thread = nil
      return true
    }
  }

  /// Looks for new commits and publishes them. Throws if the file cannot be read now.
  ///
  /// - Parameter isBusy: whether own commits have come all the time.
  func look(for thread: CommitWatchThread, isBusy: Bool) throws -> Finding {
    if let count = ownCommitsAlone(for: thread, isBusy: isBusy) { return .ownCommits(count) }
    if let finding = state.withLock({ $0.unheard(by: thread) }) { return finding }
    let reader = try environment.beginRead()
    var waiting: [ListenerWaiter] = []
    var isNew = false
    var comparison: PageComparison?
    let finding: Finding = state.withLock { state in
      state.counts.looks += 1
      state.ownCommits = 0
      if let finding = state.unheard(by: thread) { return finding }
      if state.isCommitting {
        state.mustLookAgain = true
        return .ownCommit
      }
      isNew = state.roots?.transaction != reader.transaction.id
      guard isNew else { return .nothing }
      let before = state.known
      switch workOff(reader, &state) {
      case nil: break
      case .event(let event): waiting = environment.changes.file(event)
      case .pages(let pages):
        comparison = pages
        (state.compared, state.isComparing) = (pages, true)
      }
      return state.known == before ? .nothing : .commit
    }
    if let comparison { waiting += publish(comparison, reader) }
    let isReplaced = isNew && environment.isReplaced(in: reader)
    if isNew { replacePin(reader, for: thread) } else { environment.endRead(reader) }
    environment.changes.resume(waiting)
    if isReplaced { try environment.followReplacement() }
    return finding
  }

  /// The number of own commits since the last look, if there are some, and the header of the file has no
  /// later one. So a look costs next to nothing where this process alone writes.
  ///
  /// After a single one it is a look as any other, after which the pin and the roots are those of the last
  /// commit: there may be no further one.
  private func ownCommitsAlone(for thread: CommitWatchThread, isBusy: Bool) -> Int? {
    guard let newest = environment.newestHeader else { return nil }
    return state.withLock { state in
      guard state.thread === thread, state.ownCommits > (isBusy ? 0 : 1), state.known == newest,
        state.compared == nil, let pin = state.pin, environment.isOpen(pin)
      else { return nil }
      defer { state.ownCommits = 0 }
      state.counts.looks += 1
      return state.ownCommits
    }
  }

  /// Ends the pin if nobody has changed the file for some time, so that this process keeps no space
  /// if it is suspended.
  func endOldPin(for thread: CommitWatchThread) {
    let pin: LMDBHeldRead? = state.withLock { state in
      guard state.thread === thread, let pin = state.pin, pin.age >= .milliseconds(500) else {
        return nil
      }
      state.pin = nil
      return pin
    }
    if let pin { environment.endHeldRead(pin) }
  }

  // MARK: Comparing

  private enum Work {
    case event(ChangeEvent)
    /// Pages must be compared to know the event.
    case pages(PageComparison)
  }

  /// Compares the state of a reader with the last one. Returns what to publish.
  private func workOff(_ reader: LMDBReader, _ state: inout State) -> Work? {
    let newest = reader.transaction.id
    // Another thread was faster.
    if let known = state.known, newest < known { return nil }
    let (known, old, published) = (state.known, state.roots, state.published)
    (state.known, state.roots) = (newest, try? roots(reader))
    if newest == known { return nil }
    rest.store(Self.company, ordering: .relaxed)
    state.counts.comparisons += 1
    if let place = try? environment.logPlace(in: reader.transaction) {
      environment.recentPlaces.note(place, after: newest)
    }
    guard let known, let old, let new = state.roots, isCertain(since: old, newest, state) else {
      state.counts.unknown += 1
      return .event(.anything(newest))
    }
    let isAhead = environment.changes.mayBeAhead
    let changed = new.changed(since: old) { isAhead || published.mayHaveChanged($0) }
    if changed.isEmpty { return nil }
    let comparison = PageComparison(
      newest: newest, known: known, old: old, published: published, trees: changed)
    let wanted = environment.changes.recordTrees.intersection(changed).trees
    state.counts.wanted += wanted.count
    // The pin has one user at a time, and nobody waits for it here.
    if wanted.isEmpty || state.isComparing { return .event(comparison.event([:])) }
    // While the pin is in use, nobody can end it.
    comparison.pin = usablePin(since: old, state)
    // The read of the next commit keeps what this commit has freed.
    guard comparison.pin != nil || newest <= old.transaction &+ 1 else {
      return .event(comparison.event([:]))
    }
    comparison.wanted = wanted
    return .pages(comparison)
  }

  /// The same with the pages, while the mutex is held. Returns those who wait for the answer.
  private func workOffAll(
    _ reader: LMDBReader, _ state: inout State
  ) -> [ListenerWaiter] {
    switch workOff(reader, &state) {
    case nil: return []
    case .event(let event): return environment.changes.file(event)
    case .pages(let comparison):
      let found = records(comparison, reader)
      state.counts.found += found.records.count
      state.counts.pages += found.pages
      return environment.changes.file(comparison.event(found.records))
    }
  }

  /// Compares pages on the thread, without the mutex, and publishes the answer if it is not too late.
  private func publish(
    _ comparison: PageComparison, _ reader: LMDBReader
  ) -> [ListenerWaiter] {
    willCompare?()
    let found = records(comparison, reader)
    return state.withLock { state in
      state.isComparing = false
      state.counts.pages += found.pages
      guard state.compared === comparison else {
        state.counts.late += 1
        return []
      }
      state.compared = nil
      state.counts.found += found.records.count
      return environment.changes.file(comparison.event(found.records))
    }
  }

  /// Publishes the commits that the thread still looks at, without their records.
  private func publishUncompared(_ state: inout State) -> [ListenerWaiter] {
    guard let comparison = state.compared else { return [] }
    state.compared = nil
    return environment.changes.file(comparison.event([:]))
  }

  /// The changed records of the wanted trees, without what was published. Ends the use of the pin.
  private func records(
    _ comparison: PageComparison, _ reader: LMDBReader
  ) -> (records: [UInt32: [StoredChange]], pages: Int) {
    defer { if let pin = comparison.pin { environment.endUse(of: pin) } }
    let names = environment.treeNames.withLock { $0 }
    var changes = TreeChanges(
      since: comparison.old, in: reader.transaction, environment.changes.log.limits)
    var found: [UInt32: [StoredChange]] = [:]
    for tree in comparison.wanted {
      guard let name = names[tree], let all = changes.records(of: tree, named: name) else {
        continue
      }
      found[tree] = comparison.published.later(all, of: tree)
    }
    return (found, changes.pages)
  }

  /// The pin, in use, if it keeps the pages of the old state.
  private func usablePin(since old: TreeRoots, _ state: State) -> LMDBHeldRead? {
    guard let pin = state.pin, pin.snapshot <= old.transaction else { return nil }
    do {
      _ = try environment.beginUse(of: pin, isBounded: true)
      return pin
    } catch {
      // It was ended, because it was in the way of something.
      return nil
    }
  }

  /// Whether no page of the old state can have been used again.
  private func isCertain(since old: TreeRoots, _ newest: UInt64, _ state: State) -> Bool {
    if let pin = state.pin, pin.snapshot <= old.transaction, environment.isOpen(pin) { return true }
    return newest <= old.transaction &+ 2
  }

  private func roots(_ reader: LMDBReader) throws -> TreeRoots {
    try environment.treeNames.withLock { try TreeRoots(of: $0, in: reader.transaction) }
  }

  private func pin(_ reader: LMDBReader) -> LMDBHeldRead {
    environment.hold(reader, owner: ObjectIdentifier(self), deadline: nil, isObserving: true)
  }

  /// Moves the pin on after a commit of this process, if it is still the newest one. Returns the old
  /// pin, which must be ended.
  private func movePin(_ state: inout State, to transaction: UInt64) -> LMDBHeldRead? {
    guard let reader = environment.beginReadWithoutWaiting() else { return nil }
    let found = try? roots(reader)
    let new = pin(reader)
    guard let found, found.transaction == transaction else { return new }
    defer { (state.pin, state.roots) = (new, found) }
    return state.pin
  }

  /// Holds a read in place of the last one.
  private func replacePin(_ reader: LMDBReader, for thread: CommitWatchThread) {
    let new = pin(reader)
    let ended: LMDBHeldRead? = state.withLock { state in
      guard state.unheard(by: thread) == nil else { return new }
      defer { state.pin = new }
      return state.pin
    }
    if let ended { environment.endHeldRead(ended) }
  }
}
