internal import Foundation

extension ReaderPool {
  /// The reads of this process that are open, with what is known of them.
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

  /// Ends the held reads that are older than they may be, and finds the reads that it is time to look at.
  func reviewOpenReads(
    at time: MonotonicTime
  ) -> (ended: [LMDBHeldRead], due: [(read: OpenReadInfo, reader: LMDBReader?)]) {
    mutex.lock()
    defer { mutex.unlock() }
    let now = time.nanoseconds
    let ended = giveUpOldLocked(at: time)
    var due: [(read: OpenReadInfo, reader: LMDBReader?)] = []
    for reader in all where reader.isPinning {
      let read = describedLocked(reader, at: now)
      if now >= reader.sighting.nextLook { due.append((read, reader)) }
    }
    return (ended, due)
  }

  /// Notes when a read is to be looked at next.
  func setNextLook(_ time: Int64, at reader: LMDBReader) {
    mutex.lock()
    reader.sighting.nextLook = time
    mutex.unlock()
  }

  /// What is known of a reader, with the mutex held, which keeps it from being freed.
  ///
  /// The number of its snapshot may be that of the read before, when its thread is just beginning
  /// it; LMDB keeps it in an aligned word, which is read whole.
  private func describedLocked(_ reader: LMDBReader, at now: Int64) -> OpenReadInfo {
    if reader.sighting.use != reader.use {
      // Seen for the first time.
      reader.sighting = ReadSighting(use: reader.use, since: now)
    }
    return OpenReadInfo(
      isHeld: reader.isHeld, place: reader.place, process: getpid(),
      thread: UInt64(reader.thread),
      age: .nanoseconds(now &- reader.sighting.since), snapshot: reader.transaction.id)
  }
}
