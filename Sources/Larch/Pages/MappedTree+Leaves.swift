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
    guard let places = tree.places(from: start, to: end, in: page) else { return false }
    if page.flags == PageLayout.leaf { return try places.isEmpty || body(page, places) }
    guard levels > 0 else { return false }
    for place in places {
      guard let child = tree.child(place, of: page),
        try visit(
          child, from: place == places.lowerBound ? start : nil,
          to: place == places.upperBound - 1 ? end : nil, levels - 1, body)
      else { return false }
    }
    return true
  }
}
