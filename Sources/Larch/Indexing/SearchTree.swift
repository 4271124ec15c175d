/// Reads the tree of a search.
struct SearchTree {
  let index: IndexHandle
  let search: SearchSchema
  let idKind: RecordIDKind
  let transaction: LMDBTransaction
  /// The number of the id 0.
  let base: UInt64
  /// Whether records have numbers of their own, because ids are no integers.
  let isNumbered: Bool
  /// What is not merged into blocks yet.
  let pending = PendingList()

  init(_ index: IndexHandle, _ idKind: RecordIDKind, in transaction: LMDBTransaction) throws {
    guard let search = index.schema.search else { throw SearchBytes.damaged }
    self.index = index
    self.search = search
    self.idKind = idKind
    self.transaction = transaction
    base = idKind.searchBase
    isNumbered = idKind.width != 8
  }

  /// The number of a record; nil if it is in no search.
  func number(of id: UnsafeRawBufferPointer) throws -> UInt64? {
    if !isNumbered {
      guard id.count == 8 else { throw SearchBytes.damaged }
      return SearchKey.number(ofID: id)
    }
    return try SearchNumbers.number(of: id, in: index.database, transaction)
  }

  /// Calls with the id of a record.
  func withID<T>(
    of number: UInt64, _ body: (UnsafeRawBufferPointer) throws -> T
  ) throws -> T {
    if !isNumbered { return try withUnsafeBytes(of: number.bigEndian) { try body($0) } }
    var key = ByteBuffer(capacity: 16)
    key.append(SearchKey.numbers)
    key.append(bigEndian: number)
    guard let id = try index.database.get(key.bytes, in: transaction), !id.isEmpty,
      idKind.width.map({ $0 == id.count }) ?? (id.count <= RecordIDKind.longest)
    else { throw SearchBytes.damaged }
    return try body(id)
  }

  /// One stored block.
  struct Block {
    let word: UnsafeRawBufferPointer
    let first: UInt64
    let value: UnsafeRawBufferPointer
  }

  /// Visits the blocks as they are stored, in order until the closure returns false: from the first one whose key is
  /// not less than `start`, as long as keys begin with `prefix`.
  ///
  /// - Parameter readsAll: whether the closure reads all bytes of each block, and not only how many records it has.
  func forEachStoredBlock(
    from start: UnsafeRawBufferPointer, prefix: UnsafeRawBufferPointer, readsAll: Bool = false,
    _ body: (Block) throws -> Bool
  ) throws {
    var cursor = try LMDBCursor(index.database, in: transaction)
    var entry = try cursor.seek(atOrAfter: start)
    while let here = entry, here.key.starts(with: prefix) {
      entry = readsAll ? try nextAhead(&cursor) : try cursor.next()
      guard try body(block(here)) else { return }
    }
  }

  /// The entry after that of the cursor. The processor loads its block while the one before is read.
  func nextAhead(_ cursor: inout LMDBCursor) throws -> LMDBEntry? {
    guard let next = try cursor.next() else { return nil }
    if let start = next.value.baseAddress {
      for line in 0...min(next.value.count, SearchBlock.sizeLimit) / 64 {
        (start + line &* 64).prefetch()
      }
    }
    return next
  }

  /// The block in an entry.
  func block(_ entry: LMDBEntry) throws -> Block {
    guard let (word, first) = SearchKey.parts(of: entry.key, base: base) else {
      throw SearchBytes.damaged
    }
    return Block(word: word, first: first, value: entry.value)
  }

  /// The stored block of a word in which a record would be, or the next one.
  ///
  /// - Parameter prefix: the word and a zero.
  func find(
    _ number: UInt64, _ prefix: UnsafeRawBufferPointer, _ cursor: inout LMDBCursor,
    _ key: inout ByteBuffer
  ) throws -> LMDBEntry? {
    key.removeAll()
    key.append(prefix)
    SearchKey.append(number, base: base, to: &key)
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

  /// Visits all postings, those of lengths first, in the order of words and records.
  func forEachPosting(
    _ body: (_ word: UnsafeRawBufferPointer, _ number: UInt64, _ posting: UnsafeRawBufferPointer)
      throws -> Void
  ) throws {
    var block = SearchBlock()
    func visit(_ stored: Block) throws -> Bool {
      block.removeAll()
      try block.append(
        first: stored.first, stored.value, isOfLengths: stored.word.isEmpty, search)
      for place in 0..<block.count {
        try body(stored.word, block.numbers[place], block.posting(place))
      }
      return true
    }
    try withUnsafeBytes(of: UInt8(0)) { try forEachStoredBlock(from: $0, prefix: $0, visit) }
    try withUnsafeBytes(of: SearchKey.firstOfWord) { start in
      let all = UnsafeRawBufferPointer(rebasing: start[..<0])
      try forEachBlock(from: start, prefix: all, visit)
    }
  }
}

extension IndexHandle {
  /// The number of entries of an index; of a search, the number of its records.
  ///
  /// - Throws: `.corrupted` if the blocks of a search cannot be read.
  /// - Complexity: O(1); of a search, O(records / 128).
  package func entryCount(
    of idKind: RecordIDKind, in transaction: LMDBTransaction
  ) throws -> Int {
    guard schema.search != nil else {
      return try database.statistics(in: transaction).entries
    }
    let tree = try SearchTree(self, idKind, in: transaction)
    var count = 0
    try [UInt8(0)].withUnsafeBytes { lengths in
      try tree.forEachStoredBlock(from: lengths, prefix: lengths) { block in
        count += try SearchBlock.count(block.value)
        return true
      }
    }
    return count
  }

  /// Visits the words of a search in order, each with the id of every record that has it, in order.
  ///
  /// - Throws: `.corrupted` if the blocks cannot be read; the errors of `body`.
  /// - Complexity: O(postings); the ids of one word are in memory at a time.
  package func forEachWord(
    of idKind: RecordIDKind, in transaction: LMDBTransaction,
    _ body: (_ word: String, _ id: UnsafeRawBufferPointer) throws -> Void
  ) throws {
    guard schema.search != nil else { return }
    let tree = try SearchTree(self, idKind, in: transaction)
    var word: [UInt8] = []
    var ids = IDList(width: idKind.width)
    func end() throws {
      ids.finish()
      let text = String(decoding: word, as: UTF8.self)
      for place in 0..<ids.count { try body(text, ids[place]) }
      ids.removeAll()
    }
    try tree.forEachPosting { here, number, _ in
      if here.isEmpty { return }
      if !word.elementsEqual(here) {
        try end()
        word = [UInt8](here)
      }
      try tree.withID(of: number) { ids.append($0) }
    }
    try end()
  }
}
