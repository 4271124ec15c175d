internal import Foundation

/// Ships the commits of a store to its log, on a thread of its own.
///
/// The outbox in the file is the only thing that lasts: the thread reads it, appends what the log does not
/// have, and trims what the log has. So it may be ended at any moment, and several programs may ship the
/// same store. Where the log ends is asked of the server, at the start and after each failure.
///
/// Unchecked, since `mutex` guards what threads share.
final class MirrorShipper: @unchecked Sendable {
  let environment: LMDBEnvironment
  private let server: ServerLog
  private let tell: @Sendable (LogMessage) -> Void
  /// Wakes the thread when the file is written to, or a call needs it.
  let signal = FileSignal()

  private let mutex = SystemMutex()
  /// Signalled when the thread has ended.
  private let ended = SystemCondition()
  // Guarded by `mutex`.
  var activity = MirrorStatus.Activity.connecting
  var shipped: LogPlace?
  /// Whether the server needs the whole store, whatever the file says that it has.
  var lacksStore = false
  var isEnding = false
  private var isRunning = false
  var mustStartOver = false
  /// Whether somebody waits until the file says what the server has.
  var mustTrim = false
  private var log: (any SharedLog)?

  // Used only by the thread.
  /// The place at which the log is known to end; nil if it must be asked.
  private var known: LogPlace?
  private var lastTransaction: UInt64?
  private var failures = 0
  /// Whether the name of the log was noted in the file. It is noted only once where nothing else is to be written:
  /// another program may ship to the same log by another address.
  private var hasNotedLog = false
  /// The places at which the whole store was sent, where the reply of the server was lost.
  private var maybeBegun: [LogPlace] = []
  /// Whether a loss of the server was reported that is not mended yet.
  private var hasToldLoss = false
  private var lastTrim = MonotonicTime.now
  private var lastFold = MonotonicTime.now

  init(
    _ environment: LMDBEnvironment, _ server: ServerLog,
    tell: @escaping @Sendable (LogMessage) -> Void
  ) {
    self.environment = environment
    self.server = server
    self.tell = tell
  }

  func locked<T>(_ body: () throws -> T) rethrows -> T {
    mutex.lock()
    defer { mutex.unlock() }
    return try body()
  }
}

// MARK: - The thread

extension MirrorShipper {
  func start() {
    locked { isRunning = true }
    let thread = Thread { [self] in work() }
    thread.name = "larch.mirror"
    thread.start()
  }

  /// Ends the thread, and waits for that. What was not shipped stays in the file.
  func end() {
    mutex.lock()
    isEnding = true
    let log = log
    mutex.unlock()
    log?.close()
    signal.wake()
    mutex.lock()
    while isRunning { ended.wait(mutex) }
    mutex.unlock()
  }

  private var mustEnd: Bool { locked { isEnding } }
  private var isCalled: Bool { locked { isEnding || mustStartOver || mustTrim } }

  private func work() {
    _ = signal.watch(environment.path)
    while !mustEnd {
      let startsOver = locked { mustStartOver }
      do {
        try ship(startsOver: startsOver)
        failures = 0
      } catch {
        if mustEnd { break }
        fail(error, startsOver: startsOver)
      }
      wait(startsOver: startsOver)
    }
    locked {
      log?.close()
      log = nil
      isRunning = false
      ended.broadcast()
    }
  }

  /// Waits for a commit, or until it is time for the next attempt.
  private func wait(startsOver: Bool) {
    guard failures == 0 else {
      // A failing server is asked less and less often, up to each 5 seconds.
      let pause = min(5.0, 0.05 * Double(1 << min(failures, 10)))
      let end = MonotonicTime.now.nanoseconds + Int64(pause * 1e9)
      // A call of `startOver` is answered at once, but not again and again.
      while !mustEnd, startsOver || !locked({ mustStartOver }) {
        let rest = end - MonotonicTime.now.nanoseconds
        guard rest > 0 else { return }
        // Commits wake it too, and have to wait.
        _ = signal.wait(microseconds: min(50_000, Int(rest / 1000)))
      }
      return
    }
    // LMDB writes a commit before it can be read, so the first looks may come too early.
    var pause = 0
    while !isCalled, (try? newestTransaction()) == lastTransaction {
      if pause < CommitWatchThread.pauses.count {
        _ = signal.wait(microseconds: CommitWatchThread.pauses[pause])
        pause += 1
      } else {
        if signal.wait(microseconds: 1_000_000) == .timeout { return }
        pause = 0
      }
    }
  }

  /// The newest transaction of the file, which may be another one than at the last call.
  private func newestTransaction() throws -> UInt64 {
    let (id, isReplaced) = try environment.newestTransaction(after: lastTransaction)
    if isReplaced { _ = signal.watch(environment.path) }
    return id
  }

  /// Whether the mirror has stopped for good is decided by the kind of the error.
  private func fail(_ error: any Error, startsOver: Bool) {
    failures += 1
    known = nil
    let failure =
      error as? LarchError
      ?? LarchError(.unavailable, "The mirror could not read its store.", underlying: error)
    let isLasting = !Self.passing.contains(failure.code)
    let isNews = locked {
      // What kept it from going on may be what `startOver` was called for meanwhile.
      if !startsOver, mustStartOver { return false }
      defer { activity = isLasting ? .stopped(failure) : .waiting(failure) }
      if isLasting { shipped = nil }
      if case .waiting = activity, !isLasting { return false }
      if case .stopped = activity { return false }
      return true
    }
    if isLasting { failures = max(failures, 10) }
    guard isNews else { return }
    tell(
      LogMessage(
        isLasting ? .error : .warning, .mirrorFailed,
        isLasting
          ? "The mirror has stopped; the error says what to do. Until then, commits stay in the file."
          : "The mirror cannot reach its server; commits wait in the file until it can."
      ) {
        $0.path = self.environment.path
        $0.detail = "\(failure)"
      })
  }

  /// Errors after which a later attempt may succeed.
  private static let passing: Set<LarchError.Code> = [
    .unavailable, .busy, .readersFull, .ioFailure, .diskFull,
  ]
}

// MARK: - Shipping

extension MirrorShipper {
  /// How many bytes of changes are sent at once, about.
  private static let batchBytes = 1 << 20

  /// Ships what there is, once.
  private func ship(startsOver: Bool) throws {
    let log = try connected()
    if startsOver {
      let head = try log.head()
      if try head?.use == .shared || environment.outboxHeader()?.role == .shared {
        throw refused(.shared)
      }
      try environment.setOutboxRole(.writer)
      if let header = try environment.outboxHeader(), header.log != nil,
        !header.isKnown(in: server.name)
      {
        // Who ships to the log that it had must not take it for that of this store any more.
        try environment.leaveLog(for: server.name)
      }
      guard try copy(to: log, expecting: head?.newest) else {
        throw LarchError(
          .busy, "Another program appended to the log while the store was sent; it is sent again.")
      }
      locked { mustStartOver = false }
    }
    while !locked({ isEnding || mustStartOver }) {
      // Taken before the outbox is read: a commit in between is seen the next time.
      lastTransaction = try newestTransaction()
      guard let place = try known ?? place(in: log) else { continue }
      switch try environment.outboxEntries(after: place.position, limit: Self.batchBytes) {
      case .entries(let entries):
        guard let last = entries.last else {
          try acknowledge(place, log, isIdle: true)
          return
        }
        // False: another program ships the same store, or another store has the log.
        guard try log.append(entries, mayBeThere: true) else { return known = nil }
        try acknowledge(last.place, log, isIdle: false)
      case .cut, .diverged:
        // What followed was dropped, or another program has shipped and trimmed it.
        known = nil
      }
    }
  }

  private func connected() throws -> any SharedLog {
    if let log = locked({ log }) { return log }
    let opened = try server.open()
    let isLate = locked {
      log = opened
      return isEnding
    }
    if isLate { opened.close() }
    return opened
  }

  /// Notes that the log has everything up to a place; trims the outbox and folds the log now and then.
  private func acknowledge(_ place: LogPlace, _ log: any SharedLog, isIdle: Bool) throws {
    hasAll(upTo: place)
    locked { activity = .shipping }
    let now = MonotonicTime.now
    if locked({ mustTrim })
      || now.nanoseconds - lastTrim.nanoseconds >= (isIdle ? 100_000_000 : 1_000_000_000)
    {
      lastTrim = now
      locked { mustTrim = false }
      let header = try environment.outboxHeader()
      // Another program has shipped the store to another log, which says that it is not the writer.
      if header?.role == .superseded { known = nil }
      let needsName = !hasNotedLog && header?.isKnown(in: server.name) == false
      if header?.shipped != place || needsName {
        // The next look finds this commit, and with it any other that came since the last one.
        try environment.trimOutbox(through: place, in: server.name)
      }
      hasNotedLog = true
    }
    if now.nanoseconds - lastFold.nanoseconds >= 1_000_000_000 {
      lastFold = now
      _ = try log.fold(through: place.position, olderThan: server.history.inSeconds)
    }
  }

  /// Where the log ends, if that is a place of this store; nil if that is to be asked again.
  private func place(in log: any SharedLog) throws -> LogPlace? {
    let head = try log.head()
    let newest = head?.newest
    // Read after the head, so that the store has at least what the log has, if it is its own.
    guard let header = try environment.outboxHeader(), header.role != .shared else {
      throw LarchError(
        .closed, "The mirror of the store was ended by another program; open the store again.")
    }
    if head?.use == .shared {
      // A shared log of other stores, which was named by mistake, has nothing to do with this one.
      let last = header.needsFirstCopy ? header.left : header.shipped
      // What is known already is not asked again at each attempt.
      if header.role != .superseded, try isContinued(log, after: last, header) {
        try environment.setOutboxRole(.superseded)
      }
      throw refused(.shared)
    }
    if header.isRestored, newest != nil { throw refused(.restored) }
    if newest == nil, !header.isRestored { try checkLoss(header) }
    guard let newest, !header.needsFirstCopy else {
      // A process that was killed after the first copy and before the file said so leaves the place at which the
      // outbox began, or a later one of this writer. After a long outage the log may also end where it ended then, with an
      // entry of the store that this one has taken over.
      let isOurs = { (place: LogPlace) in
        place.token.random == header.random || place == header.place || place == header.shipped
          || place == header.left || self.maybeBegun.contains(place)
      }
      guard newest.map(isOurs) ?? true else {
        throw try notOurs(log, after: header.left, header)
      }
      if newest != nil, header.role == .superseded { try environment.setOutboxRole(.writer) }
      return try copy(to: log, expecting: newest) ? known : nil
    }
    if newest == header.place || newest == header.shipped {
      // Nobody continues the log of this store: it was shipped to another one by mistake.
      if header.role == .superseded { try environment.setOutboxRole(.writer) }
      return newest
    }
    if newest.position > header.shipped.position, newest.position < header.place.position {
      let entries = try environment.outboxEntries(after: newest.position - 1, limit: 1)
      switch entries {
      case .entries(let found) where found.first?.place == newest: return newest
      // Another program has trimmed it.
      case .cut: return nil
      case .entries, .diverged: break
      }
    }
    guard newest.token.random == header.random, newest.position < header.shipped.position else {
      throw try notOurs(log, after: header.shipped, header)
    }
    try checkLoss(header)
    return try copy(to: log, expecting: newest) ? known : nil
  }

  /// The newest entry of the log is not one of this store.
  ///
  /// - Parameter last: the newest place that the log is known to have had.
  private func notOurs(
    _ log: any SharedLog, after last: LogPlace?, _ header: OutboxHeader
  ) throws -> LarchError {
    guard try isContinued(log, after: last, header) else { return foreign(header) }
    try environment.setOutboxRole(.superseded)
    return refused(.superseded)
  }

  /// Whether another store continues the log: only one that had what this store has shipped can be continued. One
  /// that has lost that is another log.
  private func isContinued(
    _ log: any SharedLog, after last: LogPlace?, _ header: OutboxHeader
  ) throws -> Bool {
    guard let last else { return false }
    switch try log.tail(after: last, limit: 0) {
    case .entries: return true
    case .cut: return header.log == nil || header.isKnown(in: server.name)
    case .diverged: return false
    }
  }

  /// The log has another past.
  private func foreign(_ header: OutboxHeader) -> LarchError {
    if let log = header.log, !header.isKnown(in: server.name) { return refused(.elsewhere(log)) }
    return refused(.foreign)
  }

  /// The log lacks commits that the server had confirmed, unless it is another log.
  private func checkLoss(_ header: OutboxHeader) throws {
    if header.log != nil, !header.isKnown(in: server.name) { throw foreign(header) }
    if header.needsFirstCopy || hasToldLoss { return }
    hasToldLoss = true
    tell(
      LogMessage(
        .warning, .serverLostCommits,
        "The server has lost commits that it had confirmed; the whole store is sent again."
      ) {
        $0.path = self.environment.path
        $0.detail = self.server.name
      })
  }

  private func refused(_ refusal: MirrorRefusal) -> LarchError {
    refusal.error(environment.path, server.name)
  }

  // MARK: The whole store

  /// Sends the whole store, if the log ends where it is expected to. False if it does not, or if the store is not
  /// ready for it: then the log is to be asked again.
  private func copy(to log: any SharedLog, expecting expected: LogPlace?) throws -> Bool {
    locked { (shipped, lacksStore) = (nil, true) }
    // A paused outbox records nothing, so it is resumed before the snapshot is taken.
    if try environment.outboxHeader()?.isPaused == true {
      maybeBegun = []
      try environment.restartOutbox()
    }
    if let expected, maybeBegun.contains(expected) {
      let shipped = try environment.outboxHeader()?.shipped
      if expected == shipped || expected.position > shipped?.position ?? .max {
        // It arrived. Sent again, it might again take longer than a reply is waited for.
        try log.confirm()
        try noteCopied(at: expected)
        return true
      }
      // Another program has begun the outbox again.
      maybeBegun = []
    }
    return try environment.withPairs { header, copyPairs in
      guard let header, !header.isPaused else { return false }
      tell(
        LogMessage(.notice, .mirrorCopying, "The whole store is sent to its log.") {
          $0.path = self.environment.path
          $0.detail = self.server.name
        })
      locked { activity = .copying(pairs: 0) }
      let isDone: Bool
      do {
        isDone = try log.begin(at: header.place, expecting: expected, for: .mirrored) { writer in
          try copyPairs(CountedPairs(into: writer) { try self.note(copied: $0) })
        }
      } catch {
        // At the place where the log ended, nobody can say whether it is the new state.
        if !error.hadNoEffect, header.place != expected { maybeBegun.append(header.place) }
        throw error
      }
      guard isDone else {
        known = nil
        return false
      }
      try noteCopied(at: header.place)
      return true
    }
  }

  /// The log begins at a place of this store.
  private func noteCopied(at place: LogPlace) throws {
    try environment.trimOutbox(through: place, in: server.name, isFirstCopy: true)
    maybeBegun = []
    hasToldLoss = false
    hasAll(upTo: place)
  }

  private func hasAll(upTo place: LogPlace) {
    known = place
    locked { (shipped, lacksStore) = (place, false) }
  }

  private func note(copied pairs: Int) throws {
    if mustEnd { throw LarchError.closed(environment.path) }
    locked { activity = .copying(pairs: pairs) }
  }
}
