internal import CLMDB

internal import Foundation

/// A lock on the file of a store. All who open the file share it; a process that replaces the file
/// holds it exclusively.
///
/// LMDB keeps a store in two files that belong together, and opens them one after the other: nobody
/// may replace them in between. The lock is one of `flock`, which LMDB does not use. It is on the
/// store file, since opening and closing the lock file would drop LMDB's own locks.
///
/// Whoever has one keeps it by `defer { withExtendedLifetime(place) {} }`: an optimized build gives a value
/// back after its last use, and did so before the work that the lock was for.
struct PlaceLock: ~Copyable {
  /// The file that is locked, which was at the path when the lock was taken.
  let file: FileIdentity
  let descriptor: Int32

  /// Waits for the lock; nil if there is no file.
  init?(_ path: String, isExclusive: Bool = false) throws(LMDBError) {
    while true {
      let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
      guard descriptor >= 0 else {
        if errno == ENOENT { return nil }
        if errno == EINTR { continue }
        throw LMDBError(errno, "open")
      }
      do throws(LMDBError) {
        try Self.lock(descriptor, isExclusive ? LOCK_EX : LOCK_SH)
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw LMDBError(errno, "fstat") }
        let file = FileIdentity(status)
        // Another file may have come to the path meanwhile: then that one must be locked.
        if lstat(path, &status) == 0, FileIdentity(status) == file {
          self.file = file
          self.descriptor = descriptor
          return
        }
      } catch {
        Foundation.close(descriptor)
        throw error
      }
      Foundation.close(descriptor)
    }
  }

  deinit { Foundation.close(descriptor) }

  private static func lock(_ descriptor: Int32, _ operation: Int32) throws(LMDBError) {
    while flock(descriptor, operation) != 0 {
      let code = errno
      if code == EINTR { continue }
      // Some file systems have no such locks. There a store can be opened, but not replaced.
      if operation == LOCK_SH, isMissing(code) { return }
      throw LMDBError(code, "flock")
    }
  }

  /// Whether the system refused a lock since the file system has none.
  static func isMissing(_ code: Int32) -> Bool {
    [ENOTSUP, EOPNOTSUPP, ENOSYS, EINVAL].contains(code)
  }
}

extension TemporaryFile {
  /// Moves the complete file to its place, where a file may be that no process has open as a store.
  ///
  /// A crash leaves the old file or the new one, and neither with the lock file of the other.
  func replace(at location: StoreLocation) throws {
    try location.withDirectoryLock { directory in
      do {
        let old = try PlaceLock(location.path, isExclusive: true)
        defer { withExtendedLifetime(old) {} }
        if old != nil, try location.isInUse() { throw LMDBError(EBUSY, "fcntl") }
        let hasOwnLog = old == nil ? false : try !location.hasForeignLog()
        guard unlink(location.lockPath) == 0 || errno == ENOENT else {
          throw LMDBError(errno, "unlink")
        }
        if old != nil { BackupExclusion.pass(from: location.path, to: path) }
        guard rename(path, location.path) == 0 else { throw LMDBError(errno, "rename") }
        // The log of the old file, if that was left behind; the new file does not have its number. Any other one
        // may be needed by a store elsewhere, and the next opening moves it aside.
        if hasOwnLog { unlink(location.logPath) }
        if fsync(directory) != 0, errno != EINVAL { throw LMDBError(errno, "fsync") }
      } catch let error as LMDBError {
        if error.code == EBUSY { throw location.busy }
        throw error.larchError(path: location.path)
      }
    }
  }
}

extension StoreLocation {
  /// Whether a process has the file open as a store. The answer is certain only while nobody can
  /// open it, that is, with an exclusive `PlaceLock`.
  func isInUse() throws(LMDBError) -> Bool {
    // If this process has the store open, it must not read the lock file: closing it again would
    // drop the locks.
    if LMDBRegistry.shared.isOpen(path: path) { return true }
    // Under any name, and even if its lock file was removed.
    if FileClaim.holder(ofFileAt: path) != nil { return true }
    let descriptor = open(lockPath, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else {
      if errno == ENOENT { return false }
      throw LMDBError(errno, "open")
    }
    defer { Foundation.close(descriptor) }
    let answer = larch_is_lock_held(descriptor)
    guard answer >= 0 else { throw LMDBError(-answer, "fcntl") }
    return answer > 0
  }

  /// Removes the store at this place, unless a process has it open; false if there is none. The
  /// directory is locked. The successor file is removed first: without it, the store is as it was.
  /// The lock file and the commit log are removed last. The log of another store stays: it may have been moved, and
  /// need it.
  func removeStore(_ directory: Int32) throws -> Bool {
    do {
      let place = try PlaceLock(path, isExclusive: true)
      defer { withExtendedLifetime(place) {} }
      if try isInUse() { throw LMDBError(EBUSY, "fcntl") }
      let keepsLog = place == nil ? true : try hasForeignLog()
      let log = keepsLog ? [] : [logPath]
      for name in [SuccessorFile.path(for: path), path, lockPath] + log {
        guard unlink(name) == 0 || errno == ENOENT else { throw LMDBError(errno, "unlink") }
      }
      if fsync(directory) != 0, errno != EINVAL { throw LMDBError(errno, "fsync") }
      return place != nil
    } catch let error as LMDBError {
      if error.code == EBUSY { throw busy }
      throw error.larchError(path: path)
    }
  }

  /// The file is open as a store where it must not be.
  var busy: LarchError {
    LarchError(
      .busy, "The file is open as a store; close it in every process that uses it, then retry."
    ) { $0.path = path }
  }
}

extension LMDBError {
  /// Flushes the written data of a descriptor to the disk.
  static func flush(_ descriptor: Int32, path: String) throws {
    let code = larch_flush(descriptor)
    guard code == 0 else { throw LMDBError(code, "fsync").larchError(path: path) }
  }
}
