/// Makes the blocks that a search would have if nothing were pending.
///
/// A block answers for all numbers from its first one to the next block of the word, and the first block of a word
/// for those before it too. What changes there is left out of it, and what is new is put in. So readers know one form
/// of block. One that is full may become two.
struct BlockPatcher: ~Copyable {
  private let search: SearchSchema
  private var old = SearchBlock()
  private var new = SearchBlock()
  private var value = ByteBuffer(capacity: 0)

  init(_ search: SearchSchema) { self.search = search }

  /// Calls with what a block is with the changes: one block, several or none.
  ///
  /// - Parameters:
  ///   - stored: nil for a word, or a part of it, that has no block.
  ///   - changes: those of the numbers that the block answers for, in order.
  /// - Returns: false if the closure did.
  mutating func patch(
    _ stored: SearchTree.Block?, _ changes: ArraySlice<SearchChange>,
    _ body: (SearchTree.Block) throws -> Bool
  ) throws -> Bool {
    guard let word = changes.first?.word else { return try stored.map(body) ?? true }
    old.removeAll()
    new.removeAll()
    if let stored {
      try old.append(first: stored.first, stored.value, isOfLengths: false, search)
    }
    var place = 0
    for change in changes {
      while place < old.count, old.numbers[place] < change.number {
        new.append(old.numbers[place], old.posting(place))
        place += 1
      }
      if place < old.count, old.numbers[place] == change.number { place += 1 }
      if let posting = change.posting { new.append(change.number, posting) }
    }
    while place < old.count {
      new.append(old.numbers[place], old.posting(place))
      place += 1
    }
    var start = 0
    while start < new.count {
      let places = new.full(from: start)
      new.write(places, to: &value)
      let block = SearchTree.Block(word: word, first: new.numbers[start], value: value.bytes)
      guard try body(block) else { return false }
      start = places.upperBound
    }
    return true
  }
}

extension SearchTree {
  /// Visits blocks in order until the closure returns false, as if nothing were pending: those whose keys begin
  /// with `prefix`, and are not less than `start`.
  ///
  /// - Parameter start: what no word with the prefix comes before.
  func forEachBlock(
    from start: UnsafeRawBufferPointer, prefix: UnsafeRawBufferPointer,
    _ body: (Block) throws -> Bool
  ) throws {
    let changes = try changes(of: prefix)
    if changes.isEmpty {
      return try forEachStoredBlock(from: start, prefix: prefix, readsAll: true, body)
    }
    var patcher = BlockPatcher(search)
    var next = 0
    /// The changes up to a block, or of one word.
    func take(while isWanted: (SearchChange) -> Bool) -> ArraySlice<SearchChange> {
      let first = next
      while next < changes.count, isWanted(changes[next]) { next += 1 }
      return changes[first..<next]
    }
    var cursor = try LMDBCursor(index.database, in: transaction)
    var here = try self.block(try cursor.seek(atOrAfter: start), prefix)
    while let stored = here {
      let after = try self.block(try cursor.next(), prefix)
      // Words that no block has.
      while next < changes.count, compareBytes(changes[next].word, stored.word) < 0 {
        let word = changes[next].word
        guard try patcher.patch(nil, take { $0.word.equals(word) }, body) else { return }
      }
      let following = after.flatMap { $0.word.equals(stored.word) ? $0.first : nil }
      let own = take { change in
        change.word.equals(stored.word) && (following.map { change.number < $0 } ?? true)
      }
      guard try patcher.patch(stored, own, body) else { return }
      here = after
    }
    while next < changes.count {
      let word = changes[next].word
      guard try patcher.patch(nil, take { $0.word.equals(word) }, body) else { return }
    }
  }

  private func block(_ entry: LMDBEntry?, _ prefix: UnsafeRawBufferPointer) throws -> Block? {
    guard let entry, entry.key.starts(with: prefix) else { return nil }
    return try block(entry)
  }
}
