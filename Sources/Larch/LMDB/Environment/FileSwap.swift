internal import CLMDB

internal import Foundation

/// The state of the replacement of an environment's file by another one, and those steps of it that
/// need no environment. See docs/decisions/0014-compaction-swaps-files.md.
///
/// Used only by the thread that has the write lock, or before anyone else can see the environment.
final class FileSwap {
  private let path: String
  private let isReadOnly: Bool
  /// Called at each step of a replacement, so that tests can end the process there.
  let report: ((ReplacementStep) -> Void)?
  /// The file was replaced: the file that is now at the path is the store.
  var isReplaced = false
  /// The file has a mark without a meaning that cannot be removed.
  var keepsMark = false

  init(path: String, _ options: LMDBEnvironment.Options) {
    self.path = path
    isReadOnly = options.isReadOnly
    report = options.replacing
  }

  /// Whether another file has replaced that of the snapshot.
  func isSuperseded(_ transaction: LMDBTransaction) throws(LMDBError) -> Bool {
    keepsMark ? false : try ReplacementMark.isThere(in: transaction)
  }

  /// The result of replacing a file that has a mark.
  enum Outcome {
    /// The path leads to the new file.
    case done
    /// The new file does not exist, or is not the one in the mark: the old one remains the store.
    case impossible
    /// The file system or the directory is read-only for this process.
    case unwritable
  }

  /// Gives the new file the name of the old one, unless another process has done so.
  func swap(_ file: FileIdentity, for mark: ReplacementMark) throws(LMDBError) -> Outcome {
    guard let place = try PlaceLock(path, isExclusive: true) else {
      throw LMDBError(ENOENT, "open")
    }
    defer { withExtendedLifetime(place) {} }
    guard place.file == file else { return .done }
    let newPath = SuccessorFile.path(for: path)
    let new = Foundation.open(newPath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard new >= 0 else {
      if errno == ENOENT { return .impossible }
      throw LMDBError(errno, "open")
    }
    defer { Foundation.close(new) }
    guard ReplacementMark(ofFile: new) == mark else { return .impossible }
    // The lock file of the old store has no meaning for the new one. It is removed first: no file
    // may ever be there with the lock file of another one.
    guard unlink(path + "-lock") == 0 || errno == ENOENT else {
      let code = errno
      if isReadOnly, [EACCES, EPERM].contains(code) || code == EROFS { return .unwritable }
      throw LMDBError(code, "unlink")
    }
    report?(.unlocked)
    guard rename(newPath, path) == 0 else { throw LMDBError(errno, "rename") }
    do {
      try StoreLocation(path).flushDirectory()
    } catch {
      throw error as? LMDBError ?? LMDBError(EIO, "fsync")
    }
    report?(.swapped)
    return .done
  }

  // MARK: The mark

  /// Removes a mark without a meaning, while nobody else can open the store.
  static func removeMark(_ handle: OpaquePointer) throws(LMDBError) {
    let transaction = try LMDBTransaction.begin(handle)
    do throws(LMDBError) {
      try ReplacementMark.remove(in: transaction)
    } catch {
      transaction.abort()
      throw error
    }
    try transaction.commit()
  }

  /// The mark in the newest snapshot.
  static func mark(of handle: OpaquePointer) throws(LMDBError) -> ReplacementMark? {
    let transaction = try LMDBTransaction.begin(handle, MDB_RDONLY)
    // The abort also closes the handle of the database that has the mark.
    defer { transaction.abort() }
    guard try ReplacementMark.isThere(in: transaction) else { return nil }
    return try ReplacementMark.read(in: transaction)
  }
}

extension StoreLocation {
  /// Flushes the names in the directory to the disk.
  func flushDirectory() throws {
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw LMDBError(errno, "open") }
    defer { Foundation.close(descriptor) }
    if fsync(descriptor) != 0, errno != EINVAL { throw LMDBError(errno, "fsync") }
  }
}
