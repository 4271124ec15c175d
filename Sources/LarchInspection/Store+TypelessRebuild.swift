package import Larch

/// The result of a rebuild without the types of the program.
package struct TypelessRebuild: Sendable {
  package struct Index: Sendable {
    package let collection: String
    package let index: String
    package let entriesBefore: Int
    package let entriesAfter: Int
  }

  /// The indexes that were rebuilt.
  package fileprivate(set) var rebuilt: [Index] = []
  /// Those that were left as they are: only the program can tell all their keys, or it has not built
  /// them yet.
  package fileprivate(set) var left: [(collection: String, index: String, isReady: Bool)] = []
}

extension Store {
  /// Rebuilds each index whose keys can be made from stored bytes, and makes both directions of
  /// lists consistent, like ``rebuild()`` with types.
  ///
  /// Each index is rebuilt in one transaction, completely or not at all.
  ///
  /// - Parameter progress: is called before each index with its collection and name.
  /// - Throws: `.checksumMismatch` for a damaged record, `.uniqueConflict` if two records share a
  ///   unique value, and the errors of ``write(_:)`` and `progress`.
  /// - Complexity: O(n log n) for each index.
  package func rebuildWithoutTypes(
    progress: (_ collection: String, _ index: String) throws -> Void = { _, _ in }
  ) throws -> TypelessRebuild {
    try rebuildLists()
    let catalog = try CatalogLoader.typelessCatalog(of: environment)
    var result = TypelessRebuild()
    for collection in catalog.collections {
      for index in collection.allIndexes.sorted(by: { $0.stored.name < $1.stored.name }) {
        let names = (collection: collection.stored.name, index: index.stored.name)
        guard index.isReady else {
          result.left.append((names.collection, names.index, isReady: false))
          continue
        }
        try progress(names.collection, names.index)
        do {
          guard let counts = try rebuild(index.stored.id, of: collection.number) else {
            continue
          }
          result.rebuilt.append(
            .init(
              collection: names.collection, index: names.index, entriesBefore: counts.before,
              entriesAfter: counts.after))
        } catch is KeysUnknownWithoutType {
          result.left.append((names.collection, names.index, isReady: true))
        }
      }
    }
    return result
  }

  /// The old and the new number of entries; nil for an index that was removed meanwhile.
  private func rebuild(
    _ index: UInt32, of collection: UInt32
  ) throws -> (before: Int, after: Int)? {
    try environment.withSteadyHandles { check in
      let catalog = try CatalogLoader.typelessCatalog(of: environment)
      guard let collection = catalog.collections.first(where: { $0.number == collection }),
        let number = collection.allIndexes.firstIndex(where: { $0.stored.id == index && $0.isReady }
        )
      else { return nil }
      let handle = collection.allIndexes[number]
      guard !handle.schema.isDecoded else {
        throw KeysUnknownWithoutType(positions: 1 << UInt64(handle.position))
      }
      return try write { transaction in
        try check()
        return try transaction.storage { lmdb in
          try catalog.checkGeneration(in: lmdb)
          let idKind = collection.stored.idKind
          let before = (try? handle.entryCount(of: idKind, in: lmdb)) ?? 0
          try handle.database.empty(in: lmdb)
          try IndexBuilder(
            environment: environment, catalog: catalog, batchSize: 20_000,
            progress: { _, _, _, _ in }
          ).build(number, in: collection, in: lmdb)
          return (before, try handle.entryCount(of: idKind, in: lmdb))
        }
      }
    }
  }
}
