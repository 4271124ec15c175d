internal import Foundation

/// How well records match the words of a query, by the formula BM25 over the fields of a search.
///
///     score = Σ over words: rarity · f · (k + 1) / (k + f)
///     f = Σ over fields: weight · frequency / (1 − b + b · length / average length)
///     rarity = ln(1 + (N − n + ½) / (n + ½))
///
/// `N` is the number of records, `n` that of the records with the word in one of the fields. A beginning of words,
/// and a phrase, count as one word. The sums are made in the order of the query and of the fields, so that equal
/// records have equal scores. No record is read, unless a word stands in one so often that not all of its
/// places are kept.
final class SearchScores {
  private static let k = 1.2
  private static let b = 0.75

  let relevance: Plan.Relevance
  private let collection: CollectionHandle
  private let context: TransactionContext
  /// The owner of this object.
  private unowned let typed: TypedAccess
  private var found: Found?

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
    let found = try all()
    guard let number = try found.tree.number(of: id) else { return 0 }
    let place = SearchEvaluator.place(atOrAfter: number, in: found.numbers)
    return place < found.numbers.count && found.numbers[place] == number
      ? found.scores[place] : 0
  }

  /// All scores, which are computed once.
  func all() throws -> Found {
    if let found { return found }
    let reader = try RowReader(collection, residue: [], context: context, typed: typed)
    let evaluator = try SearchEvaluator(relevance.scan, reader)
    // Not the evaluator, which keeps the owner of this object.
    var made = Found(tree: evaluator.tree)
    let node = relevance.scan.filter.query.node
    var words: [TextQuery.Phrase] = []
    node.collectWanted(into: &words)
    if node.isBounded {
      made.numbers = try evaluator.records(node, among: nil)
    } else {
      for word in words { made.numbers += try evaluator.records(.phrase(word), among: nil) }
      made.numbers = SearchEvaluator.sorted(made.numbers)
    }
    made.scores = [Double](repeating: 0, count: made.numbers.count)
    if !made.numbers.isEmpty { try score(words, node, reader, evaluator, &made) }
    made.entriesExamined = evaluator.entriesExamined
    found = made
    return made
  }

  // MARK: The formula

  private func score(
    _ words: [TextQuery.Phrase], _ node: TextQuery.Node, _ reader: RowReader,
    _ evaluator: SearchEvaluator, _ found: inout Found
  ) throws {
    let count = found.numbers.count
    let totals = try found.tree.totals()
    let fields = relevance.weights.indices.filter { relevance.weights[$0] > 0 }
    let norms = try norms(of: fields, totals, found, evaluator)
    var frequencies = [UInt32](repeating: 0, count: count * fields.count)
    for word in words {
      for place in frequencies.indices { frequencies[place] = 0 }
      try addFrequencies(of: word, in: fields, found, reader, evaluator, &frequencies)
      let having = try recordCount(word, isAll: node == .phrase(word), found, evaluator)
      let rarity = SearchScores.rarity(totals.records, having)
      for place in 0..<count {
        var f = 0.0
        for (slot, field) in fields.enumerated() {
          let frequency = frequencies[slot * count + place]
          guard frequency > 0 else { continue }
          f += relevance.weights[field] * Double(frequency) / norms[slot * count + place]
        }
        if f > 0 { found.scores[place] += rarity * f * (Self.k + 1) / (Self.k + f) }
      }
    }
  }

  /// Rounded, so that another mathematical library hardly ever changes an order.
  private static func rarity(_ records: UInt64, _ having: Int) -> Double {
    let others = max(0, Double(records) - Double(having))
    return Double(Float(log(1 + (others + 0.5) / (Double(having) + 0.5))))
  }

  /// The number of records with a word in one of the fields.
  private func recordCount(
    _ word: TextQuery.Phrase, isAll: Bool, _ found: Found, _ evaluator: SearchEvaluator
  ) throws -> Int {
    if isAll { return found.numbers.count }
    let isPlain = word.words.count == 1 && !word.endsInPrefix
    if isPlain, relevance.scan.mask == found.tree.search.wholeMask {
      return try evaluator.count(of: word.words[0])
    }
    return try evaluator.records(.phrase(word), among: nil).count
  }

  /// What frequencies are divided by: for each field the number of each record.
  private func norms(
    of fields: [Int], _ totals: SearchTotals, _ found: Found, _ evaluator: SearchEvaluator
  ) throws -> [Double] {
    let count = found.numbers.count
    var norms = [Double](repeating: 1, count: count * fields.count)
    let averages = fields.map { Double(totals.words[$0]) / Double(max(1, totals.records)) }
    try evaluator.forEachLengths(of: found.numbers, fields) { place, slot, length in
      if averages[slot] > 0 {
        norms[slot * count + place] = 1 - Self.b + Self.b * Double(length) / averages[slot]
      }
    }
    return norms
  }

  // MARK: Frequencies

  /// Counts how often a word stands in the fields of each record.
  private func addFrequencies(
    of word: TextQuery.Phrase, in fields: [Int], _ found: Found, _ reader: RowReader,
    _ evaluator: SearchEvaluator, _ frequencies: inout [UInt32]
  ) throws {
    if word.words.count > 1 {
      return try addFrequencies(ofPhrase: word, in: fields, found, reader, evaluator, &frequencies)
    }
    let count = found.numbers.count
    let search = found.tree.search
    let slots = search.fields.indices.map { fields.firstIndex(of: $0) }
    try evaluator.forEachRecord(
      of: word.words[0], isPrefix: word.endsInPrefix, among: found.numbers, readsPostings: true
    ) { _, place, posting in
      var posting = posting
      var mask = try posting.mask(search)
      while mask != 0 {
        let frequency = try posting.places { _ in }
        if let slot = slots[mask.trailingZeroBitCount] {
          frequencies[slot * count + place] &+= UInt32(truncatingIfNeeded: frequency)
        }
        mask &= mask &- 1
      }
    }
  }

  private func addFrequencies(
    ofPhrase phrase: TextQuery.Phrase, in fields: [Int], _ found: Found, _ reader: RowReader,
    _ evaluator: SearchEvaluator, _ frequencies: inout [UInt32]
  ) throws {
    let count = found.numbers.count
    let (starts, areCut) = try evaluator.starts(of: phrase, found.numbers)
    var list = WordList()
    for place in 0..<count {
      if areCut[place] {
        let counts = try counts(of: phrase, inRecord: found.numbers[place], found, reader, &list)
        for (slot, field) in fields.enumerated() {
          frequencies[slot * count + place] = UInt32(truncatingIfNeeded: counts[field])
        }
        continue
      }
      for start in starts[place] {
        if let slot = fields.firstIndex(of: Int(start >> 32)) {
          frequencies[slot * count + place] += 1
        }
      }
    }
  }

  private func counts(
    of phrase: TextQuery.Phrase, inRecord number: UInt64, _ found: Found, _ reader: RowReader,
    _ list: inout WordList
  ) throws -> [Int] {
    let tree = found.tree
    guard
      let place = collection.searches.firstIndex(where: { $0 === tree.index })
    else { throw TransactionContext.ended }
    return try tree.withID(of: number) { id in
      // Reading the record may move what the id points to.
      try [UInt8](id).withUnsafeBytes { id in
        do {
          try words.collect(of: try reader.read(id), place, in: collection, into: &list)
        } catch is KeysUnknownWithoutType {
          throw LarchError(
            .invalidQuery,
            "An order by relevance needs the type of a record, which has a word too often; sort by a field."
          ) {
            $0.collection = collection.stored.name
            $0.id = collection.stored.idKind.text(of: id)
          }
        }
        return list.count(of: phrase, tree.search)
      }
    }
  }

  private lazy var words = RecordWords(context.coder)
}

extension TextQuery.Node {
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
