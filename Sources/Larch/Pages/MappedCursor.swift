/// Goes from key to key in the leaves of a tree in LMDB's map, as a cursor of LMDB does; a step costs about
/// a fifth.
///
/// Whatever bytes a damaged file has there, nothing is read outside of its pages, and a walk in one direction
/// ends. Each leaf must begin after the end of the leaf before it, and its first key must come before its last.
package struct MappedCursor {
  /// The result of a move.
  package enum Move {
    case found, end
    /// A page is not what it should be. The cursor can then only seek.
    case unclear
  }

  /// The next key of a tree of records, with its value.
  enum NextEntry {
    case entry(key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer)
    case end
    /// A page, or the value, is not what it should be. The cursor is where it was.
    case unclear
  }

  private let tree: MappedTree
  private var leaf: PageHeader
  private var count = 0
  private var place = 0
  private var node: PageNode
  /// The page above the leaf, and the place of the leaf in it; -1 if that is not known.
  private var parent: PageHeader
  private var placeInParent = -1

  package init(_ tree: MappedTree) {
    self.tree = tree
    // Not read before a seek, which sets them.
    leaf = tree.page(at: 0)
    node = PageNode(base: leaf.base)
    parent = leaf
  }

  /// The key at which it is, where it is stored.
  @inline(__always)
  package var key: UnsafeRawBufferPointer { node.key }

  // MARK: Seeking

  /// Moves to the first key that is equal to or greater than the given one.
  package mutating func seek(atOrAfter key: UnsafeRawBufferPointer) -> Move {
    guard tree.tree.entries > 0 else { return .end }
    placeInParent = -1
    guard let found = descend({ tree.place(of: key, in: $0) }) else { return .unclear }
    if found.place < found.page.count { return take(found.page, found.place) }
    guard found.page.count > 0 else { return .unclear }
    leaf = found.page
    count = found.page.count
    guard take(leaf, count - 1) == .found else { return .unclear }
    let move = nextLeaf()
    // Whoever seeks the end of some keys would find one of them again and again.
    return move == .found && PageLayout.order(node.key, key) < 0 ? .unclear : move
  }

  /// Moves to the last key that is less than the given one; nil for the last key of all.
  package mutating func seek(before key: UnsafeRawBufferPointer?) -> Move {
    guard let key else { return last() }
    var move = seek(atOrAfter: key)
    if move == .unclear { return move }
    move = move == .found ? previous() : last()
    return move == .found && PageLayout.order(node.key, key) >= 0 ? .unclear : move
  }

  package mutating func first() -> Move { seek { _ in 0 } }
  package mutating func last() -> Move { seek { $0.count - 1 } }

  private mutating func seek(_ place: (PageHeader) -> Int) -> Move {
    guard tree.tree.entries > 0 else { return .end }
    placeInParent = -1
    guard let found = descend(place) else { return .unclear }
    return take(found.page, found.place)
  }

  /// The leaf to which a choice in each page leads, and the choice in this leaf.
  private func descend(_ choice: (PageHeader) -> Int?) -> (page: PageHeader, place: Int)? {
    guard var page = tree.page(tree.tree.root) else { return nil }
    for _ in 0..<PageLayout.maximumDepth {
      guard let place = choice(page) else { return nil }
      if page.flags == PageLayout.leaf { return (page, place) }
      guard let child = tree.child(place, of: page) else { return nil }
      page = child
    }
    return nil
  }

  // MARK: Moving

  /// Moves to the next key.
  @inline(__always)
  package mutating func next() -> Move {
    place &+ 1 < count ? take(leaf, place &+ 1) : nextLeaf()
  }

  /// Moves to the key before.
  @inline(__always)
  package mutating func previous() -> Move {
    place > 0 ? take(leaf, place &- 1) : previousLeaf()
  }

  /// Moves to the next key of a tree of records.
  ///
  /// Within a leaf only two fields are written, and the entry comes from what was found. A processor waits if
  /// a whole structure is copied whose fields were just written.
  @inline(__always)
  mutating func nextEntry() -> NextEntry {
    if place &+ 1 < count, let found = tree.node(place &+ 1, in: leaf), found.flags == 0,
      let value = tree.singleValue(of: found)
    {
      place &+= 1
      node = found
      prefetchEntry()
      return .entry(key: found.key, value: value)
    }
    return nextEntrySlowly()
  }

  /// Asks for the beginning of an entry further on: to test a record takes less time than to wait for its bytes.
  @inline(__always)
  private func prefetchEntry() {
    let ahead = place &+ MappedCursor.entriesAhead
    guard ahead < count else { return }
    let start = leaf.base + leaf.offset(ahead)
    start.prefetch()
    (start + 64).prefetch()
  }

  private static let entriesAhead = 3

  /// `nextEntry` for the first key of a leaf, and for a value with pages of its own.
  @inline(never)
  private mutating func nextEntrySlowly() -> NextEntry {
    let before = self
    let move = next()
    if move == .end { return .end }
    if move == .found, let value { return .entry(key: node.key, value: value) }
    self = before
    return .unclear
  }

  @inline(__always)
  private mutating func take(_ page: PageHeader, _ place: Int) -> Move {
    guard let found = tree.node(place, in: page) else { return .unclear }
    leaf = page
    count = page.count
    self.place = place
    node = found
    return .found
  }

  @inline(never)
  private mutating func nextLeaf() -> Move {
    // It is at no key.
    guard count > 0 else { return .end }
    let key = node.key
    switch leafAfter(key) {
    case .none: return .end
    case .unclear: return .unclear
    case .leaf(let page):
      guard isInOrder(page), take(page, 0) == .found, PageLayout.order(key, node.key) < 0 else {
        return .unclear
      }
      return .found
    }
  }

  /// The leaf after the present one, which has the key. Most have the same page above them.
  private mutating func leafAfter(_ key: UnsafeRawBufferPointer) -> Neighbour {
    if placeInParent >= 0, placeInParent + 1 < parent.count,
      let page = tree.child(placeInParent + 1, of: parent), page.flags == PageLayout.leaf
    {
      placeInParent += 1
      if placeInParent + 1 < parent.count {
        tree.node(placeInParent + 1, in: parent).map { tree.prefetchPage($0.child) }
      }
      return .leaf(page)
    }
    return neighbour(of: key, isNext: true)
  }

  @inline(never)
  private mutating func previousLeaf() -> Move {
    guard count > 0 else { return .end }
    let key = node.key
    placeInParent = -1
    switch neighbour(of: key, isNext: false) {
    case .none: return .end
    case .unclear: return .unclear
    case .leaf(let page):
      guard isInOrder(page), take(page, page.count - 1) == .found,
        PageLayout.order(node.key, key) < 0
      else { return .unclear }
      return .found
    }
  }

  /// Whether the first key of a leaf is before the last one. Two damaged leaves could otherwise follow each
  /// other without an end.
  private func isInOrder(_ leaf: PageHeader) -> Bool {
    guard leaf.count > 1 else { return true }
    guard let first = tree.node(0, in: leaf), let last = tree.node(leaf.count - 1, in: leaf) else {
      return false
    }
    return PageLayout.order(first.key, last.key) < 0
  }

  private enum Neighbour {
    case leaf(PageHeader)
    case none, unclear
  }

  /// The leaf beside the present one, which has the key.
  ///
  /// Of the pages above only the nearest one is kept: to search the others again costs less than one key of
  /// a leaf.
  private mutating func neighbour(of key: UnsafeRawBufferPointer, isNext: Bool) -> Neighbour {
    guard var page = tree.page(tree.tree.root) else { return .unclear }
    var beside: PageHeader?
    for _ in 0..<PageLayout.maximumDepth {
      if page.flags == PageLayout.leaf {
        guard page.base == leaf.base else { return .unclear }
        guard let beside else { return .none }
        return edge(of: beside, isFirst: isNext).map { .leaf($0) } ?? .unclear
      }
      guard let place = tree.place(of: key, in: page) else { return .unclear }
      if isNext ? place + 1 < page.count : place > 0 {
        guard let child = tree.child(isNext ? place + 1 : place - 1, of: page) else {
          return .unclear
        }
        beside = child
        (parent, placeInParent) = (page, isNext ? place + 1 : -1)
      }
      guard let child = tree.child(place, of: page) else { return .unclear }
      page = child
    }
    return .unclear
  }

  /// The first or the last leaf below a page.
  private mutating func edge(of page: PageHeader, isFirst: Bool) -> PageHeader? {
    var page = page
    for _ in 0..<PageLayout.maximumDepth {
      if page.flags == PageLayout.leaf { return page }
      guard let child = tree.child(isFirst ? 0 : page.count - 1, of: page) else { return nil }
      (parent, placeInParent) = (page, isFirst ? 0 : -1)
      page = child
    }
    return nil
  }
}

extension MappedCursor {
  /// The values of the key at which it is, in the tree of an index.
  @inline(__always)
  package var values: MappedTree.Values { tree.values(of: node, in: leaf) }

  /// The tree that it goes over.
  package var mappedTree: MappedTree { tree }

  /// The value of the key at which it is, in a tree of records; nil if it is not inside its page or its own
  /// pages.
  @inline(__always)
  package var value: UnsafeRawBufferPointer? {
    node.flags == 0 ? tree.singleValue(of: node) : longValue
  }

  /// Asks for the next value too: where its pages are, no processor guesses.
  @inline(never)
  private var longValue: UnsafeRawBufferPointer? {
    if place &+ 1 < count, let next = tree.node(place &+ 1, in: leaf),
      next.flags == PageLayout.bigData
    {
      tree.prefetchLongValue(of: next)
    }
    return tree.singleValue(of: node)
  }
}

extension MappedTree {
  /// The values of a key in the tree of an index.
  package enum Values {
    /// Its only value.
    case one(UnsafeRawBufferPointer)
    /// Several values of one size without gaps, and this size.
    case run(UnsafeRawBufferPointer, Int)
    /// A tree of values, or what this does not read.
    case other
  }

  @inline(__always)
  func values(of node: PageNode, in leaf: PageHeader) -> Values {
    let (start, size) = (node.value, node.valueSize)
    guard start + size <= leaf.base + pageSize else { return .other }
    if node.flags == 0 { return .one(UnsafeRawBufferPointer(start: start, count: size)) }
    return node.flags == PageLayout.duplicateData ? run(PageHeader(base: start), size) : .other
  }

  private func run(_ page: PageHeader, _ size: Int) -> Values {
    guard size >= PageLayout.headerSize, page.flags == PageLayout.innerFixedLeaf else {
      return .other
    }
    let (count, width) = (page.count, page.pad)
    guard count > 0, width > 0, count <= (size &- PageLayout.headerSize) / width else {
      return .other
    }
    return .run(
      UnsafeRawBufferPointer(start: page.base + PageLayout.headerSize, count: count &* width),
      width)
  }
}
