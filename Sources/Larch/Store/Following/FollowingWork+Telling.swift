internal import Foundation

/// What the thread knows of its server, for the status and the log of the store.
extension FollowingWork {
  func noteContact(newest: LogPlace, isFollowing: Bool = true) {
    if role == .shared { tellRiskOnce() }
    let wasFailing = state.withLock { state in
      state.status.lastContact = Date()
      state.status.newestPosition = newest.position
      if isFollowing { state.status.activity = .following }
      defer { state.status.error = nil }
      return state.status.error != nil
    }
    guard wasFailing else { return }
    tell(
      LogMessage(.notice, .followingResumed, "The copy follows its log again.") {
        $0.path = environment.path
      })
  }

  /// Says that a failover may lose commits, once. A mirror and a follower lose nothing that another machine
  /// does not have.
  private func tellRiskOnce() {
    let risk = state.withLock { state -> String? in
      guard !state.hasToldRisk, let risk = state.client?.failoverRisk else { return nil }
      state.hasToldRisk = true
      return risk
    }
    guard let risk else { return }
    tell(
      LogMessage(
        .notice, .failoverMayLose,
        "The server acknowledges commits that no other server has, so they may be lost when one takes its place; let it wait for a synchronous standby, unless its disk is on several machines."
      ) {
        $0.path = environment.path
        $0.detail = "\(risk), \(serverLog.name)"
      })
  }

  func note(_ error: any Error, isFollowing: Bool = true) {
    let error =
      error as? LarchError
      ?? LarchError(.storage, "The copy cannot follow its log.", underlying: error)
    let isNew = state.withLock { state in
      if isFollowing { state.status.activity = .interrupted }
      defer { state.status.error = error }
      return state.status.error?.code != error.code
    }
    // A server may be away for days: one message says so.
    guard isNew else { return }
    tell(
      LogMessage(
        .warning, .followingInterrupted,
        "The copy cannot follow its log; it can be read, and the next attempt comes by itself."
      ) {
        $0.path = environment.path
        $0.detail = "\(error)"
      })
  }

  func tell(_ message: LogMessage) { options.log?(message) }
}
