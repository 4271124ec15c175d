extension Snapshot {
  /// The records of a collection that differ between this snapshot and a later read of the same file.
  ///
  /// They are found by the pages that differ: LMDB keeps those of a snapshot.
  ///
  /// - Parameters:
  ///   - collection: with a handle of the same file.
  ///   - transaction: a read, of this process.
  /// - Returns: each id once and in the order of ids; nil if they are more than an observer would
  ///   keep, or cannot be found.
  /// - Throws: `.snapshotEnded`, `.closed`.
  /// - Complexity: the pages that differ.
  package func changedRecords(
    of collection: CollectionHandle, until transaction: LMDBTransaction
  ) throws -> [StoredChange]? {
    let tree = collection.records.handle
    guard let name = store.environment.treeNames.withLock({ $0[tree] }) else { return nil }
    return try read { tx in
      let roots = try tx.storage { (here) throws(LMDBError) in
        try TreeRoots(of: [tree: name], in: here)
      }
      var changes = TreeChanges(
        since: roots, in: transaction, store.environment.changes.log.limits)
      return changes.records(of: tree, named: name)
    }
  }
}
