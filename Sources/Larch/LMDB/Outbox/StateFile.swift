internal import CLMDB

internal import Foundation

/// Makes a new file from all pairs of a state, which come tree after tree, each in its order.
///
/// The file has a temporary name until it is complete, so a crash leaves nothing that looks like a store.
package final class StateFile: LogStateWriter {
  private let file: TemporaryFile
  private let location: StoreLocation
  private var environment: OpaquePointer?
  private var mapSize: Int
  private var transaction: LMDBTransaction?
  private var database: LMDBDatabase?
  private var tree: LogTree?
  private var trees: Set<String> = []
  /// The key before, if it lies in the tree already.
  private var last: [UInt8] = []
  private var lastValue: [UInt8] = []
  /// The bytes since the last commit.
  private var bytes = 0
  private var hasEnded = false

  /// The bytes after which the pairs are committed, which limits the memory.
  private static let batchBytes = 32 << 20
  private static let treeLimit = 65_536

  /// - Parameter path: where the file will be.
  /// - Throws: `.fileExists` if there is a file, and errors of the file system.
  package init(at path: String) throws {
    location = try StoreLocation(path)
    if try location.occupant() != nil { throw location.exists }
    TemporaryFile.removeLeftovers(in: location.directory)
    file = try TemporaryFile(in: location.directory, for: location.path)
    mapSize = 256 << 20
    do {
      environment = try Self.open(file.path, mapSize: mapSize)
    } catch {
      file.discard()
      throw error.larchError(path: location.path)
    }
  }

  deinit { end() }

  private static func open(
    _ path: String, mapSize: Int
  ) throws(LMDBError) -> OpaquePointer {
    var created: OpaquePointer?
    try LMDBError.check(mdb_env_create(&created), "mdb_env_create")
    guard let handle = created else { throw LMDBError(ENOMEM, "mdb_env_create") }
    do throws(LMDBError) {
      try LMDBError.check(
        mdb_env_set_maxdbs(handle, UInt32(treeLimit)), "mdb_env_set_maxdbs")
      try LMDBError.check(mdb_env_set_mapsize(handle, mapSize), "mdb_env_set_mapsize")
      let flags = UInt32(MDB_NOSUBDIR | MDB_NOLOCK | MDB_NOTLS | MDB_NOSYNC)
      try LMDBError.check(mdb_env_open(handle, path, flags, 0o600), "mdb_env_open")
      return handle
    } catch {
      mdb_env_close(handle)
      throw error
    }
  }

  // MARK: Pairs

  /// Begins a tree. Each tree is begun once.
  ///
  /// - Throws: `.damagedLog` for a tree that no store can have.
  package func begin(_ tree: LogTree) throws {
    guard !LMDBEnvironment.isOwn(tree.name), [0, 0x04, 0x14].contains(tree.flags),
      !tree.name.isEmpty, tree.name.utf8.count <= 511, !tree.name.utf8.contains(0),
      trees.insert(tree.name).inserted
    else { throw damaged("tree \(tree.name)") }
    try naming {
      try commitIfLarge(0)
      let transaction = try running()
      database = try LMDBDatabase.open(
        tree.name, LMDBDatabase.Flags(rawValue: tree.flags).union(.create), in: transaction)
    }
    self.tree = tree
    (last, lastValue) = ([], [])
  }

  /// Adds a pair to the tree that was begun last.
  ///
  /// - Throws: `.damagedLog` if it does not come after the pair before, or cannot be stored.
  package func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
    guard let tree else { throw damaged("no tree") }
    let sizes = 1...511
    guard sizes.contains(key.count), !tree.hasDuplicates || sizes.contains(value.count) else {
      throw damaged("sizes in tree \(tree.name)")
    }
    try naming {
      try commitIfLarge(key.count + value.count)
      let transaction = try running()
      guard let database else { throw damaged("no tree") }
      let isSameKey = tree.hasDuplicates && last.withUnsafeBytes { key.equals($0) }
      guard
        try database.put(
          key, value, in: transaction, mode: isSameKey ? .appendDuplicate : .append)
      else { throw damaged("order in tree \(tree.name)") }
      if tree.hasDuplicates { last = [UInt8](key) }
      bytes += key.count + value.count
    }
  }

  /// Completes the file, flushes it, and gives it its name.
  ///
  /// - Parameters:
  ///   - header: what its outbox begins with; nil for a store without one.
  ///   - others: what else to write in it.
  package func finish(
    _ header: OutboxHeader?, alongside others: (LMDBTransaction) throws -> Void = { _ in }
  ) throws {
    try naming {
      try commitIfLarge(Self.batchBytes)
      let transaction = try running()
      if let header {
        try Self.setOutbox(header, in: transaction, path: location.path)
      }
      try others(transaction)
      try commit()
      if let environment {
        try LMDBError.check(mdb_env_sync(environment, 1), "mdb_env_sync")
        mdb_env_close(environment)
        self.environment = nil
      }
      try file.place(at: location)
    }
    end()
  }

  /// Puts a header without entries in the place of what the outbox has.
  static func setOutbox(
    _ header: OutboxHeader, in transaction: LMDBTransaction, path: String
  ) throws {
    guard let tree = try OutboxTree.open(in: transaction, path: path, creates: true) else {
      throw LMDBError(MDB_NOTFOUND, "mdb_dbi_open")
    }
    let write = OutboxWrite(transaction, recorder: nil)
    try tree.empty(by: write)
    try tree.set(header, by: write)
  }

  /// Changes a complete file that nobody has open, in one transaction.
  static func change(_ path: String, _ body: (LMDBTransaction) throws -> Void) throws {
    do {
      var status = stat()
      guard stat(path, &status) == 0 else { throw LMDBError(errno, "stat") }
      let environment = try open(path, mapSize: Int(status.st_size) * 2 + 64 << 20)
      defer { mdb_env_close(environment) }
      let transaction = try LMDBTransaction.begin(environment)
      do {
        try body(transaction)
      } catch {
        transaction.abort()
        throw error
      }
      try transaction.commit()
    } catch let error as LMDBError {
      throw error.larchError(path: path)
    }
  }

  /// Removes what was made, if it is not complete.
  package func discard() { end() }

  private func end() {
    if hasEnded { return }
    hasEnded = true
    transaction?.abort()
    transaction = nil
    if let environment { mdb_env_close(environment) }
    environment = nil
    file.discard()
  }

  // MARK: Transactions

  private func running() throws(LMDBError) -> LMDBTransaction {
    if let transaction { return transaction }
    guard let environment else { throw LMDBError(EINVAL, "mdb_txn_begin") }
    let begun = try LMDBTransaction.begin(environment)
    transaction = begun
    return begun
  }

  private func commit() throws(LMDBError) {
    guard let running = transaction else { return }
    transaction = nil
    try running.commit()
    bytes = 0
  }

  /// Commits when much was put, and makes the map large enough for as much again and `next` more.
  private func commitIfLarge(_ next: Int) throws(LMDBError) {
    if bytes + next < Self.batchBytes, transaction != nil { return }
    try commit()
    guard let environment else { throw LMDBError(EINVAL, "mdb_txn_begin") }
    var info = MDB_envinfo()
    mdb_env_info(environment, &info)
    var statistics = MDB_stat()
    mdb_env_stat(environment, &statistics)
    let used = Int(clamping: info.me_last_pgno) * Int(clamping: statistics.ms_psize)
    // Pairs take more room in pages than by themselves, and small ones most.
    let needed = used + 16 * (Self.batchBytes + next)
    if needed > mapSize {
      mapSize = max(needed, 2 * mapSize)
      try LMDBError.check(mdb_env_set_mapsize(environment, mapSize), "mdb_env_set_mapsize")
    }
  }

  private func naming<T>(_ body: () throws -> T) throws -> T {
    do { return try body() } catch let error as LMDBError {
      throw error.larchError(path: location.path)
    }
  }

  private func damaged(_ detail: String) -> LarchError {
    LarchError(
      .damagedLog, "What the log sent is no state of a store; check the server, then retry."
    ) {
      $0.path = location.path
      $0.detail = detail
    }
  }
}
