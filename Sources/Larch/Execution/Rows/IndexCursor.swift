/// A position in an index, or in lists of ids, that moves in key order.
///
/// In a read it goes over the mapped pages. LMDB's cursor is opened when it is needed: for a key with so
/// many ids that they have their own tree, where a page is not what it should be, in a write, and for an
/// observer.
struct IndexCursor: ~Copyable {
  private let database: LMDBDatabase
  private let transaction: LMDBTransaction
  /// Nil if all is left to LMDB.
  private var pages: MappedCursor?
  /// Whether there are pages. Without the optimiser, Swift 6.3 takes the nil of a large optional in a
  /// structure that cannot be copied for a value, so it is not asked.
  private var isOnPages: Bool
  private var cursor: LMDBCursor?
  /// The ids of the key on the pages; nil while LMDB's cursor is at the key.
  private var ids: Ids?

  private struct Ids {
    var bytes: UnsafeRawBufferPointer
    var width: Int
    /// Where the present one begins.
    var offset = 0
  }

  init(_ database: LMDBDatabase, _ context: TransactionContext) throws {
    let transaction = try context.transaction()
    if transaction.isWatched { database.tellRead(in: transaction) }
    let tree =
      context.isReading
      ? context.trees.tree(of: database, in: transaction, isOften: false) : nil
    let cursor = try tree == nil ? LMDBCursor(database, in: transaction) : nil
    self.database = database
    self.transaction = transaction
    pages = tree.map(MappedCursor.init)
    isOnPages = tree != nil
    self.cursor = cursor
  }

  /// The tree whose pages it goes over; nil if all is left to LMDB.
  var tree: MappedTree? { isOnPages ? pages?.mappedTree : nil }

  /// Closes LMDB's cursor. There is nothing to move to after that.
  mutating func close() {
    isOnPages = false
    (pages, ids) = (nil, nil)
    cursor = nil
  }

  // MARK: Keys

  @inline(__always)
  mutating func first() throws -> LMDBEntry? {
    if isOnPages, let move = pages?.first(), move != .unclear { return try firstEntry(move) }
    try leavePages()
    return try cursor?.first()
  }

  mutating func last() throws -> LMDBEntry? {
    if isOnPages, let move = pages?.last(), move != .unclear { return try lastEntry(move) }
    try leavePages()
    return try cursor?.last()
  }

  /// The first pair of the next key.
  @inline(__always)
  mutating func nextKey() throws -> LMDBEntry? {
    guard isOnPages, let key = pages?.key else { return try cursor?.nextKey() }
    if isOnPages, let move = pages?.next(), move != .unclear { return try firstEntry(move) }
    try leavePages(at: key)
    return try cursor?.nextKey()
  }

  /// The last pair of the previous key; after a `seek` that found nothing, use `last`.
  @inline(__always)
  mutating func previousKey() throws -> LMDBEntry? {
    guard isOnPages, let key = pages?.key else { return try cursor?.previousKey() }
    if isOnPages, let move = pages?.previous(), move != .unclear { return try lastEntry(move) }
    try leavePages(at: key)
    return try cursor?.previousKey()
  }

  /// The first pair whose key is equal to or greater than the given one, which is not empty.
  @inline(__always)
  mutating func seek(atOrAfter key: UnsafeRawBufferPointer) throws -> LMDBEntry? {
    if isOnPages, let move = pages?.seek(atOrAfter: key), move != .unclear {
      return try firstEntry(move)
    }
    try leavePages()
    let entry = try cursor?.seek(atOrAfter: key)
    if let entry, compareBytes(entry.key, key) < 0 { throw Self.disorder }
    return entry
  }

  /// The last pair of the last key that is less than the given one, which is not empty.
  mutating func seek(before key: UnsafeRawBufferPointer) throws -> LMDBEntry? {
    if isOnPages, let move = pages?.seek(before: key), move != .unclear {
      return try lastEntry(move)
    }
    try leavePages()
    let found = try cursor?.seek(atOrAfter: key)
    let entry = try found == nil ? cursor?.last() : cursor?.previousKey()
    if let entry, compareBytes(entry.key, key) >= 0 { throw Self.disorder }
    return entry
  }

  /// Whoever seeks the end of some keys would find one of them again and again.
  private static var disorder: LarchError {
    LarchError(.corrupted, "The keys of an index are not in order; rebuild the indexes.")
  }

  @inline(__always)
  private mutating func firstEntry(_ move: MappedCursor.Move) throws -> LMDBEntry? {
    try move == .found ? entry(atEnd: false) : nil
  }

  @inline(__always)
  private mutating func lastEntry(_ move: MappedCursor.Move) throws -> LMDBEntry? {
    try move == .found ? entry(atEnd: true) : nil
  }

  /// The first or the last pair of the key on the pages.
  @inline(__always)
  private mutating func entry(atEnd: Bool) throws -> LMDBEntry? {
    switch pages?.values {
    case .one(let id): ids = Ids(bytes: id, width: id.count)
    case .run(let bytes, let width):
      ids = Ids(bytes: bytes, width: width, offset: atEnd ? bytes.count &- width : 0)
    case .other, nil: return try entryOfMany(atEnd: atEnd)
    }
    return current
  }

  /// The pair at which it is, on the pages.
  @inline(__always)
  private var current: LMDBEntry? {
    guard isOnPages, let key = pages?.key, let ids, let start = ids.bytes.baseAddress else {
      return nil
    }
    return LMDBEntry(
      key: key, value: UnsafeRawBufferPointer(start: start + ids.offset, count: ids.width))
  }

  @inline(never)
  private mutating func entryOfMany(atEnd: Bool) throws -> LMDBEntry? {
    ids = nil
    guard isOnPages, let key = pages?.key else { return nil }
    let first = try openCursor(at: key)
    return atEnd ? try cursor?.lastDuplicate() : first
  }

  /// Leaves all further moves to LMDB.
  @inline(never)
  private mutating func leavePages(at key: UnsafeRawBufferPointer? = nil) throws {
    guard isOnPages else { return }
    isOnPages = false
    (pages, ids) = (nil, nil)
    if let key {
      _ = try openCursor(at: key)
    } else if cursor == nil {
      cursor = try LMDBCursor(database, in: transaction)
    }
  }

  private mutating func openCursor(at key: UnsafeRawBufferPointer) throws -> LMDBEntry? {
    if cursor == nil { cursor = try LMDBCursor(database, in: transaction) }
    return try cursor?.seek(exactly: key)
  }

  // MARK: The ids of a key

  /// All ids of the key without gaps, if the pages have them so.
  @inline(__always)
  var allIDs: UnsafeRawBufferPointer? { ids?.bytes }

  /// The number of ids of the key, without a scan.
  mutating func idCount() throws -> Int {
    if let ids { return ids.bytes.count == ids.width ? 1 : ids.bytes.count / ids.width }
    return try cursor?.duplicateCount() ?? 0
  }

  /// The first pair of the key at which it is.
  mutating func firstID(of key: UnsafeRawBufferPointer) throws -> LMDBEntry? {
    if ids != nil {
      ids?.offset = 0
      return current
    }
    // Not `firstDuplicate`: a cursor that reached the last key with `last` stays marked as at the
    // end, and LMDB then returns no further value of this key.
    return try cursor?.seek(exactly: key)
  }

  /// The last pair of the key at which it is.
  mutating func lastID() throws -> LMDBEntry? {
    guard let ids else { return try cursor?.lastDuplicate() }
    self.ids?.offset = ids.bytes.count - ids.width
    return current
  }

  mutating func nextID() throws -> LMDBEntry? {
    guard let ids else { return try cursor?.nextDuplicate() }
    guard ids.offset + ids.width < ids.bytes.count else { return nil }
    self.ids?.offset += ids.width
    return current
  }

  mutating func previousID() throws -> LMDBEntry? {
    guard let ids else { return try cursor?.previousDuplicate() }
    guard ids.offset > 0 else { return nil }
    self.ids?.offset -= ids.width
    return current
  }

  /// The pair of a key whose id is equal to the given one, or the next after it. All further moves are
  /// LMDB's.
  mutating func seek(
    _ key: UnsafeRawBufferPointer, idAtOrAfter id: UnsafeRawBufferPointer
  ) throws -> LMDBEntry? {
    try leavePages(at: key)
    return try cursor?.seek(key, valueAtOrAfter: id)
  }

  /// The first pair of exactly this key.
  mutating func seek(exactly key: UnsafeRawBufferPointer) throws -> LMDBEntry? {
    try leavePages()
    return try cursor?.seek(exactly: key)
  }

  /// The first run of ids of a key, and whether the key has no others. The cursor must be at the first id
  /// of the key. The ids of a run have the same size and no gaps.
  @inline(__always)
  mutating func firstRun(
    at entry: LMDBEntry
  ) throws -> (values: UnsafeRawBufferPointer, isOnly: Bool)? {
    if let ids { return (ids.bytes, true) }
    return try cursor?.firstRun(at: entry)
  }

  /// The next run of ids of the same key; nil after the last one.
  mutating func nextRun() throws -> UnsafeRawBufferPointer? {
    ids == nil ? try cursor?.nextRun() : nil
  }
}
