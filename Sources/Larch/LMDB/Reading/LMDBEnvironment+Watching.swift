internal import CLMDB

/// When to look for old reads next.
struct OldReadWatch {
  /// The last page of the file at the last check for reads of other processes.
  private var page: Int
  /// On the clock of `MonotonicTime`.
  private var nextLook: Int64 = 0

  init(lastPage: Int) { page = lastPage }

  func isDue(at now: Int64) -> Bool { now >= nextLook }

  mutating func noteCheck(at now: Int64, patience: Int64) {
    nextLook = now &+ min(50_000_000, patience / 4)
  }

  /// Whether the file has grown much since the last answer of true. If no page can be reused, the
  /// file grows, and a read of another process may be the cause.
  mutating func isGrowing(lastPage: Int) -> Bool {
    guard lastPage > page &+ page / 10 &+ 32 else { return false }
    page = lastPage
    return true
  }
}

extension LMDBEnvironment {
  /// Looks for old reads, after a commit and with the write lock held: ends snapshots that are too
  /// old, and logs the reads that keep space for a long time.
  ///
  /// The cost is a mutex if no read is open, one reading of the clock if one is, and more only from
  /// time to time. The age of a read counts from the first commit that saw it: before that, it kept
  /// no space.
  func watchReads(lastPage: Int) {
    let isGrowing = oldReadWatch.isGrowing(lastPage: lastPage)
    guard isGrowing || readers.hasOpenReads else { return }
    let time = MonotonicTime.now
    let now = time.nanoseconds
    guard isGrowing || oldReadWatch.isDue(at: now) else { return }
    let patience = Int64(min(options.oldReadWarning, 1e9) * 1e9)
    oldReadWatch.noteCheck(at: now, patience: patience)
    var (ended, suspects) = readers.reviewOpenReads(at: time)
    tell(ended)
    guard options.log != nil else { return }
    if isGrowing {
      suspects += ((try? foreignReads(at: now)) ?? []).map { ($0, nil) }
    }
    if !suspects.isEmpty { judge(suspects, lastPage: lastPage, at: now, patience: patience) }
  }

  /// Logs the reads that are old or keep much space, and notes when to check each of them again.
  private func judge(
    _ suspects: [(read: OpenReadInfo, reader: LMDBReader?)], lastPage: Int, at now: Int64,
    patience: Int64
  ) {
    // Without a free slot it cannot check; the next commit tries again.
    guard let look = beginReadWithoutWaiting() else { return }
    defer { endRead(look) }
    let fileSize = lastPage &* pageSize(of: look.transaction)
    for (read, reader) in suspects {
      guard let pinned = try? pinnedBytes(after: read.snapshot, in: look.transaction) else {
        return
      }
      let age = Int64(min(read.age.inSeconds, 1e9) * 1e9)
      let isOld = age >= patience && pinned > 0
      let isLarge = pinned > 1 << 20 && pinned > fileSize / 10
      let isNotable = isOld || isLarge
      // Reported again when it is twice as old; checked again soon, but at growing intervals.
      let pause =
        isNotable ? max(age, patience) : min(max(age, 100_000_000), max(patience &- age, 1_000_000))
      if let reader {
        readers.setNextLook(now &+ pause, at: reader)
      } else if !mustReport(read, at: now, pause: pause, isNotable: isNotable) {
        continue
      }
      if isNotable { tell(read, pinned: pinned) }
    }
  }

  /// Whether to log a read of another process now.
  private func mustReport(_ read: OpenReadInfo, at now: Int64, pause: Int64, isNotable: Bool)
    -> Bool
  {
    let key = ForeignRead(process: read.process, thread: read.thread, snapshot: read.snapshot)
    return foreignReads.withLock { known in
      guard isNotable, let sighting = known[key], now >= sighting.nextLook else { return false }
      known[key]?.nextLook = now &+ pause
      return true
    }
  }

  private func tell(_ read: OpenReadInfo, pinned: Int) {
    guard let log = options.log else { return }
    var details = LogMessage.Details()
    details.place = read.place
    details.ran = read.age
    let text: StaticString =
      if read.place == nil {
        "A read of another process is open and keeps space from being reused."
      } else if read.isHeld {
        "A snapshot is open and keeps space from being reused; end it."
      } else {
        "A read is open and keeps space from being reused; end it."
      }
    log(
      LogMessage(.warning, .oldRead, text, details: details) {
        $0.path = path
        $0.detail =
          "\(pinned) bytes kept by snapshot \(read.versionText)"
          + (read.place == nil ? " of process \(read.process)" : "")
      })
  }
}
