internal import CLMDB

extension LMDBEnvironment {
  /// Enlarges the map, with the write lock held and no write transaction open.
  func grow() throws {
    try withoutReads { handle in
      clearStaleReaders(handle)
      guard let size = map.next else {
        throw LarchError(
          .mapFull, "The store is full: the system has no more addresses for its map."
        ) {
          $0.path = path
          $0.detail = "map of \(map.bytes) bytes"
        }
      }
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

  func adoptMapSizeWithWriteLock() throws {
    try withoutReads { handle in
      let needed: Int
      do { needed = try MapSize.needed(handle) } catch { throw translated(error) }
      guard let size = map.size(for: needed) else {
        throw LarchError(
          .mapFull, "Another process made the store larger than the address space of this one."
        ) { $0.path = path }
      }
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
