/// The fields of one declared type compared with those of the stored records.
struct FieldComparison {
  /// The new field history of the collection; nil if the file has it already.
  var history: FieldHistory?
  /// Whether the change must be written now; if not, it is noted with the next change.
  var mustBeNoted = false
  var mismatches: [FieldMismatch] = []
}

extension CatalogLoader {
  /// Refuses types that cannot read all records of their collections. Must be called again after
  /// migrations.
  ///
  /// - Throws: `.schemaMismatch`.
  func checkFields() throws {
    try environment.openDatabases { transaction in
      let storage = try openStorage(in: transaction)
      let stored = try storage.collections(in: transaction)
      for schema in schemas {
        guard let entry = stored.first(where: { $0.name == schema.name }) else { continue }
        let found = try comparison(of: schema, entry, storage, in: transaction)
        if let error = LarchError(found.mismatches, collection: schema.name) { throw error }
      }
    }
  }

  /// Compares the fields of a type with the file.
  ///
  /// - Throws: `.schemaMismatch` for records that the type cannot read, unless migrations will run.
  func fields(
    of schema: CollectionSchema, _ entry: StoredCollection, _ storage: CatalogStorage,
    in transaction: LMDBTransaction
  ) throws -> FieldComparison {
    let found = try comparison(of: schema, entry, storage, in: transaction)
    if !awaitsMigrations, let error = LarchError(found.mismatches, collection: schema.name) {
      throw error
    }
    return found
  }

  private func comparison(
    of schema: CollectionSchema, _ entry: StoredCollection, _ storage: CatalogStorage,
    in transaction: LMDBTransaction
  ) throws -> FieldComparison {
    guard comparesFields else { return FieldComparison() }
    let declared = schema.form
    let known = try storage.fieldHistory(of: entry.id, in: transaction)
    let versions = try known?.versions ?? sample(entry, storage, in: transaction)
    var evolution = FieldEvolution(
      aliases: aliases, defaults: schema.defaults, of: schema.type)
    for version in versions where version != declared {
      evolution.compare(stored: version, declared: declared)
    }
    var result = FieldComparison()
    let isKnown = known?.knows(declared) ?? false
    if isKnown, evolution.mismatches.isEmpty { return result }
    if try isEmpty(entry, in: transaction) {
      // No record of an earlier version of the type remains. A program that has the file open with such a
      // version goes on, as long as both can read what the other will write.
      let readable = (known?.declarations ?? []).filter { earlier in
        var evolution = FieldEvolution(
          aliases: aliases, defaults: schema.defaults, of: schema.type)
        evolution.compare(stored: earlier, declared: declared)
        return evolution.mismatches.isEmpty
      }
      result.history = FieldHistory([], unwritten: readable + [declared])
      result.mustBeNoted = known != nil
      return result
    }
    result.mismatches = evolution.mismatches
    if !isKnown {
      var history = known ?? FieldHistory(versions)
      history.addUnwritten(declared)
      result.history = history
      // A file of an older Larch without declarations gets them when its type changes.
      result.mustBeNoted =
        known != nil || !versions.allSatisfy { declared.isForm(of: $0) }
        || declared.hasFields(besides: versions)
    }
    return result
  }

  /// The declarations that the first write through these handles must note.
  ///
  /// A program that does not compare fields does not know its own declaration: it may be any of
  /// those that opened the file.
  func unwrittenForms(
    of schema: CollectionSchema, _ entry: StoredCollection, _ storage: CatalogStorage,
    in transaction: LMDBTransaction
  ) throws -> [FieldForm] {
    guard let history = try storage.fieldHistory(of: entry.id, in: transaction),
      !history.unwritten.isEmpty
    else { return [] }
    return comparesFields
      ? history.unwritten.filter { $0 == schema.form } : history.unwritten
  }

  /// The forms of some records, if the file does not say under which declarations its records were
  /// written: the first and the last ones, usually the oldest and the newest.
  private func sample(
    _ entry: StoredCollection, _ storage: CatalogStorage, in transaction: LMDBTransaction
  ) throws -> [FieldForm] {
    guard
      let records = try LMDBDatabase.open(CatalogStorage.recordsName(entry.id), in: transaction)
    else { return [] }
    let shapes = ShapeTable()
    shapes.loader = { try storage.shape($0, in: transaction) }
    var found: [FieldForm] = []
    func take(_ record: LMDBEntry) throws {
      // Damage is not reported here: it is an error when the record is read.
      guard
        let bytes = RecordEnvelope.open(record.value, id: record.key, collection: entry.id),
        let form = try? FieldForm(of: bytes, shapes), !found.contains(form)
      else { return }
      found.append(form)
    }
    var cursor = try LMDBCursor(records, in: transaction)
    var next = try cursor.first()
    for _ in 0..<CatalogLoader.sampleCount {
      guard let record = next else { break }
      try take(record)
      next = try cursor.next()
    }
    next = try cursor.last()
    for _ in 0..<CatalogLoader.sampleCount {
      guard let record = next else { break }
      try take(record)
      next = try cursor.previous()
    }
    return found
  }

  private static let sampleCount = 32
}

extension FieldForm {
  /// Whether it has a field that no other form has.
  fileprivate func hasFields(besides others: [FieldForm]) -> Bool {
    guard case .record(let record) = self else { return false }
    return record.fields.contains { field in
      !others.contains {
        guard case .record(let other) = $0 else { return true }
        return other.field(field.name) != nil
      }
    }
  }
}
