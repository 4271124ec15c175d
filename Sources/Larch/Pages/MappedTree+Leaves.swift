/// Walks over the leaves between two keys. A cursor goes from key to key by a call for each.
extension MappedTree {
  /// Calls with each leaf that may have keys from one on, up to another, and the places of these
  /// keys in it, until the closure returns false.
  ///
  /// - Parameter end: nil for all further keys.
  /// - Returns: false if the closure did, or if a page is not what it should be.
  @inline(__always)
  func forEachLeaf(
    from start: UnsafeRawBufferPointer, to end: UnsafeRawBufferPointer?,
    _ body: (_ leaf: PageHeader, _ places: Range<Int>) throws -> Bool
  ) rethrows -> Bool {
    guard tree.entries > 0 else { return true }
    guard let root = page(tree.root) else { return false }
    var walk = LeafWalk(self)
    return try walk.visit(root, from: start, to: end, PageLayout.maximumDepth, body)
  }
}

extension MappedTree {
  /// The id of a key in the tree of an index; nil if it has several.
  @inline(__always)
  func singleEntry(of node: PageNode, in leaf: PageHeader) -> UnsafeRawBufferPointer? {
    guard node.flags == 0, node.value + node.valueSize <= leaf.base + pageSize else { return nil }
    return UnsafeRawBufferPointer(start: node.value, count: node.valueSize)
  }
}

extension MappedTree {
  /// The child of a branch in which a key would be, which is mostly the first one that it can be in.
  fileprivate func child(
    of key: UnsafeRawBufferPointer, from first: Int, in branch: PageHeader
  ) -> Int {
    if first + 1 < branch.count, let next = node(first + 1, in: branch),
      PageLayout.order(next.key, key) > 0
    {
      return first
    }
    return place(of: key, in: branch)
  }
}

private struct LeafWalk {
  private let tree: MappedTree
  /// A damaged tree may lead to the same page again and again; a whole one never does.
  private var pagesLeft: UInt64

  init(_ tree: MappedTree) {
    self.tree = tree
    let pages = tree.tree.branchPages.addingReportingOverflow(tree.tree.leafPages)
    pagesLeft = min(pages.overflow ? .max : pages.partialValue, tree.lastPage)
  }

  /// Visits the leaves in a page and below it; false if it is damaged, or the closure returned
  /// false.
  ///
  /// - Parameters:
  ///   - start: nil from the first key on.
  ///   - end: nil to the last key.
  mutating func visit(
    _ page: PageHeader, from start: UnsafeRawBufferPointer?, to end: UnsafeRawBufferPointer?,
    _ levels: Int, _ body: (PageHeader, Range<Int>) throws -> Bool
  ) rethrows -> Bool {
    guard pagesLeft > 0 else { return false }
    pagesLeft -= 1
    let first = start.map { tree.place(of: $0, in: page) } ?? 0
    if page.flags == PageLayout.leaf {
      let last = end.map { tree.place(of: $0, in: page) } ?? page.count
      return try first >= last || body(page, first..<last)
    }
    let last = end.map { tree.child(of: $0, from: first, in: page) } ?? page.count - 1
    guard levels > 0, first <= last else { return false }
    for place in first...last {
      guard let child = tree.child(place, of: page),
        try visit(
          child, from: place == first ? start : nil, to: place == last ? end : nil, levels - 1,
          body)
      else { return false }
    }
    return true
  }
}
