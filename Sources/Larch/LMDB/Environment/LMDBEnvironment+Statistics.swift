internal import CLMDB

internal import Foundation

/// A used slot of the lock table, of this process or another.
struct LMDBReaderSlot: Sendable, Equatable {
  let process: Int32
  /// The snapshot that is being read; nil if the slot is only kept for the next read.
  let snapshot: UInt64?
}

/// The space that no named database has: the free list, and the reads that pin its pages.
struct LMDBSpace: Sendable {
  var info: LMDBEnvironmentInfo
  /// The tree of the free list, and the one that lists all named databases.
  var freeList: LMDBStatistics
  var main: LMDBStatistics
  var freePages = 0
  /// Free pages that older snapshots may still read.
  var pinnedPages = 0
  var slots: [LMDBReaderSlot]
}

extension LMDBEnvironment {
  /// Every slot of the lock table that is in use.
  func readerSlots() throws -> [LMDBReaderSlot] {
    try tableLines().compactMap { line in
      guard line.count == 3, let process = Int32(line[0]) else { return nil }
      // A dash means that the slot is in use, but reads nothing.
      return LMDBReaderSlot(process: process, snapshot: UInt64(line[2]))
    }
  }

  /// The state of the file in the snapshot of a read; nil if another commit came meanwhile, since
  /// LMDB knows the length of the file only for the newest snapshot.
  func space(in transaction: LMDBTransaction) throws -> LMDBSpace? {
    let slots = try readerSlots()
    let info = try info()
    guard info.lastTransactionID == transaction.id else { return nil }
    // LMDB reuses the pages that were freed before the oldest read began, but not those of the last
    // commit, to which a crash of the next one would return.
    let oldest = slots.compactMap(\.snapshot).min() ?? transaction.id
    // The two databases that LMDB opens itself, at fixed numbers.
    let freeList = LMDBDatabase(handle: 0)
    var space = LMDBSpace(
      info: info, freeList: try freeList.statistics(in: transaction),
      main: try LMDBDatabase.main.statistics(in: transaction), slots: slots)
    var cursor = try LMDBCursor(freeList, in: transaction)
    var entry = try cursor.first()
    while let here = entry {
      // A transaction number as key; as value the number of pages, then the pages.
      guard here.key.count == MemoryLayout<UInt>.size, here.value.count >= MemoryLayout<UInt>.size
      else { throw LMDBError(MDB_CORRUPTED, "free list").larchError(path: path) }
      let freedBy = UInt64(here.key.loadUnaligned(as: UInt.self))
      // At most the pages of the file, even if the number is damaged.
      let count = min(
        Int(clamping: here.value.loadUnaligned(as: UInt.self)), info.lastPage - space.freePages)
      space.freePages += count
      if freedBy >= oldest, freedBy < transaction.id { space.pinnedPages += count }
      entry = try cursor.next()
    }
    // Another commit may have come while the header was read.
    let later = try self.info()
    guard later.lastTransactionID == transaction.id, later.lastPage == info.lastPage else {
      return nil
    }
    return space
  }

  /// Whether this is the file that the environment has open.
  func isOpen(as descriptor: Int32) throws -> Bool {
    try withHandle { handle in
      var own: Int32 = -1
      mdb_env_get_fd(handle, &own)
      var (ours, theirs) = (stat(), stat())
      guard fstat(own, &ours) == 0, fstat(descriptor, &theirs) == 0 else {
        throw translated(LMDBError(errno, "fstat"))
      }
      return FileIdentity(ours) == FileIdentity(theirs)
    }
  }
}

extension LMDBDatabase {
  /// The tree that lists the named databases; its values are their headers.
  static let main = LMDBDatabase(handle: 1)
}
