package import Larch

/// What some entries of a log do to the records of a store, the last change of each.
package struct TableChanges {
  /// The changes of a collection.
  package struct Collection {
    /// Whether all earlier records are gone.
    package fileprivate(set) var isEmptied = false
    /// By id: the stored bytes of the record; nil if it was deleted.
    package fileprivate(set) var records: [[UInt8]: [UInt8]?] = [:]
  }

  /// By the numbers of collections.
  package private(set) var collections: [UInt32: Collection] = [:]
  /// Whether the catalog or the shapes changed, so that tables may have other names or columns.
  package private(set) var changesSchema = false

  package init() {}

  /// Adds an entry, which follows those that were added before.
  ///
  /// - Throws: `.damagedLog` if it is no entry.
  package mutating func add(_ entry: LogEntry) throws {
    do {
      try entry.changes.withUnsafeBytes { bytes in
        let record = try ChangeRecord(bytes)
        let numbers = record.trees.map { CatalogStorage.collection(ofRecordsName: $0.name) }
        try record.forEach { change in
          if let number = numbers[change.tree] {
            collections[number, default: Collection()].add(change)
          } else if [CatalogStorage.databaseName, CatalogStorage.shapesName]
            .contains(record.trees[change.tree].name)
          {
            changesSchema = true
          }
        }
      }
    } catch is ChangeRecord.Malformed {
      throw LarchError(
        .damagedLog, "An entry of the log is damaged; the tables stay as they are."
      ) { $0.detail = "position \(entry.place.position)" }
    }
  }
}

extension TableChanges.Collection {
  fileprivate mutating func add(_ change: TreeChange) {
    switch change.operation {
    case .put: records.updateValue([UInt8](change.value), forKey: [UInt8](change.key))
    case .deleteKey, .deletePair: records.updateValue(nil, forKey: [UInt8](change.key))
    case .empty, .drop:
      records = [:]
      isEmptied = true
    case .create: break
    }
  }
}
