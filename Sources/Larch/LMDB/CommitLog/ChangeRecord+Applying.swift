extension ChangeRecord {
  /// Makes the changes.
  ///
  /// - Parameters:
  ///   - opened: the trees that were opened before, by name.
  ///   - keepsHandles: whether others use the file, so that a tree that is to be deleted is only emptied.
  /// - Throws: `Malformed` if the bytes are no record; then a part of the changes was made.
  func apply(
    in transaction: LMDBTransaction, _ opened: inout [String: LMDBDatabase],
    keepsHandles: Bool = false
  ) throws {
    try forEach { change in
      let tree = trees[change.tree]
      let database: LMDBDatabase
      if let known = opened[tree.name] {
        database = known
      } else {
        let flags = LMDBDatabase.Flags(rawValue: tree.flags)
        guard let found = try LMDBDatabase.open(tree.name, flags.union(.create), in: transaction)
        else { throw Malformed() }
        database = found
        opened[tree.name] = found
      }
      switch change.operation {
      case .put: try database.put(change.key, change.value, in: transaction)
      case .deleteKey: try database.delete(change.key, in: transaction)
      case .deletePair: try database.delete(change.key, value: change.value, in: transaction)
      case .empty: try database.empty(in: transaction)
      case .drop where keepsHandles: try database.empty(in: transaction)
      case .drop:
        try database.drop(in: transaction)
        opened[tree.name] = nil
      case .create: break
      }
    }
  }

  /// Checks that the record is whole.
  func check() throws { try forEach { _ in } }
}
