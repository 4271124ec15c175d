/// Compares the records of a collection with its indexes and with the records that they refer to,
/// as a stream.
///
/// It works with the handles of any catalog. A typeless catalog skips the keys that need the type,
/// and counts them.
package struct RecordVerifier: ~Copyable {
  /// A reference of the records of the collection.
  private struct Reference {
    let association: String
    let declaration: ReferenceDeclaration
    let form: ReferenceForm
    /// The place of its index; nil in a read-only file that does not have it.
    let index: Int?
    let isEnforced: Bool
    let target: CollectionHandle
  }

  private let context: TransactionContext
  private var keys = IndexKeys()
  private var entries = EntryList()
  private var writer = KeyWriter()

  package init(_ context: TransactionContext) { self.context = context }

  /// Returns, for each index and then for each search, the number of records whose keys or words cannot be
  /// determined.
  package mutating func verify(
    _ collection: CollectionHandle, into report: inout VerificationReport,
    progress: (Int) throws -> Void = { _ in }
  ) throws -> [Int] {
    let transaction = try context.transaction()
    var expected = [Int](repeating: 0, count: collection.indexes.count)
    var silent = expected
    var isEveryRecordReadable = true
    let references = references(of: collection)
    let searches = collection.searches.isEmpty ? nil : SearchVerifier(collection, context)
    var records = try LMDBCursor(collection.records, in: transaction)
    var record = try records.first()
    while let here = record {
      report.recordCount += 1
      if report.recordCount.isMultiple(of: 1000) { try progress(report.recordCount) }
      do {
        let bytes = try RecordEnvelope.open(here.value, id: here.key, in: collection)
        try searches?.take(bytes, id: here.key)
        let needsType: KeysUnknownWithoutType?
        do {
          needsType = try collect(of: bytes, in: collection)
        } catch let error as LarchError where error.code == .decodingFailed {
          // The entries that the bytes determine are checked anyway.
          try check(id: here.key, collection, &expected, into: &report, transaction)
          throw error
        }
        if let needsType {
          for (number, index) in collection.indexes.enumerated() where needsType.includes(index) {
            silent[number] += 1
          }
        }
        try check(id: here.key, collection, &expected, into: &report, transaction)
        for reference in references {
          if let needsType, let number = reference.index,
            needsType.includes(collection.indexes[number])
          {
            continue
          }
          try check(
            reference, of: bytes, id: here.key, in: collection, into: &report, transaction)
        }
        if !collection.schema.hasDecodedIndexes || needsType != nil || keys.isUndecodable {
          try decode(bytes, collection)
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
      if index.schema.isUnique, !index.schema.fields.isEmpty {
        do {
          // Unreadable records have been reported already.
          try UniquenessCheck(index, in: collection, context, skipsUnreadable: true)
            .check(transaction)
        } catch let error as LarchError where error.code == .uniqueConflict {
          report.add(
            .init(
              .duplicate, collection: collection.stored.name, index: index.stored.name,
              id: error.context.id, detail: error.context.otherID.map { "also id \($0)" }))
        }
      }
    }
    if let searches { silent += try searches.finish(into: &report) }
    return silent
  }

  /// Adds the keys of a record to the list; returns the indexes whose keys only its type can make
  /// completely, if there are any.
  private mutating func collect(
    of record: UnsafeRawBufferPointer, in collection: CollectionHandle, only: Int? = nil
  ) throws -> KeysUnknownWithoutType? {
    entries.removeAll()
    do {
      try keys.collect(
        of: record, in: collection, with: context.coder, only: only, into: &entries)
      return nil
    } catch let needsType as KeysUnknownWithoutType {
      return needsType
    }
  }

  /// Decodes a record as its type; keys made from its bytes do not prove that this is possible.
  private mutating func decode(
    _ record: UnsafeRawBufferPointer, _ collection: CollectionHandle
  ) throws {
    try collection.schema.decodedKeys(
      record, context.coder, &writer, { _ in false }, { _, _ in })
  }

  /// Looks up each entry that the record must have.
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

  /// Looks up each record that this record refers to.
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
      // Cut keys do not contain the ids, but the record does.
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

  /// Looks up the record of each entry of an index that has more entries than the records require.
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
    do {
      let record = try RecordEnvelope.open(stored, id: entry.value, in: collection)
      guard try collect(of: record, in: collection, only: number) == nil else { return true }
    } catch is LarchError {
      // The damaged record itself is reported; its entries cannot be checked.
      return true
    }
    return entries.contains(index: number, key: entry.key)
  }
}
