internal import CLMDB

internal import Foundation

/// The identity of a file, independent of its name.
struct FileIdentity: Hashable, Sendable {
  let device: UInt64
  let inode: UInt64

  init(_ status: stat) {
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(truncatingIfNeeded: status.st_ino)
  }
}

/// The place of a store, with the directory resolved, and the checks before it is opened.
struct StoreLocation: Sendable {
  let directory: String
  let name: String

  var path: String { directory == "/" ? "/" + name : directory + "/" + name }
  var lockPath: String { path + "-lock" }
  /// The file of the commit log.
  var logPath: String { path + "-log" }

  init(_ path: String) throws {
    guard !path.utf8.contains(0) else {
      throw LarchError(.unsuitableFile, "The path of a store cannot contain a NUL byte.") {
        $0.path = path
      }
    }
    let slash = path.lastIndex(of: "/")
    let name = slash.map { String(path[path.index(after: $0)...]) } ?? path
    guard !name.isEmpty, name != ".", name != ".." else {
      throw LarchError(.unsuitableFile, "The path names no file; give one such as people.larch.") {
        $0.path = path
      }
    }
    let parent = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    guard let resolved = realpath(parent, nil) else {
      throw LMDBError(errno, "realpath").larchError(path: path)
    }
    defer { free(resolved) }
    var status = stat()
    guard stat(resolved, &status) == 0, Self.isKind(status, S_IFDIR) else {
      throw LarchError(.fileNotFound, "The directory of the store does not exist; create it first.")
      {
        $0.path = path
      }
    }
    directory = String(cString: resolved)
    self.name = name
  }

  /// Refuses a path at which a store keeps its lock file or its commit log, or creates its successor: a file there
  /// would separate those who have the store open from those who open it later.
  static func refuseSideFile(_ path: String) throws {
    for suffix in ["-lock", "-log", SuccessorFile.suffix] where path.hasSuffix(suffix) {
      var status = stat()
      guard lstat(String(path.dropLast(suffix.count)), &status) == 0 else { continue }
      throw LarchError(
        .unsuitableFile,
        "The path is the lock file, the commit log or a temporary file of a store; choose another path."
      ) { $0.path = path }
    }
  }

  /// The identity of the store file; nil if there is none. Throws if it is not a plain file: LMDB
  /// would follow a link and create its target.
  func existingFile() throws -> FileIdentity? {
    try checkLockFile()
    var status = stat()
    guard lstat(path, &status) == 0 else {
      let code = errno
      if code == ENOENT { return nil }
      throw LMDBError(code, "lstat").larchError(path: path)
    }
    try Self.checkPlain(status, path: path)
    guard status.st_size > 0 else {
      throw LarchError(
        .notAStore,
        "The file is empty, so it is not a store; remove it to create a new store there."
      ) { $0.path = path }
    }
    return FileIdentity(status)
  }

  /// The identity of any plain file at the path, a store or not; nil if there is none.
  func occupant() throws -> FileIdentity? {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      let code = errno
      if code == ENOENT { return nil }
      throw LMDBError(code, "lstat").larchError(path: path)
    }
    try Self.checkPlain(status, path: path)
    return FileIdentity(status)
  }

  /// Refuses a file with a second name: programs that use two names do not share one lock file. A
  /// name that the creation of the store left after a crash is removed.
  func refuseSecondName() throws {
    var status = stat()
    guard lstat(path, &status) == 0, status.st_nlink > 1 else { return }
    do throws(LMDBError) {
      // The creator of a store keeps its file locked until the first name is gone.
      guard let place = try PlaceLock(path) else { return }
      defer { withExtendedLifetime(place) {} }
      let left = TemporaryFile.removeNames(of: place.file, in: directory)
      guard lstat(path, &status) == 0, FileIdentity(status) == place.file,
        Int(status.st_nlink) - left > 1
      else { return }
    } catch {
      throw error.larchError(path: path)
    }
    throw LarchError(
      .unsuitableFile,
      "The file has a second name (a hard link); remove the other name, or make a copy of the file."
    ) {
      $0.path = path
      $0.detail = "\(status.st_nlink) names"
      if let holder = FileClaim.holder(ofFileAt: path) {
        $0.detail? += "; " + holder.description(of: FileIdentity(status))
      }
    }
  }

  private func checkLockFile() throws {
    var status = stat()
    if lstat(lockPath, &status) == 0 { try Self.checkPlain(status, path: lockPath) }
  }

  private static func checkPlain(_ status: stat, path: String) throws {
    if isKind(status, S_IFLNK) {
      throw LarchError(
        .unsuitableFile, "The path is a symbolic link; give the path of the file itself."
      ) { $0.path = path }
    }
    guard isKind(status, S_IFREG) else {
      throw LarchError(.unsuitableFile, "The path is not a plain file; choose another one.") {
        $0.path = path
      }
    }
  }

  private static func isKind(_ status: stat, _ kind: mode_t) -> Bool {
    status.st_mode & S_IFMT == kind
  }

  /// Whether several machines share the file system.
  var isRemote: Bool {
    get throws {
      let answer = larch_is_remote_file_system(directory)
      guard answer >= 0 else { throw LMDBError(-answer, "statfs").larchError(path: path) }
      return answer > 0
    }
  }

  /// Refuses file systems on which memory maps and locks do not work across machines.
  func checkFileSystem() throws {
    guard try isRemote else { return }
    throw LarchError(
      .unsuitableFile,
      "The file system is remote, and a store can be damaged there; choose a local directory."
    ) { $0.path = path }
  }
}
