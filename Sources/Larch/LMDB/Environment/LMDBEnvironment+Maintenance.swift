internal import CLMDB

internal import Foundation

/// What LMDB knows about an open environment.
struct LMDBEnvironmentInfo: Sendable {
  var mapSize: Int
  var lastTransactionID: UInt64
  var lastPage: Int
  var pageSize: Int
  var readersInUse: Int
  var maxReaders: Int
  /// The length of the file, including free pages, which are reused.
  var fileSize: Int
}

extension LMDBEnvironment {
  func info() throws -> LMDBEnvironmentInfo {
    try withHandle { handle in
      var info = MDB_envinfo()
      mdb_env_info(handle, &info)
      var statistics = MDB_stat()
      mdb_env_stat(handle, &statistics)
      var descriptor: Int32 = -1
      mdb_env_get_fd(handle, &descriptor)
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw translated(LMDBError(errno, "fstat")) }
      return LMDBEnvironmentInfo(
        mapSize: Int(info.me_mapsize), lastTransactionID: UInt64(info.me_last_txnid),
        lastPage: Int(info.me_last_pgno), pageSize: Int(statistics.ms_psize),
        readersInUse: Int(info.me_numreaders), maxReaders: Int(info.me_maxreaders),
        fileSize: Int(status.st_size))
    }
  }

  /// Frees the slots of readers whose process has died, and returns how many there were.
  @discardableResult
  func checkReaders() throws -> Int {
    try withHandle { handle in
      var dead: Int32 = 0
      let code = mdb_reader_check(handle, &dead)
      guard code == MDB_SUCCESS else { throw translated(LMDBError(code, "mdb_reader_check")) }
      noteStaleReaders(dead)
      return Int(dead)
    }
  }

  /// Frees the slots of dead readers during another operation; failures are ignored.
  func clearStaleReaders(_ handle: OpaquePointer) {
    var dead: Int32 = 0
    mdb_reader_check(handle, &dead)
    noteStaleReaders(dead)
  }

  private func noteStaleReaders(_ count: Int32) {
    guard count > 0, let log = options.log else { return }
    log(
      LogMessage(
        .notice, .staleReaders,
        "Reader slots of ended processes were cleared; they kept deleted data from being reused."
      ) {
        $0.path = path
        $0.detail = "\(count)"
      })
  }

  /// Flushes every commit to the disk, for stores that do not flush each commit.
  func sync() throws {
    // With a log, every commit has been flushed.
    if options.isReadOnly || options.logsCommits { return }
    try withHandle { handle in
      do {
        try LMDBError.check(mdb_env_sync(handle, 1), "mdb_env_sync")
        try Self.flushDrive(handle)
      } catch { throw translated(error) }
    }
  }

  /// Brings what LMDB has flushed to the disk. On Apple's systems, its own flush leaves that in the cache of the
  /// drive.
  static func flushDrive(_ handle: OpaquePointer) throws(LMDBError) {
    #if canImport(Darwin)
      var descriptor: Int32 = -1
      mdb_env_get_fd(handle, &descriptor)
      try LMDBError.check(larch_flush(descriptor), "fcntl")
    #endif
  }

  /// Copies the newest snapshot to a new file, which appears under its name when it is complete. A
  /// compacting copy omits free pages; it is slower and smaller.
  func copy(to path: String, compacting: Bool) throws {
    // LMDB takes the writer's lock for a moment, but a thread that writes already has it.
    if isWriting {
      throw LarchError(
        .nestedWrite, "A copy cannot be made inside a write; make it after the write."
      ) { $0.path = self.path }
    }
    let location = try StoreLocation(path)
    if try location.existingFile() != nil { throw location.exists }
    TemporaryFile.removeLeftovers(in: location.directory)
    let temporary = try TemporaryFile(in: location.directory, for: location.path)
    defer { temporary.discard() }
    try withHandle { handle in
      let flags = compacting ? UInt32(MDB_CP_COMPACT) : 0
      let code = mdb_env_copyfd2(handle, temporary.descriptor, flags)
      guard code == MDB_SUCCESS else {
        throw LMDBError(code, "mdb_env_copyfd2").larchError(path: location.path)
      }
    }
    try LogMark.remove(fromCopyIn: temporary.descriptor)
    guard fsync(temporary.descriptor) == 0 else {
      throw LMDBError(errno, "fsync").larchError(path: location.path)
    }
    try temporary.place(at: location, options.log)
  }
}
