internal import CLMDB

internal import Foundation

extension MappedTree {
  /// A tree of the file of a read, for searches in the map; nil if its pages cannot be found there.
  ///
  /// LMDB does not tell where its map begins: the page of a value and its number do. A damaged number would
  /// make every page seem to be elsewhere, outside of the map too. So the page is compared, once for each map,
  /// with what the file has at that number.
  ///
  /// - Parameter value: what LMDB keeps under the name of the database.
  init?(_ value: UnsafeRawBufferPointer, in transaction: LMDBTransaction) {
    guard let environment = mdb_txn_env(transaction.pointer) else { return nil }
    var info = MDB_envinfo()
    mdb_env_info(environment, &info)
    var statistics = MDB_stat()
    mdb_env_stat(environment, &statistics)
    let pageSize = Int(statistics.ms_psize)
    guard pageSize > 0 else { return nil }
    // Others may have made the file larger than the map since the read began.
    let lastPage = min(Int(clamping: info.me_last_pgno), info.me_mapsize / pageSize - 1)
    self.init(value, pageSize: pageSize, lastPage: lastPage)
    let map = LMDBEnvironment.of(transaction)?.map
    let start = UInt(bitPattern: self.start)
    if let map, map.start.load(ordering: .relaxed) == start { return }
    guard MappedTree.isPage(around: value, of: environment, pageSize: pageSize) else { return nil }
    map?.start.store(start, ordering: .relaxed)
  }

  /// Whether the page of a value has the bytes that the file has at its number.
  private static func isPage(
    around value: UnsafeRawBufferPointer, of environment: OpaquePointer, pageSize: Int
  ) -> Bool {
    guard let bytes = value.baseAddress else { return false }
    let page = PageHeader(base: bytes - Int(UInt(bitPattern: bytes) & UInt(pageSize &- 1)))
    guard let offset = off_t(exactly: page.number * UInt64(pageSize)) else { return false }
    var descriptor: Int32 = -1
    mdb_env_get_fd(environment, &descriptor)
    return withUnsafeTemporaryAllocation(byteCount: pageSize, alignment: 8) { stored in
      guard let start = stored.baseAddress else { return false }
      return pread(descriptor, start, pageSize, offset) == pageSize
        && memcmp(start, page.base, pageSize) == 0
    }
  }
}
