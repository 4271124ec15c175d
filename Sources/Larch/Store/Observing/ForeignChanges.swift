extension ChangeEvent {
  /// The event for a value of one state: without records where they cannot be used.
  ///
  /// Changes of several commits, of which others made some, were found in the pages of the file. They
  /// lead from the state before them to that of the last commit. A value of a state in between may have
  /// a part of them. And a process that knows only LMDB may have written what is no record.
  ///
  /// - Parameter trees: the record trees of the value.
  func usable(after version: UInt64, _ trees: TreeSet, _ catalog: Catalog) -> ChangeEvent {
    guard case .commit(let number, let changes) = self, let since = changes.since else {
      return self
    }
    var records = since < version ? ChangedRecords() : changes.records
    for collection in catalog.collections where trees.contains(collection.records.handle) {
      let tree = collection.records.handle
      let areWhole = records[tree]?.allSatisfy { $0.isWhole(collection.number) }
      if areWhole == false { records.remove(tree) }
    }
    if records.count == changes.records.count { return self }
    return .commit(
      number,
      CommittedChanges(
        trees: changes.trees, records: records, since: since, authorship: changes.authorship))
  }
}

extension StoredChange {
  /// Whether the checksums of both records are right.
  fileprivate func isWhole(_ collection: UInt32) -> Bool {
    id.withUnsafeBytes { id in
      [before, after].allSatisfy { stored in
        stored?.withUnsafeBytes {
          RecordEnvelope.open($0, id: id, collection: collection) != nil
        } ?? true
      }
    }
  }
}
