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
  private static let fewLengths = 128
  private static let fewPlaces = 4

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
    let fields = relevance.weights.indices.filter { relevance.weights[$0] > 0 }
    // Where each record with one of the words is found, one reading finds it and its frequencies. Those of many words
    // are not kept together.
    var known: [Frequencies] = []
    if node.hasOnlyWanted, words.count <= Self.fewWords {
      for word in words {
        known.append(try frequencies(of: word, in: fields, among: nil, reader, evaluator))
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
    made.scores = [Double](repeating: 0, count: made.numbers.count)
    if known.count == 1, !made.numbers.isEmpty {
      try score(known[0], fields, try made.tree.totals(), to: &made, evaluator)
    } else if !made.numbers.isEmpty {
      let totals = try made.tree.totals()
      let norms = try norms(of: fields, totals, made, evaluator)
      for (place, word) in words.enumerated() {
        let isKnown = place < known.count
        let here =
          isKnown
          ? known[place]
          : try frequencies(of: word, in: fields, among: made.numbers, reader, evaluator)
        let having = isKnown ? here.numbers.count : try evaluator.count(of: word)
        add(here, SearchScores.rarity(totals.records, having), fields, norms, to: &made)
      }
    }
    made.entriesExamined = evaluator.entriesExamined
    found = made
    return made
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
        if f > 0 { scores[place] += rarity * f * (Self.k + 1) / (Self.k + f) }
      }
    }
  }

  /// The scores where one word is all that is looked for, as the lengths of its records are read: with no more than a
  /// look into a table for most of them, and nothing kept between.
  private func score(
    _ word: Frequencies, _ fields: [Int], _ totals: SearchTotals, to found: inout Found,
    _ evaluator: SearchEvaluator
  ) throws {
    let width = fields.count
    let weights = fields.map { relevance.weights[$0] }
    let norm = Norm(fields, totals)
    // What a field with so few places of the word, and of so few words, adds to f.
    let few = word.numbers.count > Self.fewLengths ? Self.fewLengths : 0
    let known = (0..<UInt32(Self.fewPlaces)).flatMap { count in
      (0..<width).flatMap { slot in
        (0..<UInt64(few)).map { weights[slot] * Double(count) / norm(slot, $0) }
      }
    }
    let numbers = found.numbers
    let search = evaluator.tree.search
    try found.scores.withUnsafeMutableBufferPointer { sums in
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
      let rarity = Self.rarity(totals.records, word.numbers.count)
      for place in sums.indices {
        let f = sums[place]
        sums[place] = f > 0 ? rarity * f * (Self.k + 1) / (Self.k + f) : 0
      }
    }
  }

  /// Rounded, so that another mathematical library hardly ever changes an order.
  private static func rarity(_ records: UInt64, _ having: Int) -> Double {
    let others = max(0, Double(records) - Double(having))
    return Double(Float(log(1 + (others + 0.5) / (Double(having) + 0.5))))
  }

  /// What frequencies in a field are divided by.
  private struct Norm {
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

  // MARK: Frequencies

  /// How often a word stands in some fields of the records that have it.
  private struct Frequencies {
    /// The records, in order.
    var numbers: [UInt64] = []
    /// For each record the number of each field.
    var counts: [UInt32] = []
  }

  /// - Parameter candidates: the only records that count, in order; nil for all.
  private func frequencies(
    of word: TextQuery.Phrase, in fields: [Int], among candidates: [UInt64]?, _ reader: RowReader,
    _ evaluator: SearchEvaluator
  ) throws -> Frequencies {
    if word.words.count > 1 {
      return try frequencies(ofPhrase: word, in: fields, among: candidates, reader, evaluator)
    }
    let width = fields.count
    let slots = evaluator.tree.search.fields.indices.map { fields.firstIndex(of: $0) ?? -1 }
    var found = Frequencies()
    let only = word.words[0]
    if !only.isExact {
      // A record comes once for each of its words.
      found.numbers = try evaluator.records(.phrase(word), among: candidates)
      found.counts = [UInt32](repeating: 0, count: found.numbers.count * width)
      try evaluator.forEachRecord(of: only, among: found.numbers) {
        _, place, posting in
        _ = try read(&posting, evaluator.tree.search) { field, count in
          if slots[field] >= 0 { found.counts[place &* width &+ slots[field]] &+= count }
        }
      }
      return found
    }
    if candidates == nil {
      return try frequencies(ofWord: only, slots, width, evaluator)
    }
    try evaluator.forEachRecord(of: only, among: candidates) {
      number, _, posting in
      let row = found.counts.count
      for _ in 0..<width { found.counts.append(0) }
      let mask = try read(&posting, evaluator.tree.search) { field, count in
        if slots[field] >= 0 { found.counts[row &+ slots[field]] = count }
      }
      if mask & relevance.scan.mask != 0 {
        found.numbers.append(number)
      } else {
        found.counts.removeLast(width)
      }
    }
    return found
  }

  /// The same for all records of one word, a block at once.
  ///
  /// - Parameter slots: for each field of the search its place among the wanted ones; negative for any other.
  private func frequencies(
    ofWord word: WantedWord, _ slots: [Int], _ width: Int, _ evaluator: SearchEvaluator
  ) throws -> Frequencies {
    let search = evaluator.tree.search
    let wanted = relevance.scan.mask
    var numbers: [UInt64] = []
    var counts: [UInt32] = []
    try evaluator.forEachBlock(of: word, among: nil) { block in
      var postings = SearchBytes(block.value, at: block.start)
      for _ in 0..<block.places.lowerBound { _ = try postings.skipPosting(search) }
      let first = block.numbers[block.places.lowerBound]
      guard numbers.last.map({ $0 < first }) ?? true else { throw SearchBytes.damaged }
      numbers.append(contentsOf: block.numbers[block.places])
      let start = counts.count
      counts.append(contentsOf: repeatElement(0, count: block.places.count * width))
      // The records that are kept so far are in front.
      var end = start
      var kept = numbers.count - block.places.count
      try counts.withUnsafeMutableBufferPointer { counts in
        for place in block.places {
          let mask = try read(&postings, search) { field, count in
            if slots[field] >= 0 { counts[end &+ slots[field]] = count }
          }
          if mask & wanted != 0 {
            numbers[kept] = block.numbers[place]
            kept &+= 1
            end &+= width
          } else {
            for slot in 0..<width { counts[end &+ slot] = 0 }
          }
        }
      }
      numbers.removeLast(numbers.count - kept)
      counts.removeLast(counts.count - end)
    }
    return Frequencies(numbers: numbers, counts: counts)
  }

  /// Passes a posting, and calls with the number of places in each field.
  ///
  /// - Returns: the bits of the fields.
  @inline(__always)
  private func read(
    _ posting: inout SearchBytes, _ search: SearchSchema, _ body: (_ field: Int, UInt32) -> Void
  ) throws -> UInt32 {
    let mask = try posting.mask(search)
    var rest = mask
    while rest != 0 {
      body(rest.trailingZeroBitCount, UInt32(truncatingIfNeeded: try posting.places { _ in }))
      rest &= rest &- 1
    }
    return mask
  }

  private func frequencies(
    ofPhrase phrase: TextQuery.Phrase, in fields: [Int], among candidates: [UInt64]?,
    _ reader: RowReader, _ evaluator: SearchEvaluator
  ) throws -> Frequencies {
    let places = try evaluator.places(of: phrase, among: candidates)
    var found = Frequencies()
    var list = WordList()
    var counts: [Int] = []
    for (place, number) in places.numbers.enumerated() {
      guard try !places.range(place).isEmpty || evaluator.isInRecord(phrase, number) else {
        continue
      }
      if places.areCut[place] {
        counts = try self.counts(of: phrase, inRecord: number, evaluator.tree, reader, &list)
      } else {
        counts = [Int](repeating: 0, count: evaluator.tree.search.fields.count)
        for start in places.range(place) { counts[Int(places.starts[start] >> 32)] += 1 }
      }
      found.numbers.append(number)
      for field in fields { found.counts.append(UInt32(truncatingIfNeeded: counts[field])) }
    }
    return found
  }

  private func counts(
    of phrase: TextQuery.Phrase, inRecord number: UInt64, _ tree: SearchTree, _ reader: RowReader,
    _ list: inout WordList
  ) throws -> [Int] {
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
  /// Whether each record with one of its words passes.
  fileprivate var hasOnlyWanted: Bool {
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
