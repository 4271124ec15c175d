internal import Foundation

extension StoreLocation {
  /// Whether the log beside the file at this place is that of another store, which may need it. A log that cannot be
  /// read is an error, since it must not be removed.
  func hasForeignLog() throws -> Bool {
    do throws(LMDBError) {
      return try isLogForeign()
    } catch {
      throw error.larchError(path: logPath)
    }
  }

  private func isLogForeign() throws(LMDBError) -> Bool {
    guard let log = try CommitLogFile.open(for: path) else { return false }
    defer { log.close() }
    guard let header = try log.header() else {
      // Without its header nobody can tell whose it is, unless the store here needs one.
      if try log.isNew() { return false }
      return try !LogMark.isSet(path: path)
    }
    guard header.mayBeNeeded else { return false }
    let descriptor = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { throw LMDBError(errno, "open") }
    defer { Foundation.close(descriptor) }
    let mark = LogMark(descriptor: descriptor, pageSize: header.pageSize)
    if try mark.hasLeft(header) { return false }
    return try mark.identity() != header.identity
  }

  /// Makes way for a log of a store that has none here. A log that some store may need is kept under another name: as when
  /// only the file of a store was moved, or only its log was left.
  ///
  /// - Parameter isLocked: whether the caller has the lock on the log. If another process has it, the log is in use.
  func clearLog(isLocked: Bool = false, _ tell: (@Sendable (LogMessage) -> Void)?) throws {
    do {
      guard let log = try CommitLogFile.open(for: path) else { return }
      defer { log.close() }
      let isInUse = !isLocked && !log.lock()
      let isNeeded = try isInUse || log.header().map(\.mayBeNeeded) ?? !log.isNew()
      guard isNeeded else {
        guard unlink(log.path) == 0 || errno == ENOENT else { throw LMDBError(errno, "unlink") }
        return
      }
      let aside = try asidePath(at: Date()) + CommitLogFile.suffix
      guard rename(log.path, aside) == 0 else { throw LMDBError(errno, "rename") }
      tell?(
        LogMessage(
          .warning, .movedAside,
          "A log lay beside the store that is not its own; it was moved aside, since another store may need it."
        ) {
          $0.path = path
          $0.detail = "kept as \(aside)"
        })
    } catch let error as LMDBError {
      throw error.larchError(path: path)
    }
  }
}
