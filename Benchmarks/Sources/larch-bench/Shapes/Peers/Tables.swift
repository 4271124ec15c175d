import CEngines
import Foundation
import Workload

/// A value for a parameter of a statement.
enum Cell {
  case integer(Int)
  case real(Double)
  case text(String)
  case bytes(UUID)
  case null

  static func id(_ id: Int64) -> Cell { .integer(Int(id)) }
}

/// A prepared statement of SQLite, and how its rows become records.
struct Statement: Hashable {
  fileprivate var number: UInt32
}

/// An SQLite database: one connection, set as for the people, with statements that are prepared when
/// they are first needed, untimed.
final class Tables {
  fileprivate let store: OpaquePointer
  private var prepared: [String: Statement] = [:]

  init(path: String, schema: String) throws {
    var opened: OpaquePointer?
    try SQLiteEngine.check(bench_tables_open(path, schema, &opened))
    guard let opened else { throw BenchmarkError("sqlite: open gave no store") }
    store = opened
  }

  func close() { bench_tables_close(store) }

  func checkpoint() throws { try SQLiteEngine.check(bench_tables_checkpoint(store)) }

  /// See `bench_tables_prepare` for the letters of the columns.
  func statement(
    _ sql: String, _ columns: String = "", child: Statement? = nil
  ) throws -> Statement {
    let key = "\(columns) \(child?.number ?? 0) \(sql)"
    if let known = prepared[key] { return known }
    var number: UInt32 = 0
    let code = bench_tables_prepare(
      store, sql, columns, child.map { Int32($0.number) } ?? -1, &number)
    guard code == 0 else {
      throw BenchmarkError("sqlite: \(String(cString: bench_sqlite_message(code))) in \(sql)")
    }
    let made = Statement(number: number)
    prepared[key] = made
    return made
  }

  // MARK: What a shape runs

  /// One read, with a query for each list of values.
  func read(
    _ sql: String, _ columns: String, child: Statement? = nil,
    _ values: some Sequence<[Cell]> = [[]]
  ) throws -> () throws -> QueryResult {
    let statement = try statement(sql, columns, child: child)
    return try script(.read) { script in
      for cells in values { script.call(statement, cells) }
    }.run
  }

  /// Statements in one transaction, or in one for each item, that read and change so many rows of it; at
  /// least so many where its lists differ in length.
  func write<Item>(
    _ items: [Item], each: Bool = false, rows perItem: Int = 1, hasLists: Bool = false,
    _ body: (Script, Item) -> Void
  ) throws -> () throws -> QueryResult {
    let script = try script(each ? .eachWrite : .write) { script in
      for item in items { script.group { body(script, item) } }
    }
    return {
      let result = try script.run()
      let expected = UInt64(items.count * perItem)
      guard result.rows == expected || (hasLists && result.rows > expected) else {
        throw BenchmarkError("sqlite: \(result.rows) rows for \(items.count) changes")
      }
      return QueryResult(rows: UInt64(items.count), checksum: 0)
    }
  }

  private func script(_ kind: Script.Kind, _ fill: (Script) -> Void) throws -> Script {
    let begin = try statement(kind == .read ? "BEGIN" : "BEGIN IMMEDIATE")
    let script = Script(self, kind, begin: begin, commit: try statement("COMMIT"))
    if kind != .eachWrite { script.call(begin, []) }
    fill(script)
    if kind != .eachWrite { script.call(script.commit, []) }
    return script
  }
}

/// Calls of statements with their values, in the form that C takes.
final class Script {
  enum Kind { case read, write, eachWrite }

  private let tables: Tables
  private let kind: Kind
  private let begin: Statement
  fileprivate let commit: Statement
  private var calls: [bench_call] = []
  private var cells: [bench_cell] = []
  private var owned: [UnsafeMutableRawBufferPointer] = []

  fileprivate init(_ tables: Tables, _ kind: Kind, begin: Statement, commit: Statement) {
    (self.tables, self.kind, self.begin, self.commit) = (tables, kind, begin, commit)
  }

  deinit {
    for bytes in owned { bytes.deallocate() }
  }

  func call(_ statement: Statement, _ values: [Cell]) {
    calls.append(bench_call(statement: statement.number, first_cell: UInt32(cells.count)))
    for value in values { cells.append(cell(value)) }
  }

  fileprivate func group(_ body: () -> Void) {
    if kind == .eachWrite { call(begin, []) }
    body()
    if kind == .eachWrite { call(commit, []) }
  }

  fileprivate func run() throws -> QueryResult {
    var result = bench_result()
    try SQLiteEngine.check(
      bench_tables_run(tables.store, calls, calls.count, cells, &result))
    return QueryResult(rows: result.rows, checksum: result.checksum)
  }

  private func cell(_ value: Cell) -> bench_cell {
    var cell = bench_cell()
    switch value {
    case .integer(let number):
      cell.integer = Int64(number)
      cell.kind = letter("i")
    case .real(let number):
      cell.real = number
      cell.kind = letter("d")
    case .text(let text):
      keep(Array(text.utf8), as: "t", &cell)
    case .bytes(let id):
      keep(withUnsafeBytes(of: id.uuid) { Array($0) }, as: "b", &cell)
    case .null: cell.kind = letter("n")
    }
    return cell
  }

  private func keep(_ bytes: [UInt8], as kind: Unicode.Scalar, _ cell: inout bench_cell) {
    let copy = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count + 1, alignment: 1)
    copy.copyBytes(from: bytes)
    owned.append(copy)
    cell.bytes = UnsafeRawPointer(copy.baseAddress)
    cell.length = UInt32(bytes.count)
    cell.kind = letter(kind)
  }

  private func letter(_ scalar: Unicode.Scalar) -> CChar { CChar(scalar.value) }
}

/// What every shape in SQLite has.
protocol SQLiteShape: ShapeStore {
  var tables: Tables { get }
}

extension SQLiteShape {
  static var peer: String { "sqlite" }

  func close() { tables.close() }
  func settle() throws { try tables.checkpoint() }

  /// The rows of a table, or of several.
  func rows(_ queries: [(sql: String, columns: String)]) throws -> QueryResult {
    var sum = QueryResult()
    for query in queries { sum += try tables.read(query.sql, query.columns)() }
    return sum
  }
}
