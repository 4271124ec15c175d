internal import Foundation
internal import Larch
internal import LarchInspection

/// Records as rows of a table with a column for each field.
enum RecordTable {
  /// The number of records that decide the widths of columns; after them a new table begins, so
  /// that the memory for a long answer stays small.
  static let rowLimit = 500

  /// Prints all records of a query.
  ///
  /// - Throws: the errors of reading and writing.
  static func print(_ query: TypelessQuery, on console: Console) throws {
    var rows: [Row] = []
    var isFirst = true
    func printRows() throws {
      if !isFirst { try console.printEmptyLine() }
      isFirst = false
      try console.print(table(rows))
      rows = []
    }
    try query.forEach { row in
      rows.append(Row(id: row.id, fields: try row.fields().filter { $0.name != "id" }))
      if rows.count == rowLimit { try printRows() }
      return true
    }
    if !rows.isEmpty { try printRows() }
  }

  /// One record with a line for each field.
  static func print(
    id: String, _ fields: [(name: String, json: String)], on console: Console
  ) throws {
    var table = Table([.init(""), .init("", .wrap)])
    table.add([Line("id", .faint), Line(id, .strong)])
    for field in fields where field.name != "id" {
      table.add([Line(field.name, .faint), cell(field.json)])
    }
    try console.print(table)
  }

  private struct Row {
    let id: String
    let fields: [(name: String, json: String)]
  }

  private static func table(_ rows: [Row]) -> Table {
    var names: [String] = []
    var places: [String: Int] = [:]
    var isNumber: [Bool] = []
    for row in rows {
      for (name, json) in row.fields {
        let isDigits = json.first.map { $0.isNumber || $0 == "-" } ?? false
        if let place = places[name] {
          isNumber[place] = isNumber[place] && (isDigits || json == "null")
        } else {
          places[name] = names.count
          names.append(name)
          isNumber.append(isDigits || json == "null")
        }
      }
    }
    let areNumbers = rows.allSatisfy { Int64($0.id) != nil }
    var table = Table(
      [Table.Column("id", isNumber: areNumbers, .cut)]
        + names.enumerated().map { place, name in
          Table.Column(Printable.escaped(name), isNumber: isNumber[place], .cut)
        })
    for row in rows {
      var cells = [Line](repeating: Line("nil", .faint), count: names.count + 1)
      cells[0] = Line(row.id, .strong)
      for (name, json) in row.fields {
        if let place = places[name] { cells[place + 1] = cell(json) }
      }
      table.add(cells)
    }
    return table
  }

  /// A text without its quotes, so that it takes less room; other values as JSON.
  private static func cell(_ json: String) -> Line {
    if json == "null" { return Line("nil", .faint) }
    guard json.hasPrefix("\""),
      let text = try? JSONDecoder().decode(String.self, from: Data(json.utf8))
    else { return Line(json) }
    // So that it does not look like an absent field.
    return text.isEmpty ? Line("\"\"", .faint) : Line(text)
  }
}
