internal import CLMDB

extension LMDBEnvironment {
  /// Looks for reads that are old, after a commit and with the turn held: ends the snapshots that
  /// are older than they may be, and tells the log of what keeps space for long.
  ///
  /// Costs nothing when no read is open, one look at the clock when one is, and more only every
  /// now and then. A read is as old as the first commit that saw it: before, it kept no space.
  func watchReads(lastPage: Int) {
    // Where no page can be used again the file grows, and a read of another process may be why.
    let isGrowing = lastPage > lastWatchedPage &+ lastWatchedPage / 10 &+ 32
    if isGrowing { lastWatchedPage = lastPage }
    mutex.lock()
    guard activeUses > 0 || !heldReads.isEmpty || isGrowing else {
      mutex.unlock()
      return
    }
    let time = MonotonicTime.now
    let now = time.nanoseconds
    guard now >= nextWatch || isGrowing else {
      mutex.unlock()
      return
    }
    let patience = Int64(min(options.oldReadWarning, 1e9) * 1e9)
    nextWatch = now &+ min(50_000_000, patience / 4)
    let ended = heldReads.filter { $0.isTooOld(at: time) && giveUpLocked($0, .tooOld) }
    var suspects: [(read: OpenReadInfo, reader: LMDBReader?)] = []
    for reader in readers where reader.isPinning {
      sight(reader, at: now)
      if now >= reader.sighting.nextLook {
        suspects.append((describedLocked(reader, at: now), reader))
      }
    }
    mutex.unlock()
    tell(ended)
    guard options.log != nil else { return }
    if isGrowing {
      suspects += ((try? foreignReads(at: now)) ?? []).map { ($0, nil) }
    }
    if !suspects.isEmpty { judge(suspects, lastPage: lastPage, at: now, patience: patience) }
  }

  /// Tells the log of the reads among these that are old or keep much, and notes when to look at
  /// each of them again.
  private func judge(
    _ suspects: [(read: OpenReadInfo, reader: LMDBReader?)], lastPage: Int, at now: Int64,
    patience: Int64
  ) {
    // Without a free slot there is nobody to look; the next commit tries again.
    guard let look = beginReadAtOnce() else { return }
    defer { endRead(look) }
    let fileSize = lastPage &* pageSize(of: look.transaction)
    for (read, reader) in suspects {
      guard let pinned = try? pinnedBytes(after: read.snapshot, in: look.transaction) else {
        return
      }
      let age = Int64(min(read.age.inSeconds, 1e9) * 1e9)
      let isOld = age >= patience && pinned > 0
      let isLarge = pinned > 1 << 20 && pinned > fileSize / 10
      let isTold = isOld || isLarge
      // Told again when it is twice as old; looked at again soon, but less and less often.
      let pause =
        isTold ? max(age, patience) : min(max(age, 100_000_000), max(patience &- age, 1_000_000))
      if let reader {
        mutex.lock()
        reader.sighting.nextLook = now &+ pause
        mutex.unlock()
      } else if !mustTell(read, at: now, pause: pause, isTold: isTold) {
        continue
      }
      if isTold { tell(read, pinned: pinned) }
    }
  }

  /// Whether a read of another process is to be told now.
  private func mustTell(_ read: OpenReadInfo, at now: Int64, pause: Int64, isTold: Bool) -> Bool {
    let key = ForeignRead(process: read.process, thread: read.thread, snapshot: read.snapshot)
    mutex.lock()
    defer { mutex.unlock() }
    guard isTold, let sighting = foreignReads[key], now >= sighting.nextLook else { return false }
    foreignReads[key]?.nextLook = now &+ pause
    return true
  }

  private func tell(_ read: OpenReadInfo, pinned: Int) {
    guard let log = options.log else { return }
    var details = LogMessage.Details()
    details.place = read.place
    details.ran = read.age
    let text: StaticString =
      if read.place == nil {
        "A read of another process is open and keeps space that cannot be used again."
      } else if read.isHeld {
        "A snapshot is open and keeps space that cannot be used again; end it."
      } else {
        "A read is open and keeps space that cannot be used again; end it."
      }
    log(
      LogMessage(.warning, .oldRead, text, details: details) {
        $0.path = path
        $0.detail =
          "\(pinned) bytes kept by snapshot \(read.snapshot)"
          + (read.place == nil ? " of process \(read.process)" : "")
      })
  }
}
