// How often words stand in the records that have them.
extension SearchScores {
  /// How often a word stands in some fields of the records that have it.
  struct Frequencies {
    /// The records, in order.
    var numbers: [UInt64] = []
    /// For each record the number of each field.
    var counts: [UInt32] = []
    /// The last record of the last block.
    var last: UInt64?
  }

  /// - Parameter candidates: the only records that count, in order; nil for all.
  func frequencies(
    of word: TextQuery.Phrase, in fields: [Int], among candidates: [UInt64]?,
    _ evaluator: SearchEvaluator
  ) throws -> Frequencies {
    if word.words.count > 1 {
      return try frequencies(ofPhrase: word, in: fields, among: candidates, evaluator)
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
      let wanted = relevance.scan.mask
      try evaluator.forEachBlock(of: only, among: nil) { block in
        try append(block, to: &found, slots, width, evaluator.tree.search) { mask, _, _ in
          mask & wanted != 0
        }
      }
      return found
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

  /// Appends the records of a block, with how often the word stands in them, unless the closure refuses one.
  ///
  /// - Parameter slots: for each field of the search its place among the wanted ones; negative for any other.
  @inline(__always)
  func append(
    _ block: SearchEvaluator.Block, to found: inout Frequencies, _ slots: [Int], _ width: Int,
    _ search: SearchSchema,
    where isWanted: (
      _ mask: UInt32, _ counts: UnsafeMutableBufferPointer<UInt32>, _ start: Int
    ) -> Bool
  ) throws {
    let first = block.numbers[block.places.lowerBound]
    guard found.last.map({ $0 < first }) ?? true else { throw SearchBytes.damaged }
    found.last = block.numbers[block.places.upperBound - 1]
    var postings = SearchBytes(block.value, at: block.start)
    for _ in 0..<block.places.lowerBound { _ = try postings.skipPosting(search) }
    // The records that are kept so far are in front.
    var kept = found.numbers.count
    var end = found.counts.count
    found.numbers.append(contentsOf: block.numbers[block.places])
    found.counts.append(contentsOf: repeatElement(0, count: block.places.count * width))
    try found.numbers.withUnsafeMutableBufferPointer { numbers in
      try found.counts.withUnsafeMutableBufferPointer { counts in
        for place in block.places {
          let mask = try read(&postings, search) { field, count in
            if slots[field] >= 0 { counts[end &+ slots[field]] = count }
          }
          if isWanted(mask, counts, end) {
            numbers[kept] = block.numbers[place]
            kept &+= 1
            end &+= width
          } else {
            for slot in 0..<width { counts[end &+ slot] = 0 }
          }
        }
      }
    }
    found.numbers.removeLast(found.numbers.count - kept)
    found.counts.removeLast(found.counts.count - end)
  }

  /// Passes a posting, and calls with the number of places in each field.
  ///
  /// - Returns: the bits of the fields.
  @inline(__always)
  func read(
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
    _ evaluator: SearchEvaluator
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
        counts = try self.counts(
          of: phrase, inRecord: number, evaluator.tree, evaluator.reader, &list)
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
}
