/// Whether a save inserts, updates, or does what the record needs.
@usableFromInline
enum SaveMode {
  case save, insert, update

  /// What the log calls it.
  var verb: StaticString {
    switch self {
    case .save: "save"
    case .insert: "insert"
    case .update: "update"
    }
  }
}

/// The path of every save. It is generic until the record is encoded; after that, it is the same
/// code for all types.
///
/// 1. *Identify*: a record that was never saved gets its id.
/// 2. *Compare*: the record is encoded and compared with the one stored under its id. If they are
///    equal, the save is done.
/// 3. *Validate*: the rules of the type are checked.
/// 4. *Apply*: the record and the entries of its indexes are written.
/// 5. *Tell*: the hooks that follow the write run.
///
/// A plain type needs steps 1, 2 and 4. Hooks, times and versions come before step 2 and in step 5:
/// see `storeGuarded`.
extension WriteTransaction {
  @usableFromInline
  func store<R: Record>(_ record: inout R, _ mode: SaveMode) throws {
    if let timer = context.timer, timer.trace != nil {
      return try timer.tracing(
        mode.verb, R.collectionName, id: { timer.shown(record.id) }, changes: { changeCount }
      ) { try storeNow(&record, mode) }
    }
    try storeNow(&record, mode)
  }

  @inline(__always)
  private func storeNow<R: Record>(_ record: inout R, _ mode: SaveMode) throws {
    if context.held != nil, try hold(record, mode) { return }
    try storage { transaction in
      let collection = try context.collection(of: R.self)
      let declarations = collection.declarations(of: R.self)
      if declarations.isGuarded {
        return try storeGuarded(&record, mode, in: collection, declarations)
      }
      let unassigned = record.id
      let isNew = try identify(&record, mode, in: collection, declarations)
      do {
        try write(record, mode, isNew: isNew, in: collection, declarations, transaction)
      } catch {
        if isNew { record.id = unassigned }
        throw error
      }
    }
  }

  /// See ``RecordWriting/save(_:ifUnchanged:)``.
  func store<R: Record>(_ record: inout R, ifUnchanged original: R) throws {
    guard record.id == original.id else {
      throw LarchError(
        .idChanged,
        "The record and its original have different ids; pass the record as it was read."
      ) {
        $0.collection = R.collectionName
        $0.id = "\(record.id)"
        $0.detail = "original id \(original.id)"
      }
    }
    let found = try comparison(of: original)
    guard found.state == .unchanged else {
      throw LarchError(
        .conflict,
        "Somebody else saved or deleted the record after it was read; fetch it again and make the change once more.",
        underlying: found.unreadable
      ) {
        $0.collection = R.collectionName
        $0.id = "\(record.id)"
        $0.detail =
          found.unreadable != nil
          ? "the stored record cannot be decoded"
          : found.state == .changed ? "the stored record differs" : "no record is stored"
      }
    }
    try store(&record, .save)
  }

  /// Steps 2 to 4.
  ///
  /// - Parameter isNew: whether the id was just assigned, so that it is the highest.
  func write<R: Record>(
    _ record: R, _ mode: SaveMode, isNew: Bool, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>, _ transaction: LMDBTransaction
  ) throws {
    if declarations.idKey.mayHaveOtherValues { try checkKey(of: record.id, declarations) }
    guard var save = try compare(record, mode, isNew: isNew, in: collection, transaction)
    else { return }
    if declarations.hasRules {
      let changes = changeCount
      try validate(record, &save, in: collection, declarations, transaction)
      if declarations.validations.runsCode {
        // Code of the rules may have changed this record, or inserted one with a higher id.
        let isNew = isNew && changeCount == changes
        guard let again = try compare(record, .save, isNew: isNew, in: collection, transaction)
        else { return }
        save = again
      }
    }
    try apply(record, save, in: collection, declarations, transaction)
  }

  /// Records are stored under the raw values of their ids. Filters and indexes go by index values, and would
  /// not find a record whose id has another one.
  @inline(never)
  private func checkKey<R: Record>(
    of id: R.ID, _ declarations: TypedDeclarations<R>
  ) throws {
    if declarations.idKey.isRawValue(id) { return }
    throw LarchError(
      .fieldMismatch,
      "The `indexValue` of the id is not its raw value, under which the record is stored; remove the `indexValue` from the type of the id."
    ) {
      $0.collection = R.collectionName
      $0.field = "id"
      $0.id = "\(id)"
    }
  }

  // MARK: Identify

  /// Assigns an id if the record has none, and returns whether it did.
  func identify<R: Record>(
    _ record: inout R, _ mode: SaveMode, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>
  ) throws -> Bool {
    guard record.id._isUnassigned else { return false }
    if mode == .update {
      throw LarchError(
        .idUnassigned, "The record was never saved, so there is nothing to update; insert it."
      ) { $0.collection = collection.stored.name }
    }
    let number = try writer.nextID(in: collection)
    guard declarations.idKey.assign(number, to: &record.id) else {
      throw LarchError(
        .idUnassigned, "The id has no value and its type cannot be assigned one; give it one."
      ) { $0.collection = collection.stored.name }
    }
    return true
  }
}

// MARK: - Compare

/// The bytes that a save writes. They are valid until another record or id is encoded, or something
/// is written.
private struct SavedBytes {
  var id: UnsafeRawBufferPointer
  var record: UnsafeRawBufferPointer
  /// The stored record that it replaces.
  var before: UnsafeRawBufferPointer?
  /// Whether the id is the highest of the collection.
  let isLast: Bool
  /// See ``RecordCoder/isExact``.
  var isExact: Bool
}

extension WriteTransaction {
  /// The bytes to write; nil if the record equals the stored one.
  @inline(__always)
  private func compare<R: Record>(
    _ record: R, _ mode: SaveMode, isNew: Bool, in collection: CollectionHandle,
    _ transaction: LMDBTransaction
  ) throws -> SavedBytes? {
    let shapeCount = context.shapes.count
    var bytes = try encode(record, collection)
    var id = try context.key(of: record.id)
    if isNew {
      return SavedBytes(
        id: id, record: bytes, before: nil, isLast: true, isExact: context.coder.isExact)
    }
    if collection.stored.idKind == .assigned {
      writer.noteUsed(WriteContext.number(of: id), in: collection)
    }
    guard let stored = try stored(under: id, mode, in: collection, transaction) else {
      return SavedBytes(
        id: id, record: bytes, before: nil, isLast: false, isExact: context.coder.isExact)
    }
    if isSame(stored, bytes) { return nil }
    if hasOtherShape(stored, bytes) {
      if try isSameValue(record, stored, id, in: collection, knowing: shapeCount) { return nil }
      bytes = try encode(record, collection)
      id = try context.key(of: record.id)
    }
    let before = try RecordEnvelope.open(stored, id: id, in: collection)
    return SavedBytes(
      id: id, record: bytes, before: before, isLast: false, isExact: context.coder.isExact)
  }

  /// The record that is stored under an id. Throws if the mode forbids the save.
  @inline(__always)
  func stored(
    under id: UnsafeRawBufferPointer, _ mode: SaveMode, in collection: CollectionHandle,
    _ transaction: LMDBTransaction
  ) throws -> UnsafeRawBufferPointer? {
    let stored = try collection.records.get(id, in: transaction)
    if mode == .insert, stored != nil { throw idError(.idExists, id, collection) }
    if mode == .update, stored == nil { throw idError(.recordNotFound, id, collection) }
    return stored
  }

  func encode<R: Record>(
    _ record: R, _ collection: CollectionHandle
  ) throws -> UnsafeRawBufferPointer {
    do {
      let bytes = try context.coder.encode(record)
      guard bytes.count <= RecordEnvelope.recordSizeLimit else {
        throw LarchError(
          .recordTooLarge,
          "A record may take 64 MiB at most; keep large data in files, or in several records.")
      }
      return bytes
    } catch var error as LarchError {
      error.context.collection = collection.stored.name
      throw error
    }
  }

  /// Whether the stored record has another shape than the new one.
  @inline(__always)
  func hasOtherShape(
    _ stored: UnsafeRawBufferPointer, _ record: UnsafeRawBufferPointer
  ) -> Bool {
    stored.count < 2 || record.count < 2
      || stored.loadUnaligned(as: UInt16.self) != record.loadUnaligned(as: UInt16.self)
  }

  /// Whether a record equals the stored one as a value. The bytes of equal values differ if the
  /// stored record is older than a property of its type, or older than the first value of an
  /// optional field.
  @inline(never)
  func isSameValue<R: Record>(
    _ record: R, _ stored: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer,
    in collection: CollectionHandle, knowing shapeCount: Int
  ) throws -> Bool {
    guard let stored = try readable(R.self, stored, id: key, in: collection) else { return false }
    return try isSameValue(record, stored, in: collection, knowing: shapeCount)
  }

  /// Whether two records are encoded to the same bytes.
  ///
  /// - Parameter shapeCount: the number of shapes before the record was first encoded. If the
  ///   records are equal, newer shapes are removed, since nothing is written.
  func isSameValue<R: Record>(
    _ record: R, _ stored: R, in collection: CollectionHandle, knowing shapeCount: Int
  ) throws -> Bool {
    let before = [UInt8](try encode(stored, collection))
    let bytes = try encode(record, collection)
    guard before.withUnsafeBytes({ $0.equals(bytes) }) else { return false }
    context.shapes.truncate(to: shapeCount)
    return true
  }

  /// The stored record; nil if its type cannot decode it any more. Such a record can still be
  /// replaced and deleted.
  func readable<R: Record>(
    _ type: R.Type, _ stored: UnsafeRawBufferPointer, id: UnsafeRawBufferPointer,
    in collection: CollectionHandle
  ) throws -> R? {
    do {
      return try context.decode(type, stored, id: id, in: collection)
    } catch let error as LarchError where error.code == .decodingFailed {
      return nil
    }
  }

  private func idError(
    _ code: LarchError.Code, _ key: UnsafeRawBufferPointer, _ collection: CollectionHandle
  ) -> LarchError {
    let fill: (inout LarchError.Context) -> Void = {
      $0.collection = collection.stored.name
      $0.id = collection.stored.idKind.text(of: key)
    }
    return code == .idExists
      ? LarchError(code, "A record with this id is stored already; use `save` to replace it.", fill)
      : LarchError(code, "No record has this id; use `save` to insert it.", fill)
  }
}

// MARK: - Validate

extension WriteTransaction {
  /// Throws `.invalid` with all rules that the record breaks. An insert checks all rules, an update
  /// those whose fields change.
  private func validate<R: Record>(
    _ record: R, _ save: inout SavedBytes, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>, _ transaction: LMDBTransaction
  ) throws {
    let rules = declarations.validations
    var changed = UInt64.max
    if let before = save.before {
      changed = try writer.changes.fields(
        rules, of: record, before: before, after: save.record, in: collection)
      if writer.changes.didEncode {
        save.record = try encode(record, collection)
        save.isExact = context.coder.isExact
      }
    }
    let errors = try brokenRules(record, changed: changed, in: collection, declarations)
    guard errors.isEmpty else {
      throw LarchError(
        invalid: errors, collection: collection.stored.name,
        id: collection.stored.idKind.text(of: try context.key(of: record.id)))
    }
    // The search for another record with the value may have written index entries, so the bytes
    // that were read may have moved.
    if rules.needsStore, save.before != nil {
      save.id = try context.key(of: record.id)
      save.before = try collection.records.get(save.id, in: transaction).map {
        try RecordEnvelope.open($0, id: save.id, in: collection)
      }
    }
  }
}

// MARK: - Apply

extension WriteTransaction {
  /// Writes the record and updates the indexes. The bytes are read before anything is changed.
  @inline(__always)
  private func apply<R: Record>(
    _ record: R, _ save: SavedBytes, in collection: CollectionHandle,
    _ declarations: TypedDeclarations<R>, _ transaction: LMDBTransaction
  ) throws {
    if !referenceChanges.isEmpty {
      if save.before != nil {
        try checkReferencesAreCurrent(record, save.id, in: collection)
      } else {
        referenceChanges.forget(.init(place: collection.place, id: [UInt8](save.id)))
      }
    }
    // Keys are made from the stored bytes. If `encode(to:)` of the type stores something else under
    // the name of a property, the index would be wrong, so `prove` throws. Keys that need the decoded
    // record are made from the one in memory, if it is the same.
    try withUnsafePointer(to: record) { memory in
      try writer.maintainer.update(
        id: save.id, before: save.before, after: save.record,
        from: save.isExact
          ? RecordInMemory(
            address: UnsafeRawPointer(memory), bytes: save.record, keys: declarations.keys) : nil,
        in: collection,
        prove: { try writer.proof.check(record, declarations, $0, in: collection) },
        write: {
          try RecordEnvelope.put(
            save.record, id: save.id, collection: collection.number, into: collection.records,
            in: transaction, isLast: save.isLast)
        })
    }
    writer.noteWrite(in: collection)
    changeCount &+= 1
    if save.before == nil, !save.isLast, mayHold(declarations) {
      writer.records.noteInsert(of: collection)
    }
  }
}
