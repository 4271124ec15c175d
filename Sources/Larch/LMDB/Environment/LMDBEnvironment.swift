internal import CLMDB
internal import Synchronization

/// How much of a commit must be on the disk before it returns.
package enum LMDBDurability: Int, Sendable, Comparable {
  /// Nothing: a power failure may destroy the file. For tests, and for files that can be created
  /// again.
  case none
  /// All but the last header: a power failure may lose the last commit, but no more and never half
  /// of it.
  case relaxed
  /// Everything: no acknowledged commit is lost.
  case durable

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// An open LMDB file, shared by all who open the same file in a process.
///
/// It does what LMDB leaves to its callers. The work is split among a few objects, each with one
/// task and its own state:
///
/// | Object | Task | State guarded by |
/// |---|---|---|
/// | `WriteQueue` | the write lock: the writer and the queue | its mutex |
/// | `ReaderPool` | LMDB's handle, its readers, and what blocks new reads | its mutex |
/// | `MapSize` | the address space of the file | the write lock |
/// | `FileSwap` | whether another file has replaced this one | the write lock |
/// | `IDAllocator` | the ids that were assigned to records | the write lock |
/// | `Outbox` | what is known of the outbox in the file | the write lock |
/// | `ChangeHub` | what commits change, and who listens | the write lock and its mutex |
/// | `CommitWatch` | the commits of other processes, while somebody listens | its mutex |
/// | `CommitLog` | the log of small commits, if there is one | its mutex |
/// | `LMDBRegistry` | the environments of the process | its mutex |
///
/// The environment connects them: writing, recovery, growth and replacement are its extensions.
///
/// **Lock order.** The write lock comes first: no thread waits for it with a mutex held. Then come
/// the mutex of `CommitLog`, which a commit holds to its end. Then come
/// the mutexes, each held for a few steps only, in this order: `CommitWatch`, registry, `ReaderPool`,
/// `WriteQueue`, and last `treeNames`, `treeFlags`, `outboxDatabase`, `recentPlaces`, `foreignReads`, `LogMailbox` and `ChangeHub` with its
/// listeners. The mutex of `AsyncWriter` comes before that of `WriteQueue`, and is held with no other one.
///
/// Unchecked, since C handles are not `Sendable`: each variable is one of the objects above, or its
/// comment says what guards it.
package final class LMDBEnvironment: @unchecked Sendable {
  struct Options: Sendable {
    var isReadOnly = false
    var durability = LMDBDurability.durable
    /// Only the process that creates the lock file decides.
    var maxReaders = 1024
    var maxDatabases = 512
    /// The number of databases in the file, which may be more than this program knows. Those of
    /// other programs must be opened too, to be kept and checked, so handles are reserved for them.
    var countDatabases: (@Sendable (String) throws -> Int)?
    /// The address space to start with; nil takes as much as the system allows, up to 64 GiB.
    var reservedMapSize: Int?
    var canCreate = true
    var allowsRemoteFileSystem = false
    /// How long growth waits for open reads, and a read for a free slot.
    var waitLimit = 5.0
    /// Checks the file before LMDB maps it: LMDB trusts every byte.
    var beforeMapping: (@Sendable (String) throws -> Void)?
    /// The age in seconds at which the log reports an open read that pins pages.
    var oldReadWarning = 10.0
    /// Refuses to read without a lock file where that would be possible.
    var needsLockFile = false
    /// Whether the file says that another one has replaced it, read without LMDB.
    var saysReplaced: (@Sendable (String) throws -> Bool)?
    /// Called when the file is mapped but not read yet, so that tests can let others write at that
    /// moment.
    var mapped: (@Sendable () -> Void)?
    /// Called at each step of a replacement, so that tests can end the process there.
    var replacing: (@Sendable (ReplacementStep) -> Void)?
    /// Whether to ask the system to tell of changes of the file. Without it, as where the system
    /// refuses, observers look for commits of others in intervals.
    var watchesFile = true
    /// Whether small commits are logged.
    var logsCommits = false
    var logLimits = CommitLogLimits()
    /// Whether the file and its log are marked as excluded from backups.
    var isExcludedFromBackup = false
    /// Receives messages about the file that no call returns.
    var log: (@Sendable (LogMessage) -> Void)?
  }

  /// The canonical path of the file.
  let path: String
  let options: Options
  /// Where messages wait until their thread is free; nil without a log.
  let post: LogMailbox?
  /// The subjects that the log reports only once.
  let loggedOnce = Locked<Set<LogSubject>>([])
  /// The file at the path; it changes when the file is replaced. Guarded by the registry, and
  /// changed by the thread that has the write lock.
  var file: FileIdentity
  /// The number of stores that have it open; guarded by the registry.
  var owners = 1
  private let forkCount: Int

  let writeQueue = WriteQueue()
  let readers: ReaderPool
  let map = MapSize()
  let fileSwap: FileSwap
  /// Passes the changes of commits to those who observe the file.
  package let changes = ChangeHub()
  /// When reads of other processes were first seen.
  let foreignReads = Locked<[ForeignRead: ReadSighting]>([:])
  /// The names of the databases that were opened since the environment was, by their handles.
  let treeNames = Locked<[UInt32: String]>([:])
  /// Their flags, which only the transaction that made one could tell the recorder.
  let treeFlags = Locked<[UInt32: UInt32]>([:])
  /// The handle of the outbox, if it was opened since the environment was.
  let outboxDatabase = Locked<LMDBDatabase?>(nil)
  /// The places of the newest commits in the log, if the store has one.
  let recentPlaces = RecentPlaces()

  // Used only by the thread that has the write lock.
  /// The ids that this process assigned to records of the file.
  private(set) var ids = IDAllocator()
  /// When dead readers are next looked for.
  var staleReaderWatch = StaleReaderWatch(lastPage: 0)
  /// When old reads are next looked for.
  var oldReadWatch = OldReadWatch(lastPage: 0)
  /// The durability that LMDB was last set to, if commits are not logged.
  var currentDurability = LMDBDurability.durable
  /// How many trees, beside those of the file, the next opening of the environment needs handles for.
  var treesToMake = 0
  /// The log of small commits; nil if they are not logged.
  var commitLog: CommitLog?
  /// Whether pages could not be used when the running write began, since they wait for a checkpoint of the log.
  var pagesWait = false
  /// Whether they can be used now, so that the write that found no room runs again.
  var hasMadeRoom = false
  /// The number of write transactions that were begun, including those that were undone.
  package internal(set) var attempts = 0
  /// Whether a write of the program has the write lock: its closure may wait for anything.
  let isProgramWriting = Atomic<Bool>(false)
  /// Whether the running write has changed something, but for what was undone. Atomic only because a
  /// check for overlapping accesses would cost more.
  let hasChanged = Atomic<Bool>(false)
  /// The same when each of the open children began.
  private var hadChanged: [Bool] = []
  /// What is known of the outbox of the file.
  let outbox = Outbox()
  /// Records the running write, if its commit is logged or goes into the outbox.
  private(set) lazy var recorder = WriteRecorder { [unowned self] tree in
    guard let name = treeNames.withLock({ $0[tree] }), let flags = treeFlags.withLock({ $0[tree] })
    else { return nil }
    return (name, flags)
  }

  init(path: String, file: FileIdentity, options: Options) throws {
    self.path = path
    self.file = file
    var options = options
    var post: LogMailbox?
    if let log = options.log {
      let made = LogMailbox(log)
      options.log = { message in made.add(message) }
      post = made
    }
    self.post = post
    self.options = options
    forkCount = ForkWatch.count
    readers = ReaderPool(path: path, self.options)
    fileSwap = FileSwap(path: path, self.options)
    let opened = try openHandle(sizes: MapSize.toReserve(options.reservedMapSize))
    try adopt(opened)
    readers.adopt(opened.handle)
    ids = IDAllocator.of(file)
    changes.foreign = CommitWatch(self)
  }

  deinit {
    // Reached with an open handle only if a process forgot to close: the descriptors must not leak.
    if let handle, !isForked {
      for reader in readers.all { reader.transaction.abort() }
      closeHandle(handle)
    }
  }

  /// True in a child process: LMDB's locks and slots belong to the parent.
  var isForked: Bool { ForkWatch.count != forkCount }

  func checkNotForked() throws {
    if isForked {
      throw LarchError(
        .forked, "The store was opened before this process was forked; open it again here."
      ) { $0.path = path }
    }
  }

  /// Sets the facts about a new handle, before anyone can use it.
  func adopt(_ opened: OpenedHandle) throws {
    do { commitLog = try opened.log.map { try makeLog($0, opened.handle) } } catch {
      Self.close(opened.handle)
      throw translated(error)
    }
    fileSwap.keepsMark = opened.keepsMark
    map.bytes = opened.mapSize
    map.start.store(0, ordering: .relaxed)
    staleReaderWatch = StaleReaderWatch(lastPage: opened.lastPage)
    oldReadWatch = OldReadWatch(lastPage: opened.lastPage)
    currentDurability = options.durability
    treeNames.withLock { $0 = [:] }
    treeFlags.withLock { $0 = [:] }
    outboxDatabase.withLock { $0 = nil }
    outbox.reset()
    // The number of a commit that failed may come again.
    recentPlaces.forget()
    mdb_env_set_userctx(opened.handle, Unmanaged.passUnretained(self).toOpaque())
  }

  /// The environment of a transaction; nil while the file is being opened or created.
  static func of(_ transaction: LMDBTransaction) -> LMDBEnvironment? {
    mdb_env_get_userctx(mdb_txn_env(transaction.pointer)).map {
      Unmanaged<LMDBEnvironment>.fromOpaque($0).takeUnretainedValue()
    }
  }

  /// LMDB's environment, for the thread that has the write lock.
  var handle: OpaquePointer? { readers.handle }

  /// Rises when the environment is reopened: all database handles and readers are then invalid.
  var generation: Int { readers.generation }

  func noteMapFull() { map.wasFull = true }

  func didBeginChild() { hadChanged.append(hasChanged.load(ordering: .relaxed)) }

  func didEndChild(isKept: Bool) {
    guard let before = hadChanged.popLast(), !isKept else { return }
    hasChanged.store(before, ordering: .relaxed)
  }

  /// Called when a write begins.
  func forgetChanges() {
    hasChanged.store(false, ordering: .relaxed)
    if !hadChanged.isEmpty { hadChanged = [] }
  }

  // MARK: Errors

  /// The public form of an error: errors of LMDB are translated, all others pass.
  func translated(_ error: any Error) -> any Error {
    (error as? LMDBError)?.larchError(path: path) ?? error
  }
}

extension LarchError {
  static func closed(_ path: String) -> LarchError {
    LarchError(.closed, "The store was closed; open it again.") { $0.path = path }
  }
}
