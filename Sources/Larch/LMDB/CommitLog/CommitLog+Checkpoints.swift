internal import CLMDB

internal import Foundation

extension CommitLog {
  /// A checkpoint that has begun: its state cannot be overwritten any more.
  struct Checkpoint {
    /// The header that it writes in the end.
    let header: CommitLogHeader
    /// The index of its pin.
    let pin: Int
  }

  // MARK: The use of the log

  // All of these run with `mutex` held.

  /// Begins to log commits: from here on the store is whole only together with the log.
  func beginUse() throws(LMDBError) {
    guard file.hasItsName else { return try leave() }
    let begun = try checkpointHere()
    do throws(LMDBError) {
      // The mark comes first: a store in use is never without it. The flush also brings what was
      // committed without one, in an earlier use of the file.
      if limits.faults.contains(.noMark) { try mark.flush() } else { try mark.set() }
    } catch {
      mdb_txn_reset(pins[begun.pin])
      throw error
    }
    do throws(LMDBError) {
      try file.write(begun.header)
    } catch {
      // Whether the disk has the header is unknown, so no commit may come without a record.
      mdb_txn_reset(pins[begun.pin])
      fail(error)
      throw error
    }
    adopt(begun)
    start(begun)
    lastRecorded = begun.header.checkpoint
    state = .inUse
    startThread()
  }

  /// Brings all to the disk, and ends the use of the log: the store is whole without it.
  func endUse() throws(LMDBError) {
    while pending != nil { changed.wait(mutex) }
    if state == .failed { throw failure ?? LMDBError(EIO, "fdatasync") }
    guard state == .inUse else { return }
    guard file.hasItsName else { return try leave() }
    do throws(LMDBError) {
      try mark.flush()
      try writeClean()
    } catch {
      fail(error)
      throw error
    }
    mdb_txn_reset(pins[pin])
    commits = 0
    (held, heldBefore) = (0, 0)
    state = .clean
  }

  /// Writes that the store has all commits itself.
  private func writeClean() throws(LMDBError) {
    var clean = header
    clean.number += 1
    clean.state = .clean
    clean.checkpoint = lastTransaction
    try file.write(clean)
    header = clean
  }

  /// Goes on without a log whose file was removed, or replaced by another one: nobody would find what is in it. The
  /// store becomes whole by itself, and its commits are ordinary ones until it is opened again.
  private func leave() throws(LMDBError) {
    do throws(LMDBError) {
      // As long as it is marked, it is refused without its log; so the pages come first.
      try mark.flush()
      try mark.remove()
    } catch {
      fail(error)
      throw error
    }
    // If it only has another name, it must not be taken for one that a store needs: no store is marked any more.
    header.epoch = 0
    try? writeClean()
    for pin in pins { mdb_txn_reset(pin) }
    pending = nil
    commits = 0
    (held, heldBefore) = (0, 0)
    state = .removed
    changed.broadcast()
    post?.add(
      LogMessage(
        .error, .logRemoved,
        "The commit log of the open store was removed or replaced; the store was made whole without it, and logs nothing until it is opened again."
      ) { [path = file.path] in
        $0.path = String(path.dropLast(CommitLogFile.suffix.count))
        $0.detail = "was \(path)"
      })
  }

  // MARK: Checkpoints

  /// Begins a checkpoint after a commit, if one is due.
  func noteReplaced(by transaction: UInt64) {
    let (freed, lastPage) = replaced(by: transaction)
    held += freed
    let limit = max(limits.held / mark.pageSize, lastPage / 10)
    if pending == nil, held > limit || end > limits.halfSize / 2 { _ = tryCheckpoint() }
    // Space counts more than time.
    while pending != nil, held + heldBefore > 2 * limit { changed.wait(mutex) }
  }

  /// The number of pages that a commit has replaced, and the last page of the file.
  private func replaced(by transaction: UInt64) -> (freed: Int, lastPage: Int) {
    do throws(LMDBError) {
      let probe: FreedPages
      if let made = self.probe {
        probe = made
      } else {
        probe = try FreedPages(handle)
        self.probe = probe
      }
      return try probe.count(of: transaction)
    } catch {
      // Without a slot: as many as one record may change.
      return (32, 0)
    }
  }

  /// Makes room for a record: begins the other half, whose records must not be needed any more.
  func makeRoom() throws(LMDBError) {
    while pending != nil { changed.wait(mutex) }
    if state == .failed { throw failure ?? LMDBError(EIO, "fdatasync") }
    // A checkpoint may have begun and ended while this thread waited, or have found the log gone.
    if state == .inUse, end > 0 { try beginCheckpoint() }
  }

  /// Begins a checkpoint if that is possible; the next commit tries again.
  func tryCheckpoint() -> Bool {
    do throws(LMDBError) {
      try beginCheckpoint()
      return true
    } catch { return false }
  }

  /// Pins the newest state, and logs what follows in the other half. The rest is done beside the
  /// commits, by the thread.
  private func beginCheckpoint() throws(LMDBError) {
    attempts += 1
    if limits.faults.contains(.noCheckpoints) { throw LMDBError(ENOMEM, "mdb_txn_renew") }
    let begun = try checkpointHere()
    start(begun)
    if limits.faults.contains(.earlyPinEnd) { mdb_txn_reset(pins[pin]) }
    pending = begun
    changed.broadcast()
  }

  /// The checkpoint of the newest state, with its pin.
  private func checkpointHere() throws(LMDBError) -> Checkpoint {
    try makePins()
    let next = 1 - pin
    try LMDBError.check(mdb_txn_renew(pins[next]), "mdb_txn_renew")
    do throws(LMDBError) {
      var new = header
      new.number += 1
      new.state = .inUse
      new.checkpoint = UInt64(mdb_txn_id(pins[next]))
      new.epoch = epoch + 1
      new.meta = try metaPage(of: new.checkpoint)
      if limits.faults.contains(.noPin) { mdb_txn_reset(pins[next]) }
      return Checkpoint(header: new, pin: next)
    } catch {
      mdb_txn_reset(pins[next])
      throw error
    }
  }

  /// Begins the next epoch.
  private func start(_ checkpoint: Checkpoint) {
    epoch = checkpoint.header.epoch
    end = 0
    checksum = LogChecksum(salt: header.salt, epoch: epoch).value
    commits = 0
    heldBefore = held
    held = 0
  }

  /// The header of a checkpoint is on the disk.
  private func adopt(_ checkpoint: Checkpoint) {
    header = checkpoint.header
    pin = checkpoint.pin
    heldBefore = 0
  }

  /// The meta page of a state, which the second commit after it overwrites.
  private func metaPage(of transaction: UInt64) throws(LMDBError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: CommitLogFormat.metaSize)
    let place = Int(transaction & 1) * mark.pageSize
    let result = bytes.withUnsafeMutableBytes { bytes in
      Result { () throws(LMDBError) -> Bool in
        guard try CommitLogFile.read(mark.descriptor, bytes, at: place) == bytes.count,
          let base = bytes.baseAddress
        else { return false }
        return MetaPage(slot: 0, base).transaction == transaction
      }
    }
    guard try result.get() else { throw LMDBError(EIO, "pread") }
    return bytes
  }

  private func makePins() throws(LMDBError) {
    while pins.count < 2 {
      let reader = try LMDBTransaction.begin(handle, MDB_RDONLY)
      // Its slot stays its own.
      mdb_txn_reset(reader.pointer)
      pins.append(reader.pointer)
    }
  }

  // MARK: The thread

  private func startThread() {
    guard !hasThread else { return }
    hasThread = true
    let thread = Thread { [self] in work() }
    thread.name = "larch.commit-log"
    thread.start()
  }

  private func work() {
    mutex.lock()
    defer {
      hasThread = false
      changed.broadcast()
      mutex.unlock()
    }
    while true {
      if let checkpoint = pending {
        complete(checkpoint)
        // Elsewhere, since a log function may close the store, which waits for this thread.
        post?.deliverElsewhere()
      } else if isEnding || state == .failed || state == .removed {
        return
      } else if commits == 0 {
        changed.wait(mutex)
      } else {
        let due = MonotonicTime(
          nanoseconds: lastCommit.nanoseconds &+ Int64(limits.idle.inSeconds * 1e9))
        let isWoken = changed.wait(mutex, until: due)
        if !isWoken, pending == nil, state == .inUse, commits > 0,
          MonotonicTime.now.nanoseconds >= lastCommit.nanoseconds
            &+ Int64(limits.idle.inSeconds * 1e9)
        {
          // Not again at once.
          if !tryCheckpoint() { lastCommit = .now }
        }
      }
    }
  }

  /// Completes a checkpoint: its pages come to the disk, then its header, then the old pin ends.
  private func complete(_ checkpoint: Checkpoint) {
    guard file.hasItsName else {
      // A failure is noted, and told to the next who commits.
      try? DiskRoom.reporting(leave)
      pending = nil
      return changed.broadcast()
    }
    mutex.unlock()
    let result = Result { () throws(LMDBError) in
      try DiskRoom.reporting { () throws(LMDBError) in try write(checkpoint) }
    }
    mutex.lock()
    let old = pin
    switch result {
    case .success:
      adopt(checkpoint)
      mdb_txn_reset(pins[old])
    case .failure(let error): fail(error)
    }
    pending = nil
    changed.broadcast()
  }

  /// Brings the pages of a checkpoint to the disk, and then its header.
  private func write(_ checkpoint: Checkpoint) throws(LMDBError) {
    if limits.faults.contains(.earlyHeader) { try file.write(checkpoint.header) }
    if limits.faults.contains(.slowCheckpoints) { usleep(5000) }
    // A process that was killed while it opened the store for reading may have left it without its mark.
    if limits.faults.contains(.noMark) { try mark.flush() } else { try mark.set() }
    try file.write(checkpoint.header)
  }

  /// Ends the log with the store: the thread, its use, and the file. After a failure the file stays, for those who open
  /// the store later.
  ///
  /// - Parameter isAlone: whether nobody else opens the store meanwhile. If not, the log stays in use.
  func close(isAlone: Bool) {
    mutex.lock()
    defer { mutex.unlock() }
    isEnding = true
    changed.broadcast()
    while hasThread { changed.wait(mutex) }
    do throws(LMDBError) {
      guard isAlone else { throw LMDBError(EBUSY, "flock") }
      try endUse()
      // After commits that were too large for the log: see `LogMark.hasLeft`.
      if state == .clean, header.epoch > 0, header.checkpoint != lastTransaction {
        try mark.flush()
        try writeClean()
      }
      try mark.remove()
      file.remove()
    } catch {
      // The log is followed when the store is opened again.
    }
    for pin in pins { mdb_txn_abort(pin) }
    pins = []
    probe?.close()
    probe = nil
    file.close()
  }
}
