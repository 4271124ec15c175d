internal import Foundation

/// Calls that wait until the copy has a commit.
extension FollowingWork {
  /// The newest place of the log, by a question to the server.
  func newestPlace() throws -> LogPlace {
    let client: any SharedLog = try state.withLock { state in
      if let known = state.questions { return known }
      if state.isClosed { throw LarchError.closed(environment.path) }
      let made = try serverLog.open()
      state.questions = made
      return made
    }
    guard let head = try client.head() else { throw client.nothingThere }
    state.withLock { state in
      state.status.lastContact = Date()
      state.status.newestPosition = max(state.status.newestPosition ?? 0, head.newest.position)
    }
    return head.newest
  }

  /// The same on a thread of its own: the question waits for the server.
  nonisolated(nonsending) func newestPlace() async throws -> LogPlace {
    try await BlockingWork.run { try self.newestPlace() }
  }

  func wait(for place: LogPlace, _ limit: Duration) throws {
    let outcome = arrivals.outcome(of: place)
    try check(outcome ?? arrivals.wait(for: place, seconds: limit.inSeconds))
  }

  nonisolated(nonsending) func wait(for place: LogPlace, _ limit: Duration) async throws {
    if let outcome = arrivals.outcome(of: place) { return try check(outcome) }
    try check(await arrivals.wait(for: place, seconds: limit.inSeconds))
  }

  private func check(_ outcome: Arrivals.Outcome) throws {
    switch outcome {
    case .arrived: return
    case .cancelled: throw CancellationError()
    case .closed: throw LarchError.closed(environment.path)
    case .lost:
      throw LarchError(
        .diverged,
        "The commit was lost with the server or the writer that had it; read again without it."
      ) { $0.path = environment.path }
    case .timedOut:
      let status = status
      throw LarchError(
        .unavailable,
        "The copy did not get the commit in time; read what it has, or wait longer.",
        underlying: status.error
      ) {
        $0.path = environment.path
        $0.detail = "\(status)"
      }
    }
  }
}
