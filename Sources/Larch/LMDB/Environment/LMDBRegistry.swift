internal import CLMDB

/// The environments of the process, by file.
///
/// LMDB allows one environment per file and process, but does not check it. Closing a second one
/// drops the locks of the first; other processes then do not see its readers and overwrite their
/// pages.
final class LMDBRegistry: @unchecked Sendable {
  static let shared = LMDBRegistry()

  private enum Entry {
    case opening(path: String)
    case open(LMDBEnvironment)
    /// Nobody uses it any more, and its handle is being closed.
    case closing(LMDBEnvironment)

    var path: String {
      switch self {
      case .opening(let path): path
      case .open(let environment), .closing(let environment): environment.path
      }
    }
  }

  private let mutex = SystemMutex()
  private let changed = SystemCondition()
  private var entries: [FileIdentity: Entry] = [:]

  /// The open environment of the file with one more owner, or a new one. Opening runs without the
  /// lock, since it may check the whole file; other threads that open the same file wait for it.
  func environment(
    for file: FileIdentity, path: String, _ options: LMDBEnvironment.Options,
    make: () throws -> LMDBEnvironment
  ) throws -> LMDBEnvironment {
    mutex.lock()
    while isChanging(file, at: path) { changed.wait(mutex) }
    if case .open(let environment)? = entries[file], !environment.isForked {
      defer { mutex.unlock() }
      try environment.checkCompatible(options)
      environment.owners += 1
      environment.reopenIfClosing()
      return environment
    }
    do {
      try checkNoOtherFile(path: path, than: file)
    } catch {
      mutex.unlock()
      throw error
    }
    entries[file] = .opening(path: path)
    mutex.unlock()
    do {
      let environment = try make()
      publish(.open(environment), for: file)
      return environment
    } catch {
      publish(nil, for: file)
      throw error
    }
  }

  /// Notes that the environment has another file now. Its handle is closed, and the path stays
  /// reserved, so that nobody else in this process opens the new file.
  func move(_ environment: LMDBEnvironment, to file: FileIdentity) throws {
    mutex.lock()
    defer { mutex.unlock() }
    guard entries[file] == nil else { throw PathInUse(file: file).larchError(environment.path) }
    if case .open(let current)? = entries[environment.file], current === environment {
      entries[environment.file] = nil
      entries[file] = .open(environment)
    }
    environment.file = file
  }

  /// Lets the environment of a file check whether the file was replaced; true if it was.
  func follow(_ file: FileIdentity) throws -> Bool {
    mutex.lock()
    guard case .open(let environment)? = entries[file], !environment.isForked,
      environment.owners > 0
    else {
      mutex.unlock()
      return false
    }
    environment.owners += 1
    mutex.unlock()
    defer { release(environment) }
    try environment.openDatabases { _ in }
    mutex.lock()
    defer { mutex.unlock() }
    return environment.file != file
  }

  /// The environment that is open under a path, with one more owner, whatever its options are.
  func environment(at path: String) -> LMDBEnvironment? {
    mutex.lock()
    defer { mutex.unlock() }
    while isChanging(nil, at: path) { changed.wait(mutex) }
    for case .open(let environment) in entries.values
    where environment.path == path && !environment.isForked && environment.owners > 0 {
      environment.owners += 1
      return environment
    }
    return nil
  }

  private func publish(_ entry: Entry?, for file: FileIdentity) {
    mutex.lock()
    entries[file] = entry
    changed.broadcast()
    mutex.unlock()
  }

  /// Throws if a removed store is still open under this path: a new one would share its lock file,
  /// and each would drop the locks of the other.
  func checkNotOpen(path: String) throws {
    mutex.lock()
    defer { mutex.unlock() }
    while isChanging(nil, at: path) { changed.wait(mutex) }
    try checkNoOtherFile(path: path, than: nil)
  }

  /// Whether a store is open under this path, or is being closed.
  ///
  /// It does not wait for that: the caller may have the lock on the file that the closing waits for.
  func isOpen(path: String) -> Bool {
    mutex.lock()
    defer { mutex.unlock() }
    return entries.values.contains { entry in
      switch entry {
      case .opening: false
      case .open(let environment), .closing(let environment):
        environment.path == path && !environment.isForked
      }
    }
  }

  /// Whether the file is being opened, or a store is being closed that has this file or this path. In a forked child
  /// nobody closes a store of the parent.
  private func isChanging(_ file: FileIdentity?, at path: String) -> Bool {
    entries.contains { other, entry in
      switch entry {
      case .opening: other == file
      case .open: false
      case .closing(let environment):
        (other == file || environment.path == path) && !environment.isForked
      }
    }
  }

  private func checkNoOtherFile(path: String, than file: FileIdentity?) throws {
    for (other, entry) in entries where other != file && entry.path == path {
      switch entry {
      case .open(let environment), .closing(let environment):
        if environment.isForked { continue }
      case .opening: break
      }
      throw PathInUse(file: other)
    }
  }

  /// Another file than the one that was checked is open under the path.
  struct PathInUse: Error {
    let file: FileIdentity

    func larchError(_ path: String) -> LarchError {
      LarchError(
        .unsuitableFile,
        "The file was removed or replaced while this process has it open; close it first."
      ) { $0.path = path }
    }
  }

  func release(_ environment: LMDBEnvironment) {
    // The mutex of the watch comes before this one: whoever begins to observe has it, and may find the store closed. For
    // another owner that observes later, a new thread begins.
    environment.changes.foreign?.endThread()
    mutex.lock()
    if environment.owners > 0 {
      environment.owners -= 1
      finish(environment)
    }
    mutex.unlock()
  }

  /// The number of owners of the environment.
  func owners(of environment: LMDBEnvironment) -> Int {
    mutex.lock()
    defer { mutex.unlock() }
    return environment.owners
  }

  /// Closes an environment without owners after its last transaction.
  func finishClosing(_ environment: LMDBEnvironment) {
    mutex.lock()
    finish(environment)
    mutex.unlock()
  }

  /// Closes an environment that has no owners, if no transaction is open.
  ///
  /// The handle is closed without the lock. A log is ended then, which takes the lock on the file; and whoever has
  /// that one asks here whether the store is open.
  private func finish(_ environment: LMDBEnvironment) {
    guard environment.owners == 0, case .open(let current)? = entries[environment.file],
      current === environment, let unused = environment.takeUnused()
    else { return }
    let file = environment.file
    entries[file] = .closing(environment)
    mutex.unlock()
    environment.close(unused)
    mutex.lock()
    entries[file] = nil
    changed.broadcast()
  }
}

extension LMDBEnvironment {
  fileprivate func checkCompatible(_ other: Options) throws {
    var differences: [String] = []
    if options.isReadOnly != other.isReadOnly { differences.append("isReadOnly") }
    if options.durability != other.durability || options.logsCommits != other.logsCommits {
      differences.append("durability")
    }
    if options.maxDatabases < other.maxDatabases {
      differences.append("there are more collections and indexes")
    }
    guard differences.isEmpty else {
      throw LarchError(
        .conflictingOptions,
        "The store is open in this process with other options; use the same options, or close it first."
      ) {
        $0.path = path
        $0.detail = "differs: " + differences.joined(separator: ", ")
      }
    }
  }

  /// Reuses an environment that waits for its last transactions to end.
  fileprivate func reopenIfClosing() {
    readers.reopen()
    writeQueue.reopen()
  }

  fileprivate typealias Unused = (handle: OpaquePointer?, readers: [LMDBReader])

  /// Refuses new transactions; what is to be closed if none is open.
  ///
  /// Readers come first: a thread that still gets the write lock then finds the environment closed.
  fileprivate func takeUnused() -> Unused? {
    readers.close()
    return writeQueue.close() ? readers.takeUnused() : nil
  }

  fileprivate func close(_ unused: Unused) {
    // In a forked child, the slots and locks belong to the parent.
    guard let closing = unused.handle, !isForked else { return }
    for reader in unused.readers { reader.transaction.abort() }
    closeHandle(closing)
    // What the end of a commit log has to say; this thread may hold anything.
    post?.deliverElsewhere()
    ids.closeEnvironment(of: file)
  }
}
