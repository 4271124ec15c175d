package import Larch

/// Keeps tables like a store, from the log of its commits.
///
/// It needs a copy of the store on this machine, of which it reads the catalog and the shapes of records,
/// and all records when the tables are filled for the first time.
package final class TablesFeed {
  /// What a step has done.
  package enum Step: Equatable {
    /// The tables have all that the log has.
    case current
    /// Entries were brought over.
    case applied(entries: Int, rows: Int)
    /// The tables were filled from the copy.
    case filled(rows: Int)
    /// Somebody else has changed the tables meanwhile; nothing was done.
    case overtaken
  }

  /// How many rows are written at once, and about how many bytes: a server refuses messages of 1 GB.
  private static let (batch, batchBytes) = (500, 8 << 20)

  private let store: Store
  private let log: any SharedLog
  private let tables: any RecordTables
  /// Those that were set last by this feed.
  private var known: [CollectionTable]?
  /// Whether the outcome of the step before is not known.
  private var isUncertain = false

  /// - Parameter store: a store that follows the log, or the one that writes it.
  package init(_ store: Store, _ log: any SharedLog, into tables: any RecordTables) {
    self.store = store
    self.log = log
    self.tables = tables
  }

  /// Brings over what comes next.
  ///
  /// - Throws: the errors of the log, the tables and the store; then the tables have the state that
  ///   they had.
  package func step() throws -> Step {
    do {
      let step = try nextStep()
      // A step whose outcome was not known may arrive between two looks at the tables.
      let isOwn = step == .overtaken && isUncertain
      isUncertain = false
      return isOwn ? try nextStep() : step
    } catch {
      // It may be that the tables were not set.
      known = nil
      throw error
    }
  }

  private func nextStep() throws -> Step {
    guard let place = try tables.place() else { return try fill(insteadOf: nil) }
    switch try log.tail(after: place, limit: 1 << 20) {
    case .entries(let entries):
      guard let last = entries.last else { return .current }
      return try apply(entries, from: place, to: last.place)
    case .cut, .diverged: return try fill(insteadOf: place)
    }
  }

  // MARK: Entries

  private func apply(
    _ entries: [LogEntry], from place: LogPlace, to last: LogPlace
  ) throws -> Step {
    var changes = TableChanges()
    for entry in entries { try changes.add(entry) }
    var rows = 0
    // The catalog of a later state has the shapes of all earlier ones.
    try waitForCopy(last)
    let mayDiffer = changes.changesSchema || known == nil
    var found = known
    let isDone = try store.inspect { inspector in
      if mayDiffer { found = try inspector.recordTables() }
      return try update(from: place, to: last) { writer in
        rows = 0
        if let found, found != known { try writer.set(found) }
        for collection in inspector.collections {
          guard let changed = changes.collections[collection.stored.id] else { continue }
          rows += try write(changed, of: collection, inspector, writer)
        }
      }
    }
    guard isDone else { return overtaken() }
    known = found
    return .applied(entries: entries.count, rows: rows)
  }

  private func write(
    _ changed: TableChanges.Collection, of collection: StoreInspector.Collection,
    _ inspector: StoreInspector, _ writer: any RecordTableWriter
  ) throws -> Int {
    let number = collection.stored.id
    if changed.isEmptied { try writer.empty(number) }
    var rows = RowBatch(writer, number)
    var deleted: [String] = []
    for (id, stored) in changed.records {
      let text = id.withUnsafeBytes { collection.stored.idKind.text(of: $0) }
      guard let stored else {
        deleted.append(text)
        continue
      }
      try rows.add(
        RecordRow(
          id: text,
          json: try inspector.json(ofStored: stored, id: id, in: collection)))
    }
    try rows.write()
    for start in stride(from: 0, to: deleted.count, by: Self.batch) {
      try writer.delete(
        Array(deleted[start..<min(start + Self.batch, deleted.count)]), from: number)
    }
    return rows.count + deleted.count
  }

  private func waitForCopy(_ place: LogPlace) throws {
    try store.wait(for: StoreVersion(place), within: .seconds(5))
  }

  // MARK: All records

  /// Fills the tables from the copy.
  private func fill(insteadOf old: LogPlace?) throws -> Step {
    var rows = 0
    var found: [CollectionTable] = []
    let isDone: Bool = try store.inspect { inspector in
      guard let place = try store.logPlace(in: inspector.transaction) else {
        throw LarchError(
          .unsuitableFile,
          "The file has no log, so tables cannot follow it; open it with a mirror, or follow one."
        ) { $0.path = store.path }
      }
      switch try log.tail(after: place, limit: 0) {
      case .entries: break
      case .cut, .diverged:
        if try log.head() == nil { throw log.nothingThere }
        throw LarchError(
          .unavailable, "The copy does not match the log any more and is being replaced; retry."
        ) { $0.path = store.path }
      }
      found = try inspector.recordTables()
      return try update(from: old, to: place) { writer in
        rows = 0
        try writer.set(found)
        for collection in inspector.collections {
          rows += try fill(collection, inspector, writer)
        }
      }
    }
    guard isDone else { return overtaken() }
    known = found
    return .filled(rows: rows)
  }

  private func fill(
    _ collection: StoreInspector.Collection, _ inspector: StoreInspector,
    _ writer: any RecordTableWriter
  ) throws -> Int {
    let number = collection.stored.id
    try writer.empty(number)
    var rows = RowBatch(writer, number)
    try inspector.forEachRecord(in: collection) { id, json in
      try rows.add(RecordRow(id: id, json: json))
    }
    try rows.write()
    return rows.count
  }

  /// Writes rows of one table, some at a time.
  private struct RowBatch {
    private let writer: any RecordTableWriter
    private let table: UInt32
    private var rows: [RecordRow] = []
    private var bytes = 0
    /// How many rows there were.
    private(set) var count = 0

    init(_ writer: any RecordTableWriter, _ table: UInt32) {
      self.writer = writer
      self.table = table
    }

    mutating func add(_ row: RecordRow) throws {
      rows.append(row)
      bytes += row.json.utf8.count
      count += 1
      if rows.count >= TablesFeed.batch || bytes >= TablesFeed.batchBytes { try write() }
    }

    /// Writes what waits.
    mutating func write() throws {
      if rows.isEmpty { return }
      try writer.upsert(rows, into: table)
      rows.removeAll(keepingCapacity: true)
      bytes = 0
    }
  }

  private func update(
    from old: LogPlace?, to place: LogPlace, _ body: (any RecordTableWriter) throws -> Void
  ) throws -> Bool {
    do { return try tables.update(from: old, to: place, body) } catch {
      if !error.hadNoEffect { isUncertain = true }
      throw error
    }
  }

  private func overtaken() -> Step {
    known = nil
    return .overtaken
  }
}

extension StoreInspector {
  /// A record as JSON, from its stored bytes.
  fileprivate func json(
    ofStored stored: [UInt8], id: [UInt8], in collection: Collection
  ) throws -> String {
    try stored.withUnsafeBytes { stored in
      try id.withUnsafeBytes { id in
        let bytes = try RecordEnvelope.open(stored, id: id, in: collection.handle)
        return try RawRecord(bytes, shapes: shapes).json()
      }
    }
  }
}
