import Workload

/// A table with an integer as its own key: smaller than one ordered by the UUID, and faster to go to from
/// an index.
final class SQLiteEvents: SQLiteShape {
  static let schema = """
    CREATE TABLE IF NOT EXISTS event (id BLOB PRIMARY KEY NOT NULL, at REAL NOT NULL,
      kind TEXT NOT NULL, device TEXT NOT NULL, amount INTEGER NOT NULL, note TEXT);
    CREATE INDEX IF NOT EXISTS event_kind_at ON event (kind, at);
    CREATE INDEX IF NOT EXISTS event_at ON event (at);
    CREATE INDEX IF NOT EXISTS event_device ON event (device);
    """
  private static let fields = "id, at, kind, device, amount, note"
  private static let columns = "udttiT"

  let tables: Tables

  init(path: String) throws {
    tables = try Tables(path: path, schema: Self.schema)
  }

  func scan() throws -> QueryResult {
    try rows([("SELECT \(Self.fields) FROM event", Self.columns)])
  }

  func fingerprint() throws -> QueryResult {
    try rows([("SELECT \(Self.fields) FROM event", "udhhiH")])
  }

  func prepare(_ step: EventStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let events): return try insert(events, each: false)
    case .insertEach(let events): return try insert(events, each: true)
    case .find(let ids):
      return try tables.read(
        "SELECT \(Self.fields) FROM event WHERE id = ?", "1" + Self.columns,
        ids.lazy.map { [.bytes($0)] })
    case .page(let dates, let limit):
      return try select(
        "WHERE at < ? ORDER BY at DESC LIMIT ?", dates.lazy.map { [.real($0), .integer(limit)] })
    case .pageOfKind(let spans, let limit):
      return try select(
        "WHERE kind = ? AND at < ? ORDER BY at DESC LIMIT ?",
        spans.lazy.map { [.text($0.kind), .real($0.to), .integer(limit)] })
    case .range(let spans):
      return try select(
        "WHERE at >= ? AND at < ?", spans.lazy.map { [.real($0.from), .real($0.to)] })
    case .count(let spans): return try number("count(*)", spans)
    case .sum(let spans): return try number("ifnull(sum(amount), 0)", spans)
    case .countsByKind:
      return try tables.read("SELECT kind, count(*) FROM event GROUP BY kind", "hi")
    case .countsByDevice:
      return try tables.read("SELECT device, count(*) FROM event GROUP BY device", "hi")
    case .distinctKinds: return try tables.read("SELECT DISTINCT kind FROM event", "h")
    case .update(let changes):
      let get = try tables.statement(
        "SELECT \(Self.fields) FROM event WHERE id = ?", "1" + Self.columns)
      let set = try tables.statement("UPDATE event SET kind = ? WHERE id = ?", "#")
      return try tables.write(changes, rows: 2) { script, change in
        script.call(get, [.bytes(change.id)])
        script.call(set, [.text(change.kind), .bytes(change.id)])
      }
    case .delete(let ids):
      let delete = try tables.statement("DELETE FROM event WHERE id = ?", "#")
      return try tables.write(ids) { $0.call(delete, [.bytes($1)]) }
    }
  }

  private func select(
    _ rest: String, _ values: some Sequence<[Cell]>
  ) throws -> () throws -> QueryResult {
    try tables.read("SELECT \(Self.fields) FROM event \(rest)", Self.columns, values)
  }

  private func number(_ what: String, _ spans: [EventSpan]) throws -> () throws -> QueryResult {
    try tables.read(
      "SELECT \(what) FROM event WHERE kind = ? AND at >= ? AND at < ?", "1i",
      spans.lazy.map { [.text($0.kind), .real($0.from), .real($0.to)] })
  }

  private func insert(
    _ events: [WorkloadEvent], each: Bool
  ) throws -> () throws -> QueryResult {
    let insert = try tables.statement(
      "INSERT INTO event (\(Self.fields)) VALUES (?, ?, ?, ?, ?, ?)", "#")
    return try tables.write(events, each: each) { script, event in
      script.call(
        insert,
        [
          .bytes(event.id), .real(event.at), .text(event.kind), .text(event.device),
          .integer(event.amount), event.note.map(Cell.text) ?? .null,
        ])
    }
  }
}
