// Reads the blocks of words.
extension SearchEvaluator {
  /// The records that have a word in one of the wanted fields, in order.
  ///
  /// - Parameter candidates: the only records that count, in order; nil for all.
  func records(
    of word: WantedWord, among candidates: [UInt64]?
  ) throws -> [UInt64] {
    var found: [UInt64] = []
    if scan.mask == tree.search.wholeMask {
      try forEachBlock(of: word, among: candidates) { block in
        let numbers = UnsafeBufferPointer(rebasing: block.numbers[block.places])
        if let candidates {
          SearchEvaluator.appendCommon(numbers, candidates, to: &found)
        } else {
          found.append(contentsOf: numbers)
        }
      }
    } else {
      try forEachRecord(of: word, among: candidates) { number, _, posting in
        if try posting.skipPosting(tree.search) & scan.mask != 0 { found.append(number) }
      }
    }
    return word.isExact ? found : SearchEvaluator.sorted(found)
  }

  /// Calls with each record of a word, or of all words that stand for it: its number, its place among the
  /// candidates, and the bytes at its posting, which the closure has to pass.
  ///
  /// A record can come several times if it has several of these words.
  @inline(__always)
  func forEachRecord(
    of word: WantedWord, among candidates: [UInt64]?,
    _ body: (_ number: UInt64, _ candidate: Int, _ posting: inout SearchBytes) throws -> Void
  ) throws {
    let search = tree.search
    try forEachBlock(of: word, among: candidates) { block in
      var postings = SearchBytes(block.value, at: block.start)
      guard let candidates else {
        for place in 0..<block.places.upperBound {
          if place < block.places.lowerBound {
            _ = try postings.skipPosting(search)
          } else {
            try body(block.numbers[place], 0, &postings)
          }
        }
        return
      }
      var candidate = SearchEvaluator.place(
        atOrAfter: block.numbers[block.places.lowerBound], in: candidates)
      for place in 0..<block.places.upperBound {
        let number = block.numbers[place]
        while candidate < candidates.count, candidates[candidate] < number { candidate += 1 }
        if candidate == candidates.count { return }
        if candidates[candidate] == number, place >= block.places.lowerBound {
          try body(number, candidate, &postings)
        } else {
          _ = try postings.skipPosting(search)
        }
      }
    }
  }

  // MARK: Blocks

  /// A block that was read.
  struct Block {
    /// All of its records.
    let numbers: UnsafeBufferPointer<UInt64>
    /// Those of them that may count; at least one.
    var places: Range<Int>
    let value: UnsafeRawBufferPointer
    /// Where the postings begin.
    let start: Int
  }

  /// Reads the blocks of a word, or of all words that stand for it, that may have one of the candidates.
  ///
  /// - Parameter word: that without bytes has lengths as its postings.
  func forEachBlock(
    of word: WantedWord, among candidates: [UInt64]?, _ body: (Block) throws -> Void
  ) throws {
    if candidates?.isEmpty ?? false { return }
    try word.keyPrefix.withUnsafeBytes { prefix in
      if word.isExact, let candidates, try isWorthSeeking(candidates.count, word) {
        return try seek(candidates, prefix, body)
      }
      // All records if there is no window, and no candidate before or behind which nothing is wanted.
      let first = max(window?.lowerBound ?? 0, candidates?.first ?? 0)
      let last = min(window?.upperBound ?? .max, candidates?.last ?? .max)
      if first > last { return }
      if word.isExact, first > 0 || last < .max {
        return try readWindow(first...last, prefix, body)
      }
      try tree.forEachBlock(from: prefix, prefix: prefix) { block in
        if word.isExact || word.matches(block.word) { try body(try read(block)) }
        return true
      }
    }
  }

  func read(_ block: SearchTree.Block) throws -> Block {
    entriesExamined += 1
    let start = try numbers.read(first: block.first, block.value)
    return Block(
      numbers: numbers.all, places: 0..<numbers.count, value: block.value, start: start)
  }

  /// The number of blocks that cost as much as a search for one.
  private static let blocksOfSeek = 4

  private func isWorthSeeking(_ count: Int, _ word: WantedWord) throws -> Bool {
    // No word is in more records than there are, whose number costs nothing.
    if try Self.blocksOfSeek * count >= statistics.recordCount() / SearchBlock.postingLimit {
      return false
    }
    return try Self.blocksOfSeek * count < statistics.estimate(word, tree)
      / SearchBlock.postingLimit
  }

  /// About how many blocks are read to find all records.
  ///
  /// - Parameter found: about how many records pass.
  func blockCount(found: Int) throws -> Int {
    var phrases: [TextQuery.Phrase] = []
    scan.filter.query.node.collectWanted(into: &phrases)
    let most = found.multipliedReportingOverflow(by: Self.blocksOfSeek)
    return try phrases.flatMap(\.words).reduce(0) { sum, word in
      let blocks = try statistics.estimate(word, tree) / SearchBlock.postingLimit
      return sum + (most.overflow ? blocks : min(blocks, most.partialValue))
    }
  }
}
