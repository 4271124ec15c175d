// Reads the blocks of a word that may have some records, and not the others.
extension SearchEvaluator {
  /// Reads only the blocks that may have one of the candidates.
  func seek(
    _ candidates: [UInt64], _ prefix: UnsafeRawBufferPointer, _ body: (Block) throws -> Void
  ) throws {
    let changes = try tree.changes(of: prefix)
    if !changes.isEmpty { return try seek(candidates, prefix, changes, body) }
    var cursor = try LMDBCursor(tree.index.database, in: tree.transaction)
    var place = 0
    while place < candidates.count {
      guard let here = try tree.find(candidates[place], prefix, &cursor, &key) else { return }
      var block = try read(tree.block(here))
      let lower = SearchEvaluator.place(atOrAfter: candidates[place], in: block.numbers)
      // A candidate behind its last record is in none, and the block was perhaps given for those before.
      if lower < block.numbers.count {
        block.places = lower..<block.numbers.count
        try body(block)
      }
      let end = max(block.numbers[block.numbers.count - 1], candidates[place])
      place = SearchEvaluator.place(after: end, in: candidates)
    }
  }

  /// The same for a word with pending changes.
  private func seek(
    _ candidates: [UInt64], _ prefix: UnsafeRawBufferPointer, _ changes: [SearchChange],
    _ body: (Block) throws -> Void
  ) throws {
    var patcher = BlockPatcher(tree.search)
    var cursor = try LMDBCursor(tree.index.database, in: tree.transaction)
    var place = 0
    while place < candidates.count {
      let first = candidates[place]
      let part = try self.part(of: first, prefix, changes, &cursor)
      try read(part, first...UInt64.max, &patcher, body)
      guard let following = part.following else { return }
      place = SearchEvaluator.place(atOrAfter: following, in: candidates)
    }
  }

  /// Reads only the blocks of a word that may have records in a window.
  func readWindow(
    _ window: ClosedRange<UInt64>, _ prefix: UnsafeRawBufferPointer, _ body: (Block) throws -> Void
  ) throws {
    let changes = try tree.changes(of: prefix)
    if !changes.isEmpty { return try readWindow(window, prefix, changes, body) }
    var cursor = try LMDBCursor(tree.index.database, in: tree.transaction)
    var entry = try tree.find(window.lowerBound, prefix, &cursor, &key)
    while let here = entry, here.key.starts(with: prefix) {
      let stored = try tree.block(here)
      if stored.first > window.upperBound { return }
      entry = try tree.nextAhead(&cursor)
      try read(stored, window, body)
    }
  }

  /// The same for a word with pending changes.
  private func readWindow(
    _ window: ClosedRange<UInt64>, _ prefix: UnsafeRawBufferPointer, _ changes: [SearchChange],
    _ body: (Block) throws -> Void
  ) throws {
    var patcher = BlockPatcher(tree.search)
    var cursor = try LMDBCursor(tree.index.database, in: tree.transaction)
    var first = window.lowerBound
    while true {
      let part = try self.part(of: first, prefix, changes, &cursor)
      try read(part, window, &patcher, body)
      guard let following = part.following, following <= window.upperBound else { return }
      first = following
    }
  }

  // MARK: Parts

  /// What one block of a word answers for.
  private struct Part {
    /// Nil if the word has no block.
    let stored: SearchTree.Block?
    /// The pending changes of these records.
    let changes: ArraySlice<SearchChange>
    /// The number with which the next block begins; nil if there is none.
    let following: UInt64?
  }

  /// The part of a word that answers for a record.
  private func part(
    of number: UInt64, _ prefix: UnsafeRawBufferPointer, _ changes: [SearchChange],
    _ cursor: inout LMDBCursor
  ) throws -> Part {
    guard let here = try tree.find(number, prefix, &cursor, &key) else {
      return Part(stored: nil, changes: changes[...], following: nil)
    }
    let stored = try tree.block(here)
    var following: UInt64?
    if let next = try cursor.next(), next.key.starts(with: prefix) {
      following = try tree.block(next).first
      // Only damaged keys are not in order; a reader must get on.
      guard following.map({ $0 > number }) ?? true else { throw SearchBytes.damaged }
    }
    // The first block of a word answers for the records before it too.
    let lower = stored.first > number ? 0 : SearchEvaluator.place(stored.first, in: changes)
    let upper = following.map { SearchEvaluator.place($0, in: changes) } ?? changes.count
    return Part(stored: stored, changes: changes[lower..<upper], following: following)
  }

  /// Reads the records of a part that are in a window.
  private func read(
    _ part: Part, _ window: ClosedRange<UInt64>, _ patcher: inout BlockPatcher,
    _ body: (Block) throws -> Void
  ) throws {
    _ = try patcher.patch(part.stored, part.changes) { block in
      try read(block, window, body)
      return true
    }
  }

  private func read(
    _ stored: SearchTree.Block, _ window: ClosedRange<UInt64>, _ body: (Block) throws -> Void
  ) throws {
    var block = try read(stored)
    let lower = SearchEvaluator.place(atOrAfter: window.lowerBound, in: block.numbers)
    let upper = SearchEvaluator.place(after: window.upperBound, in: block.numbers)
    if lower < upper {
      block.places = lower..<upper
      try body(block)
    }
  }

  /// The place of the first change that does not come before a record.
  private static func place(_ number: UInt64, in changes: [SearchChange]) -> Int {
    changes.placeAfter { $0.number < number }
  }
}
