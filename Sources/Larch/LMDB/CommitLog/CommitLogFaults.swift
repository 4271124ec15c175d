/// Mistakes that a commit log makes on purpose, so that tests see that they find them.
///
/// Each breaks a rule on which the log's promise rests. Without them, a commit tests one empty set.
package struct CommitLogFaults: OptionSet, Sendable {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  /// No read keeps the pages of a checkpoint from being used again.
  package static let noPin = CommitLogFaults(rawValue: 1 << 0)
  /// The old pin ends when a checkpoint begins, and not when its header is on the disk.
  package static let earlyPinEnd = CommitLogFaults(rawValue: 1 << 1)
  /// The header of a checkpoint comes to the disk before its pages.
  package static let earlyHeader = CommitLogFaults(rawValue: 1 << 2)
  /// Recovery puts the checkpoint into one of the two meta pages only.
  package static let oneMetaPage = CommitLogFaults(rawValue: 1 << 3)
  /// Each sixth commit fails after its record was logged. That alone is no mistake.
  package static let failedCommits = CommitLogFaults(rawValue: 1 << 4)
  /// The record of a commit that failed stays in the log.
  package static let keptRecords = CommitLogFaults(rawValue: 1 << 5)
  /// Records come to the disk some time, and not before their commits are acknowledged.
  package static let noFlush = CommitLogFaults(rawValue: 1 << 6)
  /// Records come to the disk after their commits are visible.
  package static let lateFlush = CommitLogFaults(rawValue: 1 << 7)
  /// The store does not say that it needs its log.
  package static let noMark = CommitLogFaults(rawValue: 1 << 8)
  /// The disk takes its time for a checkpoint. That alone is no mistake.
  package static let slowCheckpoints = CommitLogFaults(rawValue: 1 << 9)
  /// No checkpoint can begin. That alone is no mistake.
  package static let noCheckpoints = CommitLogFaults(rawValue: 1 << 10)
}
