internal import CLMDB

internal import Foundation

extension LMDBEnvironment {
  /// Makes the map larger, with the write lock held and no write transaction open.
  func grow() throws {
    try withStillMap { handle in
      clearStaleReaders(handle)
      for (factor, divisor) in [(2, 1), (3, 2), (5, 4)] {
        let (product, overflow) = mapSize.multipliedReportingOverflow(by: factor)
        let size = product / divisor & ~0xFFFF
        if overflow || size <= mapSize || !Self.canMap(size) { continue }
        try resize(handle, to: size)
        options.log?(
          LogMessage(.notice, .mapGrown, "The map of the store was made larger.") {
            $0.path = path
            $0.detail = "\(mapSize) bytes"
          })
        return
      }
      throw LarchError(
        .mapFull, "The store is full: the system has no more addresses for its map."
      ) {
        $0.path = path
        $0.detail = "map of \(mapSize) bytes"
      }
    }
  }

  /// Takes over the size that another process has grown the file to.
  ///
  /// A thread that has the write lock already has no transaction open then: with one open nobody else
  /// can have made the file larger than what it has mapped.
  func adoptMapSize() throws {
    if isWriting { return try adoptMapSizeWithWriteLock() }
    try withWriteLock { try adoptMapSizeWithWriteLock() }
  }

  func adoptMapSizeWithWriteLock() throws {
    try withStillMap { handle in
      // Not the size that the other process reserved: this one may have fewer addresses.
      let needed: Int
      do { needed = try Self.neededMapSize(handle) } catch { throw translated(error) }
      for room in [needed, needed / 4, 1 << 20] {
        let (wanted, overflow) = needed.addingReportingOverflow(room)
        let size = (max(wanted, mapSize) &+ 0xFFFF) & ~0xFFFF
        if overflow || !Self.canMap(size) { continue }
        try resize(handle, to: size)
        options.log?(
          LogMessage(.notice, .followed, "Another process made the file larger; this one follows.")
          {
            $0.path = path
            $0.detail = "\(needed) bytes"
          })
        return
      }
      throw LarchError(
        .mapFull, "Another process made the store larger than this one has addresses for."
      ) { $0.path = path }
    }
  }

  /// What a map must have room for. The file is asked by its descriptor, since its name may be gone;
  /// it may be shorter than its header says, where LMDB did not write what was given back.
  static func neededMapSize(_ handle: OpaquePointer) throws(LMDBError) -> Int {
    var descriptor: Int32 = -1
    mdb_env_get_fd(handle, &descriptor)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw LMDBError(errno, "fstat") }
    var info = MDB_envinfo()
    mdb_env_info(handle, &info)
    var statistics = MDB_stat()
    mdb_env_stat(handle, &statistics)
    let (pages, overflow) = (Int(info.me_last_pgno) &+ 1)
      .multipliedReportingOverflow(by: Int(statistics.ms_psize))
    return max(Int(status.st_size), overflow ? 0 : pages)
  }

  /// Whether the system would map so much. LMDB unmaps the old map before it tries the new one,
  /// and an environment that is left without a map crashes at the next transaction.
  private static func canMap(_ size: Int) -> Bool {
    #if canImport(Darwin)
      let flags = MAP_PRIVATE | MAP_ANON
    #else
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #endif
    guard let probe = mmap(nil, size, PROT_NONE, flags, -1, 0), probe != MAP_FAILED else {
      return false
    }
    munmap(probe, size)
    return true
  }

  private func resize(_ handle: OpaquePointer, to size: Int) throws {
    let code = mdb_env_set_mapsize(handle, size)
    var info = MDB_envinfo()
    mutex.lock()
    if code == MDB_SUCCESS {
      mdb_env_info(handle, &info)
      mapSize = Int(info.me_mapsize)
    } else {
      // The old map is gone all the same.
      blockers.insert(.poisoned)
    }
    mutex.unlock()
    if code != MDB_SUCCESS { throw translated(LMDBError(code, "mdb_env_set_mapsize")) }
  }

  /// Runs a body while no read is open and none can begin, with the write lock held.
  ///
  /// LMDB looks only for a live write when it moves its map: a live read would crash.
  /// Held reads that nobody uses do not last through it, and their owners are told why.
  func withStillMap<T>(
    ending: LMDBHeldRead.Ending = .mapMoved, _ body: (OpaquePointer) throws -> T
  ) throws -> T {
    let (handle, ended) = try holdReads(ending)
    defer {
      mutex.lock()
      blockers.remove(.exclusive)
      readsChanged.broadcast()
      mutex.unlock()
      tell(ended)
    }
    return try body(handle)
  }

  /// Holds new reads back and waits for the open ones to end. Held ones are ended when nothing
  /// else is in the way any more, so that none is lost for nothing.
  private func holdReads(
    _ ending: LMDBHeldRead.Ending
  ) throws -> (OpaquePointer, [LMDBHeldRead]) {
    let deadline = MonotonicTime.after(seconds: options.waitLimit)
    mutex.lock()
    defer { mutex.unlock() }
    guard let handle else { throw closedError() }
    if isReading(ThreadIdentity.current) {
      throw LarchError(
        .mapFull,
        "The map must grow, but this thread has a read of the store open; end it, then write."
      ) { $0.path = path }
    }
    blockers.insert(.exclusive)
    var isLate = false
    while activeUses > 0 {
      let blocking = readers.first { reader in
        reader.thread != 0
          && (isLate || waitingWriters.contains { $0.thread == reader.thread })
      }
      if isLate || blocking != nil {
        blockers.remove(.exclusive)
        readsChanged.broadcast()
        throw blockedByRead(blocking)
      }
      isLate = !readsChanged.wait(mutex, until: deadline)
    }
    return (handle, giveUpHeldReadsLocked(ending))
  }

  /// The error that names the read which keeps the map from moving.
  private func blockedByRead(_ reader: LMDBReader?) -> LarchError {
    LarchError(
      .mapFull, "The map must grow, but a read stays open; end reads that last long, then retry."
    ) {
      $0.path = path
      $0.detail = reader.map {
        "snapshot \($0.transaction.id) is read on thread \(String($0.thread, radix: 16)), begun at \($0.place)"
      }
    }
  }
}
