@testable import Larch

/// Sees the commits of a store as the watch does, but its thread never looks. So what a commit finds
/// when it is published depends on no time.
///
/// Unchecked, since a test changes it between two writes.
final class BlindWatch: ForeignCommits, @unchecked Sendable {
  private let watch: CommitWatch
  /// Whether commits come as those of another process.
  var isAway = false
  /// Called for each observer that begins or ends, between the steps of that.
  var didBegin: (() -> Void)?
  var willEnd: (() -> Void)?

  /// Takes its place in a store that nobody observes yet.
  init(of store: Store) throws {
    let changes = store.environment.changes
    guard let watch = store.commitWatch else {
      throw LarchError(.closed, "nobody watches the store")
    }
    self.watch = watch
    // The thread waits for the end of this commit.
    watch.willCommit()
    changes.foreign = self
  }

  var counts: CommitWatch.Counts { watch.counts }

  func begin() -> UInt64? {
    let known = watch.begin()
    didBegin?()
    return known
  }
  func end() {
    willEnd?()
    watch.end()
  }
  func endThread() { watch.endThread() }
  func willCommit() {}
  func didEndCommit() {}
  func publish(_ event: ChangeEvent?, transaction: UInt64) -> Bool {
    isAway ? false : watch.publish(event, transaction: transaction)
  }
  var hasCompany: Bool { watch.hasCompany }
  func reset() { watch.reset() }
}
