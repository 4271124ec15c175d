internal import Foundation

/// The thread that applies a log to a copy, and what it knows.
///
/// One step: it reads the entries after the copy's place and applies them; without any, it waits for the
/// server to tell of one. A step that fails is reported and tried again, after a pause that grows. Nothing is
/// remembered between two steps but the place, which is in the file, so a kill at any point costs nothing.
///
/// Unchecked, since `state` has a mutex, and `claim` belongs to the thread.
final class FollowingWork: @unchecked Sendable {
  /// What of an entry's batch is applied in one transaction.
  static let (batchCount, batchBytes) = (1000, 1 << 20)
  /// The pauses in seconds after a failure, from the first to the longest.
  static let pauses = [0.05, 0.1, 0.2, 0.5, 1, 2, 5]
  /// How often one that does not apply looks at the file, and asks the server for its newest place.
  private static let (look, question) = (0.005, 1.0)

  let environment: LMDBEnvironment
  let serverLog: ServerLog
  let options: Store.Options
  /// `.follower`, or `.shared`: then this process may write the copy too.
  let role: OutboxRole
  let arrivals = Arrivals()
  let state: Locked<State>
  private let mutex = SystemMutex()
  /// Signalled when the thread must end, and when it has.
  private let signal = SystemCondition()

  // Used by the thread, and by a promotion while there is none.
  var claim: FollowClaim?
  private var asked = MonotonicTime(nanoseconds: 0)
  /// Whether the log may have entries that the copy does not have.
  private var mustAsk = true
  private var nextFold = MonotonicTime.now
  /// The transaction for which it is known whether another file has taken the place of this one.
  private var seen: UInt64?
  /// The file that `arrivals` tells of, by its number among those that the store has had open.
  var generation: Int
  /// Whether the file has the name of the log.
  private var hasNotedLog = false
  /// Also used before the thread is started.
  var pasts = OtherPasts()

  struct State {
    var status: Follower.Status
    var isStopping = false
    var isClosed = false
    var thread: UInt?
    var hasEnded = true
    var hasToldRisk = false
    /// The client of the thread.
    var client: (any SharedLog)?
    /// The client that asks while the one of the thread waits.
    var questions: (any SharedLog)?
  }

  init(
    _ environment: LMDBEnvironment, _ serverLog: ServerLog, _ options: Store.Options,
    role: OutboxRole = .follower
  ) throws {
    self.role = role
    self.environment = environment
    self.serverLog = serverLog
    self.options = options
    generation = environment.generation
    let place = try environment.followedPlace(role)
    arrivals.note([place])
    var first = State(
      status: Follower.Status(
        position: place.position, newestPosition: nil, lastContact: nil, activity: .following))
    // It connects later, but what can never connect is refused now.
    first.client = try serverLog.open()
    state = Locked(first)
  }

  var status: Follower.Status { state.withLock { $0.status } }

  func change(_ body: (inout Follower.Status) -> Void) { state.withLock { body(&$0.status) } }

  // MARK: The thread

  func start() {
    let mayStart = state.withLock { state in
      if state.isClosed { return false }
      (state.isStopping, state.hasEnded) = (false, false)
      return true
    }
    guard mayStart else { return }
    let thread = Thread { [self] in run() }
    thread.name = "larch.following"
    // Applying needs little, and a process may follow thousands of stores.
    thread.stackSize = 512 << 10
    thread.start()
  }

  /// Ends the thread, and waits for its end unless it is the calling one.
  func stop() {
    let (isOwn, client) = state.withLock { state in
      state.isStopping = true
      defer { state.client = nil }
      return (state.thread == ThreadIdentity.current, state.client)
    }
    locked { signal.broadcast() }
    client?.close()
    if isOwn { return }
    locked { while !state.withLock({ $0.hasEnded }) { signal.wait(mutex) } }
  }

  /// Ends everything: the store is closed.
  func close() {
    let questions = state.withLock { state in
      state.isClosed = true
      defer { state.questions = nil }
      return state.questions
    }
    questions?.close()
    stop()
    // A thread that was never started has not given it up.
    claim = nil
    change { $0.activity = .stopped }
    arrivals.close()
  }

  var isStopping: Bool { state.withLock { $0.isStopping } }

  private func run() {
    state.withLock { $0.thread = ThreadIdentity.current }
    var failures = 0
    while !isStopping {
      do {
        try step()
        failures = 0
      } catch {
        if isStopping { break }
        mustAsk = true
        note(error)
        pause(Self.pauses[min(failures, Self.pauses.count - 1)])
        failures += 1
      }
      environment.deliverMessages()
    }
    claim = nil
    locked {
      state.withLock { state in
        state.thread = nil
        state.hasEnded = true
      }
      signal.broadcast()
    }
  }

  private func pause(_ seconds: Double) {
    let end = MonotonicTime.after(seconds: seconds)
    locked { while !isStopping, signal.wait(mutex, until: end) {} }
  }

  private func locked(_ body: () -> Void) {
    mutex.lock()
    defer { mutex.unlock() }
    body()
  }

  // MARK: One step

  private func step() throws {
    let log = try client()
    try followReplacement()
    claim = try environment.followClaim(claim)
    guard claim != nil else { return try lookOn(log) }
    let here = try environment.followedPlace(role)
    if !mustAsk { return try wait(for: log, after: here) }
    switch try log.tail(after: here, limit: Self.batchBytes) {
    case .entries(let entries):
      try checkFollowing(entries, here)
      try noteContinued()
      noteContact(newest: entries.last?.place ?? here)
      mustAsk = !entries.isEmpty
      try apply(entries)
      if role == .shared { try foldNowAndThen(log, here) }
    case .cut: try copyAnew(try reasonOfCut(), from: log, insteadOf: here)
    case .diverged: try copyAnew(.diverged, from: log, insteadOf: here)
    }
  }

  /// Goes on with the file that another process has put in the place of this one: a new copy, or a compacted one.
  private func followReplacement() throws {
    seen = try environment.newestTransaction(after: seen).id
    let newest = environment.generation
    guard newest != generation else { return }
    // With the write lock, no commit of this process tells of a later place in between.
    try environment.withWriteLock {
      let here = try environment.writeQueue.lending { try environment.followedPlace(role) }
      // A new copy may be at an earlier place, and lack entries and claims that the old one had.
      change { $0.position = here.position }
      arrivals.note([here], isAnew: true)
      environment.ids.forgetBlocks()
    }
    // Only now: after an error, the next step does all of it.
    generation = newest
  }

  private func wait(for log: any SharedLog, after here: LogPlace) throws {
    // The look is small: a server that takes longer for it hangs, and `status` says so.
    log.expectAnswers(within: 15)
    defer { log.expectAnswers(within: nil) }
    try log.wait(after: here.position, seconds: 5)
    // Of a shared store, mostly the copy's own commits end the wait, and then nothing need be asked.
    for _ in 0..<100 where environment.isSharedCommitRunning { usleep(200) }
    mustAsk = try environment.followedPlace(role).position == here.position
  }

  /// Brings the state of the log of a shared store up to what is older than its history. Any of the
  /// servers may do so, and each at times of its own, so that mostly one does.
  private func foldNowAndThen(_ log: any SharedLog, _ here: LogPlace) throws {
    let now = MonotonicTime.now.nanoseconds
    guard now >= nextFold.nanoseconds else { return }
    nextFold = MonotonicTime(nanoseconds: now &+ .random(in: 5_000_000_000...30_000_000_000))
    _ = try log.fold(through: here.position, olderThan: serverLog.history.inSeconds)
  }

  /// Brings the copy to the newest place of the log, or makes it again, before the thread is started.
  ///
  /// - Returns: false if the server cannot be reached.
  func settleBeforeStart(within seconds: Double) throws -> Bool {
    let end = MonotonicTime.after(.seconds(seconds))
    let log = try client()
    defer { log.expectAnswers(within: nil) }
    do {
      while true {
        claim = try environment.followClaim(claim)
        let here = try environment.followedPlace(role)
        log.expectAnswers(within: min(seconds, SharedCopy.patience))
        let tail = try log.tail(after: here, limit: Self.batchBytes)
        log.expectAnswers(within: nil)
        switch tail {
        case .entries(let entries):
          try checkFollowing(entries, here)
          try noteContinued()
          noteContact(newest: entries.last?.place ?? here)
          if entries.isEmpty { return true }
          try apply(entries)
        case .cut where claim != nil: try copyAnew(try reasonOfCut(), from: log, insteadOf: here)
        case .diverged where claim != nil: try copyAnew(.diverged, from: log, insteadOf: here)
        case .cut, .diverged:
          // Another process makes the copy again.
          guard MonotonicTime.now.nanoseconds < end.nanoseconds else { throw isBeingCopied() }
          Thread.sleep(forTimeInterval: 0.02)
        }
      }
    } catch let error as LarchError where error.code == .unavailable {
      note(error)
      return false
    }
  }

  /// Brings a copy that was just made to the newest place of the log, before it is read: the state that it was
  /// made of may be old, and have no collection yet. It also completes one whose maker has ended before that.
  func completeCopy() throws {
    let end = MonotonicTime.after(.seconds(30))
    while true {
      guard try environment.outboxHeader()?.needsFirstCopy == true else { return }
      claim = try environment.followClaim(claim)
      if claim != nil { break }
      // Another process completes it, and only one may apply.
      guard MonotonicTime.now.nanoseconds < end.nanoseconds else { throw isBeingCopied() }
      Thread.sleep(forTimeInterval: 0.02)
    }
    guard try settleBeforeStart(within: 30) else {
      throw LarchError(
        .unavailable,
        "The server cannot be reached, and the copy does not have all of the store yet; open it again later."
      ) { $0.path = environment.path }
    }
    try environment.changeOutbox { header, _, _, _ in header?.needsFirstCopy = false }
  }

  /// The log continues the copy. Its address may be another one than when the copy was made.
  private func noteContinued() throws {
    pasts.noteContinued()
    if hasNotedLog { return }
    let name = serverLog.name
    if try environment.outboxHeader()?.isKnown(in: name) == false {
      try environment.changeOutbox { header, _, _, _ in header?.log = name }
    }
    hasNotedLog = true
  }

  /// What a log has cut, the copy may have from another log.
  private func reasonOfCut() throws -> Reason {
    let header = try environment.outboxHeader()
    return header?.log == nil || header?.isKnown(in: serverLog.name) == true ? .cut : .diverged
  }

  /// A server that sent the same entries again and again would keep the thread busy forever.
  private func checkFollowing(_ entries: [LogEntry], _ here: LogPlace) throws {
    guard let first = entries.first, first.place.position != here.position &+ 1 else { return }
    throw LarchError(
      .damagedLog, "The log sent entries of another place than it was asked for; check the server."
    ) {
      $0.path = self.environment.path
      $0.detail = "entry \(first.place.position) after \(here.position)"
    }
  }

  private func isBeingCopied() -> LarchError {
    LarchError(
      .busy, "Another process makes the copy again, since the log has cut or lost what it needs."
    ) { $0.path = environment.path }
  }

  /// The client of the thread; a new one after it was stopped.
  private func client() throws -> any SharedLog {
    try state.withLock { state in
      if let known = state.client { return known }
      if state.isStopping { throw LarchError.closed(environment.path) }
      let made = try serverLog.open()
      state.client = made
      return made
    }
  }

  /// Applies entries in a few transactions.
  ///
  /// - Parameter mayStop: whether it ends early when the thread is to end.
  func apply(_ entries: [LogEntry], mayStop: Bool = true) throws {
    var rest = entries[...]
    while !rest.isEmpty {
      if mayStop, isStopping { return }
      let batch = rest.prefix(Self.batchCount)
      // Commits of a shared copy may have been faster, or another process beside a promotion.
      try environment.applyMissing(Array(batch))
      rest = rest.dropFirst(batch.count)
      arrived(batch.map(\.place))
    }
  }

  func arrived(_ places: [LogPlace]) {
    guard let newest = places.last else { return }
    // Two threads bring a shared copy forward.
    let isNews = state.withLock { state in
      guard role != .shared || newest.position > state.status.position else { return false }
      state.status.position = newest.position
      state.status.newestPosition = max(state.status.newestPosition ?? 0, newest.position)
      return true
    }
    if isNews { arrivals.note(places, isRising: role == .shared) }
  }

  /// Another store applies the log: this one notes what the file has.
  private func lookOn(_ log: any SharedLog) throws {
    let here = try environment.followedPlace(role)
    if here.position != status.position { arrived([here]) }
    change { $0.activity = .waiting }
    let now = MonotonicTime.now
    if now.nanoseconds >= asked.nanoseconds {
      asked = MonotonicTime(nanoseconds: now.nanoseconds &+ Int64(Self.question * 1e9))
      // It serves the status only, so a failure must not stop the looks at the file.
      do {
        if let head = try log.head() { noteContact(newest: head.newest, isFollowing: false) }
      } catch {
        note(error, isFollowing: false)
      }
    }
    pause(Self.look)
  }
}
