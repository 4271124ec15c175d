/// Finds the entries in which two snapshots of a tree differ, from the pages of both.
///
/// A commit copies each page that it changes, and all pages above it up to the root. So a page that
/// both snapshots have is the root of a part that is the same in both, and nothing below it is read:
/// the cost grows with the changed pages, and not with the tree.
///
/// Both trees are passed in the order of keys, each by a path from its root. As long as both paths
/// are at the same page, they step over it. Otherwise the higher one goes down, or both, until they are
/// at entries, which are compared. Splits, merges and another depth put the paths out of step, and a
/// page of both is then read for each of them; at the end of that page they are in step again.
///
/// **Both snapshots must be held** until the end, since LMDB uses the pages of others again. The bytes
/// of a damaged file lead to an error or to wrong entries: each place is checked before it is read.
///
/// It compares trees with one value for each key.
struct TreeComparison {
  enum End {
    case complete
    /// The closure said so.
    case stopped
    /// More pages differ than may be read.
    case tooManyPages
  }

  /// A key with its values before and after; one of them is nil if the key is new, or gone.
  typealias Entry = (
    _ key: UnsafeRawBufferPointer, _ before: UnsafeRawBufferPointer?,
    _ after: UnsafeRawBufferPointer?
  ) -> Bool

  private var old: TreePath
  private var new: TreePath
  /// The number of pages that may still be read. A damaged tree may lead to the same page again and
  /// again.
  private(set) var pagesLeft: Int
  private var last: UnsafeRawBufferPointer?

  /// - Parameter pages: how many pages may be read.
  init(_ old: MappedTree, _ new: MappedTree, pages: Int) throws(PageFault) {
    self.old = try TreePath(old)
    self.new = try TreePath(new)
    pagesLeft = pages
  }

  /// Calls with each entry that differs, in the order of keys, until the closure returns false. The
  /// bytes are valid as long as the snapshots are held.
  mutating func forEachChange(_ body: Entry) throws(PageFault) -> End {
    while true {
      let level = max(old.level, new.level)
      if level < 0 { return .complete }
      if level > 0 {
        if old.level == new.level, old.page == new.page {
          try old.step()
          try new.step()
          continue
        }
        // Before one of them goes down.
        let (oldIsThere, newIsThere) = (old.level == level, new.level == level)
        pagesLeft &-= (oldIsThere ? 1 : 0) &+ (newIsThere ? 1 : 0)
        if pagesLeft < 0 { return .tooManyPages }
        if oldIsThere { try old.descend() }
        if newIsThere { try new.descend() }
        continue
      }
      if old.level == 0, new.level == 0, old.node.isSame(as: new.node) {
        try old.step()
        try new.step()
        continue
      }
      guard try compareEntries(body) else { return pagesLeft < 0 ? .tooManyPages : .stopped }
    }
  }

  /// Compares two entries, or gives one that has no other; false to stop.
  private mutating func compareEntries(_ body: Entry) throws(PageFault) -> Bool {
    let order =
      if old.level < 0 {
        1
      } else if new.level < 0 {
        -1
      } else {
        PageLayout.order(old.node.key, new.node.key)
      }
    let key = order > 0 ? new.node.key : old.node.key
    if let last, PageLayout.order(last, key) >= 0 {
      throw PageFault(order > 0 ? new.leaf : old.leaf, "the keys of a tree are not sorted")
    }
    let before = order <= 0 ? try old.value() : nil
    let after = order >= 0 ? try new.value() : nil
    var isChanged = true
    if let before, let after {
      pagesLeft &-= before.count / old.pageSize
      if pagesLeft < 0 { return false }
      isChanged = PageLayout.order(before, after) != 0
    }
    if isChanged {
      last = key
      if !body(key, before, after) { return false }
    }
    if order <= 0 { try old.step() }
    if order >= 0 { try new.step() }
    return true
  }
}

/// A place in a tree: a page that is not read yet, with all that is below it, or an entry.
private struct TreePath {
  fileprivate struct Page {
    let header: PageHeader
    let count: Int
    /// How high it is above the entries: 1 for a leaf.
    let level: Int
    var place = 0
  }

  private let tree: MappedTree
  /// The page with the place; without entries before the root is read.
  private var current: Page
  /// The pages above it, from the root on.
  private var above: [Page] = []
  /// How high the place is above the entries: 0 for an entry, below 0 at the end.
  private(set) var level: Int
  /// The page of a place that is no entry.
  private(set) var page: UInt64
  /// The node of a place that is not the root.
  private(set) var node: PageNode

  init(_ tree: MappedTree) throws(PageFault) {
    self.tree = tree
    let record = tree.tree
    page = record.root
    // Read only at an entry.
    let nothing = UnsafeRawPointer(bitPattern: 8).unsafelyUnwrapped
    node = PageNode(base: nothing)
    current = Page(header: PageHeader(base: nothing), count: 0, level: 0)
    if record.root == PageLayout.noPage {
      level = -1
      return
    }
    level = record.depth
    guard record.flags == 0 else {
      throw PageFault(record.root, "a tree has several values for a key")
    }
    guard (1...PageLayout.maximumDepth).contains(level) else {
      throw PageFault(record.root, "the depth of a tree is impossible")
    }
    above.reserveCapacity(level)
  }

  var pageSize: Int { tree.pageSize }

  /// The page of an entry.
  var leaf: UInt64 { level == 0 ? current.header.number : page }

  /// Goes to the first place below the page.
  mutating func descend() throws(PageFault) {
    guard let header = tree.page(page),
      header.flags == (level == 1 ? PageLayout.leaf : PageLayout.branch)
    else { throw PageFault(page, "a page has a wrong number or kind") }
    above.append(current)
    current = Page(header: header, count: header.count, level: level)
    try look()
  }

  /// Goes on, past what is below the place.
  @inline(__always)
  mutating func step() throws(PageFault) {
    current.place &+= 1
    try look()
  }

  /// Notes what is at the place.
  @inline(__always)
  private mutating func look() throws(PageFault) {
    while current.place >= current.count {
      guard let parent = above.popLast() else {
        level = -1
        return
      }
      current = parent
      current.place &+= 1
    }
    guard let found = tree.node(current.place, in: current.header), found.isPlain(current, tree)
    else {
      throw PageFault(current.header.number, "a node is outside its page, or has a wrong kind")
    }
    node = found
    level = current.level &- 1
    if level > 0 { page = found.child }
  }

  /// The value of the entry.
  func value() throws(PageFault) -> UnsafeRawBufferPointer {
    let size = node.valueSize
    if node.flags == 0 { return UnsafeRawBufferPointer(start: node.value, count: size) }
    let first = node.value.uint64(0)
    let pages = PageLayout.overflowPages(valueSize: size, pageSize: tree.pageSize)
    guard let run = tree.overflowRun(first, pages: pages) else {
      throw PageFault(first, "an overflow run is damaged")
    }
    return UnsafeRawBufferPointer(start: run.base + PageLayout.headerSize, count: size)
  }
}

extension PageNode {
  /// The bytes of its value in the leaf. For a value of several pages, this is the number of the first.
  @inline(__always)
  fileprivate var storedSize: Int { flags == PageLayout.bigData ? 8 : valueSize }

  /// Whether it has the form of a node of a tree with one value for each key, with all its bytes in
  /// its page.
  @inline(__always)
  fileprivate func isPlain(_ page: TreePath.Page, _ tree: MappedTree) -> Bool {
    if page.level > 1 { return true }
    let room = page.header.base + tree.pageSize - base
    return (flags == 0 || flags == PageLayout.bigData)
      && (1...PageLayout.maximumKeySize).contains(keySize)
      && PageLayout.nodeHeaderSize &+ keySize &+ storedSize <= room
  }

  /// Whether two entries have the same bytes. Of large values, only the numbers of the pages are
  /// compared.
  @inline(__always)
  fileprivate func isSame(as other: PageNode) -> Bool {
    base.uint64(0) == other.base.uint64(0)
      && memcmp(
        base + PageLayout.nodeHeaderSize, other.base + PageLayout.nodeHeaderSize,
        keySize &+ storedSize) == 0
  }
}

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif
