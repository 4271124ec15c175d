/// The bytes of one record in the file: the encoded record and its checksum.
package enum RecordEnvelope {
  static let checksumSize = 4
  /// The largest encoded record, in bytes.
  package static let recordSizeLimit = 64 << 20

  @inline(__always)
  static func checksum(
    collection: UInt32, id: UnsafeRawBufferPointer, record: UnsafeRawBufferPointer
  ) -> UInt32 {
    Checksum.of(collection, id, record)
  }

  /// The record inside a stored value, once its checksum is found right.
  @inline(__always)
  package static func open(
    _ stored: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, in collection: CollectionHandle
  ) throws -> UnsafeRawBufferPointer {
    guard let record = open(stored, id: id, collection: collection.number) else {
      throw damaged(id, collection.stored)
    }
    return record
  }

  /// The record inside a stored value, or nil when it is not what was written.
  @inline(__always)
  static func open(
    _ stored: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, collection: UInt32
  ) -> UnsafeRawBufferPointer? {
    let count = stored.count - checksumSize
    guard count >= 0 else { return nil }
    let record = UnsafeRawBufferPointer(rebasing: stored[0..<count])
    let expected = UInt32(
      littleEndian: stored.loadUnaligned(fromByteOffset: count, as: UInt32.self))
    guard checksum(collection: collection, id: id, record: record) == expected else { return nil }
    return record
  }

  /// The bytes of a record before its checksum is looked at; none where there is no room for one.
  @inline(__always)
  static func unverified(_ stored: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: stored.baseAddress, count: max(0, stored.count - checksumSize))
  }

  /// Stores a record and its checksum where LMDB has made room for them.
  ///
  /// - Parameter isLast: whether the id is above all others; false stores it wherever it belongs.
  package static func put(
    _ record: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer, collection: UInt32,
    into records: LMDBDatabase, in transaction: LMDBTransaction, isLast: Bool = false
  ) throws {
    let checksum = checksum(collection: collection, id: id, record: record)
    let size = record.count + checksumSize
    let mode: LMDBDatabase.PutMode = isLast ? .append : .upsert
    guard
      let room = try records.reserve(id, size: size, in: transaction, mode: mode)
        // Above it there may be ids that no store gives.
        ?? records.reserve(id, size: size, in: transaction, mode: .ifAbsent)
    else {
      throw LarchError(
        .storage, "The next id of the collection was there already; this is a fault of Larch.")
    }
    room.copyMemory(from: record)
    room.storeBytes(of: checksum.littleEndian, toByteOffset: record.count, as: UInt32.self)
  }

  /// An error that came up with a record, with the name of the record in it.
  package static func naming(
    _ error: LarchError, _ id: UnsafeRawBufferPointer, _ collection: StoredCollection
  ) -> LarchError {
    var error = error
    error.context.collection = collection.name
    error.context.id = collection.idKind.text(of: id)
    return error
  }

  /// An index or a list names a record that is not there.
  static func missing(
    _ id: UnsafeRawBufferPointer, index: String? = nil, _ collection: StoredCollection
  ) -> LarchError {
    LarchError(
      .corrupted,
      "An index names a record that is not there; call `rebuild()` to make the indexes anew."
    ) {
      $0.collection = collection.name
      $0.index = index
      $0.id = collection.idKind.text(of: id)
    }
  }

  static func damaged(
    _ id: UnsafeRawBufferPointer, _ collection: StoredCollection
  ) -> LarchError {
    LarchError(
      .checksumMismatch,
      "A record is not what was written: the file is damaged. Restore a backup, or copy what still reads with `Store.salvage`."
    ) {
      $0.collection = collection.name
      $0.id = collection.idKind.text(of: id)
    }
  }
}
