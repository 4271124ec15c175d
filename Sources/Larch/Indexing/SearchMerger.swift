/// Merges changed postings into the blocks of a search, word by word.
///
/// The changes come in the order of words and records. So each block is read and written once, and an empty index is
/// filled by appending, which fills its pages.
struct SearchMerger: ~Copyable {
  private let tree: SearchTree
  private let database: LMDBDatabase
  private let transaction: LMDBTransaction
  private let search: SearchSchema
  private let base: UInt64
  /// Fewer postings than this are joined with those of the next block.
  private static let fewPostings = 32

  /// The word of the open block.
  private var word = ByteBuffer(capacity: 256)
  /// The postings of the open block that no change has passed.
  private var old = SearchBlock()
  private var next = 0
  /// The postings of the open block up to the last change.
  private var new = SearchBlock()
  private var isOpen = false
  /// The key of the block in the tree; none for a new one.
  private var stored = ByteBuffer(capacity: 256)
  /// The number with which the next block of the word begins; nil if there is none.
  private var following: UInt64?
  private var hasRemovals = false
  private var key = ByteBuffer(capacity: 256)
  private var value = ByteBuffer(capacity: 1024)
  /// Whether the tree was empty: then each pair is appended at the end.
  private let isAppending: Bool
  /// Known once a length changes.
  private var totals: SearchTotals?

  init(
    _ index: IndexHandle, _ idKind: RecordIDKind, in transaction: LMDBTransaction
  ) throws {
    // What throws comes first: a part of a merger cannot be given back.
    let tree = try SearchTree(index, idKind, in: transaction)
    isAppending = try index.database.statistics(in: transaction).entries == 0
    self.tree = tree
    database = index.database
    self.transaction = transaction
    search = tree.search
    base = tree.base
  }

  /// Sets the posting of a record, or removes it. Changes of a word come in the order of numbers, and words in their
  /// order.
  ///
  /// - Parameter posting: nil removes it.
  mutating func merge(
    _ word: UnsafeRawBufferPointer, _ number: UInt64, _ posting: UnsafeRawBufferPointer?
  ) throws {
    if !isOpen || !self.word.bytes.equals(word) || following.map({ number >= $0 }) ?? false {
      try finishBlock()
      try open(word, number)
    }
    while next < old.count, old.numbers[next] < number {
      new.append(old.numbers[next], old.posting(next))
      next += 1
    }
    if word.isEmpty { try count(number, posting) }
    if next < old.count, old.numbers[next] == number { next += 1 }
    guard let posting else {
      hasRemovals = true
      return
    }
    new.append(number, posting)
    // A word of many records must not need all of them in memory.
    if isAppending, new.count >= 4 * SearchBlock.postingLimit { try writeFull() }
  }

  /// Writes the open block, and the totals. Call it after the last change.
  mutating func finish() throws {
    try finishBlock()
    if let totals { try totals.write(to: database, in: transaction) }
  }

  /// Counts a change of lengths, before it is made.
  private mutating func count(_ number: UInt64, _ posting: UnsafeRawBufferPointer?) throws {
    var totals = try self.totals ?? tree.totals()
    if next < old.count, old.numbers[next] == number { try totals.remove(old.posting(next)) }
    if let posting { try totals.add(posting) }
    self.totals = totals
  }

  private mutating func finishBlock() throws {
    guard isOpen else { return }
    isOpen = false
    let isAtEnd = next == old.count && following == nil
    while next < old.count {
      new.append(old.numbers[next], old.posting(next))
      next += 1
    }
    if hasRemovals, new.count < Self.fewPostings { try join() }
    if !stored.bytes.isEmpty {
      var isSameKey = false
      if let first = new.numbers.first {
        makeKey(first)
        isSameKey = key.bytes.equals(stored.bytes)
      }
      if !isSameKey { try database.delete(stored.bytes, in: transaction) }
    }
    try write(evenly: !isAtEnd)
  }

  // MARK: Reading

  private mutating func open(_ word: UnsafeRawBufferPointer, _ number: UInt64) throws {
    self.word.removeAll()
    self.word.append(word)
    old.removeAll()
    new.removeAll()
    next = 0
    stored.removeAll()
    following = nil
    hasRemovals = false
    isOpen = true
    if isAppending { return }
    makeKey(number)
    var cursor = try LMDBCursor(database, in: transaction)
    var entry = try cursor.seek(atOrAfter: key.bytes)
    if entry.map({ !$0.key.equals(key.bytes) }) ?? true {
      // The block before begins with a smaller number, and may have this one.
      let before = entry == nil ? try cursor.last() : try cursor.previous()
      if let before, try self.number(of: before.key) != nil {
        entry = before
      } else {
        entry = before == nil ? try cursor.first() : try cursor.next()
      }
    }
    guard let here = entry, let first = try self.number(of: here.key) else { return }
    stored.append(here.key)
    try old.append(first: first, here.value, isOfLengths: word.isEmpty, search)
    if let after = try cursor.next() { following = try self.number(of: after.key) }
  }

  /// The number of a block of the open word; nil for the key of something else.
  private func number(of key: UnsafeRawBufferPointer) throws -> UInt64? {
    let word = word.bytes
    guard key.count > word.count, key[word.count] == 0,
      UnsafeRawBufferPointer(rebasing: key[..<word.count]).equals(word)
    else { return nil }
    let rest = UnsafeRawBufferPointer(rebasing: key[(word.count + 1)...])
    guard let number = SearchKey.number(in: rest, base: base) else { throw SearchBytes.damaged }
    return number
  }

  /// Takes the postings of the next block, if there are few.
  private mutating func join() throws {
    guard let following else { return }
    makeKey(following)
    guard let here = try database.get(key.bytes, in: transaction),
      try new.count + SearchBlock.count(here) <= 3 * SearchBlock.postingLimit / 4,
      new.size + here.count <= 3 * SearchBlock.sizeLimit / 4
    else { return }
    try new.append(first: following, here, isOfLengths: word.bytes.isEmpty, search)
    try database.delete(key.bytes, in: transaction)
  }

  // MARK: Writing

  /// - Parameter isEven: whether further postings may come between these: then all blocks get as many.
  private mutating func write(evenly isEven: Bool) throws {
    var start = 0
    var most = SearchBlock.postingLimit
    if isEven {
      var blocks = 0
      while start < new.count {
        start = new.full(from: start).upperBound
        blocks += 1
      }
      if blocks > 1 { most = (new.count + blocks - 1) / blocks }
      start = 0
    }
    while start < new.count {
      let places = new.full(from: start, most: most)
      try put(places)
      start = places.upperBound
    }
  }

  /// Writes all full blocks, while further postings of the word follow.
  private mutating func writeFull() throws {
    var start = 0
    while true {
      let places = new.full(from: start)
      if places.upperBound == new.count { break }
      try put(places)
      start = places.upperBound
    }
    var rest = SearchBlock()
    for place in start..<new.count { rest.append(new.numbers[place], new.posting(place)) }
    swap(&new, &rest)
  }

  private mutating func put(_ places: Range<Int>) throws {
    makeKey(new.numbers[places.lowerBound])
    new.write(places, to: &value)
    let mode: LMDBDatabase.PutMode = isAppending ? .append : .upsert
    guard try database.put(key.bytes, value.bytes, in: transaction, mode: mode) else {
      throw LarchError(.storage, "Sorted postings were not in order; this is a fault of Larch.")
    }
  }

  private mutating func makeKey(_ number: UInt64) {
    key.removeAll()
    key.append(word.bytes)
    key.append(0)
    SearchKey.append(number, base: base, to: &key)
  }
}
