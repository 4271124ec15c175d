/// How a record stands to what is stored.
public enum RecordState: Hashable, Sendable {
  /// Nothing is stored under its id, or it has none yet.
  case new
  /// What is stored is the same.
  case unchanged
  /// Something else is stored under its id.
  case changed
  /// It was deleted: its id was assigned by a store, and nothing is stored under it.
  case deleted
}

extension RecordReading {
  /// How a record stands to what is stored under its id.
  ///
  /// A record with an id that the store assigns is new until it has one, and deleted when nothing
  /// is stored under it any more. A record whose first save was undone keeps its id and is new, as
  /// long as the process lives that saved it. An id of the program's own does not tell whether there ever was
  /// a record, so where nothing is stored such a record is new.
  ///
  /// Records are the same when the same bytes would be stored of them: NaN equals NaN, two
  /// spellings of an é differ. The times of a ``Timestamped`` record are no change by themselves,
  /// as for a save. Nothing is written, and no hook runs.
  ///
  /// - Throws: `.encodingFailed`, `.idTooLong`, `.checksumMismatch`, `.decodingFailed`,
  ///   `.unknownCollection`.
  /// - Complexity: one search in the tree of the collection, O(log n), and the encoding of the
  ///   record; where the bytes differ, also the decoding of the stored one.
  public func state<R: Record>(of record: R) throws -> RecordState {
    try _reading { try $0.comparison(of: record).state }
  }

  /// The fields that the record and what is stored under its id differ in.
  ///
  /// ```swift
  /// ada.address.city = "Paris"
  /// for change in try store.changes(of: ada) { print(change) }  // address.city: London -> Paris
  /// ```
  ///
  /// Nested values with fields are looked into; a list, a dictionary and an enum with associated
  /// values are one value each. Where nothing is stored, all fields that have a value are named.
  ///
  /// - Throws: as ``state(of:)``.
  /// - Complexity: as ``state(of:)``, and the encoding of the stored record.
  public func changes<R: Record>(of record: R) throws -> [FieldChange] {
    try _reading { try $0.comparison(of: record).changes() }
  }
}

/// A record beside what is stored under its id.
struct StoredComparison<R: Record> {
  let state: RecordState
  /// With the times of the stored record, where these are no change by themselves.
  let record: R
  let stored: R?

  func changes() throws -> [FieldChange] {
    if state == .unchanged { return [] }
    return try RecordComparer.with { try $0.changes(from: stored, to: record) }
      .filter { stored != nil || $0.path != ["id"] || !record.id.isUnassigned }
  }
}

extension ReadTransaction {
  final func comparison<R: Record>(of record: R) throws -> StoredComparison<R> {
    try storage { transaction in
      let collection = try context.collection(of: R.self)
      if record.id.isUnassigned {
        return StoredComparison(state: .new, record: record, stored: nil)
      }
      let bytes = try guarded { try encodeWithoutShapes(record) }
      guard
        let found = try collection.records.get(try context.key(of: record.id), in: transaction)
      else {
        let state: RecordState = try wasStored(record.id, in: collection) ? .deleted : .new
        return StoredComparison(state: state, record: record, stored: nil)
      }
      if isSame(found, bytes) {
        return StoredComparison(state: .unchanged, record: record, stored: nil)
      }
      // An older shape of the type, or of a value in it, is no change: the values are compared.
      let stored = try context.decode(
        R.self, found, id: try context.key(of: record.id), in: collection)
      let record = record.keepingTimes(of: stored)
      let isSame = try RecordComparer.with { try $0.isSame(stored, record) }
      return StoredComparison(
        state: isSame ? .unchanged : .changed, record: record, stored: stored)
    }
  }

  /// Whether there was a record with an id under which nothing is stored, as far as an id tells it.
  private func wasStored<ID: RecordIdentifier>(
    _ id: ID, in collection: CollectionHandle
  ) throws -> Bool {
    guard collection.stored.idKind == .assigned else { return false }
    let number = WriteContext.number(of: try context.key(of: id))
    return !context.environment.ids.undone.contains(
      number, of: collection.number, isWriting: gathersEntries)
  }

  /// The bytes that the record would be stored as.
  ///
  /// Encoding may make a shape. It is forgotten at once: in a read nobody would write it, and in a
  /// write the record that needs it may never be saved.
  private func encodeWithoutShapes<R: Record>(_ record: R) throws -> UnsafeRawBufferPointer {
    let shapes = context.shapes
    // A read learns of shapes by their first record, and must not take the id of one for its own.
    let known = try context.catalog.storage.shapeCount(in: try live())
    if known > shapes.count { shapes.setCount(known) }
    let count = shapes.count
    defer { shapes.truncate(to: count) }
    return try context.coder.encode(record)
  }

  /// Whether a stored record has these bytes.
  final func isSame(
    _ stored: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer
  ) -> Bool {
    stored.count == record.count + RecordEnvelope.checksumSize
      && UnsafeRawBufferPointer(rebasing: stored[0..<record.count]).equals(record)
  }
}
