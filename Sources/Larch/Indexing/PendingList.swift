/// The pending entries of a search, in the order of records: what was saved record by record, and is not merged into
/// blocks yet.
///
/// They are read once, when something asks for them first, and stay where they are in the file. So a list is valid
/// until the next change of its tree.
final class PendingList {
  private var entries: [PendingEntry]?
  /// What was found, by the word or the beginning.
  private var known: [[UInt8]: [SearchChange]] = [:]

  /// Reads the entries again when they are asked for.
  func forget() {
    entries = nil
    known = [:]
  }

  func entries(_ tree: SearchTree) throws -> [PendingEntry] {
    if let entries { return entries }
    var found: [PendingEntry] = []
    try PendingList.forEach(tree) { found.append($0) }
    entries = found
    return found
  }

  /// How much waits: calls with the number of each entry, and the bytes of its words that wait.
  ///
  /// A damaged entry counts as a whole: it is an error for those who need its words, not for the saves of others.
  static func forEachSize(_ tree: SearchTree, _ body: (_ number: UInt64, _ size: Int) -> Void)
    throws
  {
    try forEachStored(tree) { number, bytes, sweep in
      body(
        number,
        (try? PendingEntry(number, bytes, sweep: sweep).waitingSize()) ?? bytes.count)
    }
  }

  /// Visits the stored entries.
  static func forEach(_ tree: SearchTree, _ body: (PendingEntry) throws -> Void) throws {
    try forEachStored(tree) { try body(PendingEntry($0, $1, sweep: $2)) }
  }

  private static func forEachStored(
    _ tree: SearchTree,
    _ body: (_ number: UInt64, _ bytes: UnsafeRawBufferPointer, _ sweep: [UInt8]) throws -> Void
  ) throws {
    var sweep: [UInt8] = []
    var last: UInt64?
    var cursor = try LMDBCursor(tree.index.database, in: tree.transaction)
    var entry = try withUnsafeBytes(of: SearchKey.pending) { try cursor.seek(atOrAfter: $0) }
    while let here = entry, here.key[0] == SearchKey.pending {
      if here.key.count == 1 {
        // It comes before all entries.
        sweep = [UInt8](here.value)
      } else {
        let rest = UnsafeRawBufferPointer(rebasing: here.key.dropFirst())
        guard let number = SearchKey.number(in: rest, base: tree.base),
          last.map({ $0 < number }) ?? true
        else { throw SearchBytes.damaged }
        last = number
        try body(number, here.value, sweep)
      }
      entry = try cursor.next()
    }
  }

  /// The changes of a word, or of all words with a beginning, in the order of words and records.
  ///
  /// - Parameter prefix: the beginning of keys of blocks: a word and a zero, or the beginning of words.
  func changes(of prefix: UnsafeRawBufferPointer, _ tree: SearchTree) throws -> [SearchChange] {
    let entries = try entries(tree)
    if entries.isEmpty { return [] }
    let key = [UInt8](prefix)
    if let found = known[key] { return found }
    let isWord = prefix.last == 0
    let word = isWord ? UnsafeRawBufferPointer(rebasing: prefix.dropLast()) : prefix
    var found: [SearchChange] = []
    for entry in entries {
      var place = try entry.place(atOrAfter: word)
      while place < entry.count {
        let here = try entry.word(place)
        guard isWord ? here.equals(word) : here.starts(with: word) else { break }
        if entry.waits(place) { found.append(try entry.change(place, tree.search)) }
        place += 1
      }
    }
    // Those of one word come in the order of records.
    if !isWord { found.sort { $0.precedes($1.word, $1.number) } }
    known[key] = found
    return found
  }
}

extension SearchTree {
  /// The word that the sweep over all pending entries has reached; empty at the beginning.
  func sweep() throws -> [UInt8] {
    try withUnsafeBytes(of: SearchKey.pending) {
      try index.database.get($0, in: transaction).map { [UInt8]($0) } ?? []
    }
  }

  func setSweep(_ word: [UInt8]) throws {
    try withUnsafeBytes(of: SearchKey.pending) { key in
      if word.isEmpty {
        _ = try index.database.delete(key, in: transaction)
      } else {
        _ = try word.withUnsafeBytes { try index.database.put(key, $0, in: transaction) }
      }
    }
  }

  /// The changes of a word, or of all words with a beginning, that the blocks do not have, in the order of words and
  /// records. Lengths are never pending.
  ///
  /// - Parameter prefix: the beginning of keys of blocks; that of no word has all changes.
  func changes(of prefix: UnsafeRawBufferPointer) throws -> [SearchChange] {
    prefix.first == 0 ? [] : try pending.changes(of: prefix, self)
  }

  /// How many more postings there are than the blocks of these keys tell.
  ///
  /// - Parameter counts: whether those of a word count.
  func difference(
    of prefix: UnsafeRawBufferPointer,
    _ counts: (_ word: UnsafeRawBufferPointer) -> Bool = { _ in true }
  ) throws -> Int {
    try changes(of: prefix).reduce(0) { counts($1.word) ? $0 + $1.difference : $0 }
  }
}
