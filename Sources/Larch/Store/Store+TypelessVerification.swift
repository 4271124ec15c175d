/// What was proved of a store without the types of the program.
package struct TypelessReport: Sendable {
  /// An index that the records in the file do not tell the keys of.
  package struct Unproved: Sendable {
    package let collection: String
    package let index: String
    /// Whether it is complete; one that is being built is not looked at.
    package let isReady: Bool
    /// How many records have keys that only the program can tell; nil where all have.
    package let records: Int?
  }

  package fileprivate(set) var report: VerificationReport
  /// Indexes whose entries were only looked at for the records that they lead to.
  package fileprivate(set) var unproved: [Unproved] = []
}

extension Store {
  /// Proves the file as ``verify()`` does, by what it says of itself: pages, lists, the checksum of
  /// every record and that it can be read, and the entries of each index whose keys the bytes of
  /// records tell.
  ///
  /// Of other indexes each entry must lead to a record. References need the program.
  ///
  /// - Parameter progress: is called now and then with the number of records that were read.
  /// - Throws: as ``verify()``, and what `progress` throws.
  /// - Complexity: as ``verify()``.
  package func verifyWithoutTypes(
    progress: (Int) throws -> Void = { _ in }
  ) throws -> TypelessReport {
    var found = TypelessReport(report: try verify(withRecords: false))
    // Nothing may be read through LMDB from damaged pages.
    if found.report.faults.contains(where: { $0.kind == .page }) { return found }
    try inspect { inspector in
      for collection in inspector.collections.sorted(by: { $0.name < $1.name }) {
        try TypelessVerifier(inspector, collection).verify(into: &found, progress)
      }
    }
    return found
  }
}

/// Compares the records of a collection with its indexes, as a stream.
private struct TypelessVerifier {
  private let inspector: StoreInspector
  private let collection: StoreInspector.Collection
  private let form: FieldForm?

  init(_ inspector: StoreInspector, _ collection: StoreInspector.Collection) throws {
    self.inspector = inspector
    self.collection = collection
    form = try inspector.forms(of: collection).last
  }

  func verify(into found: inout TypelessReport, _ progress: (Int) throws -> Void) throws {
    try readRecords(into: &found.report, progress)
    for index in collection.indexes.sorted(by: { $0.name < $1.name }) {
      func leave(records: Int?) {
        found.unproved.append(
          .init(
            collection: collection.name, index: index.name, isReady: index.isReady,
            records: records))
      }
      guard index.isReady else {
        leave(records: nil)
        continue
      }
      found.report.entryCount += index.entryCount
      guard let keys = TypelessKeys(index.parsedDefinition, form: form) else {
        try findDangling(index, into: &found.report)
        leave(records: nil)
        continue
      }
      let silent = try compare(index, keys, into: &found.report)
      if index.isUnique { try findDuplicates(index, into: &found.report) }
      if silent > 0 { leave(records: silent) }
    }
  }

  /// Reads each record whole.
  private func readRecords(
    into report: inout VerificationReport, _ progress: (Int) throws -> Void
  ) throws {
    var cursor = try LMDBCursor(collection.records, in: inspector.transaction)
    var record = try cursor.first()
    while let here = record {
      report.recordCount += 1
      if report.recordCount.isMultiple(of: 1000) { try progress(report.recordCount) }
      if let bytes = open(here.value, id: here.key) {
        do {
          _ = try RawRecord(bytes, shapes: inspector.shapes).json()
        } catch let error as LarchError {
          report.add(fault(.record, id: here.key, detail: error.code.rawValue))
        }
      } else {
        report.add(fault(.checksum, id: here.key, detail: "checksum_mismatch"))
      }
      record = try cursor.next()
    }
  }

  /// Looks up each entry that records ask for; returns how many records do not tell theirs.
  private func compare(
    _ index: StoreInspector.Index, _ keys: consuming TypelessKeys,
    into report: inout VerificationReport
  ) throws -> Int {
    var keys = keys
    var entries = EntryList()
    var expected = 0
    var silent = 0
    var records = try LMDBCursor(collection.records, in: inspector.transaction)
    var entry = try LMDBCursor(index.database, in: inspector.transaction)
    var record = try records.first()
    while let here = record {
      if try collect(here.value, id: here.key, &keys, into: &entries) {
        for item in entries.items {
          let key = entries.key(item)
          if try entry.seek(key, value: here.key) != nil {
            expected += 1
          } else {
            report.add(fault(.missingEntry, index, id: here.key, key: key))
          }
        }
      } else {
        silent += 1
      }
      record = try records.next()
    }
    if expected != index.entryCount { try findUnwanted(index, &keys, into: &report) }
    return silent
  }

  /// The keys of a record; false where it does not tell them. A damaged one is reported elsewhere.
  private func collect(
    _ stored: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, _ keys: inout TypelessKeys,
    into entries: inout EntryList
  ) throws -> Bool {
    guard let bytes = open(stored, id: id) else { return false }
    do {
      return try keys.collect(of: bytes, inspector.shapes, into: &entries)
    } catch is LarchError {
      return false
    }
  }

  /// Looks up the record of each entry, and whether it asks for the entry.
  private func findUnwanted(
    _ index: StoreInspector.Index, _ keys: inout TypelessKeys,
    into report: inout VerificationReport
  ) throws {
    var entries = EntryList()
    var cursor = try LMDBCursor(index.database, in: inspector.transaction)
    var entry = try cursor.first()
    while let here = entry {
      if let stored = try collection.records.get(here.value, in: inspector.transaction) {
        if try collect(stored, id: here.value, &keys, into: &entries),
          !entries.contains(index: 0, key: here.key)
        {
          report.add(fault(.danglingEntry, index, id: here.value, key: here.key))
        }
      } else {
        report.add(fault(.danglingEntry, index, id: here.value, key: here.key))
      }
      entry = try cursor.next()
    }
  }

  /// Looks up the record of each entry.
  private func findDangling(
    _ index: StoreInspector.Index, into report: inout VerificationReport
  ) throws {
    var cursor = try LMDBCursor(index.database, in: inspector.transaction)
    var entry = try cursor.first()
    while let here = entry {
      if try collection.records.get(here.value, in: inspector.transaction) == nil {
        report.add(fault(.danglingEntry, index, id: here.value, key: here.key))
      }
      entry = try cursor.next()
    }
  }

  private func findDuplicates(
    _ index: StoreInspector.Index, into report: inout VerificationReport
  ) throws {
    let found = try TypelessUniqueness(index, collection, form).firstConflict(
      in: inspector.transaction, inspector.shapes)
    guard let found else { return }
    report.add(
      .init(
        .duplicate, collection: collection.name, index: index.name, id: found.id,
        detail: "also id \(found.otherID)"))
  }

  private func open(
    _ stored: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer
  ) -> UnsafeRawBufferPointer? {
    RecordEnvelope.open(stored, id: id, collection: collection.stored.id)
  }

  private func fault(
    _ kind: VerificationReport.Fault.Kind, _ index: StoreInspector.Index? = nil,
    id: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer? = nil, detail: String? = nil
  ) -> VerificationReport.Fault {
    .init(
      kind, collection: collection.name, index: index?.name,
      id: collection.stored.idKind.text(of: id),
      detail: key.map { IndexSchema.text(of: $0, form: index?.form) } ?? detail)
  }
}

/// Proves that no two records share a key of a unique index, without their type.
struct TypelessUniqueness {
  private let index: StoreInspector.Index
  private let collection: StoreInspector.Collection
  private let form: FieldForm?

  init(
    _ index: StoreInspector.Index, _ collection: StoreInspector.Collection, _ form: FieldForm?
  ) {
    self.index = index
    self.collection = collection
    self.form = form
  }

  /// The first two records that share a key; nil where there are none.
  func firstConflict(
    in transaction: LMDBTransaction, _ shapes: ShapeTable
  ) throws -> (id: String, otherID: String)? {
    guard let keyForm = index.form else { return nil }
    var cursor = try LMDBCursor(index.database, in: transaction)
    var entry = try cursor.first()
    while let here = entry {
      if try cursor.duplicateCount() > 1 {
        let key = try KeyReader.read(here.key, as: keyForm)
        if !key.values.contains(where: \.isNoValue) {
          let kind = collection.stored.idKind
          guard key.isCut else {
            let first = kind.text(of: here.value)
            guard let other = try cursor.nextDuplicate() else { return nil }
            return (first, kind.text(of: other.value))
          }
          if let found = try conflict(atCutKey: here, &cursor, transaction, shapes) {
            return found
          }
        }
      }
      entry = try cursor.nextKey()
    }
    return nil
  }

  /// Records with equal cut keys may differ in what was cut.
  private func conflict(
    atCutKey first: LMDBEntry, _ cursor: inout LMDBCursor, _ transaction: LMDBTransaction,
    _ shapes: ShapeTable
  ) throws -> (id: String, otherID: String)? {
    guard var keys = TypelessKeys(index.parsedDefinition, form: form, isWhole: true) else {
      return nil
    }
    let kind = collection.stored.idKind
    var values = EntryList()
    var seen: [[UInt8]: String] = [:]
    var entry: LMDBEntry? = first
    while let here = entry {
      let id = kind.text(of: here.value)
      if let stored = try collection.records.get(here.value, in: transaction),
        let record = RecordEnvelope.open(
          stored, id: here.value, collection: collection.stored.id),
        try keys.collect(of: record, shapes, into: &values)
      {
        for item in values.items where !item.hasNil {
          let value = [UInt8](values.key(item))
          if let other = seen[value], other != id { return (other, id) }
          seen[value] = id
        }
      }
      entry = try cursor.nextDuplicate()
    }
    return nil
  }
}

extension KeyValue {
  /// Whether it is nil or NaN, which are in conflict with nothing.
  fileprivate var isNoValue: Bool {
    switch self {
    case .null: true
    case .double(let value), .date(let value): value.isNaN
    case .float(let value): value.isNaN
    default: false
    }
  }
}
