internal import CLMDB

internal import Foundation
internal import Synchronization

/// The address space into which the file is mapped: its size and its limit.
///
/// Used only by the thread that has the write lock, or before anyone else can see the environment; but
/// `moves` and `start` by everybody.
final class MapSize {
  var bytes = 0
  /// The running transaction, or its commit, found the map full.
  var wasFull = false
  /// How often the map may have moved. It moves while no read is open, so each read sees one number.
  let moves = Atomic<Int>(0)
  /// The address of the first page; 0 until it is known.
  let start = Atomic<UInt>(0)

  /// The sizes to try when a file is opened, in falling order. Reserving is free if addresses are
  /// plentiful; on a small device or under a limit the first sizes fail at once.
  static func toReserve(_ fixed: Int?) -> [Int] {
    if let fixed { return [max(fixed, 64 << 10)] }
    // 64, 16, 4 and 1 GiB, 256 and 64 MiB; a shift beyond the width of Int gives zero.
    return [36, 34, 32, 30, 28, 26].map { 1 << $0 }.filter { $0 > 0 }
  }

  /// The sizes to try at a reopening: the old size first, since the stored data needs it.
  var sizesForReopening: [Int] { [bytes] + Self.toReserve(nil).filter { $0 < bytes } }

  /// The size to grow to; nil if the system has no more addresses.
  var next: Int? {
    for (factor, divisor) in [(2, 1), (3, 2), (5, 4)] {
      let (product, overflow) = bytes.multipliedReportingOverflow(by: factor)
      let size = product / divisor & ~0xFFFF
      if !overflow, size > bytes, Self.canMap(size) { return size }
    }
    return nil
  }

  /// The size for a file of a given length, with room to grow if possible. It is not the size that
  /// the other process reserved: this one may have fewer addresses.
  func size(for needed: Int) -> Int? {
    for room in [needed, needed / 4, 1 << 20] {
      let (wanted, overflow) = needed.addingReportingOverflow(room)
      let size = (max(wanted, bytes) &+ 0xFFFF) & ~0xFFFF
      if !overflow, Self.canMap(size) { return size }
    }
    return nil
  }

  /// Gives LMDB another size, while no transaction is open. If that fails, the environment has no
  /// map any more and must be reopened.
  func resize(_ handle: OpaquePointer, to size: Int) throws(LMDBError) {
    moves.add(1, ordering: .relaxed)
    start.store(0, ordering: .relaxed)
    try LMDBError.check(mdb_env_set_mapsize(handle, size), "mdb_env_set_mapsize")
    var info = MDB_envinfo()
    mdb_env_info(handle, &info)
    bytes = Int(info.me_mapsize)
  }

  /// The length for which the map must have room. The file is measured by its descriptor, since its
  /// name may be gone. It may be shorter than its header says, because LMDB does not write pages
  /// that were given back.
  static func needed(_ handle: OpaquePointer) throws(LMDBError) -> Int {
    var descriptor: Int32 = -1
    mdb_env_get_fd(handle, &descriptor)
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw LMDBError(errno, "fstat") }
    var info = MDB_envinfo()
    mdb_env_info(handle, &info)
    var statistics = MDB_stat()
    mdb_env_stat(handle, &statistics)
    let (pages, overflow) = (Int(info.me_last_pgno) &+ 1)
      .multipliedReportingOverflow(by: Int(statistics.ms_psize))
    // Whoever asks for so much would ask again and again.
    if overflow || pages < 0 { throw LMDBError(MDB_CORRUPTED, "mdb_env_info") }
    return max(Int(status.st_size), pages)
  }

  /// Whether the system would map this much. LMDB unmaps the old map before it tries the new one,
  /// and an environment without a map crashes at the next transaction.
  private static func canMap(_ size: Int) -> Bool {
    #if canImport(Darwin)
      let flags = MAP_PRIVATE | MAP_ANON
    #else
      let flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE
    #endif
    guard let probe = mmap(nil, size, PROT_NONE, flags, -1, 0), probe != MAP_FAILED else {
      return false
    }
    munmap(probe, size)
    return true
  }
}
