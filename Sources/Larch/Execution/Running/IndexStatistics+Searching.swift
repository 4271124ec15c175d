// How many records a search finds, from the counts in its blocks.
extension IndexStatistics {
  /// The number of blocks whose counts are read; that of longer lists is estimated from them.
  private static let blocksLooked = 64
  /// As many blocks are passed over in the time in which a record is found.
  private static let blocksOfRow = 8

  func estimate(_ scan: Plan.SearchScan) throws -> Int {
    do {
      let tree = try SearchTree(
        try collection.search(at: scan.search), collection.stored.idKind,
        in: try context.transaction())
      return min(try estimate(scan.filter.query.node, tree), try recordCount())
    } catch let error as LMDBError {
      throw context.note(error)
    }
  }

  /// At most this many records pass.
  func estimate(_ node: TextQuery.Node, _ tree: SearchTree) throws -> Int {
    switch node {
    case .all(let nodes):
      return try nodes.lazy.filter(\.isBounded).map { try estimate($0, tree) }.min() ?? .max
    case .any(let nodes):
      return try nodes.reduce(0) { sum, node in
        let (total, isTooGreat) = sum.addingReportingOverflow(try estimate(node, tree))
        return isTooGreat ? .max : total
      }
    case .not: return .max
    case .phrase(let phrase):
      return try phrase.words.reduce(.max) { min($0, try estimate($1, tree)) }
    }
  }

  /// The number of postings of all words that stand for one; exact if there are few blocks. For the forms of a word it
  /// is at least that, and as much as the other words with these first letters cost that are passed over.
  func estimate(_ word: WantedWord, _ tree: SearchTree) throws -> Int {
    let prefix = word.keyPrefix
    var blocks = 0
    var postings = 0
    var difference = 0
    var isWhole = true
    try prefix.withUnsafeBytes { prefix in
      difference = try tree.difference(of: prefix) { word.isExact || word.matches($0) }
      try tree.forEachStoredBlock(from: prefix, prefix: prefix) { block in
        if word.isExact || word.matches(block.word) {
          postings += try SearchBlock.count(block.value)
        }
        blocks += 1
        // The first blocks tell nothing of the forms: these may be anywhere.
        isWhole = blocks < Self.blocksLooked || word.hasForms
        return isWhole
      }
    }
    if word.hasForms { return max(blocks / Self.blocksOfRow, postings + difference) }
    if isWhole { return max(0, postings + difference) }
    let range = KeyRange(
      lower: prefix, upper: KeyRange.successor(ofPrefix: prefix), needsCheck: false)
    let all = try context.countPages(of: tree.index.database, in: [range])?.entries ?? 4 * blocks
    return max(0, postings / blocks * max(all, blocks) + difference)
  }
}
