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
  /// That of its tasks.
  let priority: UInt8

  package init(priority: UInt8) { self.priority = priority }

  /// Whether nothing is to be done, as a look on this thread shows. Then it rests.
  func isDoneByLook() -> Bool { false }

  /// Begins. Called when no lock is held, and not again before the work rests.
  ///
  /// - Parameter lines: where the task begins the next work.
  func begin(in lines: WorkLines) {}

  /// Whether it must only `finish`, which needs no task.
  var isOver: Bool { false }

  /// Ends work that rests. Called when no lock is held.
  func finish() {}
}

/// Who must hear of an event, when no lock is held: an executor of the program may run code then.
package enum ListenerWaiter: Sendable {
  case task(UnsafeContinuation<Void, Never>)
  case work(ListenerWork)
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

  /// One who waits until the observer waits. Unchecked, since `state` guards it.
  fileprivate final class Settler: @unchecked Sendable {
    var continuation: UnsafeContinuation<Void, Never>?
    var isCancelled = false
  }

  /// There may be very many listeners, and nearly all of them rest. So what only others have is in an
  /// object of its own, and small numbers are small.
  fileprivate struct State {
    var events: [ChangeEvent] = []
    /// What begins with the next event; nil while it works, and for a loop.
    var work: ListenerWork?
    /// Nil if there is nothing in it.
    private var company: Company?
    /// About how much memory the events take, at most.
    var size: UInt32 = 0
    /// How many events came, modulo 65,536.
    var received: UInt16 = 0
    private var flags = Flags()

    /// Whoever has to do with a listener that does not rest.
    private final class Company {
      var waiters: [UnsafeContinuation<Void, Never>] = []
      var settlers: [Settler] = []
      var pauses: Set<Task<Void, Never>> = []
      var task: UnsafeCurrentTask?

      var isEmpty: Bool {
        waiters.isEmpty && settlers.isEmpty && pauses.isEmpty && task == nil
      }
    }

    private struct Flags: OptionSet {
      let rawValue: UInt8
      static let ended = Flags(rawValue: 1)
      static let working = Flags(rawValue: 2)
      static let cancelled = Flags(rawValue: 4)
    }

    var isEnded: Bool {
      get { flags.contains(.ended) }
      set { set(.ended, newValue) }
    }

    var isWorking: Bool {
      get { flags.contains(.working) }
      set { set(.working, newValue) }
    }

    /// Whether nothing must be delivered any more.
    var isCancelled: Bool {
      get { flags.contains(.cancelled) }
      set { set(.cancelled, newValue) }
    }

    private mutating func set(_ flag: Flags, _ isSet: Bool) {
      if isSet { flags.insert(flag) } else { flags.remove(flag) }
    }

    var waiters: [UnsafeContinuation<Void, Never>] { company?.waiters ?? [] }
    /// The pauses between two reads, which end with the listener.
    var pauses: Set<Task<Void, Never>> { company?.pauses ?? [] }

    /// The task of the running work.
    var task: UnsafeCurrentTask? {
      get { company?.task }
      set { if newValue != nil || company != nil { change { $0.task = newValue } } }
    }

    mutating func add(waiter: UnsafeContinuation<Void, Never>) {
      change { $0.waiters.append(waiter) }
    }

    /// Adds one who waits until the observer waits.
    mutating func add(_ settler: Settler) { change { $0.settlers.append(settler) } }

    /// Removes one who does not wait any more; nil if it was not there.
    mutating func remove(_ settler: Settler) -> UnsafeContinuation<Void, Never>? {
      guard let place = company?.settlers.firstIndex(where: { $0 === settler }) else { return nil }
      change { $0.settlers.remove(at: place) }
      return settler.continuation
    }

    mutating func add(pause: Task<Void, Never>) { change { $0.pauses.insert(pause) } }

    mutating func remove(pause: Task<Void, Never>) { change { $0.pauses.remove(pause) } }

    mutating func takeAllWaiters() -> [UnsafeContinuation<Void, Never>] {
      guard let found = company?.waiters, !found.isEmpty else { return [] }
      change { $0.waiters = [] }
      return found
    }

    mutating func takeSettlers() -> [UnsafeContinuation<Void, Never>] {
      guard let found = company?.settlers, !found.isEmpty else { return [] }
      change { $0.settlers = [] }
      return found.compactMap(\.continuation)
    }

    private mutating func change(_ body: (Company) -> Void) {
      let company = company ?? Company()
      body(company)
      self.company = company.isEmpty ? nil : company
    }
  }

  /// Whose end is also the end of the listener.
  let owner: ObjectIdentifier
  /// Whether the commits of other processes count.
  let hearsForeign: Bool
  /// Whether it asks for the changes of each write of a commit.
  let wantsParts: Bool
  // Guarded by the hub, but for `state`. Small ones lie beside each other.
  /// Where the hub has it; negative if it has not.
  var place: Int32 = -1
  var isListed: Bool { place >= 0 }
  private let state = Locked(State())
  /// The trees whose changes count; nil before that is known for the first time.
  var trees: TreeSet?
  /// Which changes of these trees count; nil for all.
  var routes: ListenerRoutes?
  /// The last event that it was looked at for.
  var round: UInt64 = 0
  /// The number of the filing under its trees and routes (`ChangeHub`).
  var filing = UInt64.max
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
      state.add(event, beside: wantsParts ? Self.eventSize : 0)
      state.received &+= 1
      let isLong = !wantsParts && state.events.count > Self.countLimit
      if isLong || state.size > Self.sizeLimit { state.merge() }
      state.takeWaiters(&waiting)
    }
  }

  /// Drops the events up to a state that the observer has read, and those of other trees.
  ///
  /// - Parameter isFiledAnew: whether records may have been left out that concern it now.
  func narrow(to trees: TreeSet, after transaction: UInt64, isFiledAnew: Bool) {
    state.withLock { state in
      let events = state.events
      (state.events, state.size) = ([], 0)
      for event in events where event.concerns(trees) && event.isLater(than: transaction) {
        state.add(
          isFiledAnew ? event.unsifted() : event, beside: wantsParts ? Self.eventSize : 0)
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

  /// How many events came, modulo 65,536, for tests of what wakes an observer.
  var received: Int { state.withLock { Int($0.received) } }

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
      guard events.allSatisfy({ $0.isCommit && !$0.isAround(transaction) }) else { return nil }
      (state.events, state.size) = ([], 0)
      for event in events where event.isLater(than: transaction) { state.add(event, beside: 0) }
      return events.filter { !$0.isLater(than: transaction) }
    }
  }

  /// Waits until there is an event, or the listener has ended.
  package func wait() async {
    await withUnsafeContinuation { continuation in
      let ready: [UnsafeContinuation<Void, Never>] = state.withLock { state in
        if state.isEnded || !state.events.isEmpty { return [continuation] }
        state.add(waiter: continuation)
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
      if !state.isEnded { state.add(pause: task) }
      return state.isEnded
    }
    if isEnded { task.cancel() }
    await task.value
    state.withLock { $0.remove(pause: task) }
  }

  /// Waits until the observer has used all events and waits for the next one, or has ended with its last
  /// call. The end of the waiting task ends the wait.
  package func settle() async {
    let settler = Settler()
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let isSettled = state.withLock { state in
          // An event takes the waiters away, so where one waits there is no event.
          if settler.isCancelled || state.isEnded && !state.isWorking || state.work != nil
            || !state.waiters.isEmpty
          {
            return true
          }
          settler.continuation = continuation
          state.add(settler)
          return false
        }
        if isSettled { continuation.resume() }
      }
    } onCancel: {
      let waiting = state.withLock { state in
        settler.isCancelled = true
        return state.remove(settler)
      }
      waiting?.resume()
    }
  }
}

extension ChangeListener.State {
  /// - Parameter more: what it takes beside its records.
  fileprivate mutating func add(_ event: ChangeEvent, beside more: Int) {
    events.append(event)
    guard case .commit(_, let changes) = event else { return grow(more) }
    grow(changes.size + more)
  }

  private mutating func grow(_ more: Int) { size = UInt32(clamping: Int(size) + more) }

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
    for waiter in takeAllWaiters() { waiting.append(.task(waiter)) }
  }

  /// Makes one event of all. If all of them are commits, the trees and the writes stay known.
  fileprivate mutating func merge() {
    var (since, last): (UInt64?, UInt64) = (nil, 0)
    var (trees, authorship) = (TreeSet(), Authorship())
    var (isKnown, isReset) = (true, false)
    for event in events {
      authorship.add(event.authorship)
      switch event {
      case .commit(let number, let changes):
        since = since ?? changes.since ?? (max(number, 1) - 1)
        last = number
        trees.formUnion(changes.trees)
      case .anything(let number): (last, isKnown) = (number, false)
      case .reset: isReset = true
      }
    }
    let merged = CommittedChanges(
      trees: trees, records: [:], since: since, authorship: authorship)
    // After a reset the numbers of commits say nothing about the order.
    (events, size) = ([isReset ? .reset : isKnown ? .commit(last, merged) : .anything(last)], 0)
  }
}

extension ChangeEvent {
  var isCommit: Bool { if case .commit = self { true } else { false } }

  /// Whether a state has some of its commits, but not all.
  fileprivate func isAround(_ transaction: UInt64) -> Bool {
    guard case .commit(let number, let changes) = self, let since = changes.since else {
      return false
    }
    return since < transaction && transaction < number
  }

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
