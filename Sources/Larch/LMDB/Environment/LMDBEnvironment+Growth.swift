internal import CLMDB

extension LMDBEnvironment {
  /// Enlarges the map, with the write lock held and no write transaction open.
  ///
  /// Where it cannot, no snapshot is ended.
  func grow() throws {
    guard let size = map.next else {
      throw LarchError(
        .mapFull, "The store is full: the system has no more addresses for its map."
      ) {
        $0.path = path
        $0.detail = "map of \(map.bytes) bytes"
      }
    }
    try withoutReads { handle in
      clearStaleReaders(handle)
      try resize(handle, to: size)
      options.log?(
        LogMessage(.notice, .mapGrown, "The map of the store has grown.") {
          $0.path = path
          $0.detail = "\(map.bytes) bytes"
        })
    }
  }

  /// Adopts the size to which another process has grown the file.
  ///
  /// If this thread already has the write lock, it has no transaction open: while one is open,
  /// nobody else can make the file larger than the map.
  func adoptMapSize() throws {
    if isWriting { return try adoptMapSizeWithWriteLock() }
    try withWriteLock { try adoptMapSizeWithWriteLock() }
  }

  /// Does nothing if the file fits by now, or if there is no map any more: whoever calls this then begins again.
  func adoptMapSizeWithWriteLock() throws {
    // Another thread may have done it, or failed in it, while this one waited for the write lock.
    guard case .open(let handle) = readers.state else { return }
    let needed: Int
    do { needed = try MapSize.needed(handle) } catch { throw translated(error) }
    if needed <= map.bytes { return }
    guard let size = map.size(for: needed) else {
      throw LarchError(
        .mapFull, "Another process made the store larger than the address space of this one."
      ) { $0.path = path }
    }
    try withoutReads { handle in
      try resize(handle, to: size)
      options.log?(
        LogMessage(.notice, .followed, "Another process made the file larger; the map follows.") {
          $0.path = path
          $0.detail = "\(needed) bytes"
        })
    }
  }

  private func resize(_ handle: OpaquePointer, to size: Int) throws {
    do {
      // The thread of the log looks at the map too.
      commitLog?.mutex.lock()
      defer { commitLog?.mutex.unlock() }
      try map.resize(handle, to: size)
    } catch {
      // The old map is gone in any case.
      readers.poison()
      throw translated(error)
    }
  }

  /// Runs a body while no read is open and none can begin, with the write lock held.
  ///
  /// When LMDB moves its map, it checks only for an open write: an open read would crash. Held
  /// reads that are not in use are ended; `ending` gives their owners the reason.
  func withoutReads<T>(
    ending: LMDBHeldRead.Ending = .mapMoved, _ body: (OpaquePointer) throws -> T
  ) throws -> T {
    let (handle, ended) = try readers.stopReads(ending) { writeQueue.isWaiting($0) }
    defer {
      readers.letReadsBegin()
      tell(ended)
    }
    return try body(handle)
  }
}
