extension MigrationTransaction {
  /// All records of a collection as values of an older Swift type, in the order of their ids, read
  /// one by one.
  ///
  /// ```swift
  /// for old in try tx.records(of: CustomerV1.self, in: "Customer") {
  ///   var person = Person(name: old.fullName)
  ///   try tx.save(&person)
  /// }
  /// try tx.drop("Customer")
  /// ```
  ///
  /// Records may be changed meanwhile: the sequence continues after the last record that it
  /// returned. A record that cannot be read ends it, and the error is thrown when the migration
  /// returns. It is empty if the file has no such collection. The name may also be an older one
  /// that a type declares with ``Renamed``.
  ///
  /// - Throws: `.unknownCollection` for a name like that of another collection, which has records;
  ///   `.invalidSchema` for invalid declarations of the old type.
  /// - Complexity: O(1); each step reads and decodes one record.
  public func records<Old: Decodable>(
    of type: Old.Type, in collection: String
  ) throws -> StoredRecordSequence<Old> {
    try storage { transaction in
      try declareDefaults(of: type)
      let found = try storedCollection(collection, in: transaction)
      let coder = context.coder
      return StoredRecordSequence(self, found) { record in
        try record.withUnsafeBytes { try coder.decode(type, from: $0) }
      }
    }
  }

  /// The fields of all records of a collection, in the order of their ids, read one by one; none if
  /// the file has no such collection.
  ///
  /// - Throws: `.unknownCollection` for a name like that of another collection, which has records.
  /// - Complexity: O(1); each step reads one record.
  public func fields(in collection: String) throws -> StoredRecordSequence<StoredFields> {
    try storage { transaction in
      let found = try storedCollection(collection, in: transaction)
      let shapes = context.shapes
      let nilNames = nilNames(in: collection)
      return StoredRecordSequence(self, found) {
        try StoredFields($0, shapes: shapes, nilNames: nilNames)
      }
    }
  }

  /// The record with this id as a value of an older Swift type, or nil if there is none.
  ///
  /// - Throws: `.unknownCollection` for a name like that of another collection, which has records;
  ///   `.decodingFailed` for a record that does not fit the type.
  /// - Complexity: O(log n).
  public func find<Old: Decodable, ID: RecordIdentifier>(
    _ type: Old.Type, _ id: ID, in collection: String
  ) throws -> Old? {
    try storage { transaction in
      try declareDefaults(of: type)
      return try withRecord(id, in: collection, transaction) { record in
        try context.coder.decode(type, from: record)
      }
    }
  }

  /// The fields of the record with this id, or nil if there is none.
  ///
  /// - Throws: `.unknownCollection` for a name like that of another collection, which has records.
  /// - Complexity: O(log n).
  public func fields<ID: RecordIdentifier>(
    of id: ID, in collection: String
  ) throws -> StoredFields? {
    try storage { transaction in
      try withRecord(id, in: collection, transaction) {
        try StoredFields(
          [UInt8]($0), shapes: context.shapes, nilNames: nilNames(in: collection))
      }
    }
  }

  private func withRecord<ID: RecordIdentifier, T>(
    _ id: ID, in collection: String, _ transaction: LMDBTransaction,
    _ body: (UnsafeRawBufferPointer) throws -> T
  ) throws -> T? {
    guard let found = try storedCollection(collection, in: transaction) else { return nil }
    var writer = KeyWriter()
    try id._writeID(to: &writer)
    guard let value = try found.records.get(writer.bytes, in: transaction) else { return nil }
    guard
      let record = RecordEnvelope.open(value, id: writer.bytes, collection: found.stored.id)
    else { throw RecordEnvelope.damaged(writer.bytes, found.stored) }
    do {
      return try body(record)
    } catch let error as LarchError {
      throw RecordEnvelope.naming(error, writer.bytes, found.stored)
    }
  }

  /// The optional fields of the declared type with a default, under all their names: a nil that was
  /// saved in one of them is not a missing field.
  func nilNames(in collection: String) -> Set<String> {
    guard let schema = declaration(of: collection) else { return [] }
    let names = schema.defaults.subtracting(schema.standInDefaults)
    return names.union(names.flatMap { loader.aliases.older($0, of: schema.typeID) })
  }

  /// Gives the coder the defaults and the older names of the fields of an older type.
  func declareDefaults(of type: any Decodable.Type) throws {
    guard let type = type as? any Record.Type,
      context.catalog.collection(ObjectIdentifier(type)) == nil
    else { return }
    try declare(type)
  }

  private func declare<Old: Record>(_ type: Old.Type) throws {
    let renames = try Renames(of: type)
    var aliases = context.catalog.aliases
    aliases.add(renames.aliases)
    context.coder.setAliases(aliases)
    let schema = try SchemaCompiler.compile(type, renames: renames, aliases: aliases)
    try schema.declareDefaults?(context.coder)
  }
}

extension StoredFields {
  /// The fields of a stored record.
  ///
  /// - Parameter nilNames: fields that are `.null` if they are nil, and not omitted.
  init(_ record: [UInt8], shapes: ShapeTable, nilNames: Set<String> = []) throws {
    values = try record.withUnsafeBytes { bytes in
      let form = try RecordFormat.value(of: bytes)
      guard form.state == .value, form.kind == .record || form.kind == .map else {
        throw LarchError(
          .decodingFailed,
          "A stored record has no fields, because its type encoded it as a single value; rewrite it as that type."
        )
      }
      var values: [String: FieldValue] = [:]
      let raw = RawRecord(bytes, shapes: shapes)
      for (name, value) in try raw.fields() {
        values[name] = try FieldValue(value, shapes: shapes)
      }
      if !nilNames.isEmpty, let shape = try raw.shape() {
        for field in shape.fields
        where nilNames.contains(field.name) && values[field.name] == nil {
          values[field.name] = .null
        }
      }
      return values
    }
  }
}

/// The records of a collection in the order of their ids, as an older type or as fields, read one
/// by one. Valid inside the closure of its migration.
public struct StoredRecordSequence<Element>: Sequence {
  private let transaction: MigrationTransaction
  /// Nil if the file has no such collection.
  private let source: (stored: StoredCollection, records: LMDBDatabase)?
  private let make: ([UInt8]) throws -> Element

  init(
    _ transaction: MigrationTransaction,
    _ source: (stored: StoredCollection, records: LMDBDatabase)?,
    _ make: @escaping ([UInt8]) throws -> Element
  ) {
    self.transaction = transaction
    self.source = source
    self.make = make
  }

  /// Starts before the first record.
  public func makeIterator() -> Iterator {
    Iterator(
      transaction: transaction,
      reader: source.map { StoredRecordReader($0.stored, $0.records) }, make: make)
  }

  /// Iterates over the records.
  public struct Iterator: IteratorProtocol {
    let transaction: MigrationTransaction
    let reader: StoredRecordReader?
    let make: ([UInt8]) throws -> Element

    /// The next record, or nil after the last one or after an error, which the migration then
    /// throws at its end.
    ///
    /// - Complexity: O(1) on average; a batch of records is read at a time.
    public mutating func next() -> Element? {
      guard transaction.sequenceError == nil, let reader else { return nil }
      do {
        return try transaction.storage { lmdb in
          guard let item = try reader.next(in: lmdb) else { return nil }
          do {
            return try make(item.record)
          } catch let error as LarchError {
            throw item.id.withUnsafeBytes { RecordEnvelope.naming(error, $0, reader.stored) }
          }
        }
      } catch {
        transaction.sequenceError = error
        return nil
      }
    }
  }
}

@available(*, unavailable)
extension StoredRecordSequence: Sendable {}
