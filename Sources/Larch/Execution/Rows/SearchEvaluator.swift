/// Finds the records that pass a test of words, by the postings of a search.
///
/// No record is read, unless a word stands in one field so often that not all of its places are kept.
final class SearchEvaluator {
  let scan: Plan.SearchScan
  let reader: RowReader
  let tree: SearchTree
  let statistics: IndexStatistics
  private var tests: [TextQuery.Phrase: FilterProgram] = [:]
  /// The records of the last block.
  @exclusivity(unchecked) var numbers = BlockNumbers()
  @exclusivity(unchecked) var key = ByteBuffer(capacity: 256)
  /// The only records that are looked for; nil for all.
  var window: ClosedRange<UInt64>?
  /// The number of blocks that were read.
  var entriesExamined = 0

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

  /// The number of records that pass, or at least `most`, from the counts of blocks, which are not read further;
  /// nil unless one word in any field is wanted.
  func countOfBlocks(upTo most: Int) throws -> Int? {
    guard case .phrase(let phrase) = scan.filter.query.node else { return nil }
    return try countOfBlocks(of: phrase, upTo: most)
  }

  /// The number of records with a phrase.
  func count(of phrase: TextQuery.Phrase) throws -> Int {
    try countOfBlocks(of: phrase, upTo: .max) ?? records(.phrase(phrase), among: nil).count
  }

  private func countOfBlocks(of phrase: TextQuery.Phrase, upTo most: Int) throws -> Int? {
    guard phrase.words.count == 1, phrase.words[0].isExact, scan.mask == tree.search.wholeMask
    else { return nil }
    var count = 0
    try phrase.words[0].keyPrefix.withUnsafeBytes { prefix in
      count = try tree.difference(of: prefix)
      try tree.forEachStoredBlock(from: prefix, prefix: prefix) { block in
        count += try SearchBlock.count(block.value)
        entriesExamined += 1
        return count < most
      }
    }
    // Only damage gives less.
    return max(0, count)
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
      var all = NumberUnion()
      for node in nodes { all.add(try records(node, among: candidates)) }
      return all.finish()
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
    if phrase.words.count == 1 { return try records(of: phrase.words[0], among: candidates) }
    let found = try places(of: phrase, among: candidates)
    var numbers: [UInt64] = []
    for (place, number) in found.numbers.enumerated() {
      if try !found.range(place).isEmpty || isInRecord(phrase, number) { numbers.append(number) }
    }
    return numbers
  }

  /// Reads a record whose places are not all kept.
  func isInRecord(_ phrase: TextQuery.Phrase, _ number: UInt64) throws -> Bool {
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

  /// Joins lists in order, of which each may have most numbers of the others: not all are kept until the end.
  struct NumberUnion {
    private var numbers: [UInt64] = []
    /// Whether the numbers so far are in order, without doubles.
    private var isSorted = true
    private var limit = 1 << 16

    mutating func add(_ more: [UInt64]) {
      if let last = numbers.last, let first = more.first, first <= last { isSorted = false }
      if numbers.isEmpty { numbers = more } else { numbers += more }
      if numbers.count > limit, !isSorted {
        numbers = finish()
        isSorted = true
        limit = max(limit, 2 * numbers.count)
      }
    }

    func finish() -> [UInt64] { isSorted ? numbers : SearchEvaluator.sorted(numbers) }
  }

  private static func subtract(_ others: [UInt64], from numbers: [UInt64]) -> [UInt64] {
    var place = 0
    return numbers.filter { number in
      while place < others.count, others[place] < number { place += 1 }
      return place == others.count || others[place] != number
    }
  }

  /// Appends what two lists have in common; both are in order.
  static func appendCommon(
    _ numbers: UnsafeBufferPointer<UInt64>, _ others: [UInt64], to found: inout [UInt64]
  ) {
    guard let first = numbers.first else { return }
    others.withUnsafeBufferPointer { others in
      var other = place(atOrAfter: first, in: others)
      for number in numbers {
        while other < others.count, others[other] < number { other &+= 1 }
        if other == others.count { return }
        if others[other] == number { found.append(number) }
      }
    }
  }

  static func place<C: RandomAccessCollection>(
    atOrAfter number: UInt64, in sorted: C
  ) -> Int where C.Element == UInt64, C.Index == Int {
    sorted.placeAfter { $0 < number }
  }

  static func place<C: RandomAccessCollection>(
    after number: UInt64, in sorted: C
  ) -> Int where C.Element == UInt64, C.Index == Int {
    number == .max ? sorted.endIndex : place(atOrAfter: number + 1, in: sorted)
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
