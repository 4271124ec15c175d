import CBenchmarkSQLite
import Foundation
import Workload

/// SQLite with an FTS5 table beside the texts, whose words the program keeps, as a careful user would:
/// the texts are stored once, and each change tells the index what it was.
final class SQLiteTexts: TextPeer {
  static let name = "FTS5"

  private let database: SQLiteConnection
  private let path: String
  private let isIndexed: Bool
  private let insertArticle: SQLiteStatement
  private let readArticle: SQLiteStatement
  private let changeArticle: SQLiteStatement
  /// Nil as long as there is no index.
  private var words: Words?

  /// The statements that need the index.
  private struct Words {
    let insert: SQLiteStatement
    let delete: SQLiteStatement
    let count: SQLiteStatement
    let first: SQLiteStatement
    let best: SQLiteStatement

    init(_ database: SQLiteConnection) throws {
      try database.run(
        """
        CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
          title, body, content='articles', content_rowid='id', tokenize='unicode61')
        """)
      insert = try database.prepare("INSERT INTO words (rowid, title, body) VALUES (?, ?, ?)")
      delete = try database.prepare(
        "INSERT INTO words (words, rowid, title, body) VALUES ('delete', ?, ?, ?)")
      count = try database.prepare("SELECT count(*) FROM words WHERE words MATCH ?")
      let rows = """
        SELECT a.id, a.title, a.body, a.year FROM words JOIN articles a ON a.id = words.rowid
        WHERE words MATCH ?
        """
      first = try database.prepare(rows + " ORDER BY words.rowid LIMIT ?")
      best = try database.prepare(rows + " ORDER BY rank LIMIT ?")
    }

    func finish() {
      for statement in [insert, delete, count, first, best] { statement.finish() }
    }
  }

  init(directory: String, isIndexed: Bool, isLogged: Bool) throws {
    path = directory + "/texts.sqlite"
    self.isIndexed = isIndexed
    database = try SQLiteConnection(path)
    // The settings of the peer `sqlite`.
    try database.run(
      """
      PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -65536;
      PRAGMA mmap_size = 1073741824; PRAGMA temp_store = MEMORY;
      CREATE TABLE IF NOT EXISTS articles (
        id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL, year INTEGER NOT NULL)
      """)
    insertArticle = try database.prepare(
      "INSERT INTO articles (title, body, year) VALUES (?, ?, ?)")
    readArticle = try database.prepare("SELECT id, title, body, year FROM articles WHERE id = ?")
    changeArticle = try database.prepare("UPDATE articles SET body = ? WHERE id = ?")
    guard isIndexed else { return }
    let isNew =
      try database.number(
        "SELECT count(*) FROM sqlite_schema WHERE name = 'words'") == 0
    words = try Words(database)
    // Of a file that had only the articles.
    if isNew { try database.run("INSERT INTO words (words) VALUES ('rebuild')") }
  }

  func close() {
    words?.finish()
    for statement in [insertArticle, readArticle, changeArticle] { statement.finish() }
    database.close()
  }

  private func transaction(_ body: () throws -> Void) throws {
    try database.run("BEGIN IMMEDIATE")
    do {
      try body()
      try database.run("COMMIT")
    } catch {
      try? database.run("ROLLBACK")
      throw error
    }
  }

  func save(_ texts: [TextWorkload.Text]) throws {
    for start in stride(from: 0, to: texts.count, by: TextBenchmark.saveLimit) {
      try transaction {
        for text in texts[start..<min(start + TextBenchmark.saveLimit, texts.count)] {
          try insertArticle.with(text.title, text.body) { statement in
            try statement.bind(3, Int64(text.year))
            try statement.run()
          }
          try words?.insert.with(text.title, text.body, from: 2) { statement in
            try statement.bind(1, database.lastID)
            try statement.run()
          }
        }
      }
    }
  }

  func optimize() throws -> Bool {
    try database.run("INSERT INTO words (words) VALUES ('optimize')")
    return true
  }

  private func index() throws -> Words {
    guard let words else { throw BenchmarkError("FTS5: there is no index") }
    return words
  }

  func change(_ changes: ArraySlice<TextChange>) throws {
    let words = try index()
    try transaction {
      for change in changes {
        try readArticle.bind(1, change.id)
        guard let old = try readArticle.rows().first else {
          throw BenchmarkError("FTS5: no text \(change.id)")
        }
        try words.delete.with(old.title, old.body, from: 2) { statement in
          try statement.bind(1, old.id)
          try statement.run()
        }
        try changeArticle.with(change.body) { statement in
          try statement.bind(2, old.id)
          try statement.run()
        }
        try words.insert.with(old.title, change.body, from: 2) { statement in
          try statement.bind(1, old.id)
          try statement.run()
        }
      }
    }
  }

  func count(_ typed: String) throws -> Int {
    try index().count.with(typed) { try $0.number() }
  }

  func first(_ limit: Int, _ typed: String) throws -> [FoundText] {
    try rows(index().first, limit, typed)
  }

  func best(_ limit: Int, _ typed: String) throws -> [FoundText] {
    try rows(index().best, limit, typed)
  }

  private func rows(
    _ statement: SQLiteStatement, _ limit: Int, _ typed: String
  ) throws -> [FoundText] {
    try statement.with(typed) { statement in
      try statement.bind(2, Int64(limit))
      return try statement.rows()
    }
  }

  func all() throws -> QueryResult {
    let statement = try database.prepare("SELECT id, title, body, year FROM articles ORDER BY id")
    defer { statement.finish() }
    var result = QueryResult()
    try statement.eachRow { $0.add(to: &result, .bytes) }
    return result
  }

  func sizes() throws -> TextSizes {
    try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    let pages = try database.number("PRAGMA page_count")
    let free = try database.number("PRAGMA freelist_count")
    return TextSizes(
      file: try TextBenchmark.fileSize(path),
      used: (pages - free) * (try database.number("PRAGMA page_size")))
  }

  func verify() throws {
    // With rank 1 also the words of the articles are compared.
    try database.run("INSERT INTO words (words, rank) VALUES ('integrity-check', 1)")
  }
}
