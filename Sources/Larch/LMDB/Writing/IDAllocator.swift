internal import CLMDB

internal import Foundation

/// The ids that this process assigns to the records of one file, and that no other process assigns.
///
/// A write that is undone leaves no trace in the file, but the program may still have the id in a
/// record that it saves later. So each number is assigned only once, even if its write is undone:
///
/// - within the process by memory: `next` never decreases, and all stores of a file share it, even
///   a store that is closed and opened again;
/// - between processes by locks: each id has a byte far beyond the end of the file, and only a
///   process with an exclusive lock on that byte assigns the id. The lock is taken before the id is
///   assigned, so it does not depend on the transaction. It ends with the process, as its memory
///   does. Bytes of ids up to the highest one in the file have no meaning.
///
/// The next commit writes the ids that were assigned and undone to the file (`WriteContext`).
///
/// In a copy of a shared store, whose other copies are on other machines, locks are no help: there ids come
/// from blocks (`IDBlocks`).
///
/// Unchecked, since only the thread that has the write lock uses it, or the one that closes the
/// environment when nobody else does.
final class IDAllocator: @unchecked Sendable {
  /// Ids from here on belong to the program: they do not move the assigned numbers, so that one
  /// record with the highest possible id does not use up the rest.
  static let limit: Int64 = 1 << 62

  struct Sequence {
    /// The next id; it never decreases.
    var next: Int64 = 1
    /// The highest id that was assigned, or 0.
    var assigned: Int64 = 0
    /// The bytes of the ids from `next` to here are locked; or the end of the block.
    var end: Int64 = 0
    /// The number of ids to lock at a time; it grows with each time in a transaction.
    var step: Int64 = 1
    /// The highest id that the file has noted.
    var known: Int64 = 0
    /// When an id was last assigned, in the epochs of `UndoneIDs`.
    var epoch = 0
  }

  /// By collection. Changed by the extension for blocks too.
  @exclusivity(unchecked) var sequences: [UInt32: Sequence] = [:]
  /// The blocks of a copy of a shared store; nil for all other files.
  @exclusivity(unchecked) var blocks: IDBlocks?
  /// The assigned ids that belong to no record.
  let undone: UndoneIDs
  /// The file whose bytes are locked.
  private var file: FileIdentity?
  private var descriptor: Int32 = -1
  /// Some systems have no such locks (on Darwin they conflict with `flock`). There the process
  /// knows only its own ids, and others know what the next commit notes.
  private var hasLocks = true

  /// Ids were assigned since the last commit.
  @exclusivity(unchecked) private var isPending = false
  /// Ids were assigned in a write that was undone, and the file has not noted them.
  @exclusivity(unchecked) private(set) var hasUndone = false
  /// The running transaction notes all of them.
  @exclusivity(unchecked) private var isStoringUndone = false

  init(undone: UndoneIDs = UndoneIDs()) { self.undone = undone }

  deinit { closeDescriptor() }

  private func closeDescriptor() {
    if descriptor >= 0 { close(descriptor) }
    descriptor = -1
    file = nil
  }

  // MARK: The life of a transaction

  /// Called before a transaction. Ids that were assigned but not committed were undone.
  @inline(__always)
  func begin() {
    undoPending()
    undone.begin()
    isStoringUndone = false
    blocks?.begin()
  }

  /// Called after a commit.
  @inline(__always)
  func commit() {
    isPending = false
    undone.commit()
    if isStoringUndone { hasUndone = false }
    blocks?.commit()
  }

  /// Notes that the ids that were assigned and not committed were undone.
  private func undoPending() {
    guard isPending else { return }
    isPending = false
    undone.undo(from: 1, highest: highest)
    noteUndone()
  }

  /// Notes that ids were undone.
  private func noteUndone() {
    hasUndone = true
    isStoringUndone = false
  }

  /// Notes that the ids assigned since the beginning of the running write were undone. Those of
  /// earlier writes in the same transaction are still pending.
  func undoWrite() {
    undone.undo(from: UndoneIDs.write, highest: highest)
    noteUndone()
  }

  /// Notes that the ids assigned since the beginning of the innermost savepoint were undone.
  func undoSavepoint() { undone.undoSavepoint(highest: highest) }

  /// Notes that the running transaction writes all assigned ids to the file; this counts once it is
  /// committed.
  func noteUndoneIsStored() { isStoringUndone = true }

  // MARK: Assigning

  /// Prepares a collection for assigning ids in a transaction; `known` is the highest id that the
  /// file has noted.
  func prepare(
    _ collection: UInt32, above known: Int64, in environment: LMDBEnvironment
  ) throws(LMDBError) {
    if file != environment.file { try open(environment) }
    var sequence = sequences[collection] ?? Sequence()
    sequence.known = known
    sequence.next = max(sequence.next, known + 1)
    sequence.step = 1
    sequences[collection] = sequence
  }

  /// The next id of a prepared collection; nil if all are used up.
  func assign(_ collection: UInt32) throws(LMDBError) -> Int64? {
    var sequence = sequences[collection] ?? Sequence()
    if sequence.next >= sequence.end {
      guard try blocks == nil ? claim(&sequence, of: collection) : take(&sequence, of: collection)
      else { return nil }
    }
    let id = sequence.next
    if sequence.epoch != undone.epoch {
      undone.noteAssigned(id, collection)
      sequence.epoch = undone.epoch
    }
    sequence.assigned = id
    sequence.next = id + 1
    sequences[collection] = sequence
    isPending = true
    return id
  }

  /// The highest id that was assigned, or 0.
  func highest(_ collection: UInt32) -> Int64 { sequences[collection]?.assigned ?? 0 }

  /// Notes an id that the program chose itself.
  func noteUsed(_ id: Int64, _ collection: UInt32) {
    undone.noteSaved(id, collection)
    if blocks != nil { return skip(id...id, of: collection) }
    guard id < Self.limit, id >= sequences[collection]?.next ?? 1 else { return }
    sequences[collection, default: Sequence()].next = id + 1
  }

  /// Releases the locks for ids that were not assigned, so that others can use them.
  func release(_ collection: UInt32) {
    guard blocks == nil, let sequence = sequences[collection], sequence.end > sequence.next else {
      return
    }
    sequences[collection]?.end = sequence.next
    unlock(sequence.next..<sequence.end, of: collection)
  }

  // MARK: Locks

  /// Locks the bytes of the next ids, except those that another process has locked. False if no ids
  /// are left.
  private func claim(_ sequence: inout Sequence, of collection: UInt32) throws(LMDBError) -> Bool {
    var first = sequence.next
    while true {
      guard first < Self.limit else { return false }
      let end = min(first &+ sequence.step, Self.limit)
      let bytes = IDBytes(of: first..<end, in: collection)
      if try lock(bytes) {
        if first != sequence.end {
          // A new range: of the old one, only ids that the file has not noted matter.
          unlock(1..<max(1, min(sequence.known + 1, first)), of: collection)
        }
        undone.noteSkipped(sequence.next..<first, collection)
        sequence.next = first
        sequence.end = end
        sequence.step = min(sequence.step * 2, 1 << 16)
        return true
      }
      guard let last = try holder(of: bytes) else { continue }
      first = max(first + 1, IDBytes.id(after: last, in: collection))
    }
  }

  /// Uses the bytes of the environment's current file, which may have replaced another one.
  private func open(_ environment: LMDBEnvironment) throws(LMDBError) {
    closeDescriptor()
    for collection in sequences.keys { sequences[collection]?.end = 0 }
    guard let handle = environment.handle else { throw LMDBError(EINVAL, "mdb_env_get_fd") }
    var data: Int32 = -1
    try LMDBError.check(mdb_env_get_fd(handle, &data), "mdb_env_get_fd")
    // The same open file, whatever its name is now; it stays open when LMDB closes its own.
    descriptor = fcntl(data, F_DUPFD_CLOEXEC, 0)
    guard descriptor >= 0 else { throw LMDBError(errno, "fcntl") }
    file = environment.file
  }

  /// Locks bytes; false if another process has locked one of them.
  private func lock(_ bytes: IDBytes) throws(LMDBError) -> Bool {
    guard hasLocks else { return true }
    let code = larch_lock_bytes(descriptor, bytes.start, bytes.count)
    switch code {
    case 0: return true
    case EAGAIN, EACCES: return false
    case EINVAL, ENOSYS, ENOTSUP, EOPNOTSUPP:
      hasLocks = false
      return true
    default: throw LMDBError(code, "fcntl")
    }
  }

  private func unlock(_ ids: Range<Int64>, of collection: UInt32) {
    guard hasLocks, !ids.isEmpty else { return }
    let bytes = IDBytes(of: ids, in: collection)
    larch_unlock_bytes(descriptor, bytes.start, bytes.count)
  }

  /// The last of these bytes that another process has locked; nil if none is.
  private func holder(of bytes: IDBytes) throws(LMDBError) -> Int64? {
    var (first, last) = (Int64(0), Int64(0))
    let code = larch_find_lock(descriptor, bytes.start, bytes.count, &first, &last)
    guard code >= 0 else { throw LMDBError(-code, "fcntl") }
    return code > 0 ? last : nil
  }

  /// The highest id that this process assigned, or that another one has locked: a file that
  /// replaces this one must note it.
  func highestOfAll(
    _ collection: UInt32, above known: Int64, in environment: LMDBEnvironment
  ) throws(LMDBError) -> Int64 {
    if file != environment.file { try open(environment) }
    var highest = self.highest(collection)
    guard hasLocks else { return highest }
    var first = known + 1
    while first < Self.limit,
      let last = try holder(of: IDBytes(of: first..<Self.limit, in: collection))
    {
      first = max(first + 1, IDBytes.id(after: last, in: collection))
      highest = max(highest, min(first, Self.limit) - 1)
    }
    return highest
  }

  // MARK: Closing

  /// The ids that were assigned for closed files and that these have not noted: the program may
  /// open the file again, and still have the records.
  private static let kept = Locked<[FileIdentity: IDAllocator]>([:])

  /// The state for a file that is being opened.
  static func of(_ file: FileIdentity) -> IDAllocator {
    kept.withLock { $0.removeValue(forKey: file) } ?? IDAllocator(undone: UndoneIDs.of(file))
  }

  /// Keeps what is needed when the environment is closed. The open descriptor keeps the identity of
  /// the file, so that no other file gets it.
  func closeEnvironment(of opened: FileIdentity) {
    undoPending()
    let file = file
    if let file, hasUndone {
      Self.kept.withLock { $0[file] = self }
    } else {
      // It may have assigned none, and be the one who knows of undone ids of earlier openings.
      undone.keep(for: file ?? opened)
      closeDescriptor()
    }
    Self.forgetRemovedFiles()
  }

  /// Forgets files that were removed: nobody opens them again, and the descriptors keep their
  /// space.
  static func forgetRemovedFiles() {
    let gone = kept.withLock { kept in
      let gone = kept.filter { $0.value.isFileRemoved }
      for file in gone.keys { kept[file] = nil }
      return gone
    }
    withExtendedLifetime(gone) {}
  }

  private var isFileRemoved: Bool {
    var status = stat()
    return fstat(descriptor, &status) != 0 || status.st_nlink == 0
  }
}

/// The bytes that stand for ids: the upper half of the range of locks, divided among the
/// collections. A collection with a high number shares its part with another one, and very high ids
/// share bytes with their neighbours; then some ids are skipped, but none is assigned twice.
struct IDBytes: Equatable {
  static let base: Int64 = 1 << 62
  private static let width: Int64 = 1 << 48
  /// Below this, each id has its own byte.
  private static let single: Int64 = 1 << 47

  let start: Int64
  let count: Int64

  init(of ids: Range<Int64>, in collection: UInt32) {
    let part = Self.part(collection)
    start = part + Self.code(ids.lowerBound)
    count = part + Self.code(ids.upperBound - 1) - start + 1
  }

  private static func part(_ collection: UInt32) -> Int64 {
    base + Int64(collection & 0x3FFF) * width
  }

  private static func code(_ id: Int64) -> Int64 {
    id < single ? id : single + (id >> 16) + (id & 0xFFFF == 0 ? 0 : 1)
  }

  /// The first id above all ids of a byte.
  static func id(after byte: Int64, in collection: UInt32) -> Int64 {
    let code = byte - part(collection)
    if code < single { return code + 1 }
    return code >= width ? Int64.max : max(single, (code - single) << 16) + 1
  }
}
