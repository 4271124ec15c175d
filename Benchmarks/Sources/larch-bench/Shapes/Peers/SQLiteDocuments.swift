import Workload

final class SQLiteDocuments: SQLiteShape {
  static let schema = """
    CREATE TABLE IF NOT EXISTS document (id TEXT PRIMARY KEY NOT NULL, area TEXT NOT NULL,
      title TEXT NOT NULL, revision INTEGER NOT NULL, body TEXT NOT NULL);
    CREATE INDEX IF NOT EXISTS document_area ON document (area, revision);
    """
  private static let fields = "id, area, title, body, revision"
  private static let columns = "tttti"

  let tables: Tables

  init(path: String) throws {
    tables = try Tables(path: path, schema: Self.schema)
  }

  func scan() throws -> QueryResult {
    try rows([("SELECT \(Self.fields) FROM document", Self.columns)])
  }

  func fingerprint() throws -> QueryResult {
    try rows([("SELECT \(Self.fields) FROM document", "hhhhi")])
  }

  func prepare(_ step: DocumentStep) throws -> () throws -> QueryResult {
    let inPrefix = "FROM document WHERE id >= ? AND id < ?"
    switch step {
    case .insert(let documents): return try insert(documents, each: false)
    case .insertEach(let documents): return try insert(documents, each: true)
    case .find(let ids):
      return try tables.read(
        "SELECT \(Self.fields) FROM document WHERE id = ?", "1" + Self.columns,
        ids.lazy.map { [.text($0)] })
    case .page(let ids, let limit):
      return try tables.read(
        "SELECT \(Self.fields) FROM document WHERE id > ? ORDER BY id LIMIT ?", Self.columns,
        ids.lazy.map { [.text($0), .integer(limit)] })
    case .range(let prefixes):
      return try tables.read(
        "SELECT \(Self.fields) \(inPrefix)", Self.columns, prefixes.lazy.map(range))
    case .countOfPrefix(let prefixes):
      return try tables.read("SELECT count(*) \(inPrefix)", "1i", prefixes.lazy.map(range))
    case .idsOfPrefix(let prefixes):
      return try tables.read("SELECT id \(inPrefix)", "t", prefixes.lazy.map(range))
    case .countsByArea:
      return try tables.read("SELECT area, count(*) FROM document GROUP BY area", "hi")
    case .sum(let areas):
      return try tables.read(
        "SELECT ifnull(sum(revision), 0) FROM document WHERE area = ?", "1i",
        areas.lazy.map { [.text($0)] })
    case .update(let changes):
      let get = try tables.statement(
        "SELECT \(Self.fields) FROM document WHERE id = ?", "1" + Self.columns)
      let set = try tables.statement("UPDATE document SET body = ? WHERE id = ?", "#")
      return try tables.write(changes, rows: 2) { script, change in
        script.call(get, [.text(change.id)])
        script.call(set, [.text(change.body), .text(change.id)])
      }
    case .delete(let ids):
      let delete = try tables.statement("DELETE FROM document WHERE id = ?", "#")
      return try tables.write(ids) { $0.call(delete, [.text($1)]) }
    }
  }

  /// A prefix as a range, which unlike LIKE uses the index for every collation; all end with a slash,
  /// which "0" follows.
  private func range(_ prefix: String) -> [Cell] {
    [.text(prefix), .text(String(prefix.dropLast()) + "0")]
  }

  private func insert(
    _ documents: [WorkloadDocument], each: Bool
  ) throws -> () throws -> QueryResult {
    let insert = try tables.statement(
      "INSERT INTO document (\(Self.fields)) VALUES (?, ?, ?, ?, ?)", "#")
    return try tables.write(documents, each: each) { script, document in
      script.call(
        insert,
        [
          .text(document.id), .text(document.area), .text(document.title), .text(document.body),
          .integer(document.revision),
        ])
    }
  }
}
