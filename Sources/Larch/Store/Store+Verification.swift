extension Store {
  /// Proves that the file is sound: every page, the checksum of every record, that every index
  /// holds exactly the entries that the records ask for, that every reference of an association
  /// leads to a record, and that both directions of every list of ids agree.
  ///
  /// Works on a snapshot, in constant memory, while others read and write. Records, indexes and
  /// references are those of the types that the store was opened for; pages and lists are all that
  /// the file has. References that need not lead anywhere, by the rule `.none`, are only counted.
  ///
  /// - Returns: the counts, and what is wrong; an error is thrown only when the store cannot be
  ///   read at all.
  /// - Throws: `.closed`, `.schemaChanged`, `.ioFailure`.
  /// - Complexity: O(pages + records + entries + links); each entry is searched once, each
  ///   reference and each record that a list is of too, each link once in the other direction.
  public func verify() throws -> VerificationReport { try verify(withRecords: true) }

  /// Proves pages and lists, and the records of the open types where they are asked for.
  func verify(withRecords: Bool) throws -> VerificationReport {
    try environment.withSteadyHandles { try verifyOnce(withRecords: withRecords, $0) }
  }

  private func verifyOnce(
    withRecords: Bool, _ check: () throws -> Void
  ) throws -> VerificationReport {
    var report = VerificationReport()
    do {
      _ = try FileCheck.verify(path: path)
    } catch let error as LarchError where error.code == .corrupted || error.code == .truncated {
      // Nothing may be read through LMDB now: it would trust the damaged pages.
      report.add(.init(.page, detail: error.description))
      return report
    }
    let lists = try storedLists { key, reason in
      report.add(.init(.page, association: key, detail: reason.description))
    }
    try read { transaction in
      try check()
      try transaction.storage { lmdb in
        var verifier = RecordVerifier(transaction.context)
        for collection in transaction.context.catalog.collections where withRecords {
          try verifier.verify(collection, into: &report)
        }
        for lists in lists {
          try LinkVerifier(lists: lists, transaction: lmdb).verify(into: &report)
        }
      }
    }
    return report
  }

  /// Makes every index anew from the records, proves unique ones unique, and makes both
  /// directions of every list of ids agree.
  ///
  /// A link between two records stays, or comes back, where one direction has it and both records
  /// are there; links with records that are not there go. References stay as they are: what one
  /// that leads nowhere shall be, only you can tell.
  ///
  /// Indexes are made in batches: when the process is killed, the next opening goes on.
  ///
  /// - Throws: `.checksumMismatch` when a record is damaged (use ``salvage(_:to:progress:)`` then),
  ///   `.uniqueConflict` when two records share a unique value, and what `write(_:)` throws.
  /// - Complexity: O(n log n) for each index, as ``verify()`` for lists.
  public func rebuild() throws {
    try environment.withSteadyHandles { try rebuildOnce(withIndexes: true, $0) }
    try buildIndexes()
  }

  /// Makes both directions of every list of ids agree.
  func rebuildLists() throws {
    try environment.withSteadyHandles { try rebuildOnce(withIndexes: false, $0) }
  }

  private func rebuildOnce(withIndexes: Bool, _ check: () throws -> Void) throws {
    let loader = CatalogLoader(environment, schema)
    let lists = try storedLists { _, _ in }
    try write { transaction in
      try check()
      try transaction.storage { lmdb in
        for lists in lists { try LinkRepair(lists: lists, transaction: lmdb).run() }
        if withIndexes { try loader.resetIndexes(in: lmdb) }
      }
    }
  }
}

/// Compares the records of a collection with its indexes and with what they refer to, as a stream.
private struct RecordVerifier: ~Copyable {
  /// A reference that records of the collection hold.
  private struct Reference {
    let association: String
    let declaration: ReferenceDeclaration
    let form: ReferenceForm
    /// The place of its index; nil where a file that is opened read-only lacks it.
    let index: Int?
    let isEnforced: Bool
    let target: CollectionHandle
  }

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
    let references = references(of: collection)
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
        for reference in references {
          try check(
            reference, of: bytes, id: here.key, in: collection, into: &report, transaction)
        }
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

  // MARK: References

  private func references(of collection: CollectionHandle) -> [Reference] {
    context.catalog.ends(of: collection).compactMap { end in
      guard end.isFirst, let reference = end.association.reference, let target = end.other else {
        return nil
      }
      return Reference(
        association: end.association.stored.key, declaration: reference.declaration,
        form: reference.form,
        index: collection.indexes.firstIndex { $0.position == reference.index },
        isEnforced: end.association.schema?.isEnforced ?? false, target: target)
    }
  }

  /// Looks up each record that this one refers to.
  private mutating func check(
    _ reference: Reference, of record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer,
    in collection: CollectionHandle, into report: inout VerificationReport,
    _ transaction: LMDBTransaction
  ) throws {
    let records = reference.target.records
    let kind = reference.target.stored.idKind
    var missing: [String] = []
    var count = 0
    if let index = reference.index,
      !entries.items.contains(where: { $0.index == index && $0.isCut })
    {
      for item in entries.items where item.index == index && !item.hasNil {
        try reference.form.withID(inKey: entries.key(item)) { target in
          count += 1
          if try records.get(target, in: transaction) == nil {
            missing.append(kind.text(of: target))
          }
        }
      }
    } else {
      // Keys that are cut do not tell the ids, the record does.
      try collection.schema.referencedIDs(
        record, context.coder, reference.declaration, &writer
      ) { target in
        count += 1
        let text = kind.text(of: target)
        if try records.get(target, in: transaction) == nil, !missing.contains(text) {
          missing.append(text)
        }
      }
    }
    report.referenceCount += count
    guard reference.isEnforced else {
      report.looseReferenceCount += missing.count
      return
    }
    for other in missing {
      report.add(
        .init(
          .danglingReference, collection: collection.stored.name,
          association: reference.association, id: collection.stored.idKind.text(of: id),
          detail: "no record \(other) of \(reference.target.stored.name)"))
    }
  }

  // MARK: Entries

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
