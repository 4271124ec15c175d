@testable import Larch

/// Publishes the commits of a store later, as if the writer were stopped between its commit and the
/// moment at which observers hear of it.
final class HeldPublication: ForeignCommits {
  private let hub: ChangeHub
  private let held = Locked<(isHolding: Bool, events: [ChangeEvent])>((false, []))

  /// The store must have no observer yet. It does not see other processes any more.
  init(_ store: Store) {
    hub = store.environment.changes
    hub.foreign = self
  }

  func hold() { held.withLock { $0.isHolding = true } }

  func release() {
    let events = held.withLock { held in
      defer { held = (false, []) }
      return held.events
    }
    for event in events { pass(event) }
  }

  func publish(_ event: ChangeEvent?, transaction: UInt64) -> Bool {
    guard let event else { return true }
    let isHeld = held.withLock { held in
      if held.isHolding { held.events.append(event) }
      return held.isHolding
    }
    if !isHeld { pass(event) }
    return !isHeld
  }

  private func pass(_ event: ChangeEvent) {
    hub.resume(hub.file(event))
  }

  func begin() -> UInt64? { nil }
  func end() {}
  func endThread() {}
  func willCommit() {}
  func didEndCommit() {}
  var hasCompany: Bool { true }
  func reset() {}
}
