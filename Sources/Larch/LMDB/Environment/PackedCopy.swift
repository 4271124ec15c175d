internal import CLMDB

internal import Foundation

/// A temporary copy of a store whose trees were written from left to right, so that their pages are
/// full.
///
/// LMDB's own copy omits free pages and keeps the others as they are. After writes in random order
/// these are only half to two thirds full.
final class PackedCopy {
  /// The environment of the copy, which nobody else uses.
  let handle: OpaquePointer
  private let file: TemporaryFile

  /// Databases that a store may have here; more are copied by LMDB.
  private static let databaseLimit = 4096
  /// The bytes after which the copy is committed, which limits its memory.
  private static let batchBytes = 64 << 20
  private static let kept = UInt32(
    MDB_DUPSORT | MDB_DUPFIXED | MDB_REVERSEKEY | MDB_INTEGERKEY | MDB_INTEGERDUP | MDB_REVERSEDUP)

  private init(_ handle: OpaquePointer, _ file: TemporaryFile) {
    self.handle = handle
    self.file = file
  }

  deinit {
    mdb_env_close(handle)
    file.discard()
  }

  /// Copies the last commit of a store that nobody writes meanwhile; nil if the copy would not be a
  /// tenth smaller, or if the file has entries of another program that need LMDB's own copy.
  ///
  /// - Parameter tick: called now and then; what it throws ends the copy.
  static func make(of path: String, tick: () throws -> Void) throws -> PackedCopy? {
    do {
      // The store may log its commits.
      let source = try LogMark.withoutMark(path: path) { () throws(LMDBError) in
        try open(path, MDB_RDONLY, mapSize: 0)
      }
      defer { mdb_env_close(source) }
      let transaction = try LMDBTransaction.begin(source, MDB_RDONLY)
      defer { transaction.abort() }
      guard let databases = try databases(in: transaction) else { return nil }
      var room = Room()
      for database in databases { try room.add(database.database, in: transaction, tick) }
      guard room.isLarge else { return nil }
      let location = try StoreLocation(path)
      TemporaryFile.removeLeftovers(in: location.directory)
      let file = try TemporaryFile(in: location.directory, for: path)
      let size = (transaction.lastPage + 1) * room.pageSize
      let target: OpaquePointer
      do {
        target = try open(file.path, MDB_NOSYNC, mapSize: 2 * size + 1 << 24)
      } catch {
        file.discard()
        throw error
      }
      let copy = PackedCopy(target, file)
      try copy.fill(databases, from: transaction, tick)
      return copy
    } catch let error as LMDBError {
      throw error.larchError(path: path)
    }
  }

  // MARK: Steps

  private struct Database {
    let name: String
    let flags: UInt32
    let database: LMDBDatabase
  }

  private static func open(
    _ path: String, _ flags: Int32, mapSize: Int
  ) throws(LMDBError) -> OpaquePointer {
    var created: OpaquePointer?
    try LMDBError.check(mdb_env_create(&created), "mdb_env_create")
    guard let handle = created else { throw LMDBError(ENOMEM, "mdb_env_create") }
    do throws(LMDBError) {
      try LMDBError.check(
        mdb_env_set_maxdbs(handle, UInt32(databaseLimit)), "mdb_env_set_maxdbs")
      if mapSize > 0 {
        try LMDBError.check(mdb_env_set_mapsize(handle, mapSize), "mdb_env_set_mapsize")
      }
      let all = UInt32(flags | MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS)
      try LMDBError.check(mdb_env_open(handle, path, all, 0o600), "mdb_env_open")
      return handle
    } catch {
      mdb_env_close(handle)
      throw error
    }
  }

  /// All databases of the store; nil if they cannot be copied here.
  private static func databases(in transaction: LMDBTransaction) throws(LMDBError) -> [Database]? {
    var names: [String] = []
    do {
      var cursor = try LMDBCursor(.unnamed, in: transaction)
      while let here = try cursor.next() {
        guard let name = String(validating: here.key, as: UTF8.self), !here.key.contains(0) else {
          return nil
        }
        names.append(name)
      }
    }
    if names.count > databaseLimit - 2 { return nil }
    var databases: [Database] = []
    for name in names {
      var handle: UInt32 = 0
      let code = mdb_dbi_open(transaction.pointer, name, 0, &handle)
      // An entry of another program that is no database.
      if code == MDB_INCOMPATIBLE { return nil }
      try LMDBError.check(code, "mdb_dbi_open")
      let database = LMDBDatabase(handle: handle)
      let flags = try database.flags(in: transaction).rawValue & kept
      databases.append(Database(name: name, flags: flags, database: database))
    }
    return databases
  }

  private func fill(
    _ databases: [Database], from source: LMDBTransaction, _ tick: () throws -> Void
  ) throws {
    for item in databases {
      var cursor = try LMDBCursor(item.database, in: source)
      var entry = try cursor.first()
      var last = UnsafeRawBufferPointer(start: nil, count: 0)
      repeat {
        try tick()
        let writing = try LMDBTransaction.begin(handle)
        do {
          var target: UInt32 = 0
          try LMDBError.check(
            mdb_dbi_open(writing.pointer, item.name, item.flags | UInt32(MDB_CREATE), &target),
            "mdb_dbi_open")
          var appending = AppendingCursor(
            try LMDBCursor(LMDBDatabase(handle: target), in: writing), writing, after: last)
          var bytes = 0
          while let here = entry, bytes < Self.batchBytes {
            guard try appending.put(here.key, here.value) else {
              throw LMDBError(MDB_INCOMPATIBLE, "mdb_cursor_put")
            }
            bytes += here.key.count + here.value.count
            // It stays in place, since the source is read in one transaction.
            last = here.key
            entry = try cursor.next()
          }
        } catch {
          writing.abort()
          throw error
        }
        try writing.commit()
      } while entry != nil
    }
  }
}

/// What the leaf pages of trees could save.
private struct Room {
  /// The number of entries between two calls that may stop the copy.
  private static let interval = 4096
  private(set) var pageSize = 4096
  private var all = 0
  private var leaves = 0
  private var needed = 0

  /// Whether full pages would make the store a tenth smaller.
  var isLarge: Bool { (leaves - needed) * 10 >= all && leaves - needed >= 16 }

  mutating func add(
    _ database: LMDBDatabase, in transaction: LMDBTransaction, _ tick: () throws -> Void
  ) throws {
    try tick()
    let tree = try database.statistics(in: transaction)
    pageSize = tree.pageSize
    leaves += tree.leafPages
    all += tree.leafPages + tree.branchPages + tree.overflowPages
    let hasDuplicates = try database.flags(in: transaction).contains(.duplicates)
    let isFixed = try database.flags(in: transaction).contains(.fixedDuplicates)
    // Half a page, and even; two nodes must fit into a page.
    let largest = ((pageSize - 16) / 2) & ~1 - 2
    var left = 0
    var cursor = try LMDBCursor(database, in: transaction)
    var entry = try cursor.first()
    var seen = 0
    while let here = entry {
      seen += 1
      if seen % Self.interval == 0 { try tick() }
      var size = 8 + here.key.count + here.value.count
      let count = hasDuplicates ? try cursor.duplicateCount() : 1
      if count > 1 {
        let list = try self.list(&cursor, here, count, isFixed: isFixed, tick)
        size = 8 + here.key.count + list
        if size > largest {
          size = 8 + here.key.count + 48
          let pages = (list + pageSize - 17) / (pageSize - 16)
          needed += pages
          leaves += pages
          all += pages
        }
      } else if size > largest {
        size = 8 + here.key.count + 8
      }
      size = (size + 1) & ~1 + 2
      if size > left {
        needed += 1
        left = pageSize - 16
      }
      left -= size
      entry = hasDuplicates ? try cursor.nextKey() : try cursor.next()
    }
  }

  /// The bytes of the values of one key, with the room that LMDB leaves for more.
  private func list(
    _ cursor: inout LMDBCursor, _ first: LMDBEntry, _ count: Int, isFixed: Bool,
    _ tick: () throws -> Void
  ) throws -> Int {
    if isFixed { return 16 + (count + 3) / 4 * 4 * first.value.count }
    var bytes = 16 + 10 + first.value.count
    var seen = 0
    while let here = try cursor.nextDuplicate() {
      seen += 1
      if seen % Self.interval == 0 { try tick() }
      bytes += (here.value.count + 1) & ~1 + 10
    }
    return bytes
  }
}
