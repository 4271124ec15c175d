extension Store {
  /// Proves that the file is sound: every page, the checksum of every record, and that every
  /// index holds exactly the entries that the records ask for.
  ///
  /// Works on a snapshot, in constant memory, while others read and write.
  ///
  /// - Returns: the counts, and what is wrong; an error is thrown only when the store cannot be
  ///   read at all.
  /// - Throws: `.closed`, `.schemaChanged`, `.ioFailure`.
  /// - Complexity: O(pages + records + entries); each entry is searched once.
  public func verify() throws -> VerificationReport {
    var report = VerificationReport()
    do {
      _ = try FileCheck.verify(path: path)
    } catch let error as LarchError where error.code == .corrupted || error.code == .truncated {
      // Nothing may be read through LMDB now: it would trust the damaged pages.
      report.add(.init(.page, detail: error.description))
      return report
    }
    try read { transaction in
      var verifier = IndexVerifier(transaction.context)
      for collection in transaction.context.catalog.collections {
        try verifier.verify(collection, into: &report)
      }
    }
    return report
  }

  /// Makes every index anew from the records, and proves unique ones unique.
  ///
  /// Done in batches: when the process is killed, the next opening goes on.
  ///
  /// - Throws: `.checksumMismatch` when a record is damaged (use ``salvage(_:to:progress:)`` then),
  ///   `.uniqueConflict` when two records share a unique value, and what ``write(_:)`` throws.
  /// - Complexity: O(n log n) for each index.
  public func rebuild() throws {
    let loader = CatalogLoader(environment, schema)
    try write { transaction in
      try transaction.storage { try loader.resetIndexes(in: $0) }
    }
    try buildIndexes()
  }
}

/// Compares the indexes of a collection with its records, as a stream.
private struct IndexVerifier: ~Copyable {
  private let context: TransactionContext
  private var keys = IndexKeys()
  private var entries = EntryList()
  private var writer = KeyWriter()

  init(_ context: TransactionContext) { self.context = context }

  mutating func verify(
    _ collection: CollectionHandle, into report: inout VerificationReport
  ) throws {
    let transaction = try context.transaction()
    var expected = [Int](repeating: 0, count: collection.indexes.count)
    var isEveryRecordReadable = true
    var records = try LMDBCursor(collection.records, in: transaction)
    var record = try records.first()
    while let here = record {
      report.recordCount += 1
      do {
        entries.removeAll()
        let bytes = try RecordEnvelope.open(here.value, id: here.key, in: collection)
        try keys.collect(of: bytes, in: collection, with: context.coder, into: &entries)
        if !collection.schema.hasDecodedIndexes { try decode(bytes, collection) }
        try check(id: here.key, collection, &expected, into: &report, transaction)
      } catch let error as LarchError {
        isEveryRecordReadable = false
        report.add(
          .init(
            error.code == .checksumMismatch ? .checksum : .record,
            collection: collection.stored.name,
            id: collection.stored.idKind.text(of: here.key),
            detail: error.context.field.map { "\(error.code), field \($0)" }
              ?? error.code.rawValue))
      }
      record = try records.next()
    }
    for (number, index) in collection.indexes.enumerated() where index.isReady {
      let count = try index.database.statistics(in: transaction).entries
      report.entryCount += count
      if count != expected[number] || !isEveryRecordReadable {
        try findDangling(number, collection, into: &report, transaction)
      }
      if index.schema.isUnique {
        do {
          try UniquenessCheck(index, in: collection, context).check(transaction)
        } catch let error as LarchError where error.code == .uniqueConflict {
          report.add(
            .init(
              .duplicate, collection: collection.stored.name, index: index.stored.name,
              id: error.context.id, detail: error.context.otherID.map { "also id \($0)" }))
        }
      }
    }
  }

  /// Decodes a record as its type, which keys made from its bytes do not prove possible.
  private mutating func decode(
    _ record: UnsafeRawBufferPointer, _ collection: CollectionHandle
  ) throws {
    try collection.schema.decodedKeys(
      record, context.coder, &writer, { _ in false }, { _, _ in })
  }

  /// Looks up each entry that the record asks for.
  private func check(
    id: UnsafeRawBufferPointer, _ collection: CollectionHandle, _ expected: inout [Int],
    into report: inout VerificationReport, _ transaction: LMDBTransaction
  ) throws {
    for item in entries.items {
      let index = collection.indexes[item.index]
      guard index.isReady else { continue }
      let key = entries.key(item)
      var cursor = try LMDBCursor(index.database, in: transaction)
      if try cursor.seek(key, value: id) != nil {
        expected[item.index] += 1
      } else {
        report.add(
          .init(
            .missingEntry, collection: collection.stored.name, index: index.stored.name,
            id: collection.stored.idKind.text(of: id), detail: index.schema.text(of: key)))
      }
    }
  }

  /// Looks up the record of each entry of an index that has more entries than records ask for.
  private mutating func findDangling(
    _ number: Int, _ collection: CollectionHandle, into report: inout VerificationReport,
    _ transaction: LMDBTransaction
  ) throws {
    let index = collection.indexes[number]
    var cursor = try LMDBCursor(index.database, in: transaction)
    var entry = try cursor.first()
    while let here = entry {
      if try !isWanted(here, number, collection, transaction) {
        report.add(
          .init(
            .danglingEntry, collection: collection.stored.name, index: index.stored.name,
            id: collection.stored.idKind.text(of: here.value),
            detail: index.schema.text(of: here.key)))
      }
      entry = try cursor.next()
    }
  }

  private mutating func isWanted(
    _ entry: LMDBEntry, _ number: Int, _ collection: CollectionHandle,
    _ transaction: LMDBTransaction
  ) throws -> Bool {
    guard let stored = try collection.records.get(entry.value, in: transaction) else {
      return false
    }
    entries.removeAll()
    do {
      let record = try RecordEnvelope.open(stored, id: entry.value, in: collection)
      try keys.collect(
        of: record, in: collection, with: context.coder, only: number, into: &entries)
    } catch is LarchError {
      // The damaged record is reported itself; its entries cannot be judged.
      return true
    }
    return entries.contains(index: number, key: entry.key)
  }
}
