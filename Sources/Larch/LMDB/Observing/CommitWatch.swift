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
/// Unchecked, since `state` has a mutex. It comes before those of the registry and of `ReaderPool`,
/// and no thread waits for a read or for the write lock with it.
final class CommitWatch: ForeignCommits, @unchecked Sendable {
  private struct State {
    /// How many listeners want to hear of others.
    var listeners = 0
    /// The thread that belongs to them.
    var thread: CommitWatchThread?
    var roots: TreeRoots? { didSet { published = PublishedChanges() } }
    /// What this process has published since the state of the roots.
    var published = PublishedChanges()
    var pin: LMDBHeldRead?
    /// The last commit that was published, or that nobody needs to hear of; nil if that is unknown.
    var known: UInt64?
    /// A commit of this process is about to be published.
    var isCommitting = false
    /// The thread has found `isCommitting`.
    var mustLookAgain = false
    var counts = Counts()
  }

  /// What it did, for tests.
  struct Counts {
    /// How often the thread woke up, and how often it looked for a new commit.
    var wakes = 0
    var looks = 0
    /// How often it compared trees, and how often that gave no certain answer.
    var comparisons = 0
    var unknown = 0
    /// How many trees changed whose records somebody wants, and for how many these were found.
    var wanted = 0
    var found = 0
    /// How many pages were read for that.
    var pages = 0
  }

  /// What a look has found.
  enum Finding {
    /// Nobody listens any more.
    case ended
    case nothing
    case commit
    /// A commit of this process, which it will publish, and then wake the thread.
    case ownCommit
  }

  /// How many commits of this process the pin may lag behind. The thread may not get its turn while
  /// this process writes all the time, and until then nothing that is freed is used again.
  private static let lag: UInt64 = 16

  private unowned let environment: LMDBEnvironment
  private let state = Locked(State())

  init(_ environment: LMDBEnvironment) { self.environment = environment }

  var counts: Counts { state.withLock { $0.counts } }

  // MARK: For the hub

  func begin() {
    // A child process has no thread, and perhaps a mutex that nobody will unlock.
    if environment.isForked { return }
    state.withLock { state in
      state.listeners += 1
      guard state.listeners == 1 else { return }
      (state.known, state.roots, state.pin) = (nil, nil, nil)
      // Without a reader, the first look of the thread counts as a change of everything.
      if let reader = environment.beginReadWithoutWaiting() {
        state.roots = try? roots(reader)
        state.known = state.roots?.transaction
        state.pin = pin(reader)
      }
      let thread = CommitWatchThread(environment, self)
      state.thread = thread
      thread.start()
    }
  }

  func end() {
    if environment.isForked { return }
    let ended: (CommitWatchThread?, LMDBHeldRead?) = state.withLock { state in
      state.listeners -= 1
      if state.listeners > 0 { return (nil, nil) }
      defer { (state.thread, state.pin) = (nil, nil) }
      return (state.thread, state.pin)
    }
    ended.0?.wake()
    if let pin = ended.1 { environment.endHeldRead(pin) }
  }

  func willCommit() { state.withLock { $0.isCommitting = true } }

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
    let waiting: [UnsafeContinuation<Void, Never>] = state.withLock { state in
      if state.listeners == 0 { return event.map(environment.changes.file) ?? [] }
      if let known = state.known {
        // A look has found it already: its write began when nobody listened.
        if transaction <= known { return [] }
        if transaction == known &+ 1 {
          state.known = transaction
          state.published.add(event)
          if let pin = state.pin, transaction >= pin.snapshot &+ Self.lag {
            ended = movePin(&state, to: transaction)
          }
          return event.map(environment.changes.file) ?? []
        }
      }
      reader = environment.beginReadWithoutWaiting()
      guard let reader, reader.transaction.id >= transaction else {
        (state.known, state.roots) = (transaction, nil)
        return environment.changes.file(.anything(transaction))
      }
      return workOff(reader, &state).map(environment.changes.file) ?? []
    }
    if let reader { environment.endRead(reader) }
    if let ended { environment.endHeldRead(ended) }
    for waiter in waiting { waiter.resume() }
    return true
  }

  func reset() {
    if environment.isForked { return }
    let thread = state.withLock { state in
      // The pin was ended, as all reads were.
      (state.known, state.roots, state.pin) = (nil, nil, nil)
      return state.thread
    }
    thread?.watchAgain()
  }

  // MARK: For the thread

  func noteWake() { state.withLock { $0.counts.wakes += 1 } }

  /// Looks for new commits and publishes them. Throws if the file cannot be read now.
  func look(for thread: CommitWatchThread) throws -> Finding {
    let reader = try environment.beginRead()
    var waiting: [UnsafeContinuation<Void, Never>] = []
    var isNew = false
    let finding: Finding = state.withLock { state in
      state.counts.looks += 1
      guard state.thread === thread else { return .ended }
      if state.isCommitting {
        state.mustLookAgain = true
        return .ownCommit
      }
      isNew = state.roots?.transaction != reader.transaction.id
      guard isNew else { return .nothing }
      let before = state.known
      if let event = workOff(reader, &state) { waiting = environment.changes.file(event) }
      return state.known == before ? .nothing : .commit
    }
    // A replaced file says so in its last commit.
    let isReplaced =
      isNew
      && (try? TreeRoots.root(of: ReplacementMark.databaseName, in: reader.transaction)) != nil
    if isNew { replacePin(reader, for: thread) } else { environment.endRead(reader) }
    for waiter in waiting { waiter.resume() }
    // This is how an environment finds out and follows.
    if isReplaced { try environment.openDatabases { _ in } }
    return finding
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

  /// Compares the state of a reader with the last one, and returns what to publish.
  private func workOff(_ reader: LMDBReader, _ state: inout State) -> ChangeEvent? {
    let newest = reader.transaction.id
    // Another thread was faster.
    if let known = state.known, newest < known { return nil }
    let (known, old, published) = (state.known, state.roots, state.published)
    (state.known, state.roots) = (newest, try? roots(reader))
    if newest == known { return nil }
    state.counts.comparisons += 1
    guard let known, let old, let new = state.roots, isCertain(since: old, newest, state) else {
      state.counts.unknown += 1
      return .anything(newest)
    }
    let changed = new.changed(since: old)
    if changed.isEmpty { return nil }
    let records = records(of: changed, since: old, published, reader, &state)
    return .commit(newest, CommittedChanges(trees: changed, records: records, since: known))
  }

  /// The changed records of those trees for which somebody wants them, without what was published.
  private func records(
    of trees: TreeSet, since old: TreeRoots, _ published: PublishedChanges, _ reader: LMDBReader,
    _ state: inout State
  ) -> [UInt32: [StoredChange]] {
    let wanted = environment.changes.recordTrees.intersection(trees).trees
    if wanted.isEmpty { return [:] }
    state.counts.wanted += wanted.count
    // While the pin is in use, nobody can end it.
    let pin = usablePin(since: old, state)
    defer { if let pin { environment.endUse(of: pin) } }
    // The read of the next commit keeps what this commit has freed.
    guard pin != nil || reader.transaction.id <= old.transaction &+ 1 else { return [:] }
    let names = environment.treeNames.withLock { $0 }
    var changes = TreeChanges(since: old, in: reader.transaction, environment.changes.log.limits)
    var found: [UInt32: [StoredChange]] = [:]
    for tree in wanted {
      guard let name = names[tree], let all = changes.records(of: tree, named: name) else {
        continue
      }
      found[tree] = published.later(all, of: tree)
    }
    state.counts.found += found.count
    state.counts.pages += changes.pages
    return found
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
      guard state.thread === thread else { return new }
      defer { state.pin = new }
      return state.pin
    }
    if let ended { environment.endHeldRead(ended) }
  }
}
