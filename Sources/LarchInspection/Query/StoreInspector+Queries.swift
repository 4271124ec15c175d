internal import Foundation
internal import Larch

/// A query on a collection without its record type, in the snapshot of an inspector.
package struct TypelessQuery {
  /// A record that a query found. Valid until the next one.
  package struct Row {
    package let id: String
    private let record: RawRecord

    init(id: String, _ record: RawRecord) {
      self.id = id
      self.record = record
    }

    /// The record as JSON on one line, with sorted keys.
    ///
    /// - Throws: `.corrupted` for bytes that are not a record.
    /// - Complexity: the length of the record.
    package func json() throws -> String { try record.json() }

    /// The fields in stored order, with their values as JSON. A record that is one value or a list has one, `value`.
    ///
    /// - Throws: `.corrupted` for bytes that are not a record.
    /// - Complexity: the length of the record.
    package func fields() throws -> [(name: String, json: String)] {
      let fields = try record.fields().map {
        ($0.name, try RawRecord.json(of: $0.value, shapes: record.shapes))
      }
      if !fields.isEmpty { return fields }
      let json = try json()
      return json.hasPrefix("{") ? [] : [("value", json)]
    }
  }

  private let collection: TypelessCollection
  private let query: QueryDescription
  private let context: TransactionContext

  init(
    _ collection: TypelessCollection, _ query: QueryDescription, _ context: TransactionContext
  ) {
    self.collection = collection
    self.query = query
    self.context = context
  }

  /// Calls the closure with each record in the order of the query, until it returns false.
  ///
  /// - Throws: the errors of `body`; `.checksumMismatch`, `.corrupted`.
  /// - Complexity: that of the plan of the query.
  package func forEach(_ body: (Row) throws -> Bool) throws {
    try run(for: .records) { run in
      while let row = try run.next() {
        let record = RawRecord(try row.record ?? run.record(), shapes: context.shapes)
        if !(try body(Row(id: text(ofID: row), record))) { return }
      }
    }
  }

  /// The ids of the records in the order of the query, until the closure returns false.
  ///
  /// - Throws: the errors of ``forEach(_:)``.
  /// - Complexity: reads no record if an index answers the whole filter.
  package func forEachID(_ body: (String) throws -> Bool) throws {
    try run(for: .ids) { run in
      while let row = try run.next() {
        if !(try body(text(ofID: row))) { return }
      }
    }
  }

  /// The number of records.
  ///
  /// - Throws: the errors of ``forEach(_:)``.
  /// - Complexity: the distinct keys of the range if one index answers the whole filter.
  package func count() throws -> Int { try run(for: .count) { try $0.count() } }

  /// The requested result of a query.
  package enum Need: Sendable {
    case records, ids, count

    fileprivate var queryNeed: QueryNeed {
      switch self {
      case .records: .records
      case .ids: .ids
      case .count: .count
      }
    }
  }

  /// The plan of the query, in the form of `RecordReading.explain`.
  ///
  /// - Parameter running: whether to run the query and add what it read.
  /// - Throws: the errors of ``forEach(_:)``.
  /// - Complexity: a few searches in the indexes, without running.
  package func explain(_ need: Need = .records, running: Bool = false) throws -> String {
    try run(for: need.queryNeed) { run in
      let text = run.planText
      guard running else { return text }
      if need == .count { _ = try run.count() } else { while try run.next() != nil {} }
      return text + "\n" + run.counters.text
    }
  }

  private func text(ofID row: QueryRow) -> String {
    collection.handle.stored.idKind.text(of: row.id)
  }

  // MARK: Running

  private func run<T>(
    for need: QueryNeed, isFullScan: Bool = false, _ body: (PlanRun) throws -> T
  ) throws -> T {
    let run = try PlanRun(
      query, for: need, through: isFullScan ? nil : collection.usable,
      searches: collection.searches, in: collection.handle, context,
      answers: TypelessAccess(context))
    defer { run.close() }
    return try body(run)
  }

  /// A full scan with the filter as written: tests compare plans with it.
  func forEachByFullScan(_ body: (String) throws -> Void) throws {
    try run(for: .ids, isFullScan: true) { run in
      while let row = try run.next() { try body(text(ofID: row)) }
    }
  }
}

extension StoreInspector {
  /// Parses a query and resolves its names and constants in a collection.
  ///
  /// - Parameter text: see `docs/query-language.md`.
  /// - Throws: `QueryTextError` for an invalid query; `.corrupted` for a damaged catalog.
  /// - Complexity: the length of the text, and the fields and indexes of the collection.
  package func query(_ text: String, in collection: Collection) throws -> TypelessQuery {
    let query = try QueryParser.parse(text)
    let typeless = try typeless(collection)
    return TypelessQuery(typeless, try QueryBinder(typeless).bind(query), context)
  }

  /// Calls the closure with the record with this id.
  ///
  /// - Parameter id: the text of an id, in the form of ``TypelessQuery/Row/id``.
  /// - Returns: whether the record exists.
  /// - Throws: `.invalidQuery` for a text that is not an id of the collection; `.checksumMismatch`;
  ///   what `body` throws.
  /// - Complexity: one search in the tree of the collection.
  package func withRecord(
    id: String, in collection: Collection, _ body: (TypelessQuery.Row) throws -> Void
  ) throws -> Bool {
    let stored = collection.stored
    guard let key = stored.idKind.bytes(ofText: id) else {
      throw LarchError(
        .invalidQuery, "The text is not an id of the collection; use an id of the expected kind."
      ) {
        $0.collection = stored.name
        $0.detail = "expected \(stored.idKind.nameInErrors)"
      }
    }
    return try key.withUnsafeBytes { key in
      guard let value = try collection.handle.records.get(key, in: transaction) else {
        return false
      }
      let bytes = try RecordEnvelope.open(value, id: key, in: collection.handle)
      let record = RawRecord(bytes, shapes: context.shapes)
      try body(TypelessQuery.Row(id: stored.idKind.text(of: key), record))
      return true
    }
  }

  func typeless(_ collection: Collection) throws -> TypelessCollection {
    TypelessCollection(collection.handle, fields: try fields(of: collection))
  }

  /// The number of records that are read from either end if the catalog does not have their fields.
  private static let sampleCount = 32

  private func fields(of collection: Collection) throws -> FormFields {
    if let history = try storage.fieldHistory(of: collection.stored.id, in: transaction),
      !history.versions.isEmpty
    {
      return FormFields(versions: history.declarations, isProved: true)
    }
    // A file whose fields were never compared with types.
    var found: [FieldForm] = []
    func take(_ entry: LMDBEntry) throws {
      // Damage is an error when the record is read.
      guard
        let bytes = try? RecordEnvelope.open(
          entry.value, id: entry.key, in: collection.handle),
        let form = try? FieldForm(of: bytes, context.shapes), !found.contains(form)
      else { return }
      found.append(form)
    }
    var cursor = try LMDBCursor(collection.handle.records, in: transaction)
    var next = try cursor.first()
    for _ in 0..<StoreInspector.sampleCount {
      guard let entry = next else { break }
      try take(entry)
      next = try cursor.next()
    }
    next = try cursor.last()
    for _ in 0..<StoreInspector.sampleCount {
      guard let entry = next else { break }
      try take(entry)
      next = try cursor.previous()
    }
    return FormFields(versions: found, isProved: false)
  }
}

extension RecordIDKind {
  /// The bytes of an id from its text; nil if it is not an id.
  fileprivate func bytes(ofText text: String) -> [UInt8]? {
    var writer = KeyWriter()
    do {
      switch self {
      case .assigned, .integer:
        guard let number = Int64(text) else { return nil }
        try number._writeID(to: &writer)
      case .unsigned:
        guard let number = UInt64(text) else { return nil }
        try number._writeID(to: &writer)
      case .uuid:
        guard let uuid = UUID(uuidString: text) else { return nil }
        try uuid._writeID(to: &writer)
      // No id is longer than ids may be.
      case .string: try text._writeID(to: &writer)
      }
    } catch {
      return nil
    }
    return [UInt8](writer.bytes)
  }

  fileprivate var nameInErrors: String {
    switch self {
    case .assigned, .integer: "a whole number"
    case .unsigned: "a whole number, 0 or more"
    case .uuid: "a UUID"
    case .string: "a text of at most 500 bytes"
    }
  }
}
