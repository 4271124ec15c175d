/// The outbox of a file as a write sees it.
///
/// A store with an outbox keeps in its own file what others are to get: each commit puts its changes
/// into the tree `larch.outbox` in its own transaction. So no commit can be in the file and not in the
/// outbox, or twice, whatever happens to the process. Whoever ships the entries removes them later.
///
/// Used only by the thread that has the write lock; a thread that follows a log also asks for the order, which is there
/// before it begins and until it has ended. Every write asks it, also where there is no outbox: so nothing of
/// a header is copied to learn whether there is one.
final class Outbox {
  /// Who begins the running write.
  enum Purpose {
    /// Its changes are recorded. In a follower it is refused.
    case ordinary
    /// It changes the outbox itself, or the file as a whole; nothing is recorded.
    case upkeep
  }

  /// How much may wait to be shipped before entries are dropped, if the store itself is not larger: a copy
  /// of all pairs would be shipped sooner then. Tests choose less.
  var limit = 1 << 30
  /// How many bytes of changes a commit may have. Tests choose less.
  var entryLimit = OutboxTree.entryLimit
  @exclusivity(unchecked) var purpose = Purpose.ordinary
  /// Whether a commit that is too large for an entry drops the entries, instead of being refused: for
  /// work that cannot be done in smaller steps.
  @exclusivity(unchecked) var isIndivisible = false

  /// The snapshot that was looked through for an outbox, and for the mark of a replaced file.
  ///
  /// As long as the next write follows it directly, nobody else has committed, and nothing is searched.
  @exclusivity(unchecked) private(set) var provenSnapshot = UInt64.max
  /// The tree in that snapshot; nil if there is none.
  private(set) var tree: OutboxTree?
  private(set) var header: OutboxHeader? { didSet { hasHeader = header != nil } }
  @exclusivity(unchecked) private(set) var hasHeader = false
  /// What the header will be after the commit, if it changes.
  private var pending: OutboxHeader?
  @exclusivity(unchecked) private var isPending = false

  /// Where a copy of a shared store puts its commits; nil for all other stores.
  @exclusivity(unchecked) var order: CommitOrder?
  /// Why the running write must run again.
  var obstacle: WriteObstacle?
  /// The entry of the running commit, once it is in the log.
  var appended: LogEntry? { didSet { isAppended = appended != nil } }
  @exclusivity(unchecked) private(set) var isAppended = false

  /// Forgets what is known of a file.
  func reset() {
    provenSnapshot = .max
    tree = nil
    header = nil
    forgetPending()
  }

  /// Whether the state before a write is known.
  @inline(__always)
  func isProven(for write: UInt64) -> Bool { provenSnapshot &+ 1 == write }

  func prove(_ snapshot: UInt64, _ tree: OutboxTree?, _ header: OutboxHeader?) {
    provenSnapshot = snapshot
    self.tree = tree
    self.header = header
    forgetPending()
  }

  /// Called before a write.
  @inline(__always)
  func begin() { if isPending { forgetPending() } }

  private func forgetPending() {
    pending = nil
    isPending = false
  }

  /// Notes the header, or nil for none, with which the running write will leave the file.
  func willCommit(_ header: OutboxHeader?) {
    pending = header
    isPending = true
  }

  /// Called after a commit.
  @inline(__always)
  func didCommit(_ transaction: UInt64) {
    if !isPending, isProven(for: transaction) {
      provenSnapshot = transaction
    } else {
      adopt(transaction)
    }
  }

  @inline(never)
  private func adopt(_ transaction: UInt64) {
    // The state before was not known, or the tree is new: its handle is opened in a transaction of its own.
    guard isPending, tree != nil else { return reset() }
    provenSnapshot = transaction
    header = pending
    forgetPending()
  }
}

extension LMDBEnvironment {
  /// Who learns of a write that begins.
  @inline(__always)
  func beginWatching() -> TransactionWatcher? {
    isRecording ? beginRecording() : changes.begin()
  }

  @inline(__always)
  private var isRecording: Bool { commitLog != nil || outbox.hasHeader }

  @inline(never)
  private func beginRecording() -> TransactionWatcher? {
    let forOutbox = outbox.hasHeader && outbox.purpose == .ordinary
    guard forOutbox || commitLog != nil else { return changes.begin() }
    let limit = outbox.header?.isPaused == false ? outbox.entryLimit : 0
    recorder.begin(
      limit: max(forOutbox ? limit : 0, commitLog?.limits.record ?? 0), observer: changes.begin())
    return recorder
  }

  /// Checks what the state before a write says of all writers: whether another file has replaced this
  /// one, and whether commits are recorded. Nobody else can commit meanwhile.
  ///
  /// - Returns: false if the file was replaced.
  @inline(__always)
  func prove(_ transaction: LMDBTransaction) throws -> Bool {
    let id = transaction.id
    outbox.begin()
    if !outbox.isProven(for: id), try !lookThrough(transaction, id) { return false }
    if outbox.hasHeader, let role = outbox.header?.role, role != .writer,
      outbox.purpose == .ordinary
    {
      if role != .shared { throw refusal(role) }
      if outbox.order == nil { throw notJoined() }
    }
    return true
  }

  /// - Throws: `OutboxHandleMissing` if the outbox was never opened in this process.
  @inline(never)
  private func lookThrough(_ transaction: LMDBTransaction, _ id: UInt64) throws -> Bool {
    if try fileSwap.isSuperseded(transaction) { return false }
    guard try LMDBDatabase.exists(OutboxTree.name, in: transaction) else {
      outbox.prove(id &- 1, nil, nil)
      return true
    }
    guard let database = outboxDatabase.withLock({ $0 }) else { throw OutboxHandleMissing() }
    let tree = OutboxTree(database: database, path: path)
    do {
      outbox.prove(id &- 1, tree, try tree.header(in: transaction))
    } catch let error as LarchError where error.code == .corrupted {
      if outbox.purpose == .ordinary { throw error }
      // Who mends the outbox must get so far. For others, the state stays unknown.
      outbox.prove(.max, tree, nil)
    }
    return true
  }

  /// Opens the handle of the outbox, with the write lock held and no write open.
  func openOutbox() throws {
    let path = path
    let database = try writeQueue.lending {
      try openDatabases { try OutboxTree.open(in: $0, path: path)?.database }
    }
    outboxDatabase.withLock { $0 = database }
  }

  private func refusal(_ role: OutboxRole) -> LarchError {
    if role == .superseded {
      return LarchError(
        .diverged,
        "Another store continues the log of this one, which cannot be written any more; open that one. Commits that were not shipped are in this file: `larch mirror … --name NEW --replace` makes it a store with a log of its own."
      ) { $0.path = path }
    }
    return LarchError(
      .readOnly,
      "The store follows another one, so it cannot be written; write at the other one, or promote this store."
    ) { $0.path = path }
  }

  // MARK: Commits

  /// Puts the changes of a write that is about to commit into the outbox, if there is one.
  ///
  /// - Throws: the transaction must be aborted then.
  @inline(__always)
  func recordInOutbox(_ transaction: LMDBTransaction) throws {
    if outbox.hasHeader, outbox.purpose == .ordinary { try addEntry(transaction) }
  }

  @inline(never)
  private func addEntry(_ transaction: LMDBTransaction) throws {
    guard let tree = outbox.tree, var header = outbox.header else { throw OutboxHandleMissing() }
    let write = OutboxWrite(transaction, recorder: commitLog == nil ? nil : recorder)
    if header.role == .shared { return try appendShared(header, tree, transaction, by: write) }
    guard recorder.operations > 0 || recorder.isLarge else { return }
    if header.isPaused {
      header.moveUnrecorded()
    } else if let changes = recorder.changes(), changes.count <= outbox.entryLimit {
      let entry = LogEntry(after: header.place, random: header.random, changes: changes)
      header.place = entry.place
      let waiting = Int(clamping: header.bytes) + changes.count
      if waiting > max(outbox.limit, transaction.lastPage * 4096 / 2) {
        try restart(&header, tree, "Too much waited to be shipped", by: write)
      } else {
        try tree.add(entry, by: write)
        header.bytes += UInt64(changes.count)
      }
    } else {
      guard outbox.isIndivisible else { throw outboxEntryTooLarge() }
      try restart(&header, tree, "A commit was too large for the outbox", by: write)
      header.moveUnrecorded()
    }
    try tree.set(header, by: write)
    outbox.willCommit(header)
  }

  /// Drops the entries. A copy of all pairs must follow, and until then commits are not recorded.
  private func restart(
    _ header: inout OutboxHeader, _ tree: OutboxTree, _ reason: StaticString, by write: OutboxWrite
  ) throws {
    try tree.empty(by: write)
    header.restart(isPaused: true)
    options.log?(
      LogMessage(
        .warning, .outboxDropped,
        "What waited to be shipped was dropped; the mirror will copy the whole store."
      ) {
        $0.path = path
        $0.detail = "\(reason)"
      })
  }

  func outboxEntryTooLarge() -> LarchError {
    LarchError(
      .commitTooLarge,
      "The write changes more than one entry of the mirror's log can hold; write in smaller batches."
    ) {
      $0.path = path
      $0.detail = "limit of \(outbox.entryLimit) bytes"
    }
  }
}

extension OutboxHeader {
  /// Moves to the place of a commit that is not recorded. It is one of this writer, which knows it again.
  mutating func moveUnrecorded() { moveUnrecorded(random) }

  private mutating func moveUnrecorded(_ random: UInt64) {
    // In place of the changes, so that another commit has another token.
    let number = withUnsafeBytes(of: UInt64.random(in: 0 ... .max)) { [UInt8]($0) }
    place = LogEntry(after: place, random: random, changes: number).place
    leaveShipped()
    shipped = place
  }

  /// Takes the place after a restoration, which what the server has does not lead to.
  mutating func moveToRestored() {
    moveUnrecorded(.random(in: 1 ... .max))
    restart(isPaused: false)
    isRestored = true
  }

  /// Says that no entry is kept, and that the server needs all pairs.
  mutating func restart(isPaused: Bool) {
    leaveShipped()
    shipped = place
    bytes = 0
    self.isPaused = isPaused
  }
}
