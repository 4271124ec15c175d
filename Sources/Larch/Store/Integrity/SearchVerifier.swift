/// Compares the searches of a collection with the words of its records, in constant memory.
///
/// Each posting has a hash. Those of all records are summed, in groups by word, and so are those of all blocks. Only
/// where the sums of a group differ are its words compared one by one.
final class SearchVerifier {
  private static let groupCount = 1024
  /// The number of groups that are compared word by word.
  private static let groupLimit = 16

  private struct Sum: Equatable {
    var count = 0
    var sum: UInt64 = 0
    var squares: UInt64 = 0

    mutating func add(_ hash: UInt64) {
      count &+= 1
      sum &+= hash
      squares &+= hash &* hash
    }
  }

  /// A posting that a record or a block has.
  private struct Place: Hashable {
    let word: [UInt8]
    let number: UInt64
  }

  let collection: CollectionHandle
  private let context: TransactionContext
  private let words: RecordWords
  private var list = WordList()
  private var buffer = ByteBuffer(capacity: 1024)
  private var sums: [[Sum]]
  /// The records whose words cannot be determined, by search.
  private var undecided: [Set<UInt64>]
  private var silent: [Int]
  /// The records without a number, by search.
  private var unnumbered: [[String]]
  private var recordCount = 0

  init(_ collection: CollectionHandle, _ context: TransactionContext) {
    self.collection = collection
    self.context = context
    words = RecordWords(context.coder)
    let none = [Sum](repeating: Sum(), count: Self.groupCount)
    sums = collection.searches.map { _ in none }
    undecided = collection.searches.map { _ in [] }
    silent = collection.searches.map { _ in 0 }
    unnumbered = collection.searches.map { _ in [] }
  }

  /// Adds the words of a record.
  func take(_ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer) throws {
    recordCount += 1
    for (number, index) in collection.searches.enumerated() where index.isReady {
      guard let place = try tree(index).number(of: id) else {
        if unnumbered[number].count < VerificationReport.faultLimit {
          unnumbered[number].append(collection.stored.idKind.text(of: id))
        }
        continue
      }
      guard try collect(record, number) else {
        undecided[number].insert(place)
        silent[number] += 1
        continue
      }
      for item in list.items {
        add(list.word(item), place, list.posting(item), to: &sums[number])
      }
    }
  }

  /// Compares the sums with those of the blocks.
  ///
  /// - Returns: for each search, the number of records whose words cannot be determined.
  func finish(into report: inout VerificationReport) throws -> [Int] {
    for (number, index) in collection.searches.enumerated() where index.isReady {
      for id in unnumbered[number] {
        report.add(fault(.missingEntry, index, id: id, detail: "the record is in no block"))
      }
      do {
        try finish(number, index, into: &report)
      } catch let error as LarchError where error.code == .corrupted {
        report.add(fault(.danglingEntry, index, detail: "a block of words cannot be read"))
      }
    }
    return silent
  }

  /// False if only the type of the record has its words, or the type cannot decode it.
  private func collect(_ record: UnsafeRawBufferPointer, _ number: Int) throws -> Bool {
    do {
      try words.collect(of: record, number, in: collection, into: &list)
      return true
    } catch is KeysUnknownWithoutType {
      return false
    } catch let error as LarchError where error.code == .decodingFailed {
      return false
    }
  }

  private func tree(_ index: IndexHandle) throws -> SearchTree {
    try SearchTree(index, collection.stored.idKind, in: try context.transaction())
  }

  func fault(
    _ kind: VerificationReport.Fault.Kind, _ index: IndexHandle, id: String? = nil,
    detail: String
  ) -> VerificationReport.Fault {
    .init(
      kind, collection: collection.stored.name, index: index.stored.name, id: id, detail: detail)
  }

  // MARK: Sums

  private func add(
    _ word: UnsafeRawBufferPointer, _ number: UInt64, _ posting: UnsafeRawBufferPointer,
    to sums: inout [Sum]
  ) {
    sums[Self.group(of: word)].add(hash(word, number, posting))
  }

  private static func group(of word: UnsafeRawBufferPointer) -> Int {
    Int(truncatingIfNeeded: ByteHash.of(word) >> 20) & (groupCount - 1)
  }

  private func hash(
    _ word: UnsafeRawBufferPointer, _ number: UInt64, _ posting: UnsafeRawBufferPointer
  ) -> UInt64 {
    buffer.removeAll()
    buffer.append(bigEndian: number)
    buffer.append(word)
    buffer.append(0)
    buffer.append(posting)
    return ByteHash.of(buffer.bytes)
  }

  private func finish(
    _ number: Int, _ index: IndexHandle, into report: inout VerificationReport
  ) throws {
    let tree = try tree(index)
    guard try checkPending(tree, into: &report) else { return }
    var found = [Sum](repeating: Sum(), count: Self.groupCount)
    var lastWord: [UInt8]?
    var last: UInt64 = 0
    var isInOrder = true
    var entries = 0
    try tree.forEachPosting { word, place, posting in
      entries += 1
      if lastWord.map({ $0.elementsEqual(word) }) ?? false {
        if place <= last { isInOrder = false }
      } else {
        lastWord = [UInt8](word)
      }
      last = place
      if undecided[number].contains(place) { return }
      add(word, place, posting, to: &found)
    }
    report.entryCount += entries
    guard isInOrder else { throw SearchBytes.damaged }
    if tree.isNumbered { try checkNumbers(tree, into: &report) }
    if let stored = try SearchTotals.stored(tree.search, in: tree.index.database, tree.transaction),
      try stored != tree.countedTotals()
    {
      report.add(
        fault(
          .danglingEntry, index,
          detail: "the numbers of records and words do not fit the records"))
    }
    let groups = found.indices.filter { found[$0] != sums[number][$0] }
    if groups.isEmpty { return }
    try compare(Set(groups.prefix(Self.groupLimit)), number, tree, into: &report)
    if groups.count > Self.groupLimit {
      report.add(
        fault(
          .missingEntry, index,
          detail: "and words of \(groups.count - Self.groupLimit) further groups"))
    }
  }

  /// Each id has a number, and each number its id.
  private func checkNumbers(
    _ tree: SearchTree, into report: inout VerificationReport
  ) throws {
    var cursor = try LMDBCursor(tree.index.database, in: tree.transaction)
    var ids = 0
    var numbers = 0
    var isWrong = false
    var entry = try withUnsafeBytes(of: SearchKey.ids) { try cursor.seek(atOrAfter: $0) }
    while let here = entry, here.key[0] == SearchKey.ids || here.key[0] == SearchKey.numbers {
      let rest = UnsafeRawBufferPointer(rebasing: here.key.dropFirst())
      if here.key[0] == SearchKey.ids {
        ids += 1
        guard here.value.count == 8 else { throw SearchBytes.damaged }
        let number = SearchKey.number(ofID: here.value)
        let isSame = try? tree.withID(of: number) { $0.equals(rest) }
        if isSame != true { isWrong = true }
      } else {
        numbers += 1
      }
      entry = try cursor.next()
    }
    if isWrong || ids != numbers || ids > recordCount {
      report.add(
        fault(.danglingEntry, tree.index, detail: "the numbers of records do not fit their ids"))
    }
  }

  // MARK: Words

  /// Compares the words of some groups one by one.
  private func compare(
    _ groups: Set<Int>, _ number: Int, _ tree: SearchTree, into report: inout VerificationReport
  ) throws {
    var wanted: [Place: UInt64] = [:]
    var records = try LMDBCursor(collection.records, in: tree.transaction)
    var record = try records.first()
    while let here = record {
      // A damaged record has been reported.
      if let bytes = try? RecordEnvelope.open(here.value, id: here.key, in: collection),
        let place = try tree.number(of: here.key), try collect(bytes, number)
      {
        for item in list.items where groups.contains(Self.group(of: list.word(item))) {
          let word = list.word(item)
          wanted[Place(word: [UInt8](word), number: place)] = hash(
            word, place, list.posting(item))
        }
      }
      record = try records.next()
    }
    try tree.forEachPosting { word, place, posting in
      guard groups.contains(Self.group(of: word)), !undecided[number].contains(place) else {
        return
      }
      let found = Place(word: [UInt8](word), number: place)
      let hash = wanted.removeValue(forKey: found)
      if hash == self.hash(word, place, posting) { return }
      report.add(
        try fault(
          hash == nil ? .danglingEntry : .missingEntry, found, tree,
          hash == nil ? "" : ", with other places"))
    }
    let missing = wanted.keys.sorted {
      $0.number != $1.number
        ? $0.number < $1.number : $0.word.lexicographicallyPrecedes($1.word)
    }
    for place in missing { report.add(try fault(.missingEntry, place, tree, "")) }
  }

  private func fault(
    _ kind: VerificationReport.Fault.Kind, _ place: Place, _ tree: SearchTree, _ more: String
  ) throws -> VerificationReport.Fault {
    let text =
      place.word.isEmpty
      ? "numbers of words" : "word \"\(String(decoding: place.word, as: UTF8.self))\""
    let id = try? tree.withID(of: place.number) { collection.stored.idKind.text(of: $0) }
    return fault(kind, tree.index, id: id ?? "number \(place.number)", detail: text + more)
  }
}
