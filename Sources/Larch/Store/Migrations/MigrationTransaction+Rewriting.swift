extension MigrationTransaction {
  /// Replaces every record of a type by the result of the closure, which receives it as an older
  /// Swift type.
  ///
  /// ```swift
  /// try tx.rewrite(Person.self, from: PersonV1.self) { old in
  ///   Person(id: .init(old.id.rawValue), first: old.name, last: "")
  /// }
  /// ```
  ///
  /// The old type is any `Decodable` type that can read the stored records; if it is a ``Record``,
  /// the defaults of its schema apply. Records keep their ids; to change ids, copy the records to
  /// another collection. Hooks and validations do not run, and the times of ``Timestamped`` do not
  /// change. If the closure returns nil, the record is removed, also from lists; references to it
  /// are not changed. The closure must not change the collection itself.
  ///
  /// - Throws: the errors of the closure; `.decodingFailed` for a record that the old type cannot
  ///   read, `.idExists` if the closure changes an id, `.invalidSchema` inside a savepoint. An
  ///   error that is not caught undoes the migration.
  /// - Complexity: O(n); a batch of records is in memory at a time. The indexes of the collection
  ///   are built after the last migration.
  public func rewrite<R: Record, Old: Decodable>(
    _ type: R.Type, from old: Old.Type, _ change: (Old) throws -> R?
  ) throws {
    let collection = try context.collection(of: type)
    try rewrite(collection.stored.name, from: old, encoding: type, change)
    try noteDeclared(collection)
  }

  /// Replaces every record of a collection by the result of the closure, from one older type to
  /// another: for a migration that is not the last one of a type.
  ///
  /// No type needs to declare the collection, and nothing happens if the file does not have it. The
  /// name may also be an older one that a type declares with ``Renamed``. Otherwise it is like
  /// ``rewrite(_:from:_:)``.
  ///
  /// - Throws: the errors of ``rewrite(_:from:_:)``, `.unknownCollection` for a name like that of
  ///   another collection, which has records.
  /// - Complexity: that of ``rewrite(_:from:_:)``.
  public func rewrite<Old: Decodable, New: Record>(
    _ collection: String, from old: Old.Type, to new: New.Type, _ change: (Old) throws -> New?
  ) throws {
    guard let stored = try rewrite(collection, from: old, encoding: new, change) else { return }
    try noteForm(SchemaCompiler.compile(new).form, of: stored)
  }

  @discardableResult
  private func rewrite<Old: Decodable, New: Record>(
    _ collection: String, from old: Old.Type, encoding new: New.Type,
    _ change: (Old) throws -> New?
  ) throws -> StoredCollection? {
    try declareDefaults(of: old)
    let coder = context.coder
    return try rewriteAll(collection) { stored, id, record in
      let old = try record.withUnsafeBytes { try coder.decode(old, from: $0) }
      guard let new = try change(old) else { return nil }
      return try encoded(new, id: id, in: stored)
    }
  }

  /// Lets the closure change the fields of every record of a type.
  ///
  /// ```swift
  /// try tx.rewrite(Invoice.self) { fields in
  ///   fields["cents"] = .int(Int64((fields["price"]?.double ?? 0) * 100))
  ///   fields["price"] = nil
  /// }
  /// ```
  ///
  /// Fields have their coding names. The result is decoded as the type and written as by a save: a
  /// number fits a property of any width that can hold it, and a missing field has its declared
  /// default, or is nil. A nil that was saved stays one: where it could be taken for a missing
  /// field, the field is `.null`.
  ///
  /// - Throws: the errors of ``rewrite(_:from:_:)``; `.decodingFailed`, with the field, for fields
  ///   that do not fit the type.
  /// - Complexity: that of ``rewrite(_:from:_:)``.
  public func rewrite<R: Record>(
    _ type: R.Type, _ change: (inout StoredFields) throws -> Void
  ) throws {
    let shapes = context.shapes
    let collection = try context.collection(of: type)
    let reader = try FieldReader<R>(collection.schema, context.catalog.aliases)
    let nilNames = nilNames(in: collection.stored.name)
    try rewriteAll(collection.stored.name) { stored, id, record in
      var fields = try StoredFields(record, shapes: shapes, nilNames: nilNames)
      try change(&fields)
      if fields.isDropped { return nil }
      return try encoded(reader.record(fields), id: id, in: stored)
    }
    try noteDeclared(collection)
  }

  /// Lets the closure change the fields of every record of a collection without a type: for a
  /// collection that no type declares, or for a migration that is not the last one of a type.
  ///
  /// Nothing happens if the file has no such collection. A record whose fields the closure leaves
  /// as they are, bit for bit, is not written.
  ///
  /// - Throws: the errors of ``rewrite(_:from:_:)``, `.unknownCollection` for a name like that of
  ///   another collection, which has records.
  /// - Complexity: that of ``rewrite(_:from:_:)``.
  public func rewrite(
    _ collection: String, _ change: (inout StoredFields) throws -> Void
  ) throws {
    let shapes = context.shapes
    let nilNames = nilNames(in: collection)
    let idNames = idNames(in: collection)
    let stored = try rewriteAll(collection) { _, _, record in
      var fields = try StoredFields(record, shapes: shapes, nilNames: nilNames)
      let before = fields
      try change(&fields)
      if fields.isDropped { return nil }
      // Equal values may differ in their bytes, as two encodings of é do.
      if fields.isIdentical(to: before) { return record }
      let id = fields.value(under: idNames)
      if let known = before.value(under: idNames), id != known {
        throw idChanged(to: id.map { $0.string ?? $0.description })
      }
      return try FieldValueWriter.map(fields.values)
    }
    if let stored { try noteForm(nil, of: stored) }
  }

  /// The coding names under which records of a collection have their id.
  private func idNames(in collection: String) -> [String] {
    guard let schema = declaration(of: collection),
      let name = TypeProbe.keys(of: schema.type)?.codingName(ofProperty: "id")
    else { return ["id"] }
    return [name] + loader.aliases.older(name, of: schema.typeID)
  }

  private func idChanged(to id: String?) -> LarchError {
    LarchError(
      .idExists,
      "A rewrite changed the id of a record; to change ids, copy the records to another collection."
    ) { $0.detail = id }
  }

  // MARK: What the file knows of the fields

  /// Notes that all records of a collection have the form of their type.
  private func noteDeclared(_ collection: CollectionHandle) throws {
    intermediate.remove(collection.stored.name)
    rewritten.insert(collection.stored.name)
    try storage { transaction in
      try context.catalog.storage.resetFieldHistory(
        of: collection.stored.id, to: collection.schema, in: transaction)
    }
  }

  /// Notes the form of the records of a collection; nil if only the records show it.
  private func noteForm(_ form: FieldForm?, of stored: StoredCollection) throws {
    try storage { transaction in
      let catalog = context.catalog.storage
      guard let form else {
        return try catalog.removeFieldHistory(of: stored.id, in: transaction)
      }
      var history = FieldHistory([form])
      // The migration may also have saved records of the declared type.
      if let declared = loader.schemas.first(where: { $0.name == stored.name }) {
        history.add(declared.form)
      }
      try catalog.setFieldHistory(history, of: stored.id, in: transaction)
    }
  }

  // MARK: The way of all of them

  /// - Parameter change: the new bytes of a record, nil to remove it.
  /// - Returns: the collection; nil if the file does not have it.
  @discardableResult
  private func rewriteAll(
    _ collection: String, _ change: (StoredCollection, [UInt8], [UInt8]) throws -> [UInt8]?
  ) throws -> StoredCollection? {
    let found = try storage { transaction -> (stored: StoredCollection, records: LMDBDatabase)? in
      try prepareWholeChange(in: transaction)
      guard let found = try storedCollection(collection, in: transaction) else { return nil }
      try loader.resetIndexes(of: found.stored.name, in: transaction)
      try renewHandles(in: transaction)
      return found
    }
    guard let (stored, records) = found else { return nil }
    let name = stored.name
    let total = try storage { try records.statistics(in: $0).entries }
    rewritten.remove(name)
    intermediate.insert(name)
    let reader = StoredRecordReader(stored, records)
    var done = 0
    var dropped: [UInt8]?
    report(name, 0, total)
    while true {
      let batch = try storage { try reader.nextBatch(in: $0) }
      if batch.isEmpty { break }
      for item in batch {
        let new: [UInt8]?
        do {
          new = try change(stored, item.id, item.record)
        } catch let error as LarchError {
          throw item.id.withUnsafeBytes { RecordEnvelope.naming(error, $0, stored) }
        }
        if let new {
          if new != item.record { try put(new, item.id, stored, records) }
        } else {
          try remove(item.id, stored, records)
          // At once: the closure may throw for a later record, and the migration may go on.
          shrunk.insert(name)
          dropped = item.id
        }
      }
      changeCount &+= 1
      done += batch.count
      report(name, Swift.min(done, total), total)
    }
    if let dropped { try noteHighest(dropped, stored, records) }
    return stored
  }

  private func put(
    _ record: [UInt8], _ id: [UInt8], _ stored: StoredCollection, _ records: LMDBDatabase
  ) throws {
    guard record.count <= RecordEnvelope.recordSizeLimit else {
      throw LarchError(
        .recordTooLarge,
        "A record can have at most 64 MiB; keep large data in files, or in several records."
      ) { $0.collection = stored.name }
    }
    try storage { transaction in
      try id.withUnsafeBytes { id in
        try record.withUnsafeBytes {
          try RecordEnvelope.put(
            $0, id: id, collection: stored.id, into: records, in: transaction)
        }
      }
    }
  }

  private func remove(
    _ id: [UInt8], _ stored: StoredCollection, _ records: LMDBDatabase
  ) throws {
    try storage { transaction in
      try writer.maintainer.flush()
      try id.withUnsafeBytes { id in
        try records.delete(id, in: transaction)
        for lists in try loader.lists(of: stored.name, in: transaction) {
          var others: [[UInt8]] = []
          do {
            var cursor = try LMDBCursor(lists.from, in: transaction)
            var entry = try cursor.seek(exactly: id)
            while let here = entry {
              others.append([UInt8](here.value))
              entry = try cursor.nextDuplicate()
            }
          }
          for other in others {
            try other.withUnsafeBytes {
              _ = try lists.to.delete($0, value: id, in: transaction)
            }
          }
          try lists.from.delete(id, in: transaction)
        }
      }
    }
  }

  /// Assigned ids are never reused: the highest one must be noted when its record is removed.
  private func noteHighest(
    _ id: [UInt8], _ stored: StoredCollection, _ records: LMDBDatabase
  ) throws {
    guard stored.idKind == .assigned else { return }
    try storage { transaction in
      let number = id.withUnsafeBytes { WriteContext.number(of: $0) }
      let highest = try WriteContext.highestID(in: records, transaction)
      let catalog = context.catalog.storage
      let known = WriteContext.noted(try catalog.highestDeletedID(stored.id, in: transaction))
      if number > highest, number > known, number < IDAllocator.limit {
        try catalog.setHighestDeletedID(number, of: stored.id, in: transaction)
      }
    }
  }

  private func encoded<R: Record>(
    _ record: R, id: [UInt8], in stored: StoredCollection
  ) throws -> [UInt8] {
    var writer = KeyWriter()
    try record.id._writeID(to: &writer)
    guard R.ID.idKind == stored.idKind, id.withUnsafeBytes({ writer.bytes.equals($0) }) else {
      throw idChanged(to: stored.idKind.text(of: writer.bytes))
    }
    return [UInt8](try context.coder.encode(record))
  }
}

extension StoredFields {
  /// The value under the first of these names that has one.
  fileprivate func value(under names: [String]) -> FieldValue? {
    names.lazy.compactMap { values[$0] }.first
  }
}

/// Makes records of a type from fields.
private final class FieldReader<R: Record> {
  private let schema: CollectionSchema
  private let aliases: FieldAliases
  private var coder: RecordCoder

  init(_ schema: CollectionSchema, _ aliases: FieldAliases) throws {
    self.schema = schema
    self.aliases = aliases
    coder = try FieldReader.coder(schema, aliases)
  }

  func record(_ fields: StoredFields) throws -> R {
    if coder.shapes.count > 1000 {
      // Records whose names vary without end must not fill the memory.
      coder = try FieldReader.coder(schema, aliases)
    }
    let bytes = try FieldValueWriter.record(fields.values, shapes: coder.shapes)
    return try bytes.withUnsafeBytes { try coder.decodeThroughCodable(R.self, from: $0) }
  }

  /// It has its own shapes: those of the file are for stored records.
  private static func coder(
    _ schema: CollectionSchema, _ aliases: FieldAliases
  ) throws -> RecordCoder {
    let coder = RecordCoder(shapes: ShapeTable())
    coder.setAliases(aliases)
    try schema.declareDefaults?(coder)
    return coder
  }
}
