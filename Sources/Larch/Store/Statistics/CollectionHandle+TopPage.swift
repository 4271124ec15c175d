extension CollectionHandle {
  /// The number of the root page of the records; 0 if LMDB's header of the database cannot be read.
  ///
  /// Each change of a record gives them another root page. A number comes back after some commits,
  /// unless a snapshot keeps the page.
  package func topPage(in transaction: LMDBTransaction) throws -> UInt64 {
    var cursor = try LMDBCursor(.main, in: transaction)
    let name = Array(CatalogStorage.recordsName(number).utf8)
    guard let record = try name.withUnsafeBytes({ try cursor.seek(exactly: $0) }),
      record.value.count == PageLayout.databaseRecordSize, let bytes = record.value.baseAddress
    else { return 0 }
    return DatabaseRecord(bytes).root
  }
}
