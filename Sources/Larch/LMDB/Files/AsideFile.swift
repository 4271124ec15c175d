internal import Foundation

/// The state of a store file at one moment. Two equal states have the same data.
struct StoredState: Equatable {
  let file: FileIdentity
  /// The number of the last commit.
  let commit: UInt64

  /// The state of the file at a path; nil if there is none, or if it is just being replaced.
  ///
  /// - Parameter lastCommit: reads the number of the last commit of a file.
  init?(at path: String, _ lastCommit: (String) throws -> UInt64) {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    file = FileIdentity(status)
    guard let commit = try? lastCommit(path), lstat(path, &status) == 0,
      FileIdentity(status) == file
    else { return nil }
    self.commit = commit
  }
}

/// The steps of moving a store aside, which differ in what a crash leaves.
package enum AsideStep: String, Sendable, CaseIterable {
  /// The new store is complete, under a temporary name.
  case prepared
  /// The lock file of the old one is gone.
  case unlocked
  /// The old file has its new name, and nothing is at the path.
  case moved
  /// The new store is at the path.
  case placed
}

extension StoreLocation {
  /// A free name for a file that is kept beside the store, with the time in it.
  func asidePath(at date: Date) throws -> String {
    let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted)
    let time = date.formatted(style)
    // The extension stays, so that programs still know the file for what it is.
    let dot = name.lastIndex(of: ".").flatMap { $0 == name.startIndex ? nil : $0 } ?? name.endIndex
    for number in 1...1000 {
      let suffix = "-aside-" + time + (number == 1 ? "" : "-\(number)")
      let other = directory + "/" + name[..<dot] + suffix + name[dot...]
      var status = stat()
      // Its companions would be taken for those of the file that comes there.
      let isFree = ["", "-lock", "-log", SuccessorFile.suffix].allSatisfy {
        lstat(other + $0, &status) != 0 && errno == ENOENT
      }
      if isFree { return other }
    }
    throw LarchError(
      .fileExists, "There is no free name beside the store; remove files that were moved aside."
    ) { $0.path = path }
  }

  /// Gives the store another name, and moves a new one to its path.
  ///
  /// An error leaves the old one at its path. A crash leaves it under one of the two names: there is
  /// no moment at which it has none.
  ///
  /// - Parameters:
  ///   - state: the state of the store that was found not to fit.
  ///   - new: the complete new store.
  /// - Returns: the path of the old store; nil if the state is another one now.
  /// - Throws: `.busy` if a process has it open.
  func moveAside(
    ifStill state: StoredState, for new: TemporaryFile, at date: Date,
    _ lastCommit: (String) throws -> UInt64, _ report: ((AsideStep) throws -> Void)?
  ) throws -> String? {
    try withDirectoryLock { directory in
      do {
        // Nobody can open the file now, and the lock on the directory keeps creators away.
        guard let place = try PlaceLock(path, isExclusive: true), place.file == state.file else {
          return nil
        }
        defer { withExtendedLifetime(place) {} }
        if try isInUse() { throw busy }
        // What is in a log is not in the file yet; the next look puts it there.
        var log = stat()
        if lstat(logPath, &log) == 0 { return nil }
        guard StoredState(at: path, lastCommit) == state else { return nil }
        let aside = try asidePath(at: date)
        try report?(.prepared)
        // A lock file has no meaning without its store, and must not be that of another one.
        guard unlink(lockPath) == 0 || errno == ENOENT else { throw LMDBError(errno, "unlink") }
        try report?(.unlocked)
        guard rename(path, aside) == 0 else { throw LMDBError(errno, "rename") }
        do {
          try report?(.moved)
          guard try new.move(to: path) else { throw exists }
          // Else a power failure could take away the new store, with what was written to it.
          if fsync(directory) != 0, errno != EINVAL { throw LMDBError(errno, "fsync") }
        } catch {
          // Nobody can have the new store open, whose maker still has it locked. If this fails too, or
          // a program that knows no locks made a file here, the error says where the old one is.
          guard isFree(but: new), rename(aside, path) == 0 else { throw stranded(aside, error) }
          throw error
        }
        try report?(.placed)
        return aside
      } catch let error as LMDBError {
        throw error.larchError(path: path)
      }
    }
  }

  /// Whether nothing is at the path, or only this file.
  private func isFree(but new: TemporaryFile) -> Bool {
    var (there, made) = (stat(), stat())
    if lstat(path, &there) != 0 { return errno == ENOENT }
    return fstat(new.descriptor, &made) == 0 && FileIdentity(there) == FileIdentity(made)
  }

  private func stranded(_ aside: String, _ error: any Error) -> LarchError {
    LarchError(
      .ioFailure,
      "The store was moved aside, but no new one could be put in its place; give it its name again.",
      underlying: error
    ) {
      $0.path = path
      $0.detail = aside
    }
  }
}
