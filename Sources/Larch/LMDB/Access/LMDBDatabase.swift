internal import CLMDB

/// A handle of a named database of an environment.
///
/// The handle stays valid until the environment is closed or its `generation` rises. It must not
/// come from a transaction that was aborted: LMDB closes such handles.
package struct LMDBDatabase: Sendable, Hashable {
  let handle: UInt32

  /// The database whose keys are the names of all others, and whose values are their headers as they
  /// were at the last commit. LMDB always gives it this handle.
  static let unnamed = LMDBDatabase(handle: 1)

  struct Flags: OptionSet, Sendable {
    let rawValue: UInt32
    /// A key may have several values, which are sorted.
    static let duplicates = Self(rawValue: UInt32(MDB_DUPSORT))
    /// All values have one size.
    static let fixedDuplicates = Self(rawValue: UInt32(MDB_DUPFIXED))
    /// Creates the database if it does not exist.
    static let create = Self(rawValue: UInt32(MDB_CREATE))
  }

  /// What a put does if the key or pair exists.
  struct PutMode: Sendable {
    let flags: UInt32
    /// Replaces the value, or adds one where duplicates are allowed.
    static let upsert = Self(flags: 0)
    /// Stores nothing if the key exists.
    static let ifAbsent = Self(flags: UInt32(MDB_NOOVERWRITE))
    /// Stores nothing if this pair exists.
    static let ifPairAbsent = Self(flags: UInt32(MDB_NODUPDATA))
    /// The key is greater than every other; stores nothing if it is not.
    static let append = Self(flags: UInt32(MDB_APPEND))
    /// The pair is greater than every other; stores nothing if it is not.
    static let appendDuplicate = Self(flags: UInt32(MDB_APPENDDUP))

    /// Whether LMDB copies the pages before it finds that there is nothing to store. Then the commit gets
    /// a number, as any other that has changed something.
    var copiesPages: Bool { flags & UInt32(MDB_NODUPDATA | MDB_APPENDDUP) != 0 }
  }

  /// Opens a database by name, or the unnamed one that lists all others; nil if it does not exist
  /// and must not be created. One thread at a time: inside a write, or in `openDatabases`.
  static func open(
    _ name: String?, _ flags: Flags = [], in transaction: LMDBTransaction
  ) throws(LMDBError) -> LMDBDatabase? {
    var handle: UInt32 = 0
    var isNew = false
    if let name, flags.contains(.create) {
      // Only what is made is a change.
      isNew = try !exists(name, in: transaction)
    }
    let code: Int32 =
      if let name {
        name.withCString { mdb_dbi_open(transaction.pointer, $0, flags.rawValue, &handle) }
      } else {
        mdb_dbi_open(transaction.pointer, nil, flags.rawValue, &handle)
      }
    if code == MDB_NOTFOUND { return nil }
    try LMDBError.check(code, "mdb_dbi_open", in: transaction.pointer)
    if let name {
      var stored: UInt32 = 0
      mdb_dbi_flags(transaction.pointer, handle, &stored)
      let environment = LMDBEnvironment.of(transaction)
      environment?.treeNames.withLock { $0[handle] = name }
      environment?.treeFlags.withLock { $0[handle] = stored }
      if isNew {
        transaction.noteChange()
        transaction.watcher?.didCreate(handle)
      }
    }
    return LMDBDatabase(handle: handle)
  }

  /// Whether a snapshot has a database of this name: one search in the tree of all names.
  static func exists(
    _ name: String, in transaction: LMDBTransaction
  ) throws(LMDBError) -> Bool {
    // The unnamed database always exists; this only gets its handle, which costs nothing.
    guard let names = try open(nil, in: transaction) else { return false }
    var name = name
    let code = name.withUTF8 { bytes in
      var key = MDB_val(UnsafeRawBufferPointer(bytes))
      var value = MDB_val()
      return mdb_get(transaction.pointer, names.handle, &key, &value)
    }
    if code == MDB_NOTFOUND { return false }
    try LMDBError.check(code, "mdb_get")
    return true
  }

  /// The value of the key, or the first of several; nil if there is none. The bytes are valid until
  /// the next change in the transaction, or its end.
  @inline(__always)
  package func get(
    _ key: UnsafeRawBufferPointer, in transaction: LMDBTransaction
  ) throws(LMDBError) -> UnsafeRawBufferPointer? {
    if transaction.isWatched { tellRead(in: transaction) }
    var keyValue = MDB_val(key)
    var value = MDB_val()
    let code = mdb_get(transaction.pointer, handle, &keyValue, &value)
    if code == MDB_SUCCESS { return value.bytes }
    if code == MDB_NOTFOUND { return nil }
    throw LMDBError.failure(code, "mdb_get", in: transaction.pointer)
  }

  /// Stores a pair; false if the mode forbids it and nothing was stored.
  @inline(__always) @discardableResult
  func put(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    in transaction: LMDBTransaction, mode: PutMode = .upsert
  ) throws(LMDBError) -> Bool {
    if transaction.isWatched { try tellPut(key, value, in: transaction) }
    var keyValue = MDB_val(key)
    var valueValue = MDB_val(value)
    let code = mdb_put(transaction.pointer, handle, &keyValue, &valueValue, mode.flags)
    if code == MDB_SUCCESS {
      transaction.noteChange()
      return true
    }
    if transaction.isWatched { transaction.watcher?.didNotChange() }
    if code == MDB_KEYEXIST {
      if mode.copiesPages { transaction.noteChange() }
      return false
    }
    throw LMDBError.failure(code, "mdb_put", in: transaction.pointer)
  }

  /// Makes room for a value of this size, which the caller must fill before any other call in the
  /// transaction; nil if the mode forbids it and nothing was stored.
  @inline(__always)
  func reserve(
    _ key: UnsafeRawBufferPointer, size: Int, in transaction: LMDBTransaction,
    mode: PutMode = .upsert
  ) throws(LMDBError) -> UnsafeMutableRawBufferPointer? {
    // A key that comes after all others has no value before, so it need not be looked for.
    let isNew = mode.flags & UInt32(MDB_APPEND) != 0
    if transaction.isWatched { try tellReserve(key, size, isNew: isNew, in: transaction) }
    var keyValue = MDB_val(key)
    var value = MDB_val(mv_size: size, mv_data: nil)
    let flags = mode.flags | UInt32(MDB_RESERVE)
    let code = mdb_put(transaction.pointer, handle, &keyValue, &value, flags)
    if code == MDB_SUCCESS {
      transaction.noteChange()
      let room = UnsafeMutableRawBufferPointer(start: value.mv_data, count: size)
      if transaction.isWatched { tellReserved(key, room, isNew: isNew, in: transaction) }
      return room
    }
    if transaction.isWatched { transaction.watcher?.didNotChange() }
    if code == MDB_KEYEXIST { return nil }
    throw LMDBError.failure(code, "mdb_put", in: transaction.pointer)
  }

  /// Deletes the key with all its values; false if it did not exist.
  @discardableResult
  func delete(
    _ key: UnsafeRawBufferPointer, in transaction: LMDBTransaction
  ) throws(LMDBError) -> Bool {
    if transaction.isWatched { try tellDelete(key, nil, in: transaction) }
    var keyValue = MDB_val(key)
    let code = mdb_del(transaction.pointer, handle, &keyValue, nil)
    if code == MDB_SUCCESS {
      transaction.noteChange()
      return true
    }
    if transaction.isWatched { transaction.watcher?.didNotChange() }
    if code == MDB_NOTFOUND { return false }
    throw LMDBError.failure(code, "mdb_del", in: transaction.pointer)
  }

  /// Deletes one pair; false if it did not exist. Only for databases with duplicates: LMDB ignores
  /// the value in others.
  @discardableResult
  func delete(
    _ key: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer, in transaction: LMDBTransaction
  ) throws(LMDBError) -> Bool {
    if transaction.isWatched { try tellDelete(key, value, in: transaction) }
    var keyValue = MDB_val(key)
    var valueValue = MDB_val(value)
    let code = mdb_del(transaction.pointer, handle, &keyValue, &valueValue)
    if code == MDB_SUCCESS {
      transaction.noteChange()
      return true
    }
    if transaction.isWatched { transaction.watcher?.didNotChange() }
    if code == MDB_NOTFOUND { return false }
    throw LMDBError.failure(code, "mdb_del", in: transaction.pointer)
  }

  package func statistics(in transaction: LMDBTransaction) throws(LMDBError) -> LMDBStatistics {
    if transaction.isWatched { tellRead(in: transaction) }
    var statistics = MDB_stat()
    let code = mdb_stat(transaction.pointer, handle, &statistics)
    try LMDBError.check(code, "mdb_stat", in: transaction.pointer)
    return LMDBStatistics(statistics)
  }

  /// The flags that the database was created with.
  func flags(in transaction: LMDBTransaction) throws(LMDBError) -> Flags {
    var flags: UInt32 = 0
    let code = mdb_dbi_flags(transaction.pointer, handle, &flags)
    try LMDBError.check(code, "mdb_dbi_flags", in: transaction.pointer)
    return Flags(rawValue: flags)
  }

  /// Deletes every entry and keeps the database.
  package func empty(in transaction: LMDBTransaction) throws(LMDBError) {
    if transaction.isWatched { try tellEmptying(in: transaction, drops: false) }
    let code = mdb_drop(transaction.pointer, handle, 0)
    if code != MDB_SUCCESS, transaction.isWatched { transaction.watcher?.didNotChange() }
    try LMDBError.check(code, "mdb_drop", in: transaction.pointer)
    transaction.noteChange()
  }

  /// Deletes the database itself. The handle is invalid at once, even if the write is aborted.
  func drop(in transaction: LMDBTransaction) throws(LMDBError) {
    if transaction.isWatched { try tellEmptying(in: transaction, drops: true) }
    let code = mdb_drop(transaction.pointer, handle, 1)
    if code != MDB_SUCCESS, transaction.isWatched { transaction.watcher?.didNotChange() }
    try LMDBError.check(code, "mdb_drop", in: transaction.pointer)
    transaction.noteChange()
  }
}

// MARK: - Watchers

extension LMDBDatabase {
  @inline(never)
  func tellRead(in transaction: LMDBTransaction) { transaction.tell { $0.didRead(handle) } }

  // Every write of a key calls one of these before it changes anything; one that appends tells the
  // observers afterwards.

  @inline(never)
  func tellPut(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer,
    in transaction: LMDBTransaction
  ) throws(LMDBError) {
    try tellWrite(key, in: transaction)
    transaction.tell { $0.willPut(handle, key, value) }
  }

  @inline(never)
  private func tellReserve(
    _ key: UnsafeRawBufferPointer, _ size: Int, isNew: Bool, in transaction: LMDBTransaction
  ) throws(LMDBError) {
    if !isNew { try tellWrite(key, in: transaction) }
    transaction.tell { $0.willReserve(handle, key, size) }
  }

  @inline(never)
  private func tellReserved(
    _ key: UnsafeRawBufferPointer, _ room: UnsafeMutableRawBufferPointer, isNew: Bool,
    in transaction: LMDBTransaction
  ) {
    transaction.tell { watcher in
      if isNew, watcher.willWrite(handle, key) { watcher.keep(handle, key) { nil } }
      watcher.didReserve(room)
    }
  }

  @inline(never)
  private func tellDelete(
    _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?,
    in transaction: LMDBTransaction
  ) throws(LMDBError) {
    try tellWrite(key, in: transaction)
    transaction.tell { $0.willDelete(handle, key, value: value) }
  }

  private func tellWrite(
    _ key: UnsafeRawBufferPointer, in transaction: LMDBTransaction
  ) throws(LMDBError) {
    guard transaction.tell({ $0.willWrite(handle, key) }) == true else { return }
    try transaction.watcher?.keep(handle, key) { () throws(LMDBError) in
      try get(key, in: transaction)
    }
  }

  @inline(never)
  private func tellEmptying(
    in transaction: LMDBTransaction, drops: Bool
  ) throws(LMDBError) {
    try transaction.watcher?.willEmpty(handle) { body throws(LMDBError) in
      var cursor = try LMDBCursor(self, in: transaction)
      var entry = try cursor.first()
      while let here = entry, body(here.key, here.value) { entry = try cursor.next() }
    }
    transaction.watcher?.willEmpty(handle, drops: drops)
  }
}

/// The size of a database and the form of its tree.
package struct LMDBStatistics: Sendable, Hashable {
  package var entries: Int
  var depth: Int
  var branchPages: Int
  var leafPages: Int
  var overflowPages: Int
  var pageSize: Int

  init(_ statistics: MDB_stat) {
    entries = Int(clamping: statistics.ms_entries)
    depth = Int(clamping: statistics.ms_depth)
    branchPages = Int(clamping: statistics.ms_branch_pages)
    leafPages = Int(clamping: statistics.ms_leaf_pages)
    overflowPages = Int(clamping: statistics.ms_overflow_pages)
    pageSize = Int(clamping: statistics.ms_psize)
  }
}

extension MDB_val {
  @inline(__always)
  init(_ bytes: UnsafeRawBufferPointer) {
    self.init(
      mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
  }

  /// The bytes by value. A span of the struct itself would make the compiler box it.
  @inline(__always)
  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: mv_data, count: mv_size) }
}
