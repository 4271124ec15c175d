/// One of the two meta pages at the beginning of the file.
struct MetaPage: Equatable {
  let slot: Int
  let pageNumber: UInt64
  let pageFlags: UInt16
  let magic: UInt32
  let version: UInt32
  let mapSize: UInt64
  let freeList: DatabaseRecord
  let main: DatabaseRecord
  let lastPage: UInt64
  let transaction: UInt64

  /// The caller must pass at least `PageLayout.metaEnd` bytes.
  init(slot: Int, _ bytes: UnsafeRawPointer) {
    self.slot = slot
    let header = PageHeader(base: bytes)
    pageNumber = header.number
    pageFlags = header.flags
    let body = bytes + PageLayout.headerSize
    magic = body.uint32(0)
    version = body.uint32(4)
    mapSize = body.uint64(16)
    freeList = DatabaseRecord(body + 24)
    main = DatabaseRecord(body + 24 + PageLayout.databaseRecordSize)
    lastPage = body.uint64(24 + 2 * PageLayout.databaseRecordSize)
    transaction = body.uint64(32 + 2 * PageLayout.databaseRecordSize)
  }

  /// The page size is in the padding of the free list's header.
  var pageSize: Int { Int(freeList.pad) }

  /// Whether it has the marks that LMDB checks when it opens the file.
  var isMeta: Bool { pageFlags & PageLayout.meta != 0 && magic == PageLayout.magic }

  /// Whether it says that the store is whole only together with its commit log.
  var isMarked: Bool { version == PageLayout.markedVersion }

  var hasUsablePageSize: Bool {
    PageLayout.pageSizes.contains(pageSize) && pageSize & (pageSize - 1) == 0
  }

  /// The first wrong field among those that do not depend on the other meta page.
  var fault: StaticString? {
    if pageFlags != PageLayout.meta { return "a header page has wrong flags" }
    if pageNumber != UInt64(slot) { return "a header page has a wrong number" }
    if !hasUsablePageSize { return "the page size is impossible" }
    // Integer keys, with or without LMDB's mark for a file without a directory of its own. Any
    // other flag would make LMDB misread its free list.
    if freeList.flags & ~0x4000 != 0x08 { return "the free list has wrong flags" }
    if main.flags != 0 { return "the main tree has wrong flags" }
    if mapSize == 0 || mapSize > PageLayout.maximumMapSize { return "the map size is impossible" }
    if lastPage < 1 || lastPage > UInt64(Int64.max) / UInt64(pageSize) - 1 {
      return "the last page number is impossible"
    }
    if transaction > UInt64(Int64.max) { return "the transaction number is impossible" }
    // LMDB finds the meta page of a transaction by the lowest bit of its number; only in a new file
    // do both pages have number 0.
    if transaction & 1 != UInt64(slot), transaction != 0 {
      return "a transaction number is in the wrong header page"
    }
    for tree in [freeList, main] {
      if tree.depth > PageLayout.maximumDepth { return "a tree is too deep" }
      if (tree.root == PageLayout.noPage) != (tree.depth == 0) {
        return "the root and depth of a tree contradict each other"
      }
      if tree.root < 2 { return "the root of a tree is not in the file" }
    }
    return nil
  }

  /// Reads both meta pages, with one small read if the page size is the usual one.
  ///
  /// The second one is nil if the file is too short for it.
  static func readPair(_ file: PageFile) throws -> (first: MetaPage, second: MetaPage?)? {
    let usual = PageLayout.pageSizes.lowerBound
    return try withUnsafeTemporaryAllocation(
      byteCount: usual + PageLayout.metaEnd, alignment: 8
    ) { buffer in
      guard let got = file.read(at: 0, into: buffer) else { throw file.ioError(5) }
      guard got >= PageLayout.metaEnd, let base = buffer.baseAddress else { return nil }
      let first = MetaPage(slot: 0, UnsafeRawPointer(base))
      // If the first one is damaged, the second is expected at the usual page size.
      let size = first.isMeta && first.hasUsablePageSize ? first.pageSize : usual
      if size == usual {
        guard got == buffer.count else { return (first, nil) }
        return (first, MetaPage(slot: 1, UnsafeRawPointer(base + usual)))
      }
      let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[..<PageLayout.metaEnd])
      guard let more = file.read(at: UInt64(size), into: rest) else { throw file.ioError(5) }
      guard more == rest.count else { return (first, nil) }
      return (first, MetaPage(slot: 1, UnsafeRawPointer(base)))
    }
  }
}
