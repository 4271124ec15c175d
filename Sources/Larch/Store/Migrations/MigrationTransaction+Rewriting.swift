extension MigrationTransaction {
  /// Replaces every record of a type by what the closure makes of it as an older Swift type.
  ///
  /// ```swift
  /// try tx.rewrite(Person.self, from: PersonV1.self) { old in
  ///   Person(id: .init(old.id.rawValue), first: old.name, last: "")
  /// }
  /// ```
  ///
  /// The old type is any `Decodable` one that reads what is stored; if it is a ``Record``, the
  /// defaults of its schema count. Records keep their ids; to give them others, copy them to
  /// another collection. Hooks, validations and the times of ``Timestamped`` are left alone. A
  /// record that the closure makes nil of is removed, from lists too; what refers to it is not
  /// changed. The closure leaves the collection itself alone.
  ///
  /// - Throws: what the closure throws; `.decodingFailed` for a record that the old type cannot
  ///   read, `.idExists` for one that comes back with another id, `.invalidSchema` inside of a
  ///   savepoint. Every error undoes the migration, if it is not caught.
  /// - Complexity: O(n); a batch of records is in memory at a time. The indexes of the collection
  ///   are built after the last migration.
  public func rewrite<R: Record, Old: Decodable>(
    _ type: R.Type, from old: Old.Type, _ change: (Old) throws -> R?
  ) throws {
    let collection = try context.collection(of: type)
    try rewrite(collection.stored.name, from: old, encoding: type, change)
    try noteDeclared(collection)
  }

  /// Replaces every record of a collection by what the closure makes of it, from one older type to
  /// another: for a migration before the last one of a type.
  ///
  /// The collection may be one that no type declares. Everything else is as in
  /// ``rewrite(_:from:_:)``.
  ///
  /// - Throws: as ``rewrite(_:from:_:)``, `.unknownCollection` where the file has no such
  ///   collection.
  /// - Complexity: as ``rewrite(_:from:_:)``.
  public func rewrite<Old: Decodable, New: Record>(
    _ collection: String, from old: Old.Type, to new: New.Type, _ change: (Old) throws -> New?
  ) throws {
    try rewrite(collection, from: old, encoding: new, change)
    try noteForm(SchemaCompiler.compile(new).form, of: collection)
  }

  private func rewrite<Old: Decodable, New: Record>(
    _ collection: String, from old: Old.Type, encoding new: New.Type,
    _ change: (Old) throws -> New?
  ) throws {
    try declareDefaults(of: old)
    let coder = context.coder
    try rewrite(collection) { stored, id, record in
      let old = try record.withUnsafeBytes { try coder.decode(old, from: $0) }
      guard let new = try change(old) else { return nil }
      return try encoded(new, id: id, in: stored)
    }
  }

  /// Replaces every record of a type by what the closure makes of its fields.
  ///
  /// ```swift
  /// try tx.rewrite(Invoice.self) { fields in
  ///   fields["cents"] = .int(Int64((fields["price"]?.double ?? 0) * 100))
  ///   fields["price"] = nil
  /// }
  /// ```
  ///
  /// Fields go by their coding names. What the closure leaves is read as the type and written as
  /// every save writes it: a number goes into a property of any width that holds it, and a field
  /// that is not there has its declared default, or is nil.
  ///
  /// - Throws: as ``rewrite(_:from:_:)``; `.decodingFailed`, with the field, for fields that are
  ///   not those of the type.
  /// - Complexity: as ``rewrite(_:from:_:)``.
  public func rewrite<R: Record>(
    _ type: R.Type, _ change: (inout StoredFields) throws -> Void
  ) throws {
    let shapes = context.shapes
    let collection = try context.collection(of: type)
    let reader = try FieldReader<R>(collection.schema, context.catalog.aliases)
    try rewrite(collection.stored.name) { stored, id, record in
      var fields = try StoredFields(record, shapes: shapes)
      try change(&fields)
      if fields.isDropped { return nil }
      return try encoded(reader.record(fields), id: id, in: stored)
    }
    try noteDeclared(collection)
  }

  /// Replaces the fields of every record of a collection, as they are, without a type: for a
  /// collection that no type declares, or a migration before the last one of a type.
  ///
  /// - Throws: as ``rewrite(_:from:_:)``, `.unknownCollection` where the file has no such
  ///   collection.
  /// - Complexity: as ``rewrite(_:from:_:)``.
  public func rewrite(
    _ collection: String, _ change: (inout StoredFields) throws -> Void
  ) throws {
    let shapes = context.shapes
    try rewrite(collection) { _, _, record in
      var fields = try StoredFields(record, shapes: shapes)
      let before = fields
      try change(&fields)
      if fields.isDropped { return nil }
      return fields == before ? record : try FieldValueWriter.map(fields.values)
    }
    try noteForm(nil, of: collection)
  }

  // MARK: What the file knows of the fields

  /// Takes note that all records of a collection are as their type writes them.
  private func noteDeclared(_ collection: CollectionHandle) throws {
    intermediate.remove(collection.stored.name)
    rewritten.insert(collection.stored.name)
    try storage { transaction in
      try context.catalog.storage.resetFieldHistory(
        of: collection.stored.id, to: collection.schema, in: transaction)
    }
  }

  /// Takes note of what the records of a collection are; nil where only they tell.
  private func noteForm(_ form: FieldForm?, of collection: String) throws {
    try storage { transaction in
      let stored = try storedCollection(collection, in: transaction).stored
      let catalog = context.catalog.storage
      guard let form else {
        return try catalog.removeFieldHistory(of: stored.id, in: transaction)
      }
      var history = FieldHistory([form])
      // The migration may have saved records of the declared type beside them.
      if let declared = loader.schemas.first(where: { $0.name == collection }) {
        history.add(declared.form)
      }
      try catalog.setFieldHistory(history, of: stored.id, in: transaction)
    }
  }

  // MARK: The way of all of them

  /// - Parameter change: the new bytes of a record, nil to remove it.
  private func rewrite(
    _ name: String, _ change: (StoredCollection, [UInt8], [UInt8]) throws -> [UInt8]?
  ) throws {
    let (stored, records) = try storage { transaction in
      try prepareWholeChange(in: transaction)
      let found = try storedCollection(name, in: transaction)
      try loader.resetIndexes(of: name, in: transaction)
      try renewHandles(in: transaction)
      return found
    }
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
          dropped = item.id
        }
      }
      changeCount &+= 1
      done += batch.count
      report(name, Swift.min(done, total), total)
    }
    if let dropped {
      shrunk.insert(name)
      try noteHighest(dropped, stored, records)
    }
  }

  private func put(
    _ record: [UInt8], _ id: [UInt8], _ stored: StoredCollection, _ records: LMDBDatabase
  ) throws {
    guard record.count <= Store.recordSizeLimit else {
      throw LarchError(
        .recordTooLarge,
        "A record may take 64 MiB at most; keep large data in files, or in several records."
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

  /// Assigned ids are not given again: the highest one needs a note when it goes.
  private func noteHighest(
    _ id: [UInt8], _ stored: StoredCollection, _ records: LMDBDatabase
  ) throws {
    guard stored.idKind == .assigned else { return }
    try storage { transaction in
      let number = id.withUnsafeBytes { WriteContext.number(of: $0) }
      let highest = try WriteContext.highestID(in: records, transaction)
      let catalog = context.catalog.storage
      let known = WriteContext.noted(try catalog.highestDeletedID(stored.id, in: transaction))
      if number > highest, number > known, number < GivenIDs.limit {
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
      throw LarchError(
        .idExists,
        "A record came back from a rewrite with another id; copy the records to another collection to give them new ids."
      ) { $0.detail = stored.idKind.text(of: writer.bytes) }
    }
    return [UInt8](try context.coder.encode(record))
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

  /// With shapes of its own: those of the file are for what is stored.
  private static func coder(
    _ schema: CollectionSchema, _ aliases: FieldAliases
  ) throws -> RecordCoder {
    let coder = RecordCoder(shapes: ShapeTable())
    coder.setAliases(aliases)
    try schema.declareDefaults?(coder)
    return coder
  }
}
