internal import CLMDB

/// How much of a commit must be on the disk before it returns.
package enum LMDBDurability: Int, Sendable, Comparable {
  /// Nothing: a power cut may destroy the file. For tests and for files that can be made again.
  case none
  /// All but the last header: a power cut may lose the last commit, never more, never half.
  case relaxed
  /// Everything: no acknowledged commit is lost, whatever happens.
  case durable

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

/// An open LMDB file, shared by all who open the same file in a process.
///
/// It is what LMDB leaves to its callers, in a few objects of which each has one job and its own state:
///
/// | Object | Its job | Its state is guarded by |
/// |---|---|---|
/// | `WriteQueue` | the write lock: who writes, who waits | its mutex |
/// | `ReaderPool` | LMDB's handle, its readers, and what keeps reads from beginning | its mutex |
/// | `MapSize` | how much address space the file has | the write lock |
/// | `FileExchange` | whether another file has taken the place of this one | the write lock |
/// | `GivenIDs` | the ids that were given to records | the write lock |
/// | `LMDBRegistry` | the environments of the process | its mutex |
///
/// The environment ties them together: writing, recovery, growth and exchange are its extensions.
///
/// **Lock order.** The write lock comes first: nobody waits for it with a mutex held. Then the mutexes,
/// each of which is held for a few steps only: that of the registry, that of `ReaderPool`, that of
/// `WriteQueue`. Those of `foreignReads` and of `LogPost` are taken last. The mutex of `AsyncWriter`
/// comes before that of `WriteQueue`, and is held together with no other one.
///
/// Unchecked, since C handles are not `Sendable`: what is not constant is one of the objects above, or
/// its comment says what guards it.
package final class LMDBEnvironment: @unchecked Sendable {
  struct Options: Sendable {
    var isReadOnly = false
    var durability = LMDBDurability.durable
    /// Only the process that makes the lock file decides.
    var maxReaders = 1024
    var maxDatabases = 512
    /// How many databases the file has, which may be more than this program knows: those that
    /// others made must be opened too, to be kept and proved. For them handles are added.
    var countDatabases: (@Sendable (String) throws -> Int)?
    /// The address space to start with; nil takes as much as the system gives, up to 64 GiB.
    var reservedMapSize: Int?
    var canCreate = true
    var allowsRemoteFileSystem = false
    /// How long growing waits for open reads, and a read for a free slot.
    var waitLimit = 5.0
    /// Looks at the file before LMDB maps it: LMDB trusts every byte.
    var beforeMapping: (@Sendable (String) throws -> Void)?
    /// After how many seconds the log hears of an open read that keeps pages.
    var oldReadWarning = 10.0
    /// Refuses to read without a lock file where that could be done.
    var needsLockFile = false
    /// Whether the file says that another one has taken its place, read without LMDB.
    var saysReplaced: (@Sendable (String) throws -> Bool)?
    /// Called when the file is mapped and nothing was read of it yet, so that tests can let others
    /// write just then.
    var mapped: (@Sendable () -> Void)?
    /// Called at each step of an exchange of files, so that tests can end the process there.
    var replacing: (@Sendable (ReplacementStep) -> Void)?
    /// Gets messages of what happens to the file beside what callers ask for.
    var log: (@Sendable (LogMessage) -> Void)?
  }

  /// The canonical path of the file.
  let path: String
  let options: Options
  /// Where messages wait for their thread to be free; nil where there is no log.
  let post: LogPost?
  /// The subjects of messages that the log gets only once.
  let toldOnce = Locked<Set<AnyHashable>>([])
  /// The file at the path, another one when it was exchanged. Guarded by the registry, and changed
  /// by the thread that has the write lock.
  var file: FileIdentity
  /// How many have it open; guarded by the registry.
  var owners = 1
  private let forkCount: Int

  let writeQueue = WriteQueue()
  let readers: ReaderPool
  let map = MapSize()
  let exchange: FileExchange
  /// When reads of other processes were seen first.
  let foreignReads = Locked<[ForeignRead: ReadSighting]>([:])

  // Only touched by the thread that has the write lock.
  /// What this process gave to records of the file.
  private(set) var ids = GivenIDs()
  /// When readers of dead processes are next looked for.
  var staleReaderWatch = StaleReaderWatch(lastPage: 0)
  /// When old reads are next looked for.
  var oldReadWatch = OldReadWatch(lastPage: 0)
  /// How LMDB was last told to commit.
  var currentDurability = LMDBDurability.durable

  init(path: String, file: FileIdentity, options: Options) throws {
    self.path = path
    self.file = file
    var options = options
    var post: LogPost?
    if let log = options.log {
      let made = LogPost(log)
      options.log = { message in made.add(message) }
      post = made
    }
    self.post = post
    self.options = options
    forkCount = ForkWatch.count
    readers = ReaderPool(path: path, self.options)
    exchange = FileExchange(path: path, self.options)
    let opened = try openHandle(sizes: MapSize.toReserve(options.reservedMapSize))
    adopt(opened)
    readers.adopt(opened.handle)
    ids = GivenIDs.of(file)
  }

  deinit {
    // Only reached open when a process forgot to close: the descriptors must not leak.
    if let handle, !isForked {
      for reader in readers.all { reader.transaction.abort() }
      Self.close(handle)
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

  /// Takes note of what is known of a new handle, before anyone can use it.
  func adopt(_ opened: OpenedHandle) {
    exchange.keepsMark = opened.keepsMark
    map.bytes = opened.mapSize
    staleReaderWatch = StaleReaderWatch(lastPage: opened.lastPage)
    oldReadWatch = OldReadWatch(lastPage: opened.lastPage)
    currentDurability = options.durability
    mdb_env_set_userctx(opened.handle, Unmanaged.passUnretained(self).toOpaque())
  }

  /// LMDB's environment, for the thread that has the write lock.
  var handle: OpaquePointer? { readers.handle }

  /// Rises when the environment had to be opened again: all database handles and readers are void then.
  var generation: Int { readers.generation }

  func noteMapFull() { map.wasFull = true }

  // MARK: Errors

  /// The public form of an error: LMDB's are translated, all others pass.
  func translated(_ error: any Error) -> any Error {
    guard let failure = error as? LMDBError else { return error }
    if failure.kind == .ioFailure, isOutOfRoom() {
      // LMDB reports a short write as an input or output error, and a full disk ends in one.
      return LarchError(
        .diskFull, "The disk is full, and nothing was changed; free some space, then retry.",
        underlying: failure
      ) { $0.path = path }
    }
    return failure.larchError(path: path)
  }
}

extension LarchError {
  static func closed(_ path: String) -> LarchError {
    LarchError(.closed, "The store was closed; open it again.") { $0.path = path }
  }
}
