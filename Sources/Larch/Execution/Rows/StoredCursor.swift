/// A position in the records of a collection that moves in the order of their ids.
///
/// In a read it goes over the mapped pages: a step costs about a third of one of LMDB's cursor. That is
/// opened when it is needed: where a page is not what it should be, and in a write.
struct StoredCursor: ~Copyable {
  private let database: LMDBDatabase
  private let context: TransactionContext
  private var pages: MappedCursor?
  /// Whether there are pages: see `IndexCursor.isOnPages`.
  private var isOnPages = false
  private var cursor: LMDBCursor?

  /// It is closed.
  init(_ database: LMDBDatabase, _ context: TransactionContext) {
    self.database = database
    self.context = context
  }

  /// - Parameter isOften: whether many steps are expected. Otherwise the first scan of a snapshot is left to
  ///   LMDB: to find the tree costs as much as some steps.
  mutating func open(isOften: Bool) throws {
    let transaction = try context.transaction()
    if transaction.isWatched { database.tellRead(in: transaction) }
    if context.isReading,
      let tree = context.trees.tree(of: database, in: transaction, isOften: isOften)
    {
      pages = MappedCursor(tree)
      isOnPages = true
    } else {
      cursor = try LMDBCursor(database, in: transaction)
    }
  }

  var isOpen: Bool { isOnPages || cursor != nil }

  /// Nothing is found after that.
  mutating func close() {
    isOnPages = false
    pages = nil
    cursor = nil
  }

  @inline(__always)
  mutating func first() throws -> LMDBEntry? {
    if isOnPages, let move = pages?.first() {
      if move == .end { return nil }
      if move == .found, let entry = pages?.entry { return entry }
    }
    try leavePages()
    return try cursor?.first()
  }

  @inline(__always)
  mutating func last() throws -> LMDBEntry? {
    if isOnPages, let move = pages?.last() {
      if move == .end { return nil }
      if move == .found, let entry = pages?.entry { return entry }
    }
    try leavePages()
    return try cursor?.last()
  }

  /// The next record; nil after the last one.
  @inline(__always)
  mutating func next() throws -> LMDBEntry? {
    if isOnPages {
      switch pages?.nextEntry() {
      case .entry(let key, let value): return LMDBEntry(key: key, value: value)
      case .end: return nil
      case .unclear, nil: try leavePages(at: pages?.key)
      }
    }
    return try cursor?.next()
  }

  /// The record before; after a `seek` that found nothing, use `last`.
  @inline(__always)
  mutating func previous() throws -> LMDBEntry? {
    guard isOnPages, let key = pages?.key else { return try cursor?.previous() }
    if let move = pages?.previous() {
      if move == .end { return nil }
      if move == .found, let entry = pages?.entry { return entry }
    }
    try leavePages(at: key)
    return try cursor?.previous()
  }

  /// The first record whose id is equal to or greater than the given one, which is not empty.
  @inline(__always)
  mutating func seek(atOrAfter key: UnsafeRawBufferPointer) throws -> LMDBEntry? {
    if isOnPages, let move = pages?.seek(atOrAfter: key) {
      if move == .end { return nil }
      if move == .found, let entry = pages?.entry { return entry }
    }
    try leavePages()
    return try cursor?.seek(atOrAfter: key)
  }

  /// Leaves all further moves to LMDB.
  @inline(never)
  private mutating func leavePages(at key: UnsafeRawBufferPointer? = nil) throws {
    guard isOnPages else { return }
    isOnPages = false
    pages = nil
    cursor = try LMDBCursor(database, in: try context.transaction())
    if let key { _ = try cursor?.seek(exactly: key) }
  }
}

extension MappedCursor {
  /// The key at which it is, and its value.
  @inline(__always)
  fileprivate var entry: LMDBEntry? { value.flatMap { LMDBEntry(key: key, value: $0) } }
}
