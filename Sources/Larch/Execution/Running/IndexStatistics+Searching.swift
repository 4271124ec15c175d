// How many records a search finds, from the counts in its blocks.
extension IndexStatistics {
  /// The number of blocks whose counts are read; that of longer lists is estimated from them.
  private static let blocksLooked = 64

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
      var least = Int.max
      for (place, word) in phrase.words.enumerated() {
        let isPrefix = phrase.endsInPrefix && place == phrase.words.count - 1
        least = min(least, try estimate(word, isPrefix: isPrefix, tree))
      }
      return least
    }
  }

  /// The number of postings of a word, or of all words with a beginning; exact if there are few blocks.
  func estimate(_ word: [UInt8], isPrefix: Bool, _ tree: SearchTree) throws -> Int {
    let prefix = isPrefix ? word : word + [0]
    var blocks = 0
    var postings = 0
    var difference = 0
    try prefix.withUnsafeBytes { prefix in
      difference = try tree.difference(of: prefix)
      try tree.forEachStoredBlock(from: prefix, prefix: prefix) { block in
        postings += try SearchBlock.count(block.value)
        blocks += 1
        return blocks < Self.blocksLooked
      }
    }
    if blocks < Self.blocksLooked { return max(0, postings + difference) }
    let range = KeyRange(
      lower: prefix, upper: KeyRange.successor(ofPrefix: prefix), needsCheck: false)
    let all = try context.countPages(of: tree.index.database, in: [range])?.entries ?? 4 * blocks
    return max(0, postings / blocks * max(all, blocks) + difference)
  }
}
