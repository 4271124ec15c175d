internal import CLMDB

/// When to look for reader slots of dead processes.
///
/// A reader that died pins every page that was freed since, so the file grows instead of reusing
/// them, and it never shrinks. LMDB looks for dead readers only when a dead process left the
/// writer's lock. The check asks the system about each process that has a slot. It takes some
/// microseconds: too many for each write, but few enough once in a while.
struct StaleReaderWatch {
  /// With continuous writes, the time between two checks in nanoseconds.
  private static let interval: Int64 = 50_000_000
  /// Checks take at most one hundredth of the time, including those that a growing file causes. What
  /// counts is the work of the processor: a process that is suspended in a check for a minute would
  /// otherwise make none for more than an hour.
  private static let share: Int64 = 100

  /// The last page of the file at the last check.
  private var page: Int
  /// Not due at first: opening an environment clears the slots.
  private var isDue = MonotonicTime.now.nanoseconds &+ Self.interval
  private var isDueAfterGrowth: Int64 = 0

  init(lastPage: Int) { page = lastPage }

  /// Whether a write that begins now must check first.
  var isDueNow: Bool { MonotonicTime.now.nanoseconds >= isDue }

  /// Whether a commit must check, because the file grew: it had too few pages to reuse.
  mutating func isDue(lastPage: Int) -> Bool {
    guard lastPage > page else { return false }
    return MonotonicTime.now.nanoseconds >= isDueAfterGrowth
  }

  /// Notes a check that this thread began at a `ThreadTime`.
  mutating func noteCheck(since start: Int64, lastPage: Int) {
    let end = MonotonicTime.now.nanoseconds
    page = lastPage
    let pause = (ThreadTime.nanoseconds &- start) &* Self.share
    isDue = end &+ max(Self.interval, pause)
    isDueAfterGrowth = end &+ pause
  }
}

extension LMDBEnvironment {
  /// Clears dead readers before a write if the last check is long ago, with the write lock held:
  /// the write can then reuse the pages that they pinned.
  func runHousekeeping(beforeWrite handle: OpaquePointer) {
    if staleReaderWatch.isDueNow { lookForStaleReaders(handle, lastPage: nil) }
  }

  /// Clears dead readers after a commit that made the file grow, with the write lock held.
  func runHousekeeping(afterCommit handle: OpaquePointer, lastPage: Int) {
    if staleReaderWatch.isDue(lastPage: lastPage) {
      lookForStaleReaders(handle, lastPage: lastPage)
    }
  }

  private func lookForStaleReaders(_ handle: OpaquePointer, lastPage: Int?) {
    let start = ThreadTime.nanoseconds
    clearStaleReaders(handle)
    var page = lastPage
    if page == nil {
      var info = MDB_envinfo()
      mdb_env_info(handle, &info)
      page = Int(info.me_last_pgno)
    }
    staleReaderWatch.noteCheck(since: start, lastPage: page ?? 0)
  }
}
