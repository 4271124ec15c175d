internal import Foundation

/// Makes a copy the store that writes its log.
///
/// The copy first gets all that the log has, and then appends an entry of its own, which changes nothing,
/// at the next place. That decides: the old writer does not get the place any more. Only then does the
/// file say that it is the writer's. A kill between the two leaves a copy that follows, and an entry
/// without changes.
extension FollowingWork {
  func promote(within limit: Duration) throws {
    stop()
    // The limit is that of the server: the thread may have been slow to end.
    let end = MonotonicTime.after(limit)
    do {
      let log = try serverLog.open()
      defer { log.close() }
      var attempts = Attempts(end: end, path: environment.path)
      while try !promoteOnce(log, &attempts) {}
      claim = nil
      change { $0.activity = .stopped }
    } catch {
      start()
      throw error
    }
  }

  /// What the attempts of a promotion have in common.
  private struct Attempts {
    let end: MonotonicTime
    let path: String
    /// Whether the log was read to its end before.
    var hasBegun = false
    var failure: (any Error)?

    /// - Throws: if the time has passed.
    func check() throws {
      guard MonotonicTime.now.nanoseconds >= end.nanoseconds else { return }
      throw LarchError(
        .unavailable,
        "The copy could not be promoted in time, and follows its log as before; stop the old writer if it runs, then promote again.",
        underlying: failure
      ) { $0.path = path }
    }
  }

  /// One attempt; false if others have appended to the log, or the server did not answer.
  private func promoteOnce(_ log: any SharedLog, _ attempts: inout Attempts) throws -> Bool {
    try attempts.check()
    // With the claim no other process applies the log meanwhile. One that has it may keep it for as long as it lives, and
    // goes on beside the promotion.
    claim = try environment.followClaim(claim)
    let here = try environment.followedPlace()
    let tail: LogTail
    do {
      if try log.head()?.use == .shared { throw isShared }
      tail = try log.tail(after: here, limit: Self.batchBytes)
      if case .cut = tail {
        if claim == nil {
          Thread.sleep(forTimeInterval: 0.02)
        } else {
          try copyAnew(.cut, from: log, insteadOf: here, mayStop: false)
        }
        return false
      }
    } catch let error as LarchError where error.code == .unavailable {
      try again(after: error, &attempts)
      return false
    }
    switch tail {
    case .entries(let entries) where !entries.isEmpty:
      if attempts.hasBegun, entries.contains(where: \.isPromotion) {
        throw LarchError(
          .diverged,
          "Another copy of the store was promoted meanwhile; follow that one, or promote again to take its place."
        ) { $0.path = environment.path }
      }
      try apply(entries, mayStop: false)
      return false
    case .entries, .cut: break
    case .diverged:
      throw LarchError(
        .diverged,
        "The copy has another past than the log, so it cannot be promoted; it is being made again: promote it then."
      ) { $0.path = environment.path }
    }
    attempts.hasBegun = true
    let entry = LogEntry(
      after: here, random: .random(in: .min ... .max), changes: ChangeRecord.nothing)
    guard try append(entry, to: log, &attempts) else { return false }
    try environment.becomeWriter(with: entry)
    arrived([entry.place])
    return true
  }

  private var isShared: LarchError {
    LarchError(
      .conflictingOptions,
      "The log is that of a shared store, to which all its copies write, so no follower takes its place. Open the copy with `Store(sharing:copy:for:)`."
    ) { $0.path = environment.path }
  }

  /// After an error nobody knows whether the append happened: the same one again tells.
  private func append(
    _ entry: LogEntry, to log: any SharedLog, _ attempts: inout Attempts
  ) throws -> Bool {
    while true {
      do {
        guard try log.append([entry], mayBeThere: true) else { return false }
        return true
      } catch let error as LarchError where error.code == .unavailable {
        try again(after: error, &attempts)
      }
    }
  }

  private func again(after error: LarchError, _ attempts: inout Attempts) throws {
    attempts.failure = error
    try attempts.check()
    Thread.sleep(forTimeInterval: 0.02)
  }
}

extension LogEntry {
  /// Whether it changes nothing: only a promotion appends such an entry.
  var isPromotion: Bool { changes == ChangeRecord.nothing }
}
