internal import CLMDB

extension LMDBEnvironment {
  /// Runs a body that copies all pairs of one state: those of every tree but the outbox, tree after tree, each in
  /// its order. Keys and values are in the map, and nothing is copied here.
  ///
  /// It is one long read. Where the map must grow meanwhile, writes wait for it, so the body should be as
  /// fast as it can be.
  ///
  /// - Parameter body: gets the header of the outbox in this state, nil if there is none, and a closure that writes
  ///   the pairs. It is called once.
  package func withPairs<T>(
    _ body: (OutboxHeader?, _ copy: (any LogStateWriter) throws -> Void) throws -> T
  ) throws -> T {
    while true {
      // A read knows the handles that were there when it began.
      var handles = try treeHandles()
      let reader = try beginRead()
      defer { endRead(reader) }
      let transaction = reader.transaction
      do {
        let names = try LMDBEnvironment.treeNames(in: transaction)
        guard names.allSatisfy({ handles[$0] != nil }) else { continue }
        handles = handles.filter { names.contains($0.key) }
        let header = try outboxHeader(in: transaction)
        return try body(header) { writer in
          for name in names where !LMDBEnvironment.isOwn(name) {
            guard let database = handles[name] else { continue }
            try LMDBEnvironment.copy(name, database, in: transaction, to: writer)
          }
        }
      } catch is OutboxHandleMissing {
        continue
      } catch {
        throw translated(error)
      }
    }
  }

  /// Whether a tree belongs to this file alone, and not to its copies elsewhere.
  static func isOwn(_ name: String) -> Bool {
    name == OutboxTree.name || name == ReplacementMark.databaseName
  }

  private func treeHandles() throws -> [String: LMDBDatabase] {
    try withRoomForTrees {
      try openDatabases { transaction in
        var handles: [String: LMDBDatabase] = [:]
        for name in try LMDBEnvironment.treeNames(in: transaction) {
          handles[name] = try LMDBDatabase.open(name, in: transaction)
        }
        return handles
      }
    }
  }

  /// The names of all trees of a state, in their order.
  static func treeNames(in transaction: LMDBTransaction) throws -> [String] {
    var names: [String] = []
    var cursor = try LMDBCursor(.unnamed, in: transaction)
    var pair = try cursor.first()
    while let here = pair {
      guard let name = String(validating: here.key, as: UTF8.self) else {
        throw LMDBError(MDB_CORRUPTED, "mdb_cursor_get")
      }
      names.append(name)
      pair = try cursor.next()
    }
    return names
  }

  static func copy(
    _ name: String, _ database: LMDBDatabase, in transaction: LMDBTransaction,
    to writer: any LogStateWriter
  ) throws {
    try writer.begin(
      LogTree(name: name, flags: try database.flags(in: transaction).rawValue & 0x14))
    var cursor = try LMDBCursor(database, in: transaction)
    var pair = try cursor.first()
    while let here = pair {
      try writer.add(here.key, here.value)
      pair = try cursor.next()
    }
  }
}
