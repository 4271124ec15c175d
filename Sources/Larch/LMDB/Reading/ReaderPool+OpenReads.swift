internal import Foundation

extension ReaderPool {
  /// The open reads of this process, with the facts about them.
  func openReads(at now: Int64) -> [(read: OpenReadInfo, reader: LMDBReader)] {
    mutex.lock()
    defer { mutex.unlock() }
    return all.filter(\.isPinning).map { (describedLocked($0, at: now), $0) }
  }

  /// Whether a read is open. Costs a mutex.
  var hasOpenReads: Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return activeUses > 0 || !held.isEmpty
  }

  /// Ends the held reads that are too old, and finds the reads that are due for a check.
  func reviewOpenReads(
    at time: MonotonicTime
  ) -> (ended: [LMDBHeldRead], due: [(read: OpenReadInfo, reader: LMDBReader?)]) {
    mutex.lock()
    defer { mutex.unlock() }
    let now = time.nanoseconds
    let ended = giveUpOldLocked(at: time)
    var due: [(read: OpenReadInfo, reader: LMDBReader?)] = []
    for reader in all where reader.isPinning && !reader.isObserving {
      let read = describedLocked(reader, at: now)
      if now >= reader.sighting.nextLook { due.append((read, reader)) }
    }
    return (ended, due)
  }

  /// Sets when to check a read next.
  func setNextLook(_ time: Int64, at reader: LMDBReader) {
    mutex.lock()
    reader.sighting.nextLook = time
    mutex.unlock()
  }

  /// The facts about a reader. The caller holds the mutex, which keeps the reader from being freed.
  ///
  /// If its thread is just beginning a read, the number of its snapshot may be that of the previous
  /// read; LMDB keeps it in an aligned word, which is read atomically.
  private func describedLocked(_ reader: LMDBReader, at now: Int64) -> OpenReadInfo {
    if reader.sighting.use != reader.use {
      // It is seen for the first time.
      reader.sighting = ReadSighting(use: reader.use, since: now)
    }
    return OpenReadInfo(
      isHeld: reader.isHeld, isObserving: reader.isObserving, place: reader.place,
      process: getpid(),
      thread: UInt64(reader.thread),
      age: .nanoseconds(now &- reader.sighting.since), snapshot: reader.transaction.id,
      logPlace: reader.logPlace)
  }
}
