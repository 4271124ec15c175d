/// The two directions of one association's lists in the file, whoever declares them, with the
/// collections at their ends.
package struct StoredLists: Sendable {
  package struct End: Sendable {
    package let collection: StoredCollection
    let records: LMDBDatabase

    package func text(of id: UnsafeRawBufferPointer) -> String { collection.idKind.text(of: id) }
  }

  package let stored: StoredAssociation
  package let databases: LinkDatabases
  package let first: End
  package let second: End

  /// The lists of one direction, and those of the other, which must match.
  package func direction(isForward: Bool) -> (
    lists: LMDBDatabase, others: LMDBDatabase, from: End, to: End
  ) {
    isForward
      ? (databases.forward, databases.inverse, first, second)
      : (databases.inverse, databases.forward, second, first)
  }

  /// Every pair of lists in the file, in the order of their keys.
  ///
  /// `onFault` receives lists in the catalog that are missing or damaged.
  static func all(
    in environment: LMDBEnvironment, onFault: (_ key: String, _ reason: StaticString) -> Void
  ) throws -> [StoredLists] {
    try environment.openDatabases { transaction in
      let storage = try CatalogLoader(environment, StoreSchema()).openStorage(in: transaction)
      let collections = try storage.collections(in: transaction)
      func end(_ name: String) throws -> End? {
        guard let found = collections.first(where: { $0.name == name }),
          let records = try LMDBDatabase.open(
            CatalogStorage.recordsName(found.id), in: transaction)
        else { return nil }
        return End(collection: found, records: records)
      }
      return try storage.associations(in: transaction).compactMap { stored in
        guard stored.kind == .links else { return nil }
        guard let first = try end(stored.first), let second = try end(stored.second),
          let forward = try LMDBDatabase.open(
            CatalogStorage.linksName(stored.number), in: transaction),
          let inverse = try LMDBDatabase.open(
            CatalogStorage.inverseLinksName(stored.number), in: transaction)
        else {
          onFault(
            stored.key,
            "the lists of an association, or one of its collections, are missing in the file")
          return nil
        }
        guard
          try forward.flags(in: transaction) == .ids(of: second.collection.idKind),
          try inverse.flags(in: transaction) == .ids(of: first.collection.idKind)
        else {
          onFault(stored.key, "the lists of an association are damaged")
          return nil
        }
        return StoredLists(
          stored: stored, databases: LinkDatabases(forward: forward, inverse: inverse),
          first: first, second: second)
      }
    }
  }
}

extension Store {
  /// Every pair of lists in the file, like `StoredLists.all`.
  ///
  /// It uses the existing handles of the store: opening others waits for a running write.
  func storedLists(
    onFault: (_ key: String, _ reason: StaticString) -> Void
  ) throws -> [StoredLists] {
    let known = try read { transaction in
      try transaction.storage { try StoredLists.known(to: transaction.context.catalog, $0) }
    }
    return try known ?? StoredLists.all(in: environment, onFault: onFault)
  }
}

extension StoredLists {
  /// The lists of the file by the handles of the catalog; nil if it does not have all of them.
  fileprivate static func known(
    to catalog: Catalog, _ transaction: LMDBTransaction
  ) throws -> [StoredLists]? {
    var found: [StoredLists] = []
    for stored in try catalog.storage.associations(in: transaction) where stored.kind == .links {
      guard let lists = try StoredLists(stored, in: catalog, transaction) else { return nil }
      found.append(lists)
    }
    return found
  }

  /// The lists of one association by the handles of the catalog; nil if it has none, or if they do
  /// not have the form of lists.
  package init?(
    _ stored: StoredAssociation, in catalog: Catalog, _ transaction: LMDBTransaction
  ) throws {
    guard let handle = catalog.association(stored.key), let lists = handle.lists,
      let first = handle.first, let second = handle.second,
      try lists.forward.flags(in: transaction) == .ids(of: second.stored.idKind),
      try lists.inverse.flags(in: transaction) == .ids(of: first.stored.idKind)
    else { return nil }
    self.init(
      stored: stored, databases: lists,
      first: End(collection: first.stored, records: first.records),
      second: End(collection: second.stored, records: second.records))
  }
}

extension StoredLists {
  /// Adds a link in both directions; false if it existed.
  ///
  /// - Throws: `.danglingReference` if a record at one of its ends does not exist.
  @discardableResult
  package func link(
    _ firstID: [UInt8], _ secondID: [UInt8], in transaction: LMDBTransaction
  ) throws -> Bool {
    try firstID.withUnsafeBytes { firstID in
      try secondID.withUnsafeBytes { secondID in
        for (end, id) in [(first, firstID), (second, secondID)]
        where try end.records.get(id, in: transaction) == nil {
          throw LarchError(
            .danglingReference, "A list refers to a record that does not exist."
          ) {
            $0.collection = end.collection.name
            $0.id = end.text(of: id)
          }
        }
        let isNew = try databases.forward.put(
          firstID, secondID, in: transaction, mode: .ifPairAbsent)
        try databases.inverse.put(secondID, firstID, in: transaction, mode: .ifPairAbsent)
        return isNew
      }
    }
  }
}
