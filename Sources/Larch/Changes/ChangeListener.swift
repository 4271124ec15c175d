/// What a listener hears of.
package enum ChangeEvent: Sendable {
  /// A commit with this number, and its changes. Those of other processes may be several commits, up
  /// to this number (`CommittedChanges.since`).
  case commit(UInt64, CommittedChanges)
  /// A commit with this number; what it changed is not known.
  case anything(UInt64)
  /// Everything may be different, and the numbers of commits may begin again.
  case reset
}

/// The work of an observer that has no task while it waits: something begins it when there is an event.
///
/// Unchecked, since it is used by one task at a time: `ChangeListener.rest` says when the next one may
/// begin.
package class ListenerWork: @unchecked Sendable {
  package init() {}

  /// Begins, in a task of its own or at once. Called when no lock is held, and not again before the work
  /// rests.
  func begin() {}
}

/// Who must hear of an event, when no lock is held: an executor of the program may run code then.
package enum ListenerWaiter: Sendable {
  case task(UnsafeContinuation<Void, Never>)
  case work(ListenerWork)

  func resume() {
    switch self {
    case .task(let continuation): continuation.resume()
    case .work(let work): work.begin()
    }
  }
}

/// Receives the commits that change what an observer has read, and keeps them until it asks.
///
/// An observer waits in one of two ways. A loop suspends its own task in `wait`. What calls a closure
/// is a `ListenerWork`, which rests: it is an object in this listener, and neither a task nor a thread.
///
/// Unchecked, since the comment at each variable says what guards it.
package final class ChangeListener: @unchecked Sendable {
  /// How many commits wait for an observer, and how much memory they may take. Beyond that, they
  /// become one event of any change, and the observer reads everything again.
  private static let (countLimit, sizeLimit) = (64, 8 << 20)
  /// What a commit takes beside its records. With the changes of each write, memory is the only limit:
  /// the observer itself merges writes.
  private static let eventSize = 256

  fileprivate struct State {
    var events: [ChangeEvent] = []
    var size = 0
    var waiters: [UnsafeContinuation<Void, Never>] = []
    /// Those who wait until the observer waits.
    var settlers: [UnsafeContinuation<Void, Never>] = []
    /// The pauses between two reads, which end with the listener.
    var pauses: Set<Task<Void, Never>> = []
    var isEnded = false
    /// How many events came.
    var received = 0
    /// What begins with the next event; nil while it works, and for a loop.
    var work: ListenerWork?
    var isWorking = false
    /// The task of the running work.
    var task: UnsafeCurrentTask?
    /// Whether nothing must be delivered any more.
    var isCancelled = false
  }

  /// Whose end is also the end of the listener.
  let owner: ObjectIdentifier
  /// Whether the commits of other processes count.
  let hearsForeign: Bool
  /// Whether it asks for the changes of each write of a commit.
  let wantsParts: Bool
  private let state = Locked(State())
  // Guarded by the hub.
  /// Where the hub has it; negative if it has not.
  var place = -1
  var isListed: Bool { place >= 0 }
  /// The trees whose changes count; nil before that is known for the first time.
  var trees: TreeSet?
  /// Which changes of these trees count; nil for all.
  var routes: ListenerRoutes?
  /// The commit of the last state that its observer has read.
  var read: UInt64 = 0
  /// The last event that it was looked at for.
  var round: UInt64 = 0
  /// The trees of records whose changes it wants one by one.
  var recordTrees = TreeSet()

  package init(owner: AnyObject, hearsForeign: Bool = true, wantsParts: Bool = false) {
    self.owner = ObjectIdentifier(owner)
    self.hearsForeign = hearsForeign
    self.wantsParts = wantsParts
  }

  // MARK: For the hub

  /// Keeps an event. Adds those who wait for one, which the caller must resume. An event may come
  /// several times, once for each tree.
  func receive(_ event: ChangeEvent, _ waiting: inout [ListenerWaiter]) {
    state.withLock { state in
      if state.isEnded || state.hasLast(event) { return }
      state.add(event)
      state.received += 1
      state.size += wantsParts ? Self.eventSize : 0
      let isLong = !wantsParts && state.events.count > Self.countLimit
      if isLong || state.size > Self.sizeLimit { state.merge() }
      state.takeWaiters(&waiting)
    }
  }

  /// Drops the events up to a state that the observer has read, and those of other trees.
  func narrow(to trees: TreeSet, after transaction: UInt64) {
    state.withLock { state in
      let events = state.events
      (state.events, state.size) = ([], 0)
      for event in events where event.concerns(trees) && event.isLater(than: transaction) {
        state.add(event)
        state.size += wantsParts ? Self.eventSize : 0
      }
    }
  }

  func end() -> [ListenerWaiter] {
    var waiting: [ListenerWaiter] = []
    let pauses = state.withLock { state in
      state.isEnded = true
      (state.events, state.size) = ([], 0)
      // Work that rests begins once more, to see the end.
      state.takeWaiters(&waiting)
      // The last call may still run.
      if !state.isWorking { waiting += state.takeSettlers().map { .task($0) } }
      return state.pauses
    }
    for pause in pauses { pause.cancel() }
    return waiting
  }

  // MARK: For the observer

  /// How many events came, for tests of what wakes an observer.
  var received: Int { state.withLock { $0.received } }

  package var isEnded: Bool { state.withLock { $0.isEnded } }

  /// The events since the last call; the hub calls it for an observer.
  func take() -> [ChangeEvent] {
    state.withLock { state in
      defer { (state.events, state.size) = ([], 0) }
      return state.events
    }
  }

  /// The events up to a commit. Nil, if an event of later ones may hide one of them.
  func take(upTo transaction: UInt64) -> [ChangeEvent]? {
    state.withLock { state in
      let events = state.events
      guard events.allSatisfy(\.isCommit) else { return nil }
      (state.events, state.size) = ([], 0)
      for event in events where event.isLater(than: transaction) { state.add(event) }
      return events.filter { !$0.isLater(than: transaction) }
    }
  }

  /// Waits until there is an event, or the listener has ended.
  package func wait() async {
    await withUnsafeContinuation { continuation in
      let ready: [UnsafeContinuation<Void, Never>] = state.withLock { state in
        if state.isEnded || !state.events.isEmpty { return [continuation] }
        state.waiters.append(continuation)
        return state.takeSettlers()
      }
      for ready in ready { ready.resume() }
    }
  }

  // MARK: For work

  /// Work begins that has not rested yet.
  func beginWork() { state.withLock { $0.isWorking = true } }

  /// Notes the task of the work, which must rest or finish before the task ends.
  func note(_ task: UnsafeCurrentTask?) {
    state.withLock { state in
      state.task = task
      if state.isCancelled { task?.cancel() }
    }
  }

  /// Rests until the next event or the end. False if there is one already: then the work goes on. After
  /// true, it may have begun again in another task.
  func rest(_ work: ListenerWork) -> Bool {
    let settlers: [UnsafeContinuation<Void, Never>]? = state.withLock { state in
      if state.isEnded || !state.events.isEmpty { return nil }
      (state.work, state.isWorking, state.task) = (work, false, nil)
      return state.takeSettlers()
    }
    guard let settlers else { return false }
    for settler in settlers { settler.resume() }
    return true
  }

  /// The work has seen the end.
  func finish() {
    let settlers = state.withLock { state in
      (state.isWorking, state.task) = (false, nil)
      return state.takeSettlers()
    }
    for settler in settlers { settler.resume() }
  }

  /// Nothing is delivered any more. The end must follow.
  func cancel() {
    state.withLock { state in
      state.isCancelled = true
      // Such a task waits in nothing that would run code now.
      state.task?.cancel()
    }
  }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  // MARK: For loops and pauses

  /// Waits for the end of a pause, or of the listener.
  package func wait(for pause: @escaping @Sendable () async -> Void) async {
    let task = Task { await pause() }
    let isEnded = state.withLock { state in
      if !state.isEnded { state.pauses.insert(task) }
      return state.isEnded
    }
    if isEnded { task.cancel() }
    await task.value
    state.withLock { _ = $0.pauses.remove(task) }
  }

  /// Waits until the observer has used all events and waits for the next one, or has ended with its last
  /// call.
  package func settle() async {
    await withUnsafeContinuation { continuation in
      let isSettled = state.withLock { state in
        // An event takes the waiters away, so where one waits there is no event.
        if state.isEnded && !state.isWorking || state.work != nil || !state.waiters.isEmpty {
          return true
        }
        state.settlers.append(continuation)
        return false
      }
      if isSettled { continuation.resume() }
    }
  }
}

extension ChangeListener.State {
  fileprivate mutating func add(_ event: ChangeEvent) {
    events.append(event)
    if case .commit(_, let changes) = event { size += changes.size }
  }

  /// Whether a commit is the last event already.
  fileprivate func hasLast(_ event: ChangeEvent) -> Bool {
    guard case .commit(_, let changes) = event, case .commit(_, let last)? = events.last else {
      return false
    }
    return changes === last
  }

  fileprivate mutating func takeWaiters(_ waiting: inout [ListenerWaiter]) {
    if let work {
      waiting.append(.work(work))
      (self.work, isWorking) = (nil, true)
    }
    if waiters.isEmpty { return }
    for waiter in waiters { waiting.append(.task(waiter)) }
    waiters = []
  }

  fileprivate mutating func takeSettlers() -> [UnsafeContinuation<Void, Never>] {
    defer { settlers = [] }
    return settlers
  }

  /// Makes one event of all. If all of them are commits, the trees and the writes stay known.
  fileprivate mutating func merge() {
    var last: UInt64 = 0
    var (trees, authorship) = (TreeSet(), Authorship())
    var (isKnown, isReset) = (true, false)
    for event in events {
      authorship.add(event.authorship)
      switch event {
      case .commit(let number, let changes):
        last = number
        trees.formUnion(changes.trees)
      case .anything(let number): (last, isKnown) = (number, false)
      case .reset: isReset = true
      }
    }
    let merged = CommittedChanges(trees: trees, records: [:], authorship: authorship)
    // After a reset the numbers of commits say nothing about the order.
    (events, size) = ([isReset ? .reset : isKnown ? .commit(last, merged) : .anything(last)], 0)
  }
}

extension ChangeEvent {
  var isCommit: Bool { if case .commit = self { true } else { false } }

  fileprivate func concerns(_ trees: TreeSet) -> Bool {
    guard case .commit(_, let changes) = self else { return true }
    return trees.intersects(changes.trees)
  }

  /// Whether a state does not have the changes. After a reset nothing is known.
  package func isLater(than transaction: UInt64) -> Bool {
    switch self {
    case .commit(let number, _), .anything(let number): number > transaction
    case .reset: true
    }
  }
}
