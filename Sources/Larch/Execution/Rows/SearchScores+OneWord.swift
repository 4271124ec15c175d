// One word, which is what most people search for.
extension SearchScores {
  /// What scores the records with one word: with no more than a look into a table for most of them.
  struct OneWord {
    /// A field with fewer places of the word, and of few words, is found in the table.
    private static let fewPlaces = 4

    private let fields: [Int]
    private let weights: [Double]
    private let norm: Norm
    private let rarity: Double
    private let fewLengths: Int
    /// What a field adds to f, by the number of places, the field, and its length.
    private let known: [Double]

    /// - Parameter having: the number of records with the word.
    init(weights: [Double], _ fields: [Int], _ totals: SearchTotals, having: Int) {
      self.fields = fields
      self.weights = fields.map { weights[$0] }
      norm = Norm(fields, totals)
      rarity = SearchScores.rarity(totals.records, having)
      fewLengths = having > SearchScores.fewLengths ? SearchScores.fewLengths : 0
      known = (0..<Self.fewPlaces).flatMap { [weights = self.weights, norm, fewLengths] count in
        fields.indices.flatMap { slot in
          (0..<fewLengths).map { weights[slot] * Double(count) / norm(slot, UInt64($0)) }
        }
      }
    }

    /// The scores of some records with the word.
    func scores(of word: Frequencies, _ evaluator: SearchEvaluator) throws -> [Double] {
      let width = fields.count
      let few = fewLengths
      let numbers = word.numbers
      let search = evaluator.tree.search
      var scores = [Double](repeating: 0, count: numbers.count)
      try scores.withUnsafeMutableBufferPointer { sums in
        try word.counts.withUnsafeBufferPointer { counts in
          try known.withUnsafeBufferPointer { known in
            try evaluator.forEachBlock(of: .lengths, among: numbers) { block in
              try SearchEvaluator.readLengths(block, of: numbers, fields, search) {
                place, slot, length in
                let count = counts[place &* width &+ slot]
                if count < Self.fewPlaces, length < UInt64(few) {
                  sums[place] += known[(Int(count) &* width &+ slot) &* few &+ Int(length)]
                } else if count > 0 {
                  sums[place] += weights[slot] * Double(count) / norm(slot, length)
                }
              }
            }
          }
        }
        for place in sums.indices { sums[place] = SearchScores.score(sums[place], rarity) }
      }
      return scores
    }

    // MARK: The best

    /// The number of places of a field that `mayReach` tells apart: as many, or more.
    static let mostPlaces: UInt32 = 3
    /// More fields would need a large table.
    static let mostFields = 4

    /// Whether a record can have a score, by the number of places in each field, with two bits for a field.
    ///
    /// No text is shorter than the places of a word in it. Where one of the fields has `mostPlaces`, nobody knows.
    func mayReach(_ score: Double) -> [Bool] {
      (0..<1 << (2 * fields.count)).map { code in
        var f = 0.0
        for slot in fields.indices {
          let count = UInt32(code >> (2 * slot)) & Self.mostPlaces
          if count == Self.mostPlaces { return true }
          f += weights[slot] * Double(count) / norm(slot, UInt64(count))
        }
        // Rounding may make the score of a greater number the lesser one.
        return SearchScores.score(f, rarity) * (1 + 1e-12) >= score
      }
    }
  }

  /// Calls with the records of one word that are the best, and with some others.
  ///
  /// The lengths of a record are read only if it has the word so often that it may be among the best ones. Of a
  /// common word most records have it once.
  ///
  /// - Parameter least: the score that a record must have to be among the best so far.
  /// - Returns: nil if this is not possible for the query, which `all` can answer.
  func forEachOfBest(
    least: () -> Double, _ body: (_ score: Double, _ number: UInt64, _ tree: SearchTree) -> Void
  ) throws -> Best? {
    let node = relevance.scan.filter.query.node
    let fields = fields
    guard found == nil, node.hasOnlyWanted, !fields.isEmpty, fields.count <= OneWord.mostFields
    else { return nil }
    var phrases: [TextQuery.Phrase] = []
    node.collectWanted(into: &phrases)
    guard phrases.count == 1, phrases[0].words.count == 1, phrases[0].words[0].isExact else {
      return nil
    }
    let evaluator = try makeEvaluator()
    let tree = evaluator.tree
    let search = tree.search
    guard relevance.scan.mask == search.wholeMask else { return nil }
    let count = try evaluator.count(of: phrases[0])
    let totals = try tree.totals()
    let word = OneWord(weights: relevance.weights, fields, totals, having: count)
    // So many that their lengths are not looked for one by one, which would be slower than to read all of them.
    let most = max(2048, Int(clamping: totals.records / 512))
    let slots = search.fields.indices.map { fields.firstIndex(of: $0) ?? -1 }
    let width = fields.count
    var mayReach = word.mayReach(0)
    var kept = Frequencies()
    var scoredAtOnce = SearchBlock.postingLimit

    func score() throws {
      let scores = try word.scores(of: kept, evaluator)
      for place in scores.indices { body(scores[place], kept.numbers[place], tree) }
      kept.numbers.removeAll(keepingCapacity: true)
      kept.counts.removeAll(keepingCapacity: true)
      mayReach = word.mayReach(least())
    }

    try evaluator.forEachBlock(of: phrases[0].words[0], among: nil) { block in
      // A copy, which is not checked for other uses at each record.
      let mayReach = mayReach
      try append(block, to: &kept, slots, width, search) { _, counts, start in
        var code = 0
        for slot in 0..<width {
          code |= Int(min(counts[start &+ slot], OneWord.mostPlaces)) &<< (2 &* slot)
        }
        return mayReach[code]
      }
      // Not while the records of the block are read: reading other blocks moves them.
      if kept.numbers.count >= scoredAtOnce {
        try score()
        scoredAtOnce = min(2 * scoredAtOnce, most)
      }
    }
    if !kept.numbers.isEmpty { try score() }
    return Best(tree: tree, count: count, entriesExamined: evaluator.entriesExamined)
  }

  struct Best {
    let tree: SearchTree
    /// The number of records with the word.
    let count: Int
    let entriesExamined: Int
  }
}
