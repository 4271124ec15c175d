#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// Visits everything that a meta page reaches: the free list, the main tree, every named database,
/// every tree of duplicates and every overflow run.
///
/// Each page is marked in a bitmap before it is read, so the time is linear in the size of the
/// file, whatever its bytes are. The memory is the bitmap and one page per level. It is not
/// thread-safe.
final class PageWalk {
  /// The kind of entries of a tree.
  enum Kind: Equatable {
    case freeList
    case main
    case plain
    case duplicates(isFixed: Bool)
    /// The values of one key; the size is 0 unless all have the same length.
    case values(size: Int)
  }

  struct Totals {
    var branch: UInt64 = 0
    var leaf: UInt64 = 0
    var overflow: UInt64 = 0
    var entries: UInt64 = 0
  }

  let file: PageFile
  let meta: MetaPage
  let pageSize: Int
  let pageCount: UInt64
  let readablePages: UInt64
  let maximumNodeSize: Int
  var report = PageReport()
  var claimedBeyondEnd: UInt64 = 0
  /// The length of every value of the current database, if all have the same length.
  private var fixedSize: Int?
  var pageTiles: NodeTiles
  var innerTiles: NodeTiles
  private let claimed: UnsafeMutablePointer<UInt64>
  private var frames: [UnsafeMutableRawPointer] = []
  private var frameCount = 0

  init(file: PageFile, meta: MetaPage) throws {
    self.file = file
    self.meta = meta
    pageSize = meta.pageSize
    pageCount = meta.lastPage + 1
    readablePages = file.length / UInt64(pageSize)
    maximumNodeSize = PageLayout.maximumNodeSize(pageSize: pageSize)
    // A page that is missing at the end needs eight bytes in the free list, so the bitmap cannot
    // become larger than the file allows.
    if pageCount > readablePages, pageCount - readablePages > file.length / 8 {
      throw LarchError(
        .truncated, "The file is shorter than its header says; restore a backup, or salvage it."
      ) { $0.path = file.path }
    }
    guard let words = Int(exactly: pageCount / 64 + 1),
      let memory = calloc(words, MemoryLayout<UInt64>.size)
    else {
      throw LarchError(.storage, "There is not enough memory to check a file of this length.") {
        $0.path = file.path
      }
    }
    claimed = memory.assumingMemoryBound(to: UInt64.self)
    pageTiles = NodeTiles(size: pageSize)
    innerTiles = NodeTiles(size: pageSize)
  }

  deinit {
    free(claimed)
    for frame in frames { frame.deallocate() }
    pageTiles.deallocate()
    innerTiles.deallocate()
  }

  func run() throws(PageFault) -> PageReport {
    report.pageSize = pageSize
    report.transaction = meta.transaction
    report.pages = pageCount
    _ = try walkTree(meta.freeList, at: UInt64(meta.slot), .freeList)
    report.entries &+= try walkTree(meta.main, at: UInt64(meta.slot), .main)
    return report
  }

  /// Whether the free list has every page that is missing at the end of the file.
  func freeListCoversMissingPages() -> Bool {
    guard (try? walkTree(meta.freeList, at: UInt64(meta.slot), .freeList)) != nil else {
      return false
    }
    return claimedBeyondEnd == pageCount - readablePages
  }

  // MARK: Pages

  /// Notes that a page is used or free; it may be noted only once.
  @inline(__always)
  func claim(_ number: UInt64, isFree: Bool = false) throws(PageFault) {
    guard number >= 2, number < pageCount else {
      throw PageFault(number, "a page number is outside the file")
    }
    let word = Int(number / 64)
    let bit: UInt64 = 1 << (number & 63)
    guard claimed[word] & bit == 0 else {
      throw PageFault(number, "a page is used twice, or both free and used")
    }
    claimed[word] |= bit
    if isFree {
      report.freePages &+= 1
      if number >= readablePages { claimedBeyondEnd &+= 1 }
    } else {
      report.usedPages &+= 1
      guard number < readablePages else {
        throw PageFault(number, "a page in use is beyond the end of the file")
      }
    }
  }

  func read(_ offset: UInt64, _ buffer: UnsafeMutableRawBufferPointer, page: UInt64)
    throws(PageFault)
  {
    guard let got = file.read(at: offset, into: buffer) else {
      throw PageFault(page, "a page cannot be read from the disk")
    }
    guard got == buffer.count else { throw PageFault(page, "a page is cut off") }
  }

  /// Visits a tree and compares its header with it; returns the number of entries.
  func walkTree(_ tree: DatabaseRecord, at page: UInt64, _ kind: Kind) throws(PageFault) -> UInt64 {
    guard tree.root != PageLayout.noPage else {
      guard tree.depth == 0, tree.branchPages == 0, tree.leafPages == 0, tree.overflowPages == 0,
        tree.entries == 0
      else { throw PageFault(page, "an empty tree has counters that are not zero") }
      return 0
    }
    guard tree.depth >= 1, tree.depth <= PageLayout.maximumDepth else {
      throw PageFault(page, "a tree has an impossible depth")
    }
    var totals = Totals()
    try walkPage(tree.root, levels: tree.depth, above: nil, below: nil, kind, &totals)
    guard totals.branch == tree.branchPages, totals.leaf == tree.leafPages,
      totals.overflow == tree.overflowPages, totals.entries == tree.entries
    else { throw PageFault(page, "the counters of a tree do not match its pages") }
    return totals.entries
  }

  /// Visits a page and all pages below it. Keys must be at least `above` and less than `below`.
  ///
  /// The recursion depth is at most the levels of three trees: main, named, duplicates.
  func walkPage(
    _ number: UInt64, levels: Int, above: UnsafeRawBufferPointer?, below: UnsafeRawBufferPointer?,
    _ kind: Kind, _ totals: inout Totals
  ) throws(PageFault) {
    try claim(number)
    if frameCount == frames.count {
      frames.append(.allocate(byteCount: pageSize, alignment: 16))
    }
    let frame = frames[frameCount]
    frameCount += 1
    defer { frameCount -= 1 }
    try read(
      number &* UInt64(pageSize), UnsafeMutableRawBufferPointer(start: frame, count: pageSize),
      page: number)
    let page = PageHeader(base: UnsafeRawPointer(frame))
    guard page.number == number else { throw PageFault(number, "a page has a wrong number") }
    if levels > 1 {
      guard page.flags == PageLayout.branch else {
        throw PageFault(number, "expected a branch page")
      }
      totals.branch &+= 1
      let count = try checkBranch(page, number, kind)
      var lower = above
      for index in 0..<count {
        let child = PageNode(base: page.base + page.offset(index)).child
        let upper = index + 1 < count ? PageNode(base: page.base + page.offset(index + 1)).key : nil
        try walkPage(
          child, levels: levels - 1, above: lower, below: upper ?? below, kind, &totals)
        lower = upper
      }
      return
    }
    totals.leaf &+= 1
    if case .values(let size) = kind, size > 0 {
      guard page.flags == PageLayout.fixedLeaf else {
        throw PageFault(number, "expected a leaf page of values of equal length")
      }
      try checkFixed(page, size: pageSize, valueSize: size, above: above, below: below, number)
      totals.entries &+= UInt64(page.count)
      return
    }
    guard page.flags == PageLayout.leaf else {
      throw PageFault(number, "expected a leaf page")
    }
    let needsSecondPass = try checkLeaf(
      page, number, above: above, below: below, kind, &totals)
    if needsSecondPass { try walkNodes(page, number, kind, &totals) }
  }

  /// Visits the pages below a leaf page whose nodes were checked.
  private func walkNodes(
    _ page: PageHeader, _ number: UInt64, _ kind: Kind, _ totals: inout Totals
  ) throws(PageFault) {
    for index in 0..<page.count {
      let node = PageNode(base: page.base + page.offset(index))
      let flags = node.flags
      if kind == .freeList {
        try walkFreeRecord(node, number, &totals)
      } else if flags == PageLayout.bigData {
        _ = try walkOverflow(node, &totals)
      } else if flags & PageLayout.subData != 0 {
        let tree = DatabaseRecord(node.value)
        if kind == .main {
          report.databases &+= 1
          report.entries &+= try walkTree(tree, at: number, try namedKind(tree, number))
        } else if case .duplicates(let isFixed) = kind {
          let entries = try walkTree(tree, at: number, try valuesKind(tree, isFixed, number))
          guard entries > 0 else { throw PageFault(number, "a key has no values") }
          totals.entries &+= entries
        }
      }
    }
  }

  private func namedKind(_ tree: DatabaseRecord, _ page: UInt64) throws(PageFault) -> Kind {
    switch tree.flags {
    case 0: return .plain
    case 0x04: return .duplicates(isFixed: false)
    case 0x14:
      fixedSize = nil
      return .duplicates(isFixed: true)
    default:
      // Larch does not use these; LMDB would compare their keys in another order.
      throw PageFault(page, "a database has flags that Larch never uses")
    }
  }

  private func valuesKind(
    _ tree: DatabaseRecord, _ isFixed: Bool, _ page: UInt64
  ) throws(PageFault) -> Kind {
    guard tree.flags == (isFixed ? 0x10 : 0) else {
      throw PageFault(page, "a tree of duplicates has wrong flags")
    }
    guard isFixed else { return .values(size: 0) }
    guard tree.pad >= 1, tree.pad <= PageLayout.maximumKeySize else {
      throw PageFault(page, "a tree of duplicates has an impossible value size")
    }
    try checkFixedSize(Int(tree.pad), page)
    return .values(size: Int(tree.pad))
  }

  /// For a new value, LMDB uses the length of an existing value beside it, and would copy past the
  /// end of the file if that is wrong.
  func checkFixedSize(_ size: Int, _ page: UInt64) throws(PageFault) {
    guard size == fixedSize ?? size else {
      throw PageFault(page, "values differ in length where they must not")
    }
    fixedSize = size
  }

  // MARK: Overflow runs

  /// Marks the run of a large value and returns its first page.
  func walkOverflow(_ node: PageNode, _ totals: inout Totals) throws(PageFault) -> UInt64 {
    let first = node.value.uint64(0)
    try claim(first)
    var header: (UInt64, UInt64) = (0, 0)
    do {
      try withUnsafeMutableBytes(of: &header) { bytes throws(PageFault) in
        try read(first &* UInt64(pageSize), bytes, page: first)
      }
    }
    let (flags, pages) = withUnsafeBytes(of: &header) { bytes in
      guard let base = bytes.baseAddress else { return (UInt16(0), UInt64(0)) }
      let page = PageHeader(base: base)
      return (page.flags, page.overflowPages)
    }
    guard header.0 == first else { throw PageFault(first, "a page has a wrong number") }
    guard flags == PageLayout.overflow else {
      throw PageFault(first, "expected an overflow page")
    }
    // A value that was replaced by a shorter one keeps its run.
    let needed = PageLayout.overflowPages(valueSize: node.valueSize, pageSize: pageSize)
    guard pages >= needed else {
      throw PageFault(first, "an overflow run is shorter than its value")
    }
    guard pages <= pageCount &- first else {
      throw PageFault(first, "an overflow run goes beyond the end of the file")
    }
    for page in (first &+ 1)..<(first &+ max(1, pages)) { try claim(page) }
    totals.overflow &+= pages
    return first
  }

  // MARK: The free list

  /// Marks the pages of a record of the free list: a count and page numbers, highest first.
  private func walkFreeRecord(
    _ node: PageNode, _ number: UInt64, _ totals: inout Totals
  ) throws(PageFault) {
    let size = node.valueSize
    guard size >= 8, size % 8 == 0 else {
      throw PageFault(number, "a record of the free list has a wrong size")
    }
    var reader = FreeRecordReader(capacity: size / 8 - 1)
    guard node.flags == PageLayout.bigData else {
      try reader.take(UnsafeRawBufferPointer(start: node.value, count: size), page: number, self)
      return try reader.finish(page: number)
    }
    let first = try walkOverflow(node, &totals)
    let start = first &* UInt64(pageSize) &+ UInt64(PageLayout.headerSize)
    let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
    defer { chunk.deallocate() }
    var done = 0
    while done < size, !reader.isDone {
      let part = UnsafeMutableRawBufferPointer(rebasing: chunk[..<min(chunk.count, size - done)])
      try read(start &+ UInt64(done), part, page: first)
      try reader.take(UnsafeRawBufferPointer(part), page: first, self)
      done += part.count
    }
    try reader.finish(page: first)
  }
}

/// Reads the page numbers of one record of the free list in pieces.
private struct FreeRecordReader {
  let capacity: Int
  var left: UInt64?
  var previous = UInt64.max

  init(capacity: Int) { self.capacity = capacity }

  var isDone: Bool { left == 0 }

  mutating func take(
    _ bytes: UnsafeRawBufferPointer, page: UInt64, _ walk: PageWalk
  ) throws(PageFault) {
    guard let base = bytes.baseAddress else { return }
    var offset = 0
    if left == nil {
      // LMDB copies this number of entries without a check of the record's size.
      let count = base.uint64(0)
      guard count <= UInt64(capacity) else {
        throw PageFault(page, "a record of the free list counts more pages than it holds")
      }
      left = count
      offset = 8
    }
    while offset < bytes.count, let count = left, count > 0 {
      let free = base.uint64(offset)
      guard free < previous else {
        throw PageFault(page, "a record of the free list is not in order")
      }
      previous = free
      try walk.claim(free, isFree: true)
      left = count - 1
      offset += 8
    }
  }

  func finish(page: UInt64) throws(PageFault) {
    guard left == 0 else { throw PageFault(page, "a record of the free list is cut off") }
  }
}
