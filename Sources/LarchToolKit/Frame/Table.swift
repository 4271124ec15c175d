/// Rows with columns that fit the width of a terminal.
///
/// Cells that do not fit are wrapped or cut in the columns that allow it; if that is not enough,
/// each row becomes a paragraph with a line per column. Every cut has a mark.
package struct Table {
  /// How to handle the cells of a column that are too wide.
  package enum Narrowing: Sendable {
    case never
    /// They continue on a further line.
    case wrap
    /// They end with `…`.
    case cut
  }

  package struct Column: Sendable {
    let title: String
    let isNumber: Bool
    let narrowing: Narrowing

    /// - Parameter isNumber: whether the cells are right-aligned.
    package init(_ title: String, isNumber: Bool = false, _ narrowing: Narrowing = .never) {
      self.title = title
      self.isNumber = isNumber
      self.narrowing = narrowing
    }
  }

  private let columns: [Column]
  private var rows: [[Line]] = []
  private static let gap = 2
  /// The minimum useful width of a column.
  private static let leastWidth = 12

  package init(_ columns: [Column]) { self.columns = columns }

  package var isEmpty: Bool { rows.isEmpty }

  /// Adds a row; missing cells are empty, and extra cells are dropped.
  package mutating func add(_ cells: [Line]) {
    let missing = max(0, columns.count - cells.count)
    rows.append(Array((cells + Array(repeating: Line(""), count: missing)).prefix(columns.count)))
  }

  /// The table as lines.
  ///
  /// - Parameter width: the available width; nil for no limit.
  package func lines(width: Int?) -> [Line] {
    guard !columns.isEmpty else { return [] }
    var widths = naturalWidths
    if let width, total(widths) > width {
      guard let narrowed = narrowed(widths, to: width) else { return paragraphs(width) }
      widths = narrowed
    }
    let head = columns.map { Line($0.title, .faint) }
    let hasHead = columns.contains { !$0.title.isEmpty }
    return ((hasHead ? [head] : []) + rows).flatMap { lines(of: $0, widths) }
  }

  private var naturalWidths: [Int] {
    columns.indices.map { column in
      rows.reduce(Printable.width(columns[column].title)) { max($0, $1[column].width) }
    }
  }

  private func total(_ widths: [Int]) -> Int {
    widths.reduce(0, +) + Table.gap * (widths.count - 1)
  }

  /// Narrows the widest columns first; nil if that is not enough.
  private func narrowed(_ widths: [Int], to width: Int) -> [Int]? {
    var widths = widths
    // No column of a table that fits is wider than the table.
    for column in columns.indices where columns[column].narrowing != .never {
      widths[column] = min(widths[column], max(width, Table.leastWidth))
    }
    while total(widths) > width {
      let flexible = widths.indices.filter {
        columns[$0].narrowing != .never && widths[$0] > Table.leastWidth
      }
      guard let widest = flexible.max(by: { widths[$0] < widths[$1] }) else { return nil }
      widths[widest] -= 1
    }
    return widths
  }

  private func lines(of row: [Line], _ widths: [Int]) -> [Line] {
    let cells = row.enumerated().map { column, cell -> [Line] in
      switch columns[column].narrowing {
      case .never: [cell]
      case .wrap: cell.wrapped(to: widths[column])
      case .cut: [cell.cut(to: widths[column])]
      }
    }
    let height = cells.map(\.count).max() ?? 0
    return (0..<height).map { number in
      var line = Line("")
      for column in columns.indices {
        let cell = number < cells[column].count ? cells[column][number] : Line("")
        let padding = Line(String(repeating: " ", count: max(0, widths[column] - cell.width)))
        if column > 0 { line.append(String(repeating: " ", count: Table.gap)) }
        line = line + (columns[column].isNumber ? padding + cell : cell + padding)
      }
      return line.trimmed
    }
  }

  /// Each row as lines of `title: cell`.
  private func paragraphs(_ width: Int) -> [Line] {
    var lines: [Line] = []
    for row in rows {
      if !lines.isEmpty { lines.append(Line("")) }
      for (column, cell) in row.enumerated() where !cell.pieces.isEmpty {
        let title = columns[column].title
        let line = title.isEmpty ? cell : Line("\(title): ", .faint) + cell
        let wrapped = line.wrapped(to: column == 0 ? width : width - 2)
        let space = Line(column == 0 ? "" : "  ")
        lines += wrapped.map { space + $0 }
      }
    }
    return lines
  }
}
