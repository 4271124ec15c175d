/// Finds the records that pass a test of words, by the postings of a search.
///
/// No record is read, unless a word stands in one field so often that not all of its places are kept.
final class SearchEvaluator {
  private let scan: Plan.SearchScan
  private let reader: RowReader
  let tree: SearchTree
  private let statistics: IndexStatistics
  private var tests: [TextQuery.Phrase: FilterProgram] = [:]
  /// The records of the last block.
  private var numbers: [UInt64] = []
  private var key = ByteBuffer(capacity: 256)
  /// The only records that are looked for; nil for all.
  var window: ClosedRange<UInt64>?
  /// The number of blocks that were read.
  private(set) var entriesExamined = 0

  init(_ scan: Plan.SearchScan, _ reader: RowReader) throws {
    self.scan = scan
    self.reader = reader
    let collection = reader.collection
    tree = try SearchTree(
      try collection.search(at: scan.search), collection.stored.idKind,
      in: try reader.context.transaction())
    statistics = IndexStatistics(collection, reader.context)
  }

  /// Calls with the id of each record that passes, in the order of their numbers.
  func forEachID(_ body: (UnsafeRawBufferPointer) throws -> Void) throws {
    for number in try records(scan.filter.query.node, among: nil) {
      try tree.withID(of: number, body)
    }
  }

  /// The number of records that pass.
  func count() throws -> Int { try records(scan.filter.query.node, among: nil).count }

  /// The number of records that have a word, from the counts of its blocks.
  func count(of word: [UInt8]) throws -> Int {
    var count = 0
    try (word + [0]).withUnsafeBytes { prefix in
      try tree.forEachBlock(from: prefix, prefix: prefix) { block in
        count += try SearchBlock.count(block.value)
        return true
      }
    }
    return count
  }

  // MARK: Queries

  /// The records that pass, in order.
  ///
  /// - Parameter candidates: the only records that count, in order; nil for all.
  func records(
    _ node: TextQuery.Node, among candidates: [UInt64]?
  ) throws -> [UInt64] {
    switch node {
    case .phrase(let phrase): return try records(phrase, among: candidates)
    case .any(let nodes):
      var all: [UInt64] = []
      for node in nodes { all += try records(node, among: candidates) }
      return nodes.count == 1 ? all : SearchEvaluator.sorted(all)
    case .not(let node):
      // The planner uses no search for a query that only excludes.
      guard let candidates else { throw TransactionContext.ended }
      return SearchEvaluator.subtract(try records(node, among: candidates), from: candidates)
    case .all(let nodes):
      var found = candidates
      // The rarest words first, so that few records are looked for in the others; what is excluded comes last.
      let sizes = try nodes.map {
        $0.isBounded ? try statistics.estimate($0, tree) : Int.max
      }
      for place in nodes.indices.sorted(by: { (sizes[$0], $0) < (sizes[$1], $1) }) {
        found = try records(nodes[place], among: found)
        if found?.isEmpty == true { break }
      }
      guard let found else { throw TransactionContext.ended }
      return found
    }
  }

  private func records(
    _ phrase: TextQuery.Phrase, among candidates: [UInt64]?
  ) throws -> [UInt64] {
    let last = phrase.words.count - 1
    func isPrefix(_ place: Int) -> Bool { phrase.endsInPrefix && place == last }
    if last == 0 {
      return try records(of: phrase.words[0], isPrefix: isPrefix(0), among: candidates)
    }
    let sizes = try phrase.words.indices.map {
      try statistics.estimate(phrase.words[$0], isPrefix: isPrefix($0), tree)
    }
    var found = candidates
    for place in phrase.words.indices.sorted(by: { (sizes[$0], $0) < (sizes[$1], $1) }) {
      found = try records(of: phrase.words[place], isPrefix: isPrefix(place), among: found)
      if found?.isEmpty == true { return [] }
    }
    return try recordsInOrder(phrase, found ?? [])
  }

  // MARK: Phrases

  /// The records in which the words of a phrase follow each other.
  ///
  /// - Parameter candidates: records that have all of the words.
  private func recordsInOrder(
    _ phrase: TextQuery.Phrase, _ candidates: [UInt64]
  ) throws -> [UInt64] {
    let (starts, areCut) = try starts(of: phrase, candidates)
    var found: [UInt64] = []
    for (place, number) in candidates.enumerated() {
      if try !starts[place].isEmpty || areCut[place] && isInRecord(phrase, number) {
        found.append(number)
      }
    }
    return found
  }

  /// For each candidate where a phrase begins: the field, and the place in it. And whether there may be more,
  /// because not all places of a word are kept.
  func starts(
    of phrase: TextQuery.Phrase, _ candidates: [UInt64]
  ) throws -> (starts: [[UInt64]], areCut: [Bool]) {
    var starts = [[UInt64]](repeating: [], count: candidates.count)
    var areCut = [Bool](repeating: false, count: candidates.count)
    for (distance, word) in phrase.words.enumerated() {
      let isPrefix = phrase.endsInPrefix && distance == phrase.words.count - 1
      var next = [[UInt64]](repeating: [], count: candidates.count)
      try forEachRecord(of: word, isPrefix: isPrefix, among: candidates, readsPostings: true) {
        _, candidate, posting in
        var posting = posting
        let mask = try posting.mask(tree.search)
        for field in 0..<tree.search.fields.count where mask & 1 << UInt32(field) != 0 {
          let isWanted = scan.mask & 1 << UInt32(field) != 0
          var passed = 0
          let count = try posting.places { place in
            passed += 1
            guard isWanted, Int(place) >= distance else { return }
            let start = UInt64(field) << 32 | UInt64(Int(place) - distance)
            if distance == 0 || SearchEvaluator.contains(starts[candidate], start) {
              next[candidate].append(start)
            }
          }
          if isWanted, count > passed { areCut[candidate] = true }
        }
      }
      starts = next
    }
    return (starts, areCut)
  }

  /// Reads a record whose places are not all kept.
  private func isInRecord(_ phrase: TextQuery.Phrase, _ number: UInt64) throws -> Bool {
    let test: FilterProgram
    if let known = tests[phrase] {
      test = known
    } else {
      let filter = WordsFilter(scan.filter.fields, TextQuery(.phrase(phrase)))
      test = try FilterProgram([.words(filter)], context: reader.context, typed: reader.typed)
      tests[phrase] = test
    }
    return try tree.withID(of: number) { id in
      // Reading the record may move what the id points to.
      try [UInt8](id).withUnsafeBytes { id in
        try reader.matches(test, try reader.read(id), id)
      }
    }
  }

  // MARK: Words

  /// The records that have a word in one of the wanted fields, in order.
  private func records(
    of word: [UInt8], isPrefix: Bool, among candidates: [UInt64]?
  ) throws -> [UInt64] {
    var found: [UInt64] = []
    let readsPostings = scan.mask != tree.search.wholeMask
    try forEachRecord(
      of: word, isPrefix: isPrefix, among: candidates, readsPostings: readsPostings
    ) { number, _, posting in
      if readsPostings {
        var posting = posting
        guard try posting.mask(tree.search) & scan.mask != 0 else { return }
      }
      found.append(number)
    }
    return isPrefix ? SearchEvaluator.sorted(found) : found
  }

  /// Calls with each record of a word, or of all words with a beginning: its number, its place among the
  /// candidates, and the bytes at its posting, if these are read.
  func forEachRecord(
    of word: [UInt8], isPrefix: Bool, among candidates: [UInt64]?, readsPostings: Bool,
    _ body: (_ number: UInt64, _ candidate: Int, _ posting: SearchBytes) throws -> Void
  ) throws {
    let prefix = isPrefix ? word : word + [0]
    try prefix.withUnsafeBytes { prefix in
      if !isPrefix, let candidates, try isWorthSeeking(candidates.count, word) {
        return try seek(candidates, prefix, readsPostings: readsPostings, body)
      }
      if let window {
        return try readWindow(window, prefix, among: candidates, readsPostings: readsPostings, body)
      }
      try tree.forEachBlock(from: prefix, prefix: prefix) { block in
        try read(block, among: candidates, readsPostings: readsPostings, body)
        return true
      }
    }
  }

  /// A search for a block costs as much as reading some of them.
  private func isWorthSeeking(_ count: Int, _ word: [UInt8]) throws -> Bool {
    try 4 * count < statistics.estimate(word, isPrefix: false, tree) / SearchBlock.postingLimit
  }

  /// Reads only the blocks that may have one of the candidates.
  private func seek(
    _ candidates: [UInt64], _ prefix: UnsafeRawBufferPointer, readsPostings: Bool,
    _ body: (_ number: UInt64, _ candidate: Int, _ posting: SearchBytes) throws -> Void
  ) throws {
    var cursor = try LMDBCursor(tree.index.database, in: tree.transaction)
    var place = 0
    while place < candidates.count {
      guard let here = try find(candidates[place], prefix, &cursor) else { return }
      let block = try tree.block(here)
      try read(block, among: candidates, readsPostings: readsPostings, body)
      // What the block would have had is done; a candidate before its first record is in none.
      let end = max(numbers.last ?? block.first, candidates[place])
      place = SearchEvaluator.place(after: end, in: candidates)
    }
  }

  /// The block of a word in which a record would be, or the next one.
  private func find(
    _ number: UInt64, _ prefix: UnsafeRawBufferPointer, _ cursor: inout LMDBCursor
  ) throws -> LMDBEntry? {
    key.removeAll()
    key.append(prefix)
    SearchKey.append(number, base: tree.base, to: &key)
    var entry = try cursor.seek(atOrAfter: key.bytes)
    if entry.map({ !$0.key.equals(key.bytes) }) ?? true {
      // The block before may have it.
      let before = entry == nil ? try cursor.last() : try cursor.previous()
      if let before, before.key.starts(with: prefix) {
        entry = before
      } else {
        entry = before == nil ? try cursor.first() : try cursor.next()
      }
    }
    return entry.flatMap { $0.key.starts(with: prefix) ? $0 : nil }
  }

  /// Reads only the blocks of a word that may have records in a window.
  private func readWindow(
    _ window: ClosedRange<UInt64>, _ prefix: UnsafeRawBufferPointer, among candidates: [UInt64]?,
    readsPostings: Bool,
    _ body: (_ number: UInt64, _ candidate: Int, _ posting: SearchBytes) throws -> Void
  ) throws {
    var cursor = try LMDBCursor(tree.index.database, in: tree.transaction)
    var entry = try find(window.lowerBound, prefix, &cursor)
    while let here = entry, here.key.starts(with: prefix) {
      let block = try tree.block(here)
      if block.first > window.upperBound { return }
      try read(block, among: candidates, readsPostings: readsPostings) { number, place, posting in
        if window.contains(number) { try body(number, place, posting) }
      }
      entry = try cursor.next()
    }
  }

  /// Reads the blocks of lengths that may have some records; only these, if there are few.
  ///
  /// - Parameter body: gets the numbers of a block, and the bytes behind them.
  func forEachBlockOfLengths(
    _ wanted: [UInt64],
    _ body: (_ block: SearchTree.Block, _ numbers: [UInt64], _ bytes: SearchBytes) throws -> Void
  ) throws {
    let prefix: [UInt8] = [0]
    try prefix.withUnsafeBytes { prefix in
      let seeks = try isWorthSeeking(wanted.count, [])
      var cursor = try LMDBCursor(tree.index.database, in: tree.transaction)
      var place = 0
      var entry = try cursor.seek(atOrAfter: prefix)
      while place < wanted.count {
        if seeks { entry = try find(wanted[place], prefix, &cursor) }
        guard let here = entry, here.key.starts(with: prefix) else { return }
        let block = try tree.block(here)
        entriesExamined += 1
        numbers.removeAll(keepingCapacity: true)
        var bytes = SearchBytes(block.value)
        try SearchBlock.readNumbers(first: block.first, &bytes) { numbers.append($0) }
        try body(block, numbers, bytes)
        if seeks {
          let end = max(numbers.last ?? block.first, wanted[place])
          place = SearchEvaluator.place(after: end, in: wanted)
        } else {
          entry = try cursor.next()
        }
      }
    }
  }

  private func read(
    _ block: SearchTree.Block, among candidates: [UInt64]?, readsPostings: Bool,
    _ body: (_ number: UInt64, _ candidate: Int, _ posting: SearchBytes) throws -> Void
  ) throws {
    entriesExamined += 1
    numbers.removeAll(keepingCapacity: true)
    var bytes = SearchBytes(block.value)
    try SearchBlock.readNumbers(first: block.first, &bytes) { numbers.append($0) }
    var candidate = 0
    if let candidates {
      candidate = SearchEvaluator.place(atOrAfter: block.first, in: candidates)
    }
    for number in numbers {
      var isWanted = true
      if let candidates {
        while candidate < candidates.count, candidates[candidate] < number { candidate += 1 }
        if candidate == candidates.count { return }
        isWanted = candidates[candidate] == number
      }
      if isWanted { try body(number, candidate, bytes) }
      if readsPostings { _ = try bytes.skipPosting(tree.search) }
    }
  }

  // MARK: Lists of numbers

  static func sorted(_ numbers: [UInt64]) -> [UInt64] {
    var numbers = numbers
    RadixSort.sort(&numbers)
    var kept = 0
    for number in numbers where kept == 0 || numbers[kept - 1] != number {
      numbers[kept] = number
      kept += 1
    }
    numbers.removeLast(numbers.count - kept)
    return numbers
  }

  private static func subtract(_ others: [UInt64], from numbers: [UInt64]) -> [UInt64] {
    var place = 0
    return numbers.filter { number in
      while place < others.count, others[place] < number { place += 1 }
      return place == others.count || others[place] != number
    }
  }

  private static func contains(_ sorted: [UInt64], _ number: UInt64) -> Bool {
    let place = place(atOrAfter: number, in: sorted)
    return place < sorted.count && sorted[place] == number
  }

  static func place(atOrAfter number: UInt64, in sorted: [UInt64]) -> Int {
    var low = 0
    var high = sorted.count
    while low < high {
      let middle = (low + high) / 2
      if sorted[middle] < number { low = middle + 1 } else { high = middle }
    }
    return low
  }

  private static func place(after number: UInt64, in sorted: [UInt64]) -> Int {
    number == .max ? sorted.count : place(atOrAfter: number + 1, in: sorted)
  }
}

extension CollectionHandle {
  /// The search that a plan names, by its place in the schema.
  func search(at place: Int) throws -> IndexHandle {
    guard let index = searches.first(where: { $0.position == schema.indexes.count + place }) else {
      throw LarchError(
        .corrupted, "A plan names a search that the file does not have; open the store again."
      ) { $0.collection = stored.name }
    }
    return index
  }
}
