internal import Foundation

/// How well records match the words of a query, by the formula BM25 over the fields of a search.
///
///     score = Σ over words: rarity · f · (k + 1) / (k + f)
///     f = Σ over fields: weight · frequency / (1 − b + b · length / average length)
///     rarity = ln(1 + (N − n + ½) / (n + ½))
///
/// `N` is the number of records, `n` that of the records with the word in one of the fields. A beginning of words,
/// the forms of a word, and a phrase, count as one word. The sums are made in the order of the query and of the fields, so that equal
/// records have equal scores. No record is read, unless a word stands in one so often that not all of its
/// places are kept.
final class SearchScores {
  private static let k = 1.2
  private static let b = 0.75
  private static let fewWords = 4
  static let fewLengths = 128

  let relevance: Plan.Relevance
  let collection: CollectionHandle
  private let context: TransactionContext
  /// The owner of this object.
  private unowned let typed: TypedAccess
  private(set) var found: Found?
  /// The scores of the best records, where only these were wanted.
  var best: (tree: SearchTree, scores: [UInt64: Double])?
  lazy var words = RecordWords(context.coder)

  /// The records that have a word of the query, in order, and their scores.
  struct Found {
    var numbers: [UInt64] = []
    var scores: [Double] = []
    let tree: SearchTree
    /// The number of blocks that were read.
    var entriesExamined = 0
  }

  init(
    _ relevance: Plan.Relevance, _ collection: CollectionHandle, _ context: TransactionContext,
    _ typed: TypedAccess
  ) {
    self.relevance = relevance
    self.collection = collection
    self.context = context
    self.typed = typed
  }

  /// The score of a record; 0 if it has no word.
  func score(of id: UnsafeRawBufferPointer) throws -> Double {
    if let number = try best?.tree.number(of: id), let known = best?.scores[number] { return known }
    let found = try all()
    guard let number = try found.tree.number(of: id) else { return 0 }
    let place = SearchEvaluator.place(atOrAfter: number, in: found.numbers)
    return place < found.numbers.count && found.numbers[place] == number
      ? found.scores[place] : 0
  }

  /// All scores, which are computed once.
  func all() throws -> Found {
    if let found { return found }
    let evaluator = try makeEvaluator()
    // Not the evaluator, which keeps the owner of this object.
    var made = Found(tree: evaluator.tree)
    let node = relevance.scan.filter.query.node
    var words: [TextQuery.Phrase] = []
    node.collectWanted(into: &words)
    // Where each record with one of the words is found, one reading finds it and its frequencies. Those of many words
    // are not kept together.
    var known: [Frequencies] = []
    if node.hasOnlyWanted, words.count <= Self.fewWords {
      for word in words {
        known.append(try frequencies(of: word, in: fields, among: nil, evaluator))
      }
      made.numbers =
        known.count == 1 ? known[0].numbers : SearchEvaluator.sorted(known.flatMap(\.numbers))
    } else if node.isBounded {
      made.numbers = try evaluator.records(node, among: nil)
    } else {
      var all = SearchEvaluator.NumberUnion()
      for word in words { all.add(try evaluator.records(.phrase(word), among: nil)) }
      made.numbers = all.finish()
    }
    if known.count == 1, !made.numbers.isEmpty {
      let word = OneWord(
        weights: relevance.weights, fields, try made.tree.totals(),
        having: known[0].numbers.count)
      made.scores = try word.scores(of: known[0], evaluator)
    } else if !made.numbers.isEmpty {
      made.scores = [Double](repeating: 0, count: made.numbers.count)
      let totals = try made.tree.totals()
      let norms = try norms(of: fields, totals, made, evaluator)
      for (place, word) in words.enumerated() {
        let isKnown = place < known.count
        let here =
          isKnown
          ? known[place]
          : try frequencies(of: word, in: fields, among: made.numbers, evaluator)
        let having = isKnown ? here.numbers.count : try evaluator.count(of: word)
        add(here, SearchScores.rarity(totals.records, having), fields, norms, to: &made)
      }
    }
    made.entriesExamined = evaluator.entriesExamined
    found = made
    return made
  }

  /// The fields that count.
  var fields: [Int] { relevance.weights.indices.filter { relevance.weights[$0] > 0 } }

  func makeEvaluator() throws -> SearchEvaluator {
    try SearchEvaluator(
      relevance.scan, RowReader(collection, residue: [], context: context, typed: typed))
  }

  // MARK: The formula

  /// Adds the scores of one word.
  private func add(
    _ word: Frequencies, _ rarity: Double, _ fields: [Int], _ norms: [Double],
    to found: inout Found
  ) {
    let weights = fields.map { relevance.weights[$0] }
    let width = fields.count
    let numbers = found.numbers
    var place = 0
    found.scores.withUnsafeMutableBufferPointer { scores in
      for row in word.numbers.indices {
        let number = word.numbers[row]
        while numbers[place] < number { place &+= 1 }
        var f = 0.0
        for slot in 0..<width {
          let frequency = word.counts[row &* width &+ slot]
          guard frequency > 0 else { continue }
          f += weights[slot] * Double(frequency) / norms[place &* width &+ slot]
        }
        scores[place] += Self.score(f, rarity)
      }
    }
  }

  /// What one word adds to a score.
  @inline(__always)
  static func score(_ f: Double, _ rarity: Double) -> Double {
    f > 0 ? rarity * f * (k + 1) / (k + f) : 0
  }

  /// Rounded, so that another mathematical library hardly ever changes an order.
  static func rarity(_ records: UInt64, _ having: Int) -> Double {
    let others = max(0, Double(records) - Double(having))
    return Double(Float(log(1 + (others + 0.5) / (Double(having) + 0.5))))
  }

  /// What frequencies in a field are divided by.
  struct Norm {
    private let averages: [Double]

    init(_ fields: [Int], _ totals: SearchTotals) {
      averages = fields.map { Double(totals.words[$0]) / Double(max(1, totals.records)) }
    }

    /// - Parameter slot: the place of the field.
    func callAsFunction(_ slot: Int, _ length: UInt64) -> Double {
      averages[slot] > 0
        ? 1 - SearchScores.b + SearchScores.b * Double(length) / averages[slot] : 1
    }
  }

  /// What frequencies are divided by: for each record the number of each field.
  private func norms(
    of fields: [Int], _ totals: SearchTotals, _ found: Found, _ evaluator: SearchEvaluator
  ) throws -> [Double] {
    let width = fields.count
    var norms = [Double](repeating: 1, count: found.numbers.count * width)
    let norm = Norm(fields, totals)
    // Many records share few lengths.
    let few = found.numbers.count > Self.fewLengths ? Self.fewLengths : 0
    let known = (0..<width).flatMap { slot in (0..<UInt64(few)).map { norm(slot, $0) } }
    let search = evaluator.tree.search
    try norms.withUnsafeMutableBufferPointer { norms in
      try evaluator.forEachBlock(of: .lengths, among: found.numbers) { block in
        try SearchEvaluator.readLengths(block, of: found.numbers, fields, search) {
          place, slot, length in
          norms[place &* width &+ slot] =
            length < UInt64(few) ? known[slot &* few &+ Int(length)] : norm(slot, length)
        }
      }
    }
    return norms
  }
}

extension TextQuery.Node {
  /// Whether each record with one of its words passes.
  var hasOnlyWanted: Bool {
    switch self {
    case .all(let nodes): nodes.count == 1 && nodes[0].hasOnlyWanted
    case .any(let nodes): nodes.allSatisfy(\.hasOnlyWanted)
    case .phrase: true
    case .not: false
    }
  }

  /// Appends the words that are looked for, in the order of the query: not those that are excluded.
  func collectWanted(into phrases: inout [TextQuery.Phrase]) {
    switch self {
    case .all(let nodes), .any(let nodes):
      for node in nodes { node.collectWanted(into: &phrases) }
    case .phrase(let phrase): phrases.append(phrase)
    case .not: break
    }
  }
}
