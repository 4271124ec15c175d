internal import CLMDB

internal import Foundation

/// What was found beside a store that is about to be opened.
enum LogFound {
  /// No log, or none any more: the store is whole by itself.
  case nothing
  /// Another process has the store open and logs its commits.
  case inUse
}

/// Makes a store whole whose log was left behind, while nobody can open it.
struct LogSettling {
  let path: String
  let options: LMDBEnvironment.Options
  let file: FileIdentity

  /// - Parameter place: an exclusive lock on the place of the store.
  func run(_ place: borrowing PlaceLock) throws -> LogFound {
    let log: CommitLogFile
    do throws(LMDBError) {
      guard let found = try CommitLogFile.open(for: path) else { return .nothing }
      log = found
    } catch {
      throw translated(error)
    }
    defer { log.close() }
    guard log.lock() else {
      guard options.isReadOnly else { throw inUse(place) }
      return .inUse
    }
    do {
      let descriptor = Foundation.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
      guard descriptor >= 0 else { throw LMDBError(errno, "open") }
      defer { Foundation.close(descriptor) }
      try settle(log, descriptor, isAlone: try !Self.isOpenElsewhere(path, place.descriptor))
    } catch let error as LMDBError {
      throw translated(error)
    }
    return .nothing
  }

  private func settle(
    _ log: CommitLogFile, _ descriptor: Int32, isAlone: Bool
  ) throws {
    let header = try log.header()
    let pageSize: Int
    if let header {
      pageSize = header.pageSize
    } else if let found = try LogMark.pageSize(descriptor) {
      pageSize = found
    } else {
      // The log stays: without its header nobody can tell whose it is.
      throw LMDBError(MDB_INVALID, "read the first page")
    }
    let mark = LogMark(descriptor: descriptor, pageSize: pageSize)
    guard let header, try mark.identity() == header.identity else {
      // The log of another file, or one that was being made; but a marked store needs its own.
      if try mark.isSet() {
        throw LogMark.missing(
          path, header == nil ? "the log has no header" : "the log is that of another store")
      }
      if let header, try mark.hasLeft(header) { return try remove(log) }
      try setAside(log)
      return
    }
    // A checkpoint is on the disk before its header is. Then this is an older copy of the store.
    let newest = try mark.newestTransaction()
    guard newest >= header.checkpoint else {
      throw LogMark.missing(
        path, "the store has commit \(newest), and its log begins at \(header.checkpoint)")
    }
    if header.state != .clean {
      if isAlone {
        try recover(log, header, mark)
      } else if header.state == .failed {
        throw LarchError(
          .busy,
          "The disk failed under the process that wrote the store; close it in every other process, so that it can be recovered."
        ) { $0.path = path }
      }
      // Otherwise others have read the store ever since, so no power failure came in between: the system has
      // all that was written, and only the disk has not.
    }
    // With the last commit as its checkpoint: see `LogMark.hasLeft`.
    let last = try mark.newestTransaction()
    if header.state != .clean || header.checkpoint != last {
      try mark.flush()
      var clean = header
      // A forged header may have any number.
      clean.number &+= 1
      clean.state = .clean
      clean.checkpoint = last
      try log.write(clean)
    }
    try mark.remove()
    try remove(log)
  }

  private func remove(_ log: CommitLogFile) throws(LMDBError) {
    guard unlink(log.path) == 0 || errno == ENOENT else { throw LMDBError(errno, "unlink") }
  }

  /// Makes way for the log of this store, and keeps one that another store may need.
  private func setAside(_ log: CommitLogFile) throws {
    try StoreLocation(path).clearLog(isLocked: true, options.log)
  }

  // MARK: Recovery

  /// Brings the store from its last checkpoint to its last commit.
  ///
  /// It may be cut anywhere, and then begins again: LMDB does not touch the pages of the state from
  /// which its transaction starts, which is that of the checkpoint.
  private func recover(
    _ log: CommitLogFile, _ header: CommitLogHeader, _ mark: LogMark
  ) throws {
    let replay = try LogReplay(log, header)
    let last = replay.records.last?.transaction ?? header.checkpoint
    // A record is on the disk before its commit is in the file. A file that has gone further than its
    // log has an older log, or a damaged one; and the pages of a checkpoint before the newest may have
    // been used again.
    let newest = try mark.newestTransaction()
    if newest > last || replay.isBeyond(header) {
      throw LogMark.missing(
        path,
        "the store has commit \(newest), and the log \(replay.records.count) from the checkpoint at \(header.checkpoint) on"
      )
    }
    let meta = header.meta.withUnsafeBytes { bytes in
      bytes.baseAddress.map { MetaPage(slot: Int(header.checkpoint & 1), $0) }
    }
    guard let meta, meta.isMeta, meta.fault == nil, meta.transaction == header.checkpoint,
      meta.pageSize == header.pageSize
    else { throw LogMark.missing(path, "the log has no state of the store") }
    try checkLength(meta)
    try restore(header, mark, before: replay.records.isEmpty ? last &+ 1 : last)
    // LMDB must not map what was not checked as for any opening.
    try options.beforeMapping?(path)
    // It has the number of a state that is gone.
    guard unlink(path + "-lock") == 0 || errno == ENOENT else { throw LMDBError(errno, "unlink") }
    if replay.records.isEmpty { return }
    var options = options
    options.isReadOnly = false
    options.durability = .durable
    // The log may name more trees than this program knows.
    options.maxDatabases = max(options.maxDatabases, try replay.treeCount(path: path))
    var sizes = MapSize.toReserve(options.reservedMapSize)
    while true {
      let opened = try LogMark.withoutMark(path: path) { () throws(LMDBError) in
        try LMDBEnvironment.map(path: path, options: options, sizes: sizes)
      }
      defer { mdb_env_close(opened.handle) }
      do {
        let transaction = try LMDBTransaction.begin(opened.handle)
        do {
          try replay.apply(in: transaction, path: path)
        } catch {
          transaction.abort()
          throw error
        }
        try transaction.commit()
        break
      } catch let error as LMDBError where error.kind == .mapFull {
        sizes = [opened.mapSize * 2]
      }
    }
    options.log?(
      LogMessage(.notice, .recovered, "Commits that only the log had were put into the store.") {
        $0.path = path
        $0.detail = "\(replay.records.count) commits"
      })
  }

  /// Puts the meta page of the checkpoint into both places, as the two states before a transaction:
  /// LMDB takes the place by the number.
  private func restore(
    _ header: CommitLogHeader, _ mark: LogMark, before transaction: UInt64
  ) throws(LMDBError) {
    for number in [transaction &- 1, transaction &- 2].prefix(
      options.logLimits.faults.contains(.oneMetaPage) ? 1 : 2)
    {
      var page = header.meta
      let slot = number & 1
      page.withUnsafeMutableBytes { bytes in
        bytes.storeBytes(of: slot, as: UInt64.self)
        bytes.storeBytes(
          of: LogMark.version, toByteOffset: LogMark.versionPlace, as: UInt32.self)
        bytes.storeBytes(
          of: header.identity, toByteOffset: LogMark.identityPlace, as: UInt64.self)
        bytes.storeBytes(
          of: number, toByteOffset: PageLayout.transactionOffset, as: UInt64.self)
      }
      let place = Int(slot) * header.pageSize
      let result = page.withUnsafeBytes { bytes in
        Result { () throws(LMDBError) in
          try CommitLogFile.write(mark.descriptor, bytes, at: place)
        }
      }
      try result.get()
    }
    try mark.flush()
  }

  /// Refuses a file that lacks pages of the checkpoint, before anything is written: LMDB would take zeros for them.
  ///
  /// All that the checkpoint has was on the disk before its header. Only pages that are free in it may be missing at the
  /// end, since LMDB does not write a page that a transaction took from there and gave back.
  private func checkLength(_ meta: MetaPage) throws {
    let file = try PageFile(path: path)
    let pages = file.length / UInt64(meta.pageSize)
    if pages > meta.lastPage { return }
    if let walk = try? PageWalk(file: file, meta: meta), walk.freeListCoversMissingPages() {
      return
    }
    throw LarchError(
      .truncated,
      "The file is shorter than the state that its log continues; put back the whole file, restore a backup, or salvage it."
    ) {
      $0.path = path
      $0.detail = "\(pages) of \(meta.lastPage + 1) pages"
    }
  }

  // MARK: Others

  /// Whether another process has the store open.
  static func isOpenElsewhere(_ path: String, _ descriptor: Int32) throws(LMDBError) -> Bool {
    if FileClaim.other(than: nil, descriptor) != nil { return true }
    let lock = Foundation.open(path + "-lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard lock >= 0 else {
      if errno == ENOENT { return false }
      throw LMDBError(errno, "open")
    }
    defer { Foundation.close(lock) }
    let answer = larch_is_lock_held(lock)
    guard answer >= 0 else { throw LMDBError(-answer, "fcntl") }
    return answer > 0
  }

  private func inUse(_ place: borrowing PlaceLock) -> LarchError {
    LarchError(
      .busy,
      "Another process has the store open with `durability: .logged`, so only reading is possible here; open it read-only, or close it there first."
    ) {
      $0.path = path
      if let holder = FileClaim.other(than: nil, place.descriptor) {
        $0.detail = holder.description(of: file)
      }
    }
  }

  /// The error says what a process needs that may only read.
  private func translated(_ error: LMDBError) -> LarchError {
    guard error.kind == .accessDenied || error.kind == .readOnlyFileSystem else {
      return error.larchError(path: path)
    }
    return LarchError(
      .accessDenied,
      "The store has commits in its log that it does not have itself; open it once where the store and its log can be written.",
      underlying: error
    ) { $0.path = path }
  }
}

extension LogMark {
  /// The error for a marked store without its log.
  static func missing(_ path: String, _ detail: String) -> LarchError {
    LarchError(
      .corrupted,
      "The log of the store is missing or damaged, and the store is not whole without it; put the file `-log` back beside it, restore a backup, or salvage the store."
    ) {
      $0.path = path
      $0.detail = detail
    }
  }
}
