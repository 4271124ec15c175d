/// Rows in the order of their ids, from behind an id on.
final class RowsBehindID: RowSource {
  private let rows: RowSource
  private let start: [UInt8]
  private let descends: Bool
  private var isBehind = false

  init(_ rows: RowSource, _ start: [UInt8], descends: Bool) {
    self.rows = rows
    self.start = start
    self.descends = descends
  }

  override func next() throws -> Bool {
    while try rows.next() {
      if !isBehind {
        let order = start.withUnsafeBytes { compareBytes(rows.id, $0) }
        isBehind = descends ? order < 0 : order > 0
        if !isBehind { continue }
      }
      id = rows.id
      record = rows.record
      key = rows.key
      return true
    }
    return false
  }

  override func close() { rows.close() }
  override var entriesExamined: Int { rows.entriesExamined }
  override var spilledBytes: Int { rows.spilledBytes }
}

/// Rows in the order of an index, from behind a token on.
final class RowsBehindToken: RowSource {
  private let rows: OrderedIndexRows
  private let sortKey: SortKey
  private let token: [UInt8]
  private let components: KeyComponents
  private let reader: RowReader
  private var isBehind = false

  init(
    _ rows: OrderedIndexRows, _ token: PageToken, _ scan: Plan.IndexScan, components count: Int,
    descends: Bool, idsDescend: Bool, _ reader: RowReader
  ) throws {
    self.rows = rows
    self.reader = reader
    let schema = try reader.collection.index(at: scan.index).schema
    components = KeyComponents(schema)
    // The components before those of the order have one value each.
    let fields = schema.fields.prefix(count).suffix(token.values.count)
    sortKey = SortKey(
      OrderedIndexRows.terms(Array(fields), descends: descends), idsDescend: idsDescend,
      idKind: reader.collection.stored.idKind, index: schema, context: reader.context,
      typed: WholeIndexValues(scan.index, reader))
    guard sortKey.write(token) else { throw SortedRows.foreignToken }
    self.token = [UInt8](sortKey.bytes)
  }

  override func next() throws -> Bool {
    while try rows.next() {
      if !isBehind {
        try writeKey()
        isBehind = token.withUnsafeBytes { compareBytes(sortKey.bytes, $0) } > 0
        if !isBehind { continue }
      }
      id = rows.id
      record = rows.record
      key = rows.key
      return true
    }
    return false
  }

  private func writeKey() throws {
    if let key = rows.key {
      components.open(key)
      if try sortKey.write(components: components, id: rows.id) { return }
    }
    let record = try rows.record(reader)
    do {
      try sortKey.write(record: record, id: rows.id)
    } catch {
      throw reader.naming(error, rows.id)
    }
  }

  override func close() { rows.close() }
  override var entriesExamined: Int { rows.entriesExamined }
  override var spilledBytes: Int { rows.spilledBytes }
}
