#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// Reads the readable parts of a damaged file directly from its pages, for salvage.
///
/// Nothing in the file is trusted: damaged pages, subtrees and nodes are skipped and reported. Each
/// page is visited once per tree, so it always ends. It is not thread-safe.
final class PageTree {
  /// A named database as the main tree has it.
  struct Named {
    let name: String
    let record: DatabaseRecord
    /// Whether each key has one value.
    var isPlain: Bool { record.flags == 0 }
  }

  typealias Damage = (_ page: UInt64, _ reason: StaticString) -> Void
  typealias Entry = (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws -> Void

  let file: PageFile
  let pageSize: Int
  let pageCount: UInt64
  /// The states in the file, the newest first: none, one, or the last two.
  let states: [MetaPage]
  private var visited: UnsafeMutablePointer<UInt64>
  private let visitedWords: Int
  private var frames: [UnsafeMutableRawPointer] = []
  /// The bytes of large values that may still be read: many damaged entries may refer to one long
  /// run.
  private var budget: UInt64 = 0

  init(path: String) throws {
    file = try PageFile(path: path)
    let pair = try MetaPage.readPair(file)
    var metas = [pair?.first, pair?.second].compactMap { $0 }.filter {
      $0.isMeta && ($0.version == PageLayout.version || $0.isMarked) && $0.hasUsablePageSize
    }
    guard let size = metas.first?.pageSize ?? Self.guessPageSize(file) else {
      throw LarchError(
        .notAStore,
        "Nothing in the file looks like a Larch store; check the path, or restore a backup."
      ) { $0.path = path }
    }
    // If the first meta page is damaged, the second one may be at any page size.
    if metas.isEmpty || pair?.first.isMeta == false, let second = Self.meta(file, 1, size) {
      metas = [second]
    }
    pageSize = size
    let pages = file.length / UInt64(size)
    pageCount = pages
    states = metas.filter { $0.pageSize == size && $0.main.root >= 2 && $0.main.root < pages }
      .sorted { $0.transaction > $1.transaction }
    guard let words = Int(exactly: pages / 64 + 1),
      let memory = calloc(words, MemoryLayout<UInt64>.size)
    else {
      throw LarchError(.storage, "There is not enough memory to read a file of this length.") {
        $0.path = path
      }
    }
    visitedWords = words
    visited = memory.assumingMemoryBound(to: UInt64.self)
  }

  deinit {
    free(visited)
    for frame in frames { frame.deallocate() }
  }

  private static func meta(_ file: PageFile, _ slot: Int, _ pageSize: Int) -> MetaPage? {
    withUnsafeTemporaryAllocation(byteCount: PageLayout.metaEnd, alignment: 8) { buffer in
      guard file.read(at: UInt64(slot * pageSize), into: buffer) == buffer.count,
        let base = buffer.baseAddress
      else { return nil }
      let meta = MetaPage(slot: slot, UnsafeRawPointer(base))
      guard meta.isMeta, meta.version == PageLayout.version || meta.isMarked,
        meta.pageSize == pageSize
      else {
        return nil
      }
      return meta
    }
  }

  /// The page size at which most of the first pages have their own number and known flags.
  private static func guessPageSize(_ file: PageFile) -> Int? {
    var best: (size: Int, hits: Int)?
    var size = PageLayout.pageSizes.lowerBound
    while size <= PageLayout.pageSizes.upperBound {
      var hits = 0
      for page in 1..<UInt64(257) {
        var header: (UInt64, UInt64) = (0, 0)
        let isPage = withUnsafeMutableBytes(of: &header) { bytes in
          guard file.read(at: page * UInt64(size), into: bytes) == bytes.count,
            let base = bytes.baseAddress
          else { return false }
          let page = PageHeader(base: UnsafeRawPointer(base))
          return [
            PageLayout.branch, PageLayout.leaf, PageLayout.overflow, PageLayout.fixedLeaf,
            PageLayout.meta,
          ].contains(page.flags)
        }
        if isPage, header.0 == page { hits += 1 }
      }
      if hits > (best?.hits ?? 0) { best = (size, hits) }
      size *= 2
    }
    return best?.size
  }

  // MARK: Trees

  /// The named databases of a state, as far as the main tree is readable.
  func databases(in state: MetaPage, onDamage: Damage) -> [Named] {
    var found: [Named] = []
    // The closure throws nothing, so this does not throw either.
    try? forEachNode(from: state.main.root, onDamage: onDamage) { node, page in
      guard node.flags == PageLayout.subData else { return }
      guard node.valueSize == PageLayout.databaseRecordSize else {
        return onDamage(page, "the header of a database has a wrong size")
      }
      found.append(
        Named(
          name: String(decoding: node.key, as: UTF8.self), record: DatabaseRecord(node.value)))
    }
    return found
  }

  /// The database of this name in the newest state that has it.
  func database(named name: String, onDamage: Damage) -> Named? {
    for state in states {
      if let found = databases(in: state, onDamage: onDamage).first(where: { $0.name == name }) {
        return found
      }
    }
    return nil
  }

  /// Calls with every readable entry of a plain database, in the order of its pages, which is that
  /// of the keys in an undamaged file. The bytes are valid during the call.
  func forEachEntry(of database: Named, onDamage: Damage, _ body: Entry) throws {
    guard database.isPlain, database.record.root != PageLayout.noPage else { return }
    budget = 2 * min(file.length, 1 << 60)
    try forEachNode(from: database.record.root, onDamage: onDamage) { node, page in
      try self.give(node, page, onDamage, body)
    }
  }

  /// Calls with every entry of every page that looks like a leaf page, including unreachable pages
  /// and older states: the last resort if the root of a tree is damaged.
  ///
  /// The caller recognizes and checks entries by key and checksum.
  func forEachLeafEntry(onDamage: Damage, _ body: Entry) throws {
    // Several states of an entry, in pages that are free now, share its run.
    budget = 16 * min(file.length, 1 << 58)
    var tiles = NodeTiles(size: pageSize)
    defer { tiles.deallocate() }
    let block = 1 << 18
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: block, alignment: 16)
    defer { buffer.deallocate() }
    let perBlock = UInt64(block / pageSize)
    var start: UInt64 = 2
    while start < pageCount {
      let pages = Int(min(perBlock, pageCount - start))
      let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<(pages * pageSize)])
      let got = file.read(at: start * UInt64(pageSize), into: part)
      if got == nil { onDamage(start, "pages cannot be read from the disk") }
      for index in 0..<((got ?? 0) / pageSize) {
        guard let base = part.baseAddress else { break }
        let number = start + UInt64(index)
        let page = PageHeader(base: UnsafeRawPointer(base + index * pageSize))
        guard page.number == number, page.flags == PageLayout.leaf, looksRight(page, &tiles)
        else { continue }
        for position in 0..<page.count {
          if let node = node(position, in: page) { try give(node, number, onDamage, body) }
        }
      }
      start += UInt64(pages)
    }
  }

  /// Whether every node is within its page and the keys are sorted.
  private func looksRight(_ page: PageHeader, _ tiles: inout NodeTiles) -> Bool {
    guard boundsAreRight(page) else { return false }
    tiles.begin(size: pageSize)
    var previous: UnsafeRawBufferPointer?
    for index in 0..<page.count {
      guard let node = node(index, in: page), node.keySize <= PageLayout.maximumKeySize else {
        return false
      }
      if let previous, PageLayout.order(previous, node.key) >= 0 { return false }
      previous = node.key
      let offset = page.offset(index)
      let valueSize = node.flags == PageLayout.bigData ? 8 : node.valueSize
      let end = offset + ((PageLayout.nodeHeaderSize + node.keySize + valueSize + 1) & ~1)
      guard offset >= page.upper, offset & 1 == 0, end <= pageSize, tiles.add(offset, end) else {
        return false
      }
    }
    return tiles.isFilled(from: page.upper, to: pageSize)
  }

  func boundsAreRight(_ page: PageHeader) -> Bool {
    page.lower > PageLayout.headerSize && page.lower & 1 == 0 && page.lower <= page.upper
      && page.upper <= pageSize && page.upper & 1 == 0
  }

  /// A node that is inside its page with all its bytes, or nil.
  func node(_ index: Int, in page: PageHeader) -> PageNode? {
    let offset = page.offset(index)
    guard offset >= page.lower, offset + PageLayout.nodeHeaderSize <= pageSize else { return nil }
    let node = PageNode(base: page.base + offset)
    let isBranch = page.flags == PageLayout.branch
    let valueSize = isBranch ? 0 : node.flags == PageLayout.bigData ? 8 : node.valueSize
    guard offset + PageLayout.nodeHeaderSize + node.keySize + valueSize <= pageSize else {
      return nil
    }
    return node
  }

  private func forEachNode(
    from root: UInt64, onDamage: Damage, _ body: (PageNode, UInt64) throws -> Void
  ) throws {
    forgetVisits()
    try descend(root, level: 0, onDamage, body)
  }

  /// Called before another tree is read.
  func forgetVisits() { visited.update(repeating: 0, count: visitedWords) }

  /// A page of a tree, in the buffer of its level, after a check of its header; nil if it is
  /// damaged or was visited before.
  func page(
    _ number: UInt64, level: Int, orFixed allowsFixed: Bool = false, _ onDamage: Damage
  ) -> PageHeader? {
    func fault(_ reason: StaticString) -> PageHeader? {
      onDamage(number, reason)
      return nil
    }
    guard number >= 2, number < pageCount else {
      return fault("a page number is outside the file")
    }
    guard level < PageLayout.maximumDepth else { return fault("a tree is too deep") }
    let bit: UInt64 = 1 << (number & 63)
    guard visited[Int(number / 64)] & bit == 0 else { return fault("a page is used twice") }
    visited[Int(number / 64)] |= bit
    while level >= frames.count { frames.append(.allocate(byteCount: pageSize, alignment: 16)) }
    let frame = frames[level]
    let buffer = UnsafeMutableRawBufferPointer(start: frame, count: pageSize)
    guard file.read(at: number * UInt64(pageSize), into: buffer) == pageSize else {
      return fault("a page cannot be read from the disk")
    }
    let page = PageHeader(base: UnsafeRawPointer(frame))
    guard page.number == number,
      page.flags == PageLayout.branch || page.flags == PageLayout.leaf
        || allowsFixed && page.flags == PageLayout.fixedLeaf
    else { return fault("a page has a wrong number or kind") }
    guard boundsAreRight(page) else { return fault("the bounds of a page are impossible") }
    return page
  }

  private func descend(
    _ number: UInt64, level: Int, _ onDamage: Damage, _ body: (PageNode, UInt64) throws -> Void
  ) throws {
    guard let page = page(number, level: level, onDamage) else { return }
    let isBranch = page.flags == PageLayout.branch
    for index in 0..<page.count {
      guard let node = node(index, in: page) else {
        onDamage(number, "a node is outside its page")
        continue
      }
      if isBranch {
        try descend(node.child, level: level + 1, onDamage, body)
      } else {
        try body(node, number)
      }
    }
  }

  // MARK: Values

  private func give(
    _ node: PageNode, _ page: UInt64, _ onDamage: Damage, _ body: Entry
  ) throws {
    guard node.keySize >= 1, node.keySize <= PageLayout.maximumKeySize else {
      return onDamage(page, "a key has an impossible size")
    }
    if node.flags == 0 {
      return try body(node.key, UnsafeRawBufferPointer(start: node.value, count: node.valueSize))
    }
    guard node.flags == PageLayout.bigData else { return }
    let first = node.value.uint64(0)
    guard first >= 2, first < pageCount else {
      return onDamage(page, "an overflow run is outside the file")
    }
    let size = PageLayout.headerSize + node.valueSize
    let start = first * UInt64(pageSize)
    guard UInt64(size) <= file.length - start else {
      return onDamage(first, "an overflow run goes beyond the end of the file")
    }
    // The header reveals a wrong page before a buffer for the whole value is allocated.
    var header: (UInt64, UInt64) = (0, 0)
    let isRun = withUnsafeMutableBytes(of: &header) { bytes in
      guard file.read(at: start, into: bytes) == bytes.count, let base = bytes.baseAddress else {
        return false
      }
      let run = PageHeader(base: UnsafeRawPointer(base))
      return run.number == first && run.flags == PageLayout.overflow
        && run.overflowPages
          >= PageLayout.overflowPages(valueSize: node.valueSize, pageSize: pageSize)
    }
    guard isRun else { return onDamage(first, "an overflow run is damaged") }
    guard UInt64(size) <= budget else {
      return onDamage(first, "an overflow run is used too often")
    }
    budget -= UInt64(size)
    guard let memory = malloc(size) else {
      return onDamage(first, "there is not enough memory for a value")
    }
    defer { free(memory) }
    let bytes = UnsafeMutableRawBufferPointer(start: memory, count: size)
    guard file.read(at: start, into: bytes) == size else {
      return onDamage(first, "an overflow run cannot be read from the disk")
    }
    try body(
      node.key, UnsafeRawBufferPointer(rebasing: bytes[PageLayout.headerSize...]))
  }
}
