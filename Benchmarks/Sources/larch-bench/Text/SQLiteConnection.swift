import CBenchmarkSQLite
import Workload

/// A connection, as little of it as the texts need.
final class SQLiteConnection {
  private var database: OpaquePointer?

  init(_ path: String) throws {
    let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
    try check(sqlite3_open_v2(path, &database, flags, nil))
  }

  private func check(_ code: Int32) throws {
    guard code == SQLITE_OK else {
      throw BenchmarkError("SQLite: \(String(cString: sqlite3_errmsg(database)))")
    }
  }

  func close() { sqlite3_close(database) }

  func run(_ text: String) throws { try check(sqlite3_exec(database, text, nil, nil, nil)) }

  var lastID: Int64 { sqlite3_last_insert_rowid(database) }

  func prepare(_ text: String) throws -> SQLiteStatement {
    var statement: OpaquePointer?
    try check(
      sqlite3_prepare_v3(
        database, text, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil))
    guard let statement else { throw BenchmarkError("SQLite: no statement in \(text)") }
    return SQLiteStatement(statement)
  }

  /// The number that a statement gives.
  func number(_ text: String) throws -> Int {
    let statement = try prepare(text)
    defer { statement.finish() }
    return try statement.number()
  }
}

/// A prepared statement, which is reset after each use.
struct SQLiteStatement {
  private let statement: OpaquePointer

  fileprivate init(_ statement: OpaquePointer) { self.statement = statement }

  func finish() { sqlite3_finalize(statement) }

  private func fail() -> BenchmarkError {
    BenchmarkError("SQLite: \(String(cString: sqlite3_errmsg(sqlite3_db_handle(statement))))")
  }

  func bind(_ place: Int32, _ number: Int64) throws {
    guard sqlite3_bind_int64(statement, place, number) == SQLITE_OK else { throw fail() }
  }

  /// Runs the body with these texts bound; SQLite reads them where they are, so nothing is copied.
  func with<Value>(
    _ texts: String..., from place: Int32 = 1, _ body: (SQLiteStatement) throws -> Value
  ) throws -> Value {
    try bind(texts[...], place, body)
  }

  private func bind<Value>(
    _ texts: ArraySlice<String>, _ place: Int32, _ body: (SQLiteStatement) throws -> Value
  ) throws -> Value {
    guard var text = texts.first else { return try body(self) }
    return try text.withUTF8 { bytes in
      // Nil is SQLITE_STATIC.
      let code = bytes.withMemoryRebound(to: CChar.self) {
        sqlite3_bind_text(statement, place, $0.baseAddress ?? nil, Int32($0.count), nil)
      }
      guard code == SQLITE_OK else { throw fail() }
      return try bind(texts.dropFirst(), place + 1, body)
    }
  }

  func run() throws {
    _ = sqlite3_step(statement)
    guard sqlite3_reset(statement) == SQLITE_OK else { throw fail() }
  }

  func number() throws -> Int {
    defer { sqlite3_reset(statement) }
    guard sqlite3_step(statement) == SQLITE_ROW else { throw fail() }
    return Int(sqlite3_column_int64(statement, 0))
  }

  func rows() throws -> [FoundText] {
    var rows: [FoundText] = []
    try eachRow { rows.append($0) }
    return rows
  }

  func eachRow(_ body: (FoundText) -> Void) throws {
    while sqlite3_step(statement) == SQLITE_ROW {
      body(
        FoundText(
          id: sqlite3_column_int64(statement, 0), title: text(1), body: text(2),
          year: Int(sqlite3_column_int64(statement, 3))))
    }
    guard sqlite3_reset(statement) == SQLITE_OK else { throw fail() }
  }

  private func text(_ column: Int32) -> String {
    guard let start = sqlite3_column_text(statement, column) else { return "" }
    let count = Int(sqlite3_column_bytes(statement, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }
}
