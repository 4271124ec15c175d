internal import CLMDB

internal import Foundation

/// The address space that the file is mapped into: how much it is, and how much it may be.
///
/// Only touched by the thread that has the write lock, or before anyone else can see the environment.
final class MapSize {
  var bytes = 0
  /// The transaction that runs, or its commit, found the map full.
  var wasFull = false

  /// The address space to ask for when a file is opened, in falling order. Reserving is free where
  /// addresses are not scarce: on a small device or under a limit the first sizes fail at once.
  static func toReserve(_ fixed: Int?) -> [Int] {
    if let fixed { return [max(fixed, 64 << 10)] }
    // 64, 16, 4 and 1 GiB, 256 and 64 MiB; a shift too far for the width of Int gives zero.
    return [36, 34, 32, 30, 28, 26].map { 1 << $0 }.filter { $0 > 0 }
  }

  /// What to try when the file is opened again: the old size first, since what is stored needs it.
  var toReserveAgain: [Int] { [bytes] + Self.toReserve(nil).filter { $0 < bytes } }

  /// The size to grow to; nil when the system has no more addresses.
  var next: Int? {
    for (factor, divisor) in [(2, 1), (3, 2), (5, 4)] {
      let (product, overflow) = bytes.multipliedReportingOverflow(by: factor)
      let size = product / divisor & ~0xFFFF
      if !overflow, size > bytes, Self.canMap(size) { return size }
    }
    return nil
  }

  /// The size for a file that needs so much, with room to grow where there is some. Not the size that
  /// the process reserved which made the file larger: this one may have fewer addresses.
  func size(for needed: Int) -> Int? {
    for room in [needed, needed / 4, 1 << 20] {
      let (wanted, overflow) = needed.addingReportingOverflow(room)
      let size = (max(wanted, bytes) &+ 0xFFFF) & ~0xFFFF
      if !overflow, Self.canMap(size) { return size }
    }
    return nil
  }

  /// Gives LMDB another size, while no transaction is open. When that fails, the environment has no map
  /// any more, and must be opened again.
  func resize(_ handle: OpaquePointer, to size: Int) throws(LMDBError) {
    try LMDBError.check(mdb_env_set_mapsize(handle, size), "mdb_env_set_mapsize")
    var info = MDB_envinfo()
    mdb_env_info(handle, &info)
    bytes = Int(info.me_mapsize)
  }

  /// What a map must have room for. The file is asked by its descriptor, since its name may be gone;
  /// it may be shorter than its header says, where LMDB did not write what was given back.
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
    return max(Int(status.st_size), overflow ? 0 : pages)
  }

  /// Whether the system would map so much. LMDB unmaps the old map before it tries the new one,
  /// and an environment that is left without a map crashes at the next transaction.
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
