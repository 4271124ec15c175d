internal import CLMDB

/// The sizes of a commit log, which tests choose smaller.
package struct CommitLogLimits: Sendable {
  /// The bytes of each half of the log.
  package var halfSize = 4 << 20
  /// A longer record is not logged.
  package var record = 1 << 20
  /// A checkpoint begins when commits have replaced pages of so many bytes since the last one, or of a
  /// tenth of the file: none of them is used again before it. Commits wait at twice of that.
  package var held = 12 << 20
  /// A checkpoint begins when nothing was committed for so long.
  package var idle = Duration.seconds(5)
  /// What is done wrong on purpose; see `CommitLogFaults`.
  package var faults: CommitLogFaults = []

  package init() {}
}

/// The commit log of an open store. A small commit is appended to one file and flushed once, instead of
/// changing pages all over another file and flushing it twice.
///
/// The record of a commit is on the disk before LMDB commits, so whatever a read sees is durable. LMDB
/// flushes nothing meanwhile. From time to time a checkpoint brings the pages of the store to the disk,
/// after which the records before it are not needed. Until the next checkpoint is complete, no page of
/// the last one may be written again: a read of its state, the pin, is kept open, and LMDB reuses no
/// page that a read needs.
///
/// A commit too large for the log ends its use first, and is an ordinary commit of LMDB. The next small
/// one begins its use again. See docs/decisions/0021-a-commit-log.md.
///
/// **Lock order.** Commits come with the write lock held. Then comes `mutex`, the only one here.
final class CommitLog: @unchecked Sendable {
  enum State {
    case clean, inUse, failed
    /// Its file is gone: commits are ordinary ones.
    case removed
  }

  let limits: CommitLogLimits
  let file: CommitLogFile
  let handle: OpaquePointer
  let mark: LogMark
  /// Has the record of the write that runs. Used only by the thread that has the write lock.
  let recorder: WriteRecorder
  /// Takes messages for the program; nil if it wants none.
  let post: LogMailbox?

  let mutex = SystemMutex()
  /// Signalled when a checkpoint is requested or complete, and at the end.
  let changed = SystemCondition()

  // All below are guarded by `mutex`.
  var state = State.clean
  /// The header that was written last.
  var header: CommitLogHeader
  /// The epoch in which commits are logged, its last byte, and the checksum of its last record.
  var epoch: UInt64 = 0
  var end = 0
  var checksum: UInt64 = 0
  /// Two readers that keep their slots: one has the pin, the other waits for the next checkpoint.
  var pins: [OpaquePointer] = []
  /// Which of them has the pin.
  var pin = 0
  /// The checkpoint that is being made.
  var pending: Checkpoint?
  /// The disk failed: the records in the log are certain, the pages of the store are not.
  var failure: LMDBError?
  /// The commits since the last checkpoint began.
  var commits = 0
  /// How many checkpoints were to begin.
  var attempts = 0
  /// The pages that were replaced since the last checkpoint began, and since the one before.
  var (held, heldBefore) = (0, 0)
  /// A reader that looks what a commit has replaced.
  var probe: FreedPages?
  var lastCommit = MonotonicTime.now
  var isEnding = false
  var hasThread = false
  /// How many records were logged.
  private var logged = 0
  /// The commit of the last record, or of the checkpoint before it.
  var lastRecorded: UInt64 = 0

  init(
    file: CommitLogFile, handle: OpaquePointer, mark: LogMark, header: CommitLogHeader,
    limits: CommitLogLimits, recorder: WriteRecorder, post: LogMailbox?
  ) {
    self.file = file
    self.handle = handle
    self.mark = mark
    self.header = header
    self.limits = limits
    self.recorder = recorder
    self.post = post
  }

  /// Whether the disk failed, so that the store must be opened again.
  var hasFailed: Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return state == .failed
  }

  /// What a write finds when it begins: whether the disk failed, and whether pages wait for a checkpoint that LMDB would
  /// use again without the log.
  var found: (hasFailed: Bool, pagesWait: Bool) {
    mutex.lock()
    defer { mutex.unlock() }
    return (state == .failed, state == .inUse && header.checkpoint < lastTransaction)
  }

  /// Ends the use of the log, so that no page waits any more; false if the disk refuses that.
  ///
  /// It needs no room where the file system gave the pages their place when they were written, and writes over what it
  /// has. Elsewhere the disk fails at the flush, as it would at the next checkpoint.
  func endWaiting() -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    do throws(LMDBError) {
      try endUse()
      return true
    } catch { return false }
  }

  /// Whether commits are in the log before they are in the store.
  var isInUse: Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return state == .inUse
  }

  var lastTransaction: UInt64 {
    var info = MDB_envinfo()
    mdb_env_info(handle, &info)
    return UInt64(info.me_last_txnid)
  }

  // MARK: Commits

  /// Commits a transaction, which ends even if that fails.
  ///
  /// A relaxed commit is flushed too: it is promised that at most the newest one is lost, and without
  /// the flush all since the last one would be. One flush is also what a relaxed commit costs without
  /// a log.
  func commit(_ transaction: LMDBTransaction) throws(LMDBError) {
    guard recorder.hasChanged else {
      // LMDB writes nothing.
      return try transaction.commit()
    }
    mutex.lock()
    defer { mutex.unlock() }
    let id = transaction.id
    var hasEnded = false
    do throws(LMDBError) {
      if state == .failed { throw failure ?? LMDBError(EIO, "fdatasync") }
      guard var record = self.record(of: id), try isReady(for: id),
        try hasRoom(for: record.count)
      else {
        try endUse()
        setFlushing(true)
        hasEnded = true
        return try transaction.commit()
      }
      let sum = seal(&record)
      let place = header.half(of: epoch) + end
      do throws(LMDBError) {
        try file.write(record, at: place)
        if limits.faults.isDisjoint(with: [.noFlush, .lateFlush]) { try file.flush() }
        setFlushing(false)
        hasEnded = true
        try commitPages(of: transaction)
        if limits.faults.contains(.lateFlush) { try file.flush() }
      } catch {
        takeBack(at: place)
        throw error
      }
      // If nothing was changed in the end, LMDB keeps its number, and the next commit has it too. Its
      // record comes here; until then a copy of the log must not have one of that number.
      guard lastTransaction >= id else {
        try? file.write([UInt8](repeating: 0, count: CommitLogFormat.recordHeaderSize), at: place)
        return
      }
      end += record.count
      checksum = sum
      lastRecorded = id
    } catch {
      if !hasEnded { transaction.abort() }
      throw error
    }
    commits += 1
    lastCommit = .now
    // The thread waits for the next pause.
    if commits == 1 { changed.broadcast() }
    noteReplaced(by: id)
  }

  /// Begins the use of the log if it is not in use; false if the commit must be an ordinary one.
  private func isReady(for id: UInt64) throws(LMDBError) -> Bool {
    // A program that had the file open before, and knows nothing of logs, has committed in between. The records after
    // that must begin with a state that has its commit.
    if state == .inUse, id != lastRecorded &+ 1 { try endUse() }
    if state == .clean {
      do throws(LMDBError) {
        try beginUse()
      } catch {
        guard error.kind == .readersFull, state == .clean else { throw error }
      }
    }
    return state == .inUse
  }

  /// Makes room for a record; false if the log was found to be gone meanwhile.
  private func hasRoom(for count: Int) throws(LMDBError) -> Bool {
    if end + count > limits.halfSize { try makeRoom() }
    return state == .inUse
  }

  /// The record of the transaction, without its checksum; nil if it is too long: then the flushes of LMDB
  /// cost less.
  private func record(of id: UInt64) -> [UInt8]? {
    guard recorder.size <= limits.record else { return nil }
    let made = recorder.record(headerSize: CommitLogFormat.recordHeaderSize) {
      header, trees, operations in
      header.storeBytes(of: UInt16(trees).littleEndian, toByteOffset: 12, as: UInt16.self)
      header.storeBytes(of: id.littleEndian, toByteOffset: 16, as: UInt64.self)
      header.storeBytes(of: operations.littleEndian, toByteOffset: 24, as: UInt32.self)
    }
    guard var record = made, record.count <= limits.halfSize else { return nil }
    let length = UInt32(record.count).littleEndian
    record.withUnsafeMutableBytes { $0.storeBytes(of: length, toByteOffset: 8, as: UInt32.self) }
    return record
  }

  /// Puts the checksum into a record, which also depends on all records before it.
  private func seal(_ record: inout [UInt8]) -> UInt64 {
    var sum = LogChecksum(seed: checksum)
    record.withUnsafeMutableBytes { bytes in
      bytes.storeBytes(
        of: UInt32(truncatingIfNeeded: header.number).littleEndian,
        toByteOffset: CommitLogFormat.headerNumberPlace, as: UInt32.self)
      sum.add(UnsafeRawBufferPointer(rebasing: bytes[8...]))
      bytes.storeBytes(of: sum.value.littleEndian, as: UInt64.self)
    }
    return sum.value
  }

  /// Lets LMDB commit a transaction whose record is in the log.
  private func commitPages(of transaction: LMDBTransaction) throws(LMDBError) {
    logged += 1
    if limits.faults.contains(.failedCommits), logged % 6 == 0 {
      transaction.abort()
      // Not for lack of room: then the use of the log would end, and the commit would come again.
      throw LMDBError(EIO, "mdb_txn_commit")
    }
    try transaction.commit()
  }

  /// Removes the record of a commit that failed, before its caller gets the error. If that fails too, the
  /// outcome is unknown until the store was opened again.
  private func takeBack(at place: Int) {
    if limits.faults.contains(.keptRecords) { return }
    do throws(LMDBError) {
      try file.write([UInt8](repeating: 0, count: CommitLogFormat.recordHeaderSize), at: place)
      try file.flush()
    } catch {
      fail(error)
    }
  }

  /// Nothing is committed any more: what the disk has of the store is unknown.
  func fail(_ error: LMDBError) {
    state = .failed
    failure = error
    changed.broadcast()
    // For whoever opens the store while others read it; without it the log is followed in any case.
    // A clean header has no checkpoint that could be followed, and the store has all itself.
    guard header.state == .inUse else { return }
    var failed = header
    failed.number += 1
    failed.state = .failed
    try? file.write(failed)
  }

  /// Sets whether LMDB flushes at a commit. It reads its flags then.
  private func setFlushing(_ flushes: Bool) {
    mdb_env_set_flags(handle, UInt32(MDB_NOSYNC), flushes ? 0 : 1)
    mdb_env_set_flags(handle, UInt32(MDB_NOMETASYNC), 0)
  }
}
