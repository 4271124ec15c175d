import Workload

/// Foreign keys are on, each with an index.
final class SQLiteGraph: SQLiteShape {
  static let schema = """
    PRAGMA foreign_keys = ON;
    CREATE TABLE IF NOT EXISTS place (id INTEGER PRIMARY KEY, name TEXT NOT NULL,
      parent INTEGER REFERENCES place (id) ON DELETE SET NULL);
    CREATE INDEX IF NOT EXISTS place_parent ON place (parent);
    CREATE TABLE IF NOT EXISTS member (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS circle (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE IF NOT EXISTS membership (
      member INTEGER NOT NULL REFERENCES member (id) ON DELETE CASCADE,
      circle INTEGER NOT NULL REFERENCES circle (id) ON DELETE CASCADE,
      PRIMARY KEY (member, circle)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS membership_circle ON membership (circle, member);
    """

  let tables: Tables

  init(path: String) throws {
    tables = try Tables(path: path, schema: Self.schema)
  }

  func scan() throws -> QueryResult {
    try rows([("SELECT id, name, parent FROM place", "itI")])
  }

  func fingerprint() throws -> QueryResult {
    try rows([
      ("SELECT id, name, parent FROM place", "ihI"),
      ("SELECT member, circle FROM membership", "ii"),
      ("SELECT circle, member FROM membership INDEXED BY membership_circle", "ii"),
    ])
  }

  func prepare(_ step: GraphStep) throws -> () throws -> QueryResult {
    switch step {
    case .insert(let places): return try insert(places, each: false)
    case .insertEach(let places): return try insert(places, each: true)
    case .insertSchool(let members, let groups): return try school(members, groups)
    case .find(let ids):
      return try tables.read(
        "SELECT id, name, parent FROM place WHERE id = ?", "1itI", ids.lazy.map { [.id($0)] })
    case .children(let ids): return try select("WHERE parent = ?", ids)
    case .countOfChildren(let ids):
      return try tables.read(
        "SELECT count(*) FROM place WHERE parent = ?", "1i", ids.lazy.map { [.id($0)] })
    case .path(let ids): return try recursive("place.id = found.parent", ids)
    case .branch(let ids): return try recursive("place.parent = found.id", ids)
    case .link(let links), .linkEach(let links):
      let link = try tables.statement(
        "INSERT OR IGNORE INTO membership (member, circle) VALUES (?, ?)", "#")
      var each = false
      if case .linkEach = step { each = true }
      return try tables.write(links, each: each) {
        $0.call(link, [.id($1.member), .id($1.group)])
      }
    case .unlink(let links):
      let unlink = try tables.statement(
        "DELETE FROM membership WHERE member = ? AND circle = ?", "#")
      return try tables.write(links) { $0.call(unlink, [.id($1.member), .id($1.group)]) }
    case .groups(let members):
      return try tables.read(
        "SELECT id, name FROM membership JOIN circle ON id = circle WHERE member = ?", "it",
        members.lazy.map { [.id($0)] })
    case .countOfMembers(let groups):
      return try tables.read(
        "SELECT count(*) FROM membership WHERE circle = ?", "1i", groups.lazy.map { [.id($0)] })
    case .update(let moves):
      let get = try tables.statement("SELECT id, name, parent FROM place WHERE id = ?", "1itI")
      let set = try tables.statement("UPDATE place SET parent = ? WHERE id = ?", "#")
      return try tables.write(moves, rows: 2) { script, move in
        script.call(get, [.id(move.id)])
        script.call(set, [.id(move.parent), .id(move.id)])
      }
    case .delete(let ids):
      let delete = try tables.statement("DELETE FROM place WHERE id = ?", "#")
      return try tables.write(ids) { $0.call(delete, [.id($1)]) }
    }
  }

  private func select(_ rest: String, _ ids: [Int64]) throws -> () throws -> QueryResult {
    try tables.read(
      "SELECT id, name, parent FROM place \(rest)", "itI", ids.lazy.map { [.id($0)] })
  }

  /// A place, and those that the condition joins to what was found.
  private func recursive(_ join: String, _ ids: [Int64]) throws -> () throws -> QueryResult {
    try tables.read(
      "WITH RECURSIVE found AS (SELECT id, name, parent FROM place WHERE id = ?"
        + " UNION ALL SELECT place.id, place.name, place.parent FROM found JOIN place ON \(join))"
        + " SELECT id, name, parent FROM found",
      "itI", ids.lazy.map { [.id($0)] })
  }

  private func school(_ members: Int, _ groups: Int) throws -> () throws -> QueryResult {
    let member = try tables.statement("INSERT INTO member (name) VALUES (?)", "#")
    let circle = try tables.statement("INSERT INTO circle (name) VALUES (?)", "#")
    let names =
      (1...members).map { (member, "Member \($0)") } + (1...groups).map { (circle, "Group \($0)") }
    let write = try tables.write(names) { $0.call($1.0, [.text($1.1)]) }
    return {
      _ = try write()
      return QueryResult()
    }
  }

  private func insert(
    _ places: [WorkloadPlace], each: Bool
  ) throws -> () throws -> QueryResult {
    let insert = try tables.statement("INSERT INTO place (name, parent) VALUES (?, ?)", "#")
    return try tables.write(places, each: each) { script, place in
      script.call(insert, [.text(place.name), place.parent.map(Cell.id) ?? .null])
    }
  }
}
