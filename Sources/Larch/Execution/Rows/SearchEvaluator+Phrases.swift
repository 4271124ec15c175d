// Finds the records in which words follow each other.
extension SearchEvaluator {
  /// Where a phrase begins in the records that have all of its words.
  struct PhrasePlaces {
    /// The records, in order.
    var numbers: [UInt64] = []
    /// For each record the end of its starts.
    var ends: [Int] = []
    /// The field, and the place in it; in order within a record.
    var starts: [UInt64] = []
    /// Whether the places of a word are not all kept. Then there may be more starts, and only the record tells.
    var areCut: [Bool] = []

    /// The starts in a record. There are none only if its places are cut.
    func range(_ place: Int) -> Range<Int> { (place == 0 ? 0 : ends[place - 1])..<ends[place] }
  }

  /// Finds the places of a phrase. Each word is looked for once, the rarest one first, and only in the records that
  /// are left.
  ///
  /// - Parameter candidates: the only records that count, in order; nil for all.
  func places(of phrase: TextQuery.Phrase, among candidates: [UInt64]?) throws -> PhrasePlaces {
    let words = phrase.words
    let last = words.count - 1
    let sizes = try words.map { try statistics.estimate($0, tree) }
    var order = words.indices.sorted { (sizes[$0], $0) < (sizes[$1], $1) }
    var candidates = candidates
    if !words[order[0]].isExact, last > 0 {
      // Several words do not come in the order of records: these are found first, and the places last.
      candidates = try records(of: words[last], among: candidates)
      order.append(order.removeFirst())
    }
    var found = PhrasePlaces()
    for (turn, distance) in order.enumerated() {
      if turn == 0 {
        found = try places(of: words[distance], at: distance, among: candidates)
      } else {
        try keep(words[distance], at: distance, in: &found)
      }
      if found.numbers.isEmpty { break }
    }
    return found
  }

  /// Where a phrase would begin that has a word at a distance from its first one.
  private func places(
    of word: WantedWord, at distance: Int, among candidates: [UInt64]?
  ) throws -> PhrasePlaces {
    var found = PhrasePlaces()
    try forEachRecord(of: word, among: candidates) { number, _, posting in
      let old = found.starts.count
      let isCut = try forEachStart(at: distance, in: &posting) { found.starts.append($0) }
      if found.starts.count > old || isCut {
        found.numbers.append(number)
        found.ends.append(found.starts.count)
        found.areCut.append(isCut)
      }
    }
    return found
  }

  /// Keeps the starts from which a word stands at a distance, and the records that have some.
  private func keep(
    _ word: WantedWord, at distance: Int, in found: inout PhrasePlaces
  ) throws {
    var areKept = [Bool](repeating: false, count: found.starts.count)
    var haveWord = [Bool](repeating: false, count: found.numbers.count)
    try forEachRecord(of: word, among: found.numbers) { _, place, posting in
      let starts = found.range(place)
      var next = starts.lowerBound
      var hasWord = false
      // Both are in order.
      let isCut = try forEachStart(at: distance, in: &posting) { start in
        hasWord = true
        while next < starts.upperBound, found.starts[next] < start { next += 1 }
        if next < starts.upperBound, found.starts[next] == start { areKept[next] = true }
      }
      if isCut { found.areCut[place] = true }
      if hasWord || isCut { haveWord[place] = true }
    }
    var kept = PhrasePlaces()
    for (place, number) in found.numbers.enumerated() where haveWord[place] {
      let old = kept.starts.count
      for start in found.range(place) where areKept[start] {
        kept.starts.append(found.starts[start])
      }
      guard kept.starts.count > old || found.areCut[place] else { continue }
      kept.numbers.append(number)
      kept.ends.append(kept.starts.count)
      kept.areCut.append(found.areCut[place])
    }
    found = kept
  }

  /// Passes a posting, and calls with each place in the wanted fields where a phrase would begin.
  ///
  /// - Returns: whether not all places of the word in a wanted field are kept.
  @inline(__always)
  private func forEachStart(
    at distance: Int, in posting: inout SearchBytes, _ body: (UInt64) -> Void
  ) throws -> Bool {
    var mask = try posting.mask(tree.search)
    var isCut = false
    while mask != 0 {
      let field = UInt64(mask.trailingZeroBitCount)
      mask &= mask &- 1
      guard scan.mask & 1 << field != 0 else {
        _ = try posting.places { _ in }
        continue
      }
      var passed = 0
      let count = try posting.places { place in
        passed &+= 1
        if Int(place) >= distance { body(field << 32 | UInt64(Int(place) &- distance)) }
      }
      if count > passed { isCut = true }
    }
    return isCut
  }
}
