/// Counts the entries between two keys by the headers of pages. LMDB has no call for that; a cursor
/// goes from key to key, which costs about twenty times as much.
extension MappedTree {
  /// What is between two keys.
  package struct Count {
    package var entries = 0
    /// The keys; each has one entry or several.
    package var keys = 0
  }

  /// The number of entries from one key on, up to another; nil if a page is not what it should be.
  ///
  /// It looks at each page between them, and in the tree of an index at the header of each key.
  ///
  /// - Parameter end: nil for all further keys.
  package func count(
    from start: UnsafeRawBufferPointer, to end: UnsafeRawBufferPointer?
  ) -> Count? {
    guard tree.entries > 0 else { return Count() }
    guard let root = page(tree.root) else { return nil }
    var search = CountSearch(self)
    return search.add(root, from: start, to: end, PageLayout.maximumDepth) ? search.found : nil
  }
}

private struct CountSearch {
  private let tree: MappedTree
  /// A damaged tree may lead to the same page again and again; a whole one never does.
  private var pagesLeft: UInt64
  private(set) var found = MappedTree.Count()

  init(_ tree: MappedTree) {
    self.tree = tree
    let pages = tree.tree.branchPages.addingReportingOverflow(tree.tree.leafPages)
    pagesLeft = min(pages.overflow ? .max : pages.partialValue, tree.lastPage)
  }

  /// Adds what is in a page and below it; false if it is damaged.
  ///
  /// - Parameters:
  ///   - start: nil from the first key on.
  ///   - end: nil to the last key.
  mutating func add(
    _ page: PageHeader, from start: UnsafeRawBufferPointer?, to end: UnsafeRawBufferPointer?,
    _ levels: Int
  ) -> Bool {
    guard pagesLeft > 0 else { return false }
    pagesLeft -= 1
    guard let places = tree.places(from: start, to: end, in: page) else { return false }
    if page.flags == PageLayout.leaf { return add(places, of: page) }
    guard levels > 0 else { return false }
    for place in places {
      guard let child = tree.child(place, of: page),
        add(
          child, from: place == places.lowerBound ? start : nil,
          to: place == places.upperBound - 1 ? end : nil, levels - 1)
      else { return false }
    }
    return true
  }

  private mutating func add(_ places: Range<Int>, of leaf: PageHeader) -> Bool {
    found.keys += places.count
    guard tree.tree.hasDuplicates else {
      found.entries += places.count
      return true
    }
    for place in places {
      guard let node = tree.node(place, in: leaf),
        let entries = tree.entries(of: node, in: leaf)
      else { return false }
      let sum = found.entries.addingReportingOverflow(entries)
      guard !sum.overflow else { return false }
      found.entries = sum.partialValue
    }
    return true
  }
}
