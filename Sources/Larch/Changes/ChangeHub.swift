internal import Foundation

internal import Synchronization

/// Passes on what commits change in a file, to those who listen.
///
/// A write begins with a `ChangeLog` if there is a listener. After its commit, and before anybody is
/// told of its success, the changes are published. The thread still has the write lock then, so they
/// come in the order of the commits.
///
/// **Nothing is missed at the start.** A listener is added before the first snapshot is taken. A
/// write that began earlier, without a log, is published as `.anything` if it commits after that.
/// If the snapshot has the changes already, the number of the commit tells so.
///
/// **Other processes** have no log. `ForeignCommits` notices their commits and finds the trees that
/// they changed. It also keeps the order: what others committed between two writes of this process
/// is published before the second one, or together with it.
///
/// Unchecked, since the comment at each variable says what guards it.
package final class ChangeHub: @unchecked Sendable {
  private let state = Locked(State())
  /// The number of listeners, at least: an unobserved write reads nothing else.
  private let count = Atomic<Int>(0)

  // Used only by the thread that has the write lock.
  /// The log of the running write, if that has one. It is a constant, since a check for overlapping
  /// accesses would cost each commit more than all the rest.
  let log = ChangeLog()

  /// A commit of more records is searched by the keys that it has written. They are there already, but
  /// may be more than those of the records before and after. Tests set it before anything is written.
  var bulk = 16

  /// Who hears of what was published since the lock was taken. They begin when it is released, since an
  /// executor of the program may run code then.
  private var due: [ListenerWaiter] = []
  /// Whether somebody is due: most writes find nobody.
  private let isDue = Atomic<Bool>(false)

  private let lines = WorkLines()

  /// Notices the commits of other processes. Set once, before anyone else has the hub.
  var foreign: (any ForeignCommits)?

  init() {}

  // MARK: Writes

  /// The log of a write that begins; nil if nobody listens.
  @inline(__always)
  func begin() -> ChangeLog? {
    count.load(ordering: .relaxed) == 0 ? nil : beginLog()
  }

  @inline(never)
  private func beginLog() -> ChangeLog {
    let mayLeaveOut = foreign?.hasCompany != true
    let wanted = state.withLock { state in
      if !state.late.isEmpty { state.late = [:] }
      let wanted = state.wanted ?? state.allWanted()
      state.wanted = wanted
      state.isSifting = mayLeaveOut && !wanted.sieve.trees.isEmpty
      return wanted
    }
    log.begin(
      recordTrees: wanted.records, keyTrees: mayLeaveOut ? wanted.siftedKeys : wanted.keys,
      isDivided: wanted.isDivided, sieve: mayLeaveOut ? wanted.sieve : RecordSieve())
    return log
  }

  /// Runs `body` while the routes of listeners do not change.
  @inline(__always)
  func withRoutes<T>(_ body: () -> T) -> T { state.withLock { _ in body() } }

  /// Tells that a write with a log is about to commit; `didEndCommit` follows in any case.
  func willCommit() { foreign?.willCommit() }

  func didEndCommit() { foreign?.didEndCommit() }

  /// Publishes a commit.
  ///
  /// - Parameters:
  ///   - changes: the changes; nil if there are none.
  ///   - hadLog: whether the write had a log.
  @inline(__always)
  func publish(_ changes: CommittedChanges?, transaction: UInt64, hadLog: Bool) {
    // The commit comes before this look for listeners, and a listener is added before it takes its
    // snapshot. So either the listener is seen here, or its snapshot has the commit.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if count.load(ordering: .relaxed) == 0 { return }
    publishOwn(changes, transaction, hadLog: hadLog)
  }

  @inline(never)
  private func publishOwn(_ changes: CommittedChanges?, _ transaction: UInt64, hadLog: Bool) {
    let event: ChangeEvent? =
      if let changes {
        .commit(transaction, changes)
      } else if !hadLog {
        .anything(transaction)
      } else {
        nil
      }
    var isKnown = true
    if let foreign {
      isKnown = foreign.publish(event, transaction: transaction)
    } else if let event {
      publish(event)
    }
    state.withLock { state in
      if isKnown { state.published = transaction }
      state.isSifting = false
    }
  }

  /// Publishes that a commit failed, and may still have reached the disk.
  func publishFailure(transaction: UInt64) {
    if count.load(ordering: .sequentiallyConsistent) != 0 { publish(.anything(transaction)) }
  }

  /// Publishes that the state of the file is not known to be the one before, since another file took
  /// its place, or it was opened again.
  func publishReset() {
    foreign?.reset()
    state.withLock { ($0.published, $0.filed) = (0, 0) }
    if count.load(ordering: .sequentiallyConsistent) != 0 { publish(.reset) }
  }

  private func publish(_ event: ChangeEvent) { postpone(file(event)) }

  /// Keeps those who wait for what was published, until the write lock is released.
  func postpone(_ waiters: [ListenerWaiter]) {
    if waiters.isEmpty { return }
    due += waiters
    isDue.store(true, ordering: .relaxed)
  }

  /// Removes those who are due. The caller must `resume` them when it holds no lock.
  @inline(__always)
  func takeDue() -> [ListenerWaiter] {
    isDue.load(ordering: .relaxed) ? takeAllDue() : []
  }

  @inline(never)
  private func takeAllDue() -> [ListenerWaiter] {
    isDue.store(false, ordering: .relaxed)
    defer { due = [] }
    return due
  }

  /// A look takes a microsecond of the thread that has committed, and a task twenty of another one.
  private static let fewLooks = 4

  /// Tells those who wait, when the caller holds no lock.
  func resume(_ waiters: [ListenerWaiter]) { begin(stillWaiting(waiters)) }

  /// Those for whom there is something to do, as far as a look shows. Called when no lock is held.
  func stillWaiting(_ waiters: [ListenerWaiter]) -> [ListenerWaiter] {
    if waiters.isEmpty || waiters.count > Self.fewLooks { return waiters }
    return waiters.filter { waiter in
      if case .work(let work) = waiter { !work.isDoneByLook() } else { true }
    }
  }

  /// The same as `resume`, without a look.
  ///
  /// - Parameter next: runs when the works have begun, and before any loop goes on.
  func begin(_ waiters: [ListenerWaiter], then next: () -> Void = {}) {
    if waiters.isEmpty { return next() }
    var (works, loops): ([ListenerWork], [UnsafeContinuation<Void, Never>]) = ([], [])
    for waiter in waiters {
      switch waiter {
      case .task(let continuation): loops.append(continuation)
      case .work(let work): works.append(work)
      }
    }
    // An executor of the program may run a loop at once, and it may wait for one of the others.
    lines.begin(works)
    next()
    for loop in loops { loop.resume() }
  }

  /// The same on another thread, since this one keeps the write lock: what comes next may wait for one of
  /// the observers.
  func resumeElsewhere() {
    let due = takeDue()
    if due.isEmpty { return }
    DispatchQueue.global().async { self.resume(due) }
  }

  /// Gives an event to the listeners that it concerns. Returns those who wait for one, which the caller
  /// must resume when it holds no lock.
  func file(_ event: ChangeEvent) -> [ListenerWaiter] {
    let changed = changedRecords(of: event)
    return state.withLock { state in
      var waiting: [ListenerWaiter] = []
      guard case .commit(_, let changes) = event, !changes.sifting.leftOut.isEmpty else {
        state.forEachConcerned(by: event, changed) { $0.receive(event, &waiting) }
        return waiting
      }
      var unsifted: ChangeEvent?
      state.forEachConcerned(by: event, changed) { listener in
        guard listener.filing > changes.sifting.filings else {
          return listener.receive(event, &waiting)
        }
        let all = unsifted ?? event.unsifted()
        unsifted = all
        listener.receive(all, &waiting)
      }
      return waiting
    }
  }

  /// What is searched among the routes of listeners. Keys are made here, without the lock, since that
  /// may read the file.
  private func changedRecords(of event: ChangeEvent) -> [RouteIndex.Changed] {
    var commit: CommittedChanges?
    if case .commit(_, let changes) = event { commit = changes }
    let routed: [(tree: UInt32, makers: [any RouteKeys], isSearched: Bool)] =
      state.withLock { state in
        state.routed.map { tree, index in
          let count = commit?.records.changes(of: tree)?.count
          return (tree, index.makers, count.map(index.isWorthSearching) ?? false)
        }
      }
    var changed: [RouteIndex.Changed] = []
    for (tree, makers, isSearched) in routed {
      for maker in makers { maker.note(commit) }
      guard isSearched, let commit, let records = commit.records.changes(of: tree) else { continue }
      if records.count == 0 {
        changed.append(RouteIndex.Changed(tree: tree, records: records))
        continue
      }
      let isSifted = commit.sifting.trees.contains(tree)
      let keys = makers.map { maker -> (id: RouteKeysID, batches: [KeyBatch]?) in
        // All keys of the records that were not left out.
        if isSifted, let announced = commit.keys[maker.tree] {
          return (maker.id, [announced])
        }
        let written = records.count > bulk ? commit.keys[maker.tree] : nil
        let others = maker.keys(of: records, besidesWritten: written != nil)
        return (maker.id, others.map { [written, $0].compactMap { $0 } })
      }
      changed.append(RouteIndex.Changed(tree: tree, records: records, keys: keys))
    }
    return changed
  }

  /// How many listeners were looked at for all events so far, for tests.
  var visits: Int { state.withLock { $0.visits } }

  // MARK: Listeners

  /// Whether somebody may have read a later state than the last one that was published.
  var mayBeAhead: Bool { state.withLock { !$0.ahead.isEmpty || !$0.undecided.isEmpty } }

  /// The trees whose changed records somebody wants.
  var recordTrees: TreeSet { state.withLock { TreeSet($0.recordTrees.keys) } }

  package func add(_ listener: ChangeListener) {
    // First: a commit of this process that the watch is not told of counts as one of others.
    count.wrappingAdd(1, ordering: .sequentiallyConsistent)
    // Before the first snapshot, so that no commit of others is missed after it.
    let known = listener.hearsForeign ? foreign?.begin() : nil
    state.withLock { state in
      if let known { state.filed = max(state.filed, known) }
      state.add(listener)
      state.undecided[ObjectIdentifier(listener)] = listener
      listener.filing = .max
      state.wanted = nil
      if listener.wantsParts { state.dividing += 1 }
    }
    // Before the listener takes its snapshot: see `publish`.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
  }

  /// Removes a listener and ends it. Removing it twice is not an error.
  package func remove(_ listener: ChangeListener) {
    let wasThere = state.withLock { state in
      guard state.remove(listener) else { return false }
      for tree in listener.recordTrees { state.release(tree) }
      state.countWide(listener, by: -1)
      state.wanted = nil
      if listener.wantsParts { state.dividing -= 1 }
      state.unfile(listener)
      return true
    }
    if wasThere {
      if listener.hearsForeign { foreign?.end() }
      count.wrappingSubtract(1, ordering: .sequentiallyConsistent)
    }
    for waiter in listener.end() {
      switch waiter {
      case .task(let continuation): continuation.resume()
      case .work(let work): work.finish()
      }
    }
  }

  /// What makes the keys of an index for the listeners that are there; nil if there are none.
  ///
  /// - Parameter tree: that of the records.
  package func routeKeys(
    _ owner: AnyObject, index: UInt32, of tree: UInt32
  ) -> (any RouteKeys)? {
    let id = RouteKeysID(owner: ObjectIdentifier(owner), tree: index)
    return state.withLock { $0.routed[tree]?.keys(id) }
  }

  /// Ends all listeners of an owner.
  package func removeListeners(of owner: ObjectIdentifier) {
    let ended = state.withLock { $0.listeners.filter { $0.owner == owner } }
    for listener in ended { remove(listener) }
  }

  /// The events of a listener since the last call. Until `listen` is called, the next ones are of all
  /// trees.
  package func take(_ listener: ChangeListener) -> [ChangeEvent] {
    state.withLock { state in
      if listener.isListed { state.undecided[ObjectIdentifier(listener)] = listener }
      return listener.take()
    }
  }

  /// Until `listen` is called, the next events of a listener are of all trees.
  package func undecide(_ listener: ChangeListener) {
    state.withLock { state in
      if listener.isListed { state.undecided[ObjectIdentifier(listener)] = listener }
    }
  }

  /// The further events of a listener, after `take`, up to the state of a snapshot. Nil if it is not
  /// certain that these are all.
  package func takeRest(
    _ listener: ChangeListener, upTo transaction: UInt64
  ) -> [ChangeEvent]? {
    state.withLock { $0.published == transaction ? listener.take(upTo: transaction) : nil }
  }

  /// From now on, a listener is woken only by changes of these trees, and the changed records of the
  /// record trees are kept for it. With the same trees and routes as before, this costs next to
  /// nothing.
  ///
  /// - Parameters:
  ///   - routes: which changes of the trees wake it; nil for each.
  ///   - transaction: the commit whose changes, and those before, it has.
  ///   - read: the commit of the state that it has read, if that is a later one.
  package func listen(
    _ listener: ChangeListener, to trees: TreeSet, recordTrees: TreeSet,
    routes: ListenerRoutes? = nil, after transaction: UInt64, read: UInt64 = 0
  ) {
    state.withLock { state in
      guard listener.isListed else { return }
      let isSame =
        recordTrees == listener.recordTrees && trees == listener.trees
        && routes === listener.routes
      if !isSame {
        state.wanted = nil
        state.countWide(listener, by: -1)
        for tree in recordTrees { state.recordTrees[tree, default: 0] += 1 }
        for tree in listener.recordTrees { state.release(tree) }
        listener.recordTrees = recordTrees
      }
      state.file(listener, under: trees, routes)
      if !isSame {
        state.countWide(listener, by: 1)
        state.filings += 1
        listener.filing = state.filings
        if state.isSifting { state.late[ObjectIdentifier(listener)] = listener }
      }
      listener.narrow(to: trees, after: transaction, isFiledAnew: !isSame)
      let read = max(transaction, read)
      state.ahead[ObjectIdentifier(listener)] = read > state.filed ? (listener, read) : nil
    }
  }
}
