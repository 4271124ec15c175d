internal import CLMDB

internal import Foundation

/// An LMDB environment that was opened and checked, but has no owner yet.
struct OpenedHandle {
  let handle: OpaquePointer
  let mapSize: Int
  let lastPage: Int
  /// The lock file that LMDB uses with it.
  var lockFile = FileClaim.LockFile.none
  /// Whether the file says that it was replaced, by a file that is not there.
  var keepsMark = false
  /// The file of the commit log, if the store was opened to log its commits.
  var log: CommitLogFile?
}

/// The lock file of a store, where this process may write it.
struct LockFileFound {
  let file: FileClaim.LockFile
  /// The reason why there is none, or nil.
  var failure: Int32?
}

extension LMDBEnvironment {
  /// Opens the store at the path, or creates one; a process shares one environment per file.
  ///
  /// `initialize` writes the first entries of a new store: nobody sees the store without them.
  static func open(
    path: String, options: Options, initialize: ((LMDBTransaction) throws -> Void)? = nil
  ) throws -> LMDBEnvironment {
    try DiskRoom.reporting { try openHere(path: path, options: options, initialize) }
  }

  private static func openHere(
    path: String, options: Options, _ initialize: ((LMDBTransaction) throws -> Void)?
  ) throws -> LMDBEnvironment {
    try checkLibrary()
    ForkWatch.install()
    let location = try StoreLocation(path)
    if !options.allowsRemoteFileSystem { try location.checkFileSystem() }
    // Other processes may create, remove or replace the file between two checks; then check again.
    for _ in 0..<16 {
      do {
        if let file = try location.existingFile() {
          try location.refuseSecondName()
          let environment = try LMDBRegistry.shared.environment(
            for: file, path: location.path, options
          ) {
            try LMDBEnvironment(path: location.path, file: file, options: options)
          }
          environment.deliverMessages()
          return environment
        }
        guard options.canCreate, !options.isReadOnly else {
          throw LMDBError(ENOENT, "lstat").larchError(path: location.path)
        }
        try LMDBRegistry.shared.checkNotOpen(path: location.path)
        try create(at: location, options: options, initialize: initialize)
      } catch is FileReplaced {
        continue
      } catch let other as LMDBRegistry.PathInUse {
        // Another thread may have created it since the check, or it was removed while open.
        if try location.existingFile() == other.file { continue }
        // A store that is open here may not know yet that another process compacted it.
        if try LMDBRegistry.shared.follow(other.file) { continue }
        throw other.larchError(location.path)
      }
    }
    throw LarchError(
      .unsuitableFile, "The file was replaced repeatedly while it was being opened; retry later."
    ) { $0.path = location.path }
  }

  /// Removes one owner. The last one closes the file, at once or when all open transactions have
  /// ended.
  func close() { LMDBRegistry.shared.release(self) }

  /// The file at the path is not the one that was checked.
  struct FileReplaced: Error {}

  /// The version of LMDB that the program uses.
  static var library: (major: Int32, minor: Int32, patch: Int32) {
    var found: (major: Int32, minor: Int32, patch: Int32) = (0, 0, 0)
    _ = mdb_version(&found.major, &found.minor, &found.patch)
    return found
  }

  private static func checkLibrary() throws {
    let (major, minor, patch) = library
    // Before 0.9.22, duplicates and forks have known bugs; 1.x has another file format.
    let version = larch_mdb_version(major, minor, patch)
    guard version >= larch_mdb_version(0, 9, 22), version < larch_mdb_version(1, 0, 0) else {
      throw LarchError(
        .storage, "This version of liblmdb cannot be used; install 0.9.22 or a later 0.9."
      ) { $0.detail = "liblmdb \(major).\(minor).\(patch)" }
    }
  }

  /// Checks the file and maps it, for the first opening and for later ones.
  func openHandle(sizes: [Int]) throws -> OpenedHandle {
    do {
      // Without what is in a log that was left behind, the file may not be whole.
      if CommitLogFile.exists(for: path) { _ = try Door(self) }
      try options.beforeMapping?(path)
      var options = options
      let count = try (options.countDatabases?(path) ?? 0) + treesToMake
      if count > 0 {
        options.maxDatabases = max(options.maxDatabases, count + options.maxDatabases / 2)
      }
      // The creator of a file holds its lock, so no other lock can be taken.
      if TemporaryFile.isTemporary(path) { return try openMapped(options, sizes) }
      return try openWithRoom(options, sizes)
    } catch let error as LMDBError {
      if error.kind == .fileNotFound { throw FileReplaced() }
      throw error.larchError(path: path)
    }
  }

  /// Opens the file with a larger map if other processes have made it larger meanwhile: otherwise
  /// LMDB maps only the current length of the file.
  private func openWithRoom(_ options: Options, _ sizes: [Int]) throws -> OpenedHandle {
    var sizes = sizes
    while true {
      do {
        return try openInPlace(options, sizes)
      } catch let error as LMDBError where error.kind == .mapResized {
        sizes = sizes.map { $0.multipliedReportingOverflow(by: 2) }
          .filter { !$0.overflow }.map(\.partialValue)
      }
    }
  }

  /// Opens the file. If it says that it was replaced, the new file is moved to its path first.
  private func openInPlace(_ options: Options, _ sizes: [Int]) throws -> OpenedHandle {
    let (opened, mark) = try openShared(options, sizes)
    guard let mark else { return opened }
    Self.close(opened.handle)
    if try fileSwap.swap(file, for: mark) == .done {
      fileSwap.isReplaced = true
      throw FileReplaced()
    }
    // The new file does not exist: it was removed, or the old file was copied elsewhere alone. The
    // old file has all the data that the new one had.
    guard let place = try PlaceLock(path, isExclusive: true), place.file == file else {
      throw FileReplaced()
    }
    defer { withExtendedLifetime(place) {} }
    var (found, other) = try openClaimed(place, options, sizes)
    found.keepsMark = options.isReadOnly
    do {
      if let other { throw foreignError(other, found.lockFile) }
      if !options.isReadOnly { try FileSwap.removeMark(found.handle) }
    } catch {
      Self.close(found.handle)
      throw error
    }
    return found
  }

  private func openShared(
    _ options: Options, _ sizes: [Int]
  ) throws -> (OpenedHandle, ReplacementMark?) {
    // Held until LMDB has opened both files: nobody may replace them meanwhile.
    let door = try Door(self)
    defer { withExtendedLifetime(door) {} }
    var (opened, other) = try openClaimed(
      door.place, options, sizes, isMarked: door.found == .inUse)
    do {
      let mark = try FileSwap.mark(of: opened.handle)
      if mark == nil, let other { throw foreignError(other, opened.lockFile) }
      if mark == nil, !options.isReadOnly {
        SuccessorFile.removeLeftover(of: path) {
          // In doubt it is needed.
          (try? FileSwap.mark(of: opened.handle) == nil) != true
        }
      }
      if mark == nil, options.logsCommits {
        opened.log = try CommitLogFile.create(for: path, halfSize: options.logLimits.halfSize)
      }
      return (opened, mark)
    } catch {
      Self.close(opened.handle)
      throw error
    }
  }

  /// Opens the file with LMDB when nobody has it open with another lock file, or when it was
  /// replaced: nobody writes to such a file, and its lock file may be gone already.
  ///
  /// The claim comes first. The first process that opens a lock file writes the number of the last
  /// commit into it. If another process still committed with another lock file, that number would
  /// be out of date, and the next process would read an old state and overwrite the new one.
  private func openClaimed(
    _ place: borrowing PlaceLock, _ options: Options, _ sizes: [Int], isMarked: Bool = false
  ) throws -> (OpenedHandle, other: FileClaim.Holder?) {
    var isMisled = false
    for attempt in 1...Self.openingLimit {
      let lock = try Self.prepareLockFile(path: path, options: options)
      let other = try claim(place.descriptor, lock)
      // This is read without LMDB, which must not read what others may overwrite.
      if let other, try options.saysReplaced?(path) != true {
        throw foreignError(other, lock.file)
      }
      let opened: OpenedHandle
      do {
        opened = try openMapped(options, sizes, lock, isMarked: isMarked)
      } catch let error as LMDBError
        where error.kind == .invalidFile && attempt < Self.openingLimit
      {
        // The header of the store is valid, so this is the lock file of a process that was killed
        // before it had filled it.
        FileClaim.drop(place.descriptor)
        Self.letOthersOpen()
        continue
      }
      do {
        var descriptor: Int32 = -1
        mdb_env_get_fd(opened.handle, &descriptor)
        // From here on the claim is held as long as LMDB has the file.
        _ = try claim(descriptor, lock)
        if !options.isReadOnly { FileClaim.takeWriting(descriptor) }
        isMisled = try lock.failure == nil && Self.isMisled(opened.handle)
      } catch {
        Self.close(opened.handle)
        throw error
      }
      // LMDB finds the lock file by its name. It has the one of the claim if that is still there.
      var status = stat()
      if lock.failure != nil
        || !isMisled && lstat(path + "-lock", &status) == 0
          && FileClaim.LockFile(FileIdentity(status)) == lock.file
      {
        return (opened, other)
      }
      Self.close(opened.handle)
      FileClaim.drop(place.descriptor)
      if isMisled { Self.letOthersOpen() }
    }
    if isMisled {
      throw LarchError(
        .busy,
        "A program holds the lock file of the store with the number of another state; close the store in every process that uses it, then retry."
      ) { $0.path = path }
    }
    throw LarchError(
      .unsuitableFile,
      "The lock file was removed repeatedly while the store was being opened; retry later."
    ) { $0.path = path }
  }

  private static let openingLimit = 64

  /// All who have a lock file that is not right must let go of it at one moment: whoever opens it
  /// next fills it.
  private static func letOthersOpen() { usleep(.random(in: 500...5_000)) }

  /// Whether the lock file has the number of another commit than the last one of the file.
  ///
  /// The first process that opens a store sets the number to 0, and writes the right one when it has
  /// opened the store. If it is killed in between, those that wait for its lock go on with the 0, and
  /// LMDB then takes one of the two last states for the newest, by chance: a write would be lost. The
  /// number may be one too small: a commit sets it after the header, and `openDatabases` waits for it.
  private static func isMisled(_ handle: OpaquePointer) throws(LMDBError) -> Bool {
    // From the headers, whatever the lock file says.
    func lastCommit() -> UInt64 {
      var info = MDB_envinfo()
      mdb_env_info(handle, &info)
      return UInt64(info.me_last_txnid)
    }
    let before = lastCommit()
    let transaction = try LMDBTransaction.begin(handle, MDB_RDONLY)
    let number = transaction.id
    transaction.abort()
    return number == 0 ? before > 0 : number + 1 < before || number > lastCommit()
  }

  private func openMapped(
    _ options: Options, _ sizes: [Int], _ lock: LockFileFound? = nil, isMarked: Bool = false
  ) throws -> OpenedHandle {
    let map = { () throws(LMDBError) in
      try Self.map(path: self.path, options: options, sizes: sizes, lock)
    }
    let opened: OpenedHandle
    do throws(LMDBError) {
      opened = try isMarked ? LogMark.withoutMark(path: path, map) : map()
    } catch {
      if error.kind == .versionMismatch, try LogMark.isSet(path: path) {
        throw LogMark.missing(path, "there is no log")
      }
      throw error
    }
    do {
      try checkOpened(opened)
    } catch {
      mdb_env_close(opened.handle)
      throw error
    }
    clearStaleReaders(opened.handle)
    options.mapped?()
    return opened
  }

  /// LMDB also maps a file that is shorter than its header says; reading it ends in SIGBUS.
  private func checkOpened(_ opened: OpenedHandle) throws {
    var descriptor: Int32 = -1
    mdb_env_get_fd(opened.handle, &descriptor)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw LMDBError(errno, "fstat") }
    guard FileIdentity(status) == file else { throw FileReplaced() }
    var statistics = MDB_stat()
    mdb_env_stat(opened.handle, &statistics)
    let (needed, overflow) = (opened.lastPage &+ 1)
      .multipliedReportingOverflow(by: Int(statistics.ms_psize))
    if !overflow, opened.lastPage >= 0, Int(status.st_size) >= needed { return }
    // LMDB does not write a page that a transaction took from the end and gave back. The check
    // before mapping showed that nothing else is missing; it runs again, since the file may have
    // been cut meanwhile.
    guard !overflow, opened.lastPage >= 0, let check = options.beforeMapping else {
      throw LarchError(
        .truncated, "The file is shorter than its header says; restore a backup, or salvage it."
      ) { $0.path = path }
    }
    try check(path)
  }

  static func map(
    path: String, options: Options, sizes: [Int], _ found: LockFileFound? = nil
  ) throws(LMDBError) -> OpenedHandle {
    var flags = UInt32(MDB_NOSUBDIR) | UInt32(MDB_NOTLS)
    if options.isReadOnly { flags |= UInt32(MDB_RDONLY) }
    switch options.durability {
    case .durable: break
    case .relaxed: flags |= UInt32(MDB_NOMETASYNC)
    case .none: flags |= UInt32(MDB_NOSYNC)
    }
    let lock: LockFileFound
    if let found { lock = found } else { lock = try prepareLockFile(path: path, options: options) }
    // A process that may only read can neither create nor write a lock file. `FileClaim` makes sure
    // that nobody writes.
    if lock.failure != nil { flags |= UInt32(MDB_NOLOCK) }
    var last = LMDBError(ENOMEM, "mdb_env_open")
    for size in sizes {
      var created: OpaquePointer?
      try LMDBError.check(mdb_env_create(&created), "mdb_env_create")
      guard let handle = created else { throw LMDBError(ENOMEM, "mdb_env_create") }
      mdb_env_set_maxreaders(handle, UInt32(clamping: max(options.maxReaders, 1)))
      mdb_env_set_maxdbs(handle, UInt32(clamping: max(options.maxDatabases, 1)))
      mdb_env_set_mapsize(handle, size)
      let code = mdb_env_open(handle, path, flags, 0o600)
      if code == MDB_SUCCESS {
        var info = MDB_envinfo()
        mdb_env_info(handle, &info)
        return OpenedHandle(
          handle: handle, mapSize: Int(info.me_mapsize), lastPage: Int(info.me_last_pgno),
          lockFile: lock.file)
      }
      mdb_env_close(handle)
      last = LMDBError(code, "mdb_env_open")
      // Tools such as valgrind report a map that is too large as an invalid argument.
      if last.kind != .outOfMemory && last.kind != .invalidArgument { break }
    }
    throw last
  }

  /// Creates the lock file if it is missing, returns which file it is, and makes sure that its
  /// blocks are allocated on the disk. Returns the error if the store can be read without a lock
  /// file.
  ///
  /// LMDB creates it as one large hole and writes to it through a map: on a full disk, the first
  /// access to a page ends the process with SIGBUS. This must run before LMDB opens the file, since
  /// closing a descriptor of the file drops the locks of this process.
  private static func prepareLockFile(
    path: String, options: Options
  ) throws(LMDBError) -> LockFileFound {
    let lock = Foundation.open(path + "-lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard lock >= 0 else {
      let code = errno
      let isRefused = [EACCES, EPERM].contains(code) && !options.needsLockFile
      if options.isReadOnly, isRefused || code == EROFS {
        return LockFileFound(file: .none, failure: code)
      }
      throw LMDBError(code, "open")
    }
    defer { Foundation.close(lock) }
    var status = stat()
    guard fstat(lock, &status) == 0 else { throw LMDBError(errno, "fstat") }
    let file = FileClaim.LockFile(FileIdentity(status))
    if status.st_size == 0 {
      // A new one, which LMDB opens for writing also where the store is only read.
      FileRights.pass(from: path, to: lock, keeping: 0o600)
      BackupExclusion.pass(from: path, to: path + "-lock")
    }
    #if os(Linux)
      // The size that LMDB would use: a header as large as three readers, one of them in it.
      let size = (max(options.maxReaders, 1) - 1) * 64 + 192
      if status.st_size == 0 {
        // One process sets the size of the file: others must not map it before that.
        guard flock(lock, LOCK_EX) == 0, fstat(lock, &status) == 0 else {
          return LockFileFound(file: file)
        }
      }
      let code = larch_allocate(lock, status.st_size > 0 ? status.st_size : off_t(size))
      if [ENOSPC, EDQUOT, EFBIG].contains(code) { throw LMDBError(code, "fallocate") }
    #endif
    return LockFileFound(file: file)
  }
}
