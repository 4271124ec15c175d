internal import CLMDB

/// When the slots of readers are next looked through for those of dead processes.
///
/// A reader that died pins every page that was freed since, and the file, which never shrinks,
/// grows instead of using them. LMDB looks for one only when the lock of the writer was left by a
/// dead process. Looking asks the system about each process that has a slot: some microseconds,
/// too many for each write and few enough for one in a while.
struct StaleReaderWatch {
  /// When there are writes, the next look comes so many nanoseconds after the one before.
  private static let interval: Int64 = 50_000_000
  /// Looks take one hundredth of the time at most, also those that a growing file asks for.
  private static let share: Int64 = 100

  /// The last page of the file when the readers were last looked through.
  private var page: Int
  /// No time yet: an environment has just cleared them when it was opened.
  private var isDue = MonotonicTime.now.nanoseconds &+ Self.interval
  private var isDueAfterGrowth: Int64 = 0

  init(lastPage: Int) { page = lastPage }

  /// Whether a write that begins now is to look first.
  var isDueNow: Bool { MonotonicTime.now.nanoseconds >= isDue }

  /// Whether a commit that left the file so long is to look: it had too few pages to use again.
  mutating func isDue(lastPage: Int) -> Bool {
    guard lastPage > page else { return false }
    return MonotonicTime.now.nanoseconds >= isDueAfterGrowth
  }

  /// Takes note of a look.
  mutating func hasLooked(since start: Int64, lastPage: Int) {
    let end = MonotonicTime.now.nanoseconds
    page = lastPage
    let pause = (end &- start) &* Self.share
    isDue = end &+ max(Self.interval, pause)
    isDueAfterGrowth = end &+ pause
  }
}

extension LMDBEnvironment {
  /// Clears dead readers away before a write when nobody has looked for a while, with the write
  /// lock held: the write then finds the pages that they pinned.
  func keepHouse(beforeWrite handle: OpaquePointer) {
    if staleReaderWatch.isDueNow { lookForStaleReaders(handle, lastPage: nil) }
  }

  /// Clears dead readers away after a commit for which the file grew, with the write lock held.
  func keepHouse(afterCommit handle: OpaquePointer, lastPage: Int) {
    if staleReaderWatch.isDue(lastPage: lastPage) {
      lookForStaleReaders(handle, lastPage: lastPage)
    }
  }

  private func lookForStaleReaders(_ handle: OpaquePointer, lastPage: Int?) {
    let start = MonotonicTime.now.nanoseconds
    clearStaleReaders(handle)
    var page = lastPage
    if page == nil {
      var info = MDB_envinfo()
      mdb_env_info(handle, &info)
      page = Int(info.me_last_pgno)
    }
    staleReaderWatch.hasLooked(since: start, lastPage: page ?? 0)
  }
}
