/// The counts of a tree of duplicates that its header does not have.
struct DuplicateCounts: Equatable {
  /// The number of distinct keys.
  var keys: UInt64 = 0
  /// The pages of keys with so many values that these have their own tree.
  var pages: UInt64 = 0
}

extension PageTree {
  /// Counts keys, and the pages of long lists of values, in the tree of a database with duplicates.
  ///
  /// LMDB keeps the page count of such a list in the header of the list, which is in the leaf of
  /// its key. So each leaf is read, but no page of a list.
  ///
  /// The tree must belong to a held snapshot, since nothing else keeps its pages from changing.
  func counts(of tree: DatabaseRecord) throws(PageFault) -> DuplicateCounts {
    var counts = DuplicateCounts()
    guard tree.root != PageLayout.noPage else { return counts }
    forgetVisits()
    try count(tree.root, level: 0, into: &counts)
    return counts
  }

  private func count(
    _ number: UInt64, level: Int, into counts: inout DuplicateCounts
  ) throws(PageFault) {
    var fault: PageFault?
    let found = page(number, level: level) { fault = PageFault($0, $1) }
    guard let page = found else {
      throw fault ?? PageFault(number, "a page cannot be read")
    }
    let isBranch = page.flags == PageLayout.branch
    if !isBranch { counts.keys &+= UInt64(page.count) }
    for index in 0..<page.count {
      guard let node = node(index, in: page) else {
        throw PageFault(number, "a node is outside its page")
      }
      if isBranch {
        try count(node.child, level: level &+ 1, into: &counts)
      } else if node.flags == PageLayout.duplicateData | PageLayout.subData {
        guard node.valueSize == PageLayout.databaseRecordSize else {
          throw PageFault(number, "the header of a tree of duplicates has a wrong size")
        }
        counts.pages &+= DatabaseRecord(node.value).pages
      }
    }
  }
}

extension DatabaseRecord {
  /// The pages in its header; for a database with duplicates without those of long lists.
  var pages: UInt64 { branchPages &+ leafPages &+ overflowPages }
}
