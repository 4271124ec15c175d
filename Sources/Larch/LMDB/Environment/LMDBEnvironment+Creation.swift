internal import CLMDB

internal import Foundation

extension LMDBEnvironment {
  /// Creates a new store under a temporary name and moves it to its place when it is complete.
  ///
  /// A crash between LMDB's first writes leaves a file that LMDB can never open. If another process
  /// was faster, its file stays and this one is deleted.
  static func create(
    at location: StoreLocation, options: Options,
    initialize: ((LMDBTransaction) throws -> Void)?
  ) throws {
    TemporaryFile.removeLeftovers(in: location.directory)
    let temporary = try TemporaryFile(in: location.directory, for: location.path)
    defer { temporary.discard() }
    try fill(temporary.path, options: options, for: location.path, initialize)
    // The new store creates its own lock file at its place.
    unlink(temporary.path + "-lock")
    try location.withDirectoryLock { directory in
      var status = stat()
      if lstat(location.path, &status) == 0 { return }
      // It belongs to a store that was removed; its reader table would be taken for this store's.
      unlink(location.lockPath)
      try location.clearLog(options.log)
      guard try temporary.move(to: location.path) else { return }
      if options.durability != .none, fsync(directory) != 0, errno != EINVAL {
        throw LMDBError(errno, "fsync").larchError(path: location.path)
      }
    }
  }

  /// Creates a store in an empty file.
  static func fill(
    _ temporary: String, options: Options, for path: String,
    _ initialize: ((LMDBTransaction) throws -> Void)?
  ) throws {
    try DiskRoom.reporting { try fillHere(temporary, options: options, for: path, initialize) }
  }

  private static func fillHere(
    _ temporary: String, options: Options, for path: String,
    _ initialize: ((LMDBTransaction) throws -> Void)?
  ) throws {
    var size = MapSize.toReserve(options.reservedMapSize)
    do {
      var opened = try map(path: temporary, options: options, sizes: size)
      defer { mdb_env_close(opened.handle) }
      while let initialize {
        let transaction = try LMDBTransaction.begin(opened.handle)
        do {
          do {
            try initialize(transaction)
          } catch {
            transaction.abort()
            throw error
          }
          try transaction.commit()
          break
        } catch let error as LMDBError where error.kind == .mapFull {
          // Nobody else has the file, so try a new map of twice the size.
          size = [opened.mapSize * 2]
          mdb_env_close(opened.handle)
          opened = try map(path: temporary, options: options, sizes: size)
        }
      }
      if options.durability != .none {
        try LMDBError.check(mdb_env_sync(opened.handle, 1), "mdb_env_sync")
      }
    } catch let error as LMDBError {
      throw error.naming(temporary).larchError(path: path)
    }
  }
}

/// A file that is being created beside its place. Its creator holds a lock on it, so that others
/// can recognize the leftover of a dead process, whatever process ids they see.
struct TemporaryFile {
  private static let prefix = ".larch-new-"

  let path: String
  let descriptor: Int32

  init(in directory: String, for final: String) throws {
    var code: Int32 = EEXIST
    for _ in 0..<16 {
      let name = String(UInt64.random(in: .min ... .max), radix: 36)
      let path = directory + "/" + Self.prefix + name
      let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else {
        code = errno
        if code == EEXIST { continue }
        break
      }
      // Until the lock is held, a cleanup may take the file for a leftover.
      var status = stat()
      if flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK
        || fstat(descriptor, &status) != 0 || status.st_nlink == 0
      {
        Self.close(descriptor)
        continue
      }
      self.path = path
      self.descriptor = descriptor
      return
    }
    throw LMDBError(code, "open").larchError(path: final)
  }

  /// Whether a path is that of a file that is being created.
  static func isTemporary(_ path: String) -> Bool {
    path[(path.lastIndex(of: "/").map(path.index(after:)) ?? path.startIndex)...]
      .hasPrefix(prefix)
  }

  /// Moves the file to its place; false if another one exists there. The directory is locked.
  func move(to final: String) throws -> Bool {
    // Unlike a rename, a hard link cannot replace a file; `discard` removes the first name.
    if link(path, final) == 0 { return true }
    var failure = errno
    if failure == EEXIST { return false }
    // Some file systems have no hard links. There the lock and the check before must suffice.
    var status = stat()
    if lstat(final, &status) == 0 { return false }
    if [EPERM, ENOTSUP, EOPNOTSUPP, ENOSYS, EMLINK].contains(failure) {
      if rename(path, final) == 0 { return true }
      failure = errno
    }
    throw LMDBError(failure, "link").larchError(path: final)
  }

  /// Moves the complete file to its place; throws if a file exists there.
  func place(at location: StoreLocation, _ log: (@Sendable (LogMessage) -> Void)? = nil) throws {
    try location.withDirectoryLock { directory in
      var status = stat()
      guard lstat(location.path, &status) != 0 else { throw location.exists }
      // The lock file of an earlier store would be taken for this one's.
      unlink(location.lockPath)
      try location.clearLog(log)
      guard try move(to: location.path) else { throw location.exists }
      if fsync(directory) != 0, errno != EINVAL {
        throw LMDBError(errno, "fsync").larchError(path: location.path)
      }
    }
  }

  /// Removes what remains under the temporary name and releases the lock.
  func discard() {
    unlink(path)
    unlink(path + "-lock")
    Self.close(descriptor)
  }

  private static func close(_ descriptor: Int32) {
    #if canImport(Darwin)
      _ = Darwin.close(descriptor)
    #elseif canImport(Musl)
      _ = Musl.close(descriptor)
    #else
      _ = Glibc.close(descriptor)
    #endif
  }

  /// Removes the temporary names that a file still has because its creator died, and returns how
  /// many remain. The file is locked, so that no creator uses it.
  static func removeNames(of file: FileIdentity, in directory: String) -> Int {
    var left = 0
    for name in names(in: directory) {
      let path = directory + "/" + name
      var status = stat()
      guard lstat(path, &status) == 0, FileIdentity(status) == file else { continue }
      if unlink(path) != 0, errno != ENOENT { left += 1 }
    }
    return left
  }

  /// The names of all temporary files in a directory.
  private static func names(in directory: String) -> [String] {
    guard let stream = opendir(directory) else { return [] }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: $0.pointee)) {
          String(cString: $0)
        }
      }
      if name.hasPrefix(prefix) { names.append(name) }
    }
    return names
  }

  /// Removes the temporary files of dead processes.
  static func removeLeftovers(in directory: String) {
    for name in names(in: directory) {
      let path = directory + "/" + name
      if name.hasSuffix("-lock") {
        // The store file is created first and removed last, so without it nobody uses the others.
        var status = stat()
        if lstat(String(path.dropLast(5)), &status) != 0, errno == ENOENT { unlink(path) }
        continue
      }
      let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
      guard descriptor >= 0 else { continue }
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
        unlink(path + "-lock")
        unlink(path)
      }
      close(descriptor)
    }
  }
}

extension StoreLocation {
  /// A file exists at the path of a new one.
  var exists: LarchError {
    LarchError(.fileExists, "A file exists at the path; choose another path, or remove the file.") {
      $0.path = path
    }
  }

  /// Runs a body, excluding other creators of a store in this directory.
  func withDirectoryLock<T>(_ body: (Int32) throws -> T) throws -> T {
    let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw LMDBError(errno, "open").larchError(path: path) }
    defer {
      #if canImport(Darwin)
        _ = Darwin.close(descriptor)
      #elseif canImport(Musl)
        _ = Musl.close(descriptor)
      #else
        _ = Glibc.close(descriptor)
      #endif
    }
    while flock(descriptor, LOCK_EX) != 0 {
      let code = errno
      if code != EINTR { throw LMDBError(code, "flock").larchError(path: path) }
    }
    return try body(descriptor)
  }
}
