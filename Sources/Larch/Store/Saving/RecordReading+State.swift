/// The state of a record, compared with the stored one.
public enum RecordState: Hashable, Sendable {
  /// No record is stored under its id, or it has no id yet.
  case new
  /// The stored record is equal.
  case unchanged
  /// A different record is stored under its id.
  case changed
  /// It was deleted: a store assigned its id, and no record is stored under it.
  case deleted
}

extension RecordReading {
  /// Compares a record with the stored one with its id.
  ///
  /// A record whose id the store assigns is new until it has an id, and deleted if no record is
  /// stored under it any more. If its first save was undone, it keeps its id and is new in the
  /// process that saved it. If the program chooses ids, a missing record is always new, because its
  /// id does not show whether it ever existed.
  ///
  /// Records are the same when the same bytes would be stored of them: NaN equals NaN, two
  /// spellings of an é differ. The times of a ``Timestamped`` record are no change by themselves,
  /// as for a save. What is stored and cannot be decoded as the type is something else, so the record
  /// is changed. Nothing is written, and no hook runs.
  ///
  /// - Throws: `.encodingFailed`, `.idTooLong`, `.checksumMismatch`, `.unknownCollection`.
  /// - Complexity: one search in the tree of the collection, O(log n), and the encoding of the
  ///   record; if the bytes differ, also the decoding of the stored one.
  public func state<R: Record>(of record: R) throws -> RecordState {
    try _reading { try $0.comparison(of: record).state }
  }

  /// The fields in which the record differs from the stored one with its id.
  ///
  /// ```swift
  /// ada.address.city = "Paris"
  /// for change in try store.changes(of: ada) { print(change) }  // address.city: London -> Paris
  /// ```
  ///
  /// Nested values are compared field by field; a list, a dictionary and an enum with associated
  /// values are one value each. If no record is stored, the result has all fields with a value.
  ///
  /// - Throws: as ``state(of:)``; `.decodingFailed`, with the id, where the stored record cannot be
  ///   decoded as the type.
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
  /// Why the stored record is not known, where its type cannot decode it.
  var unreadable: LarchError?

  func changes() throws -> [FieldChange] {
    if state == .unchanged { return [] }
    if let unreadable { throw unreadable }
    return try RecordComparer.with { try $0.changes(from: stored, to: record) }
      .filter { stored != nil || $0.path != ["id"] || !record.id._isUnassigned }
  }
}

extension ReadTransaction {
  final func comparison<R: Record>(of record: R) throws -> StoredComparison<R> {
    try storage { transaction in
      let collection = try context.collection(of: R.self)
      if record.id._isUnassigned {
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
      let stored: R
      do {
        stored = try context.decode(
          R.self, found, id: try context.key(of: record.id), in: collection)
      } catch let error as LarchError where error.code == .decodingFailed {
        return StoredComparison(state: .changed, record: record, stored: nil, unreadable: error)
      }
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
