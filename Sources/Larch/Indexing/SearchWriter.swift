/// Writes changes of postings to the tree of a search.
///
/// Each word of a record lies on another page, so merging one record into blocks changes a page for nearly each word.
/// Changes of few records are therefore put aside as pending entries, one for each record, and merged together with
/// those of many others: a piece of the words of all of them, when too many bytes wait. Lengths and totals are merged
/// at once.
struct SearchWriter {
  let tree: SearchTree
  let idKind: RecordIDKind
  /// How many changes may wait; nil if none may.
  let limits: SearchLimits?

  /// - Parameter entries: sorted; their keys have a word and a number.
  func write(_ entries: borrowing PendingEntries) throws {
    guard let limits, let changes = try changes(in: entries, limits) else {
      return try mergeAll(entries)
    }
    let isFewer = try mergeLengths(entries)
    var amount = changes.waiting
    let sweep = try tree.sweep()
    for (number, changes) in changes.ofRecords.sorted(by: { $0.key < $1.key }) {
      try add(changes, of: number, sweep, &amount)
    }
    // A search without records is an empty tree.
    if isFewer, try tree.totals().records == 0 {
      try mergeAll(PendingEntries())
    } else if limits.mergesPiece(amount) {
      try mergePiece(of: amount, limits)
    }
  }

  // MARK: Pending entries

  private typealias Changes = (ofRecords: [UInt64: [SearchChange]], waiting: PendingAmount)

  /// The changes by record, and what waits already; nil if both together are too much.
  private func changes(
    in entries: borrowing PendingEntries, _ limits: SearchLimits
  ) throws -> Changes? {
    if entries.byteCount > limits.bytes { return nil }
    var changes: [UInt64: [SearchChange]] = [:]
    var isTooMuch = false
    try entries.forEachKey { key, before, posting in
      if isTooMuch { return }
      let (word, number) = try parts(of: key)
      if word.isEmpty { return }
      switch (before, posting) {
      case (nil, nil): return
      case (let before?, let posting?) where before.equals(posting): return
      default: break
      }
      changes[number, default: []].append(
        SearchChange(word: word, number: number, was: before != nil, posting: posting))
      isTooMuch = changes.count > limits.records
    }
    if isTooMuch { return nil }
    // What waits is looked at only if something is added to it.
    var waiting = PendingAmount()
    if changes.isEmpty { return (changes, waiting) }
    var total = PendingAmount(entries: changes.count, bytes: entries.byteCount)
    try PendingList.forEachSize(tree) {
      waiting.add($1)
      total.bytes += $1
      if changes[$0] == nil { total.entries += 1 }
    }
    return limits.mergesAll(total) ? nil : (changes, waiting)
  }

  /// Adds to the pending entry of a record.
  private func add(
    _ changes: [SearchChange], of number: UInt64, _ sweep: [UInt8], _ amount: inout PendingAmount
  ) throws {
    var key = ByteBuffer(capacity: 16)
    makeKey(number, &key)
    var all = changes
    let database = tree.index.database
    if let stored = try database.get(key.bytes, in: tree.transaction) {
      let entry = try PendingEntry(number, stored, sweep: sweep)
      amount.remove(try entry.waitingSize())
      all = try entry.merged(with: changes, tree.search)
    }
    if all.isEmpty {
      _ = try database.delete(key.bytes, in: tree.transaction)
      return
    }
    var value = ByteBuffer(capacity: 2048)
    amount.add(PendingEntry.write(all, sweep: sweep, to: &value))
    try database.put(key.bytes, value.bytes, in: tree.transaction)
  }

  private func makeKey(_ number: UInt64, _ key: inout ByteBuffer) {
    key.removeAll()
    key.append(SearchKey.pending)
    SearchKey.append(number, base: tree.base, to: &key)
  }

  private func removePending(_ numbers: [UInt64]) throws {
    var key = ByteBuffer(capacity: 16)
    for number in numbers {
      makeKey(number, &key)
      _ = try tree.index.database.delete(key.bytes, in: tree.transaction)
    }
  }

  /// Merges some words of all entries.
  private func mergePiece(of amount: PendingAmount, _ limits: SearchLimits) throws {
    let entries = try PendingList().entries(tree)
    let piece = try PendingPiece(of: entries, size: limits.piece(of: amount))
    let done = zip(entries, piece.places).filter { $0.isDone(with: $1) }.map(\.0.number)
    let changes = CopiedChanges(try piece.changes(of: entries, tree.search))
    defer { withExtendedLifetime(changes) {} }
    var merger = try SearchMerger(tree.index, idKind, in: tree.transaction)
    for change in changes.all { try merger.merge(change.word, change.number, change.posting) }
    try merger.finish()
    try removePending(done)
    try tree.setSweep(piece.end)
  }

  // MARK: Blocks

  /// - Returns: whether a record is gone.
  private func mergeLengths(_ entries: borrowing PendingEntries) throws -> Bool {
    var merger = try SearchMerger(tree.index, idKind, in: tree.transaction)
    var isEnded = false
    var isFewer = false
    // The word without bytes comes first.
    try entries.forEachKey { key, _, posting in
      if isEnded { return }
      let (word, number) = try parts(of: key)
      isEnded = !word.isEmpty
      if isEnded { return }
      try merger.merge(word, number, posting)
      if posting == nil { isFewer = true }
    }
    try merger.finish()
    return isFewer
  }

  /// Merges the changes and everything that waits, in one pass.
  private func mergeAll(_ entries: borrowing PendingEntries) throws {
    let list = PendingList()
    let pending = try list.entries(tree).map(\.number)
    let copied = CopiedChanges(
      try list.changes(of: UnsafeRawBufferPointer(start: nil, count: 0), tree))
    defer { withExtendedLifetime(copied) {} }
    let waiting = copied.all
    var merger = try SearchMerger(tree.index, idKind, in: tree.transaction)
    var next = 0
    try entries.forEachKey { key, _, posting in
      let (word, number) = try parts(of: key)
      while next < waiting.count, waiting[next].precedes(word, number) {
        try merger.merge(waiting[next].word, waiting[next].number, waiting[next].posting)
        next += 1
      }
      // What the record has now counts.
      if next < waiting.count, waiting[next].number == number, waiting[next].word.equals(word) {
        next += 1
      }
      try merger.merge(word, number, posting)
    }
    while next < waiting.count {
      try merger.merge(waiting[next].word, waiting[next].number, waiting[next].posting)
      next += 1
    }
    try merger.finish()
    try removePending(pending)
    try tree.setSweep([])
  }

  private func parts(
    of key: UnsafeRawBufferPointer
  ) throws -> (word: UnsafeRawBufferPointer, number: UInt64) {
    // `PendingWords` made the keys.
    guard let parts = SearchKey.parts(of: key, base: tree.base) else { throw SearchBytes.damaged }
    return parts
  }
}
