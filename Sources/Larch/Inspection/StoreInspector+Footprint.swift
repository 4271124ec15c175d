extension StoreInspector {
  /// What tells that records of a collection have changed, without looking at one.
  package struct Footprint: Sendable, Hashable {
    package let collection: String
    package let records: Int
    /// The page at the top of the records, which is another one after each change of one of them.
    private let root: UInt64

    init(_ collection: Collection, root: UInt64) {
      self.collection = collection.name
      records = collection.recordCount
      self.root = root
    }
  }

  /// In the order of the collections' names.
  fileprivate func footprints() throws -> [Footprint] {
    try collections.sorted { $0.name < $1.name }.map { collection in
      var cursor = try LMDBCursor(.main, in: transaction)
      let name = Array(CatalogStorage.recordsName(collection.stored.id).utf8)
      let record = try name.withUnsafeBytes { try cursor.seek(exactly: $0) }
      var root: UInt64 = 0
      if let record, record.value.count == PageLayout.databaseRecordSize,
        let bytes = record.value.baseAddress
      {
        root = DatabaseRecord(bytes).root
      }
      return Footprint(collection, root: root)
    }
  }
}

extension Store {
  /// The number of the last commit, and what tells which records it changed.
  package func footprints() throws -> (transaction: Int, [StoreInspector.Footprint]) {
    try inspect { inspector in
      (Int(clamping: inspector.transaction.id), try inspector.footprints())
    }
  }

  /// The number of the last commit.
  package func transactionNumber() throws -> Int { Int(clamping: try version.transaction) }
}
