#if LARCH_SHARE_EVERYTHING
  internal import Foundation

  /// Breaks following on purpose, so that one can see the run over shared logs fail: see docs/testing.md.
  enum BrokenFollowing {
    /// `LARCH_SHARE_BROKEN=50` loses a pair of each 50th entry.
    private static let step =
      ProcessInfo.processInfo.environment["LARCH_SHARE_BROKEN"].flatMap(UInt64.init) ?? 0

    /// Deletes the last pair that an entry has put.
    static func losePair(
      of record: ChangeRecord, at place: LogPlace, in transaction: LMDBTransaction,
      _ opened: [String: LMDBDatabase]
    ) throws {
      guard step > 0, place.position % step == 0 else { return }
      var lost: TreeChange?
      try record.forEach { if $0.operation == .put { lost = $0 } }
      guard let lost, let database = opened[record.trees[lost.tree].name] else { return }
      if record.trees[lost.tree].hasDuplicates {
        _ = try database.delete(lost.key, value: lost.value, in: transaction)
      } else {
        _ = try database.delete(lost.key, in: transaction)
      }
    }
  }
#endif
