internal import CLMDB
internal import Synchronization

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
/// It owns what LMDB leaves to its callers: one environment a file and process, the turn of the
/// writer, the parked read transactions, the growth of the map, and the recovery of an environment
/// that LMDB has given up.
///
/// Unchecked, since C handles are not `Sendable`: every variable below is guarded by `mutex`,
/// except where its comment says otherwise.
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
    /// Runs the body of each write once more than needed and undoes that run, so that tests meet
    /// what else happens only when the map is full.
    var rehearsesWrites = false
    /// Looks at the file before LMDB maps it: LMDB trusts every byte.
    var beforeMapping: (@Sendable (String) throws -> Void)?
    /// After how many seconds an open read that keeps pages is told to the log.
    var oldReadWarning = 10.0
    /// Refuses to read without a lock file where that could be done.
    var needsLockFile = false
    /// Whether the file says that another one has taken its place, read without LMDB.
    var saysReplaced: (@Sendable (String) throws -> Bool)?
    /// Called when the file is mapped and nothing was read of it yet, so that tests can let others
    /// write just then.
    var mapped: (@Sendable () -> Void)?
    /// Told how far an exchange of files is, so that tests can end the process there.
    var replacing: (@Sendable (ReplacementStep) -> Void)?
    /// Told what happens to the file beside what callers ask for.
    var log: (@Sendable (LogMessage) -> Void)?
  }

  /// What keeps transactions from beginning.
  struct Blockers: OptionSet {
    let rawValue: UInt8
    /// The last owner has closed it.
    static let closed = Self(rawValue: 1)
    /// The map is about to move: no read may live.
    static let exclusive = Self(rawValue: 2)
    /// LMDB has given the environment up; it must be opened anew.
    static let poisoned = Self(rawValue: 4)
  }

  /// The canonical path of the file.
  let path: String
  let options: Options
  /// Where messages wait for their thread to be free; nil where there is no log.
  let post: LogPost?
  /// The file at the path, another one when it was exchanged. Guarded by the registry, and changed
  /// by the thread whose turn it is.
  @exclusivity(unchecked) var file: FileIdentity
  private let forkCount: Int
  private let generations = Atomic<Int>(0)

  let mutex = SystemMutex()
  /// Told when a read has ended while someone waits for it, and when `blockers` shrinks.
  let readsChanged = SystemCondition()

  // Beginning and ending a read touch these: the mutex gives the exclusive access that the runtime
  // would otherwise look up in a table each time.
  @exclusivity(unchecked) var handle: OpaquePointer?
  @exclusivity(unchecked) var blockers: Blockers = []
  var mapSize = 0

  /// Readers and other uses of the handle that must end before the map may move.
  @exclusivity(unchecked) var activeUses = 0
  /// Every reader that has a slot, at work or parked.
  var readers: [LMDBReader] = []
  @exclusivity(unchecked) var parkedReaders: [LMDBReader] = []
  @exclusivity(unchecked) var slotWaiters = 0
  /// Reads that last beyond the call that began them.
  @exclusivity(unchecked) var heldReads: [LMDBHeldRead] = []
  /// When old reads are looked for again, on the clock of `MonotonicTime`.
  @exclusivity(unchecked) var nextWatch: Int64 = 0
  /// When reads of other processes were seen first.
  var foreignReads: [ForeignRead: ReadSighting] = [:]

  /// The thread whose turn to write it is, or 0.
  var writingThread: UInt = 0
  var waitingWriters: [LMDBTurn] = []
  /// Whether the thread whose turn it is may take it once more.
  @exclusivity(unchecked) var isTurnLent = false
  /// How many turns to write were ever asked for.
  @exclusivity(unchecked) var turnsAsked: UInt64 = 0
  /// Where the write was asked for whose turn it is, for the log; nil where nobody asks.
  @exclusivity(unchecked) var turnPlace: CodePlace?

  // Only touched by the thread whose turn it is.
  /// What this turn waited for; nil where it did not.
  @exclusivity(unchecked) var turnWait: LMDBWait?
  var attemptHitFullMap = false
  var readerWatch = ReaderWatch(lastPage: 0)
  /// The last page of the file when reads of other processes were last looked for.
  var lastWatchedPage = 0
  /// The file was found to be replaced: the one that is at the path now is the store.
  var isReplaced = false
  /// The file has a mark that means nothing and cannot be taken away.
  @exclusivity(unchecked) var keepsMark = false
  /// What this process gave to records of the file.
  @exclusivity(unchecked) private(set) var ids = GivenIDs()
  /// How LMDB was last told to commit.
  var currentDurability = LMDBDurability.durable

  /// How many have it open; guarded by the registry.
  var owners = 1

  /// Rises when the environment had to be opened anew: all handles and readers are void then.
  var generation: Int { generations.load(ordering: .acquiring) }

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
    let opened = try openHandle(sizes: Self.mapSizes(options.reservedMapSize))
    adopt(opened)
    ids = GivenIDs.of(file)
  }

  deinit {
    // Only reached open when a process forgot to close: the descriptors must not leak.
    if let handle, !isForked {
      for reader in readers { reader.transaction.abort() }
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

  /// Takes a new LMDB handle into use, with the mutex held or before anyone else can see it.
  func adopt(_ opened: OpenedHandle) {
    keepsMark = opened.keepsMark
    handle = opened.handle
    mapSize = opened.mapSize
    readerWatch = ReaderWatch(lastPage: opened.lastPage)
    lastWatchedPage = opened.lastPage
    currentDurability = options.durability
    mdb_env_set_userctx(opened.handle, Unmanaged.passUnretained(self).toOpaque())
  }

  func raiseGeneration() { generations.add(1, ordering: .releasing) }

  func noteMapFull() { attemptHitFullMap = true }

  var isIdle: Bool { activeUses == 0 && writingThread == 0 && waitingWriters.isEmpty }

  // MARK: Errors

  func closedError() -> LarchError {
    LarchError(.closed, "The store was closed; open it again.") { $0.path = path }
  }

  /// The public form of an error: LMDB's are translated, all others pass.
  func translated(_ error: any Error) -> any Error {
    guard let failure = error as? LMDBError else { return error }
    if failure.kind == .ioFailure, isOutOfRoom() {
      // LMDB reports a short write as an input or output error, and a full disk ends in one.
      return LarchError(
        .diskFull, "There is no room left on the disk; nothing was changed, free some and retry.",
        underlying: failure
      ) { $0.path = path }
    }
    return failure.larchError(path: path)
  }
}
