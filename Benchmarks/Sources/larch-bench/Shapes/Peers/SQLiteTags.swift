import Workload

/// Tags have a table of their own, in the order of their items, and an index that finds the items.
final class SQLiteTags: SQLiteShape {
  static let schema = """
    CREATE TABLE IF NOT EXISTS item (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS tag (item INTEGER NOT NULL, position INTEGER NOT NULL,
      tag TEXT NOT NULL, PRIMARY KEY (item, position)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS tag_item ON tag (tag, item);
    """

  let tables: Tables

  init(path: String) throws {
    tables = try Tables(path: path, schema: Self.schema)
  }

  func scan() throws -> QueryResult {
    try rows([
      ("SELECT id, title FROM item", "it"),
      ("SELECT item, position, tag FROM tag NOT INDEXED", "iit"),
    ])
  }

  func fingerprint() throws -> QueryResult {
    try rows([
      ("SELECT id, title FROM item", "ih"),
      ("SELECT item, position, tag FROM tag NOT INDEXED", "iih"),
    ])
  }

  func prepare(_ step: TagStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let items): return try insert(items, each: false)
    case .insertEach(let items): return try insert(items, each: true)
    case .find(let ids):
      return try tables.read(
        "SELECT id, title FROM item WHERE id = ?", "1it", child: try tags(),
        ids.lazy.map { [.id($0)] })
    case .page(let tags, let limit):
      return try select(
        "tag JOIN item ON id = item WHERE tag = ? ORDER BY item LIMIT ?",
        tags.lazy.map { [.text($0), .integer(limit)] })
    case .count(let tags):
      return try tables.read(
        "SELECT count(*) FROM tag WHERE tag = ?", "1i", tags.lazy.map { [.text($0)] })
    case .countOfAny(let pairs):
      return try tables.read(
        "SELECT count(DISTINCT item) FROM tag WHERE tag IN (?, ?)", "1i",
        pairs.lazy.map { $0.map(Cell.text) })
    case .withBoth(let pairs):
      return try select(
        "tag a JOIN tag b ON b.tag = ? AND b.item = a.item JOIN item ON id = a.item"
          + " WHERE a.tag = ?",
        pairs.lazy.map { $0.map(Cell.text) })
    case .update(let changes):
      let lines = try tags()
      let get = try tables.statement("SELECT id, title FROM item WHERE id = ?", "1it", child: lines)
      let set = try tables.statement(
        "UPDATE tag SET tag = ? WHERE item = ? AND position = ?", "#")
      return try tables.write(changes, rows: 2 + TaggedItems.tagsEach) { script, change in
        script.call(get, [.id(change.id)])
        script.call(set, [.text(change.new), .id(change.id), .integer(change.position)])
      }
    case .delete(let ids):
      let tags = try tables.statement("DELETE FROM tag WHERE item = ?")
      let item = try tables.statement("DELETE FROM item WHERE id = ?", "#")
      return try tables.write(ids) { script, id in
        script.call(tags, [.id(id)])
        script.call(item, [.id(id)])
      }
    }
  }

  private func tags() throws -> Statement {
    try tables.statement(
      "SELECT item, position, tag FROM tag WHERE item = ? ORDER BY position", "iit")
  }

  /// Items, each with its tags.
  private func select(
    _ rest: String, _ values: some Sequence<[Cell]>
  ) throws -> () throws -> QueryResult {
    try tables.read("SELECT id, title FROM \(rest)", "it", child: try tags(), values)
  }

  private func insert(_ items: [WorkloadItem], each: Bool) throws -> () throws -> QueryResult {
    let insert = try tables.statement("INSERT INTO item (title) VALUES (?)", "#")
    let insertTag = try tables.statement("INSERT INTO tag (item, position, tag) VALUES (?, ?, ?)")
    return try tables.write(items, each: each) { script, item in
      script.call(insert, [.text(item.title)])
      for (position, tag) in item.tags.enumerated() {
        script.call(insertTag, [.id(item.id), .integer(position), .text(tag)])
      }
    }
  }
}
