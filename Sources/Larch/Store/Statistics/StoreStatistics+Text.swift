extension StoreStatistics: CustomStringConvertible {
  /// A table for an operator.
  public var description: String {
    var lines = [
      "file         \(Self.size(fileBytes)), transaction \(lastTransaction)",
      "pages        \(pages) of \(pageSize) bytes: \(usedPages) in use, \(freePages) free"
        + (pinnedPages > 0 ? ", \(pinnedPages) of them kept by old reads" : ""),
      "map          \(Self.size(mapBytes))",
      "reads        \(openReads) open"
        + (oldestRead.map { ", the oldest of transaction \($0)" } ?? "")
        + "; \(readerSlots) of \(maximumReaders) slots taken",
    ]
    if let log {
      lines.append(
        "log          \(Self.size(log.bytes)), \(log.commits) commits since the checkpoint at transaction \(log.checkpoint)"
      )
    }
    var table = TextTable()
    table.add(["", "entries", "keys", "pages", "bytes", "each", "depth"])
    for collection in collections {
      table.add("collection \(collection.name)", collection.tree)
      for index in collection.indexes {
        let name = "  \(index.isUnique ? "unique" : "index") \(index.name)"
        table.add(name + (index.isReady ? "" : ", being built"), index.tree, keys: index.keys)
      }
    }
    for association in associations {
      table.add("lists \(association.name)", association.forward)
      table.add("  inverse", association.inverse)
    }
    for part in parts { table.add(part.name, part.tree) }
    table.add(["header", "", "", "\(headerPages)", Self.size(headerPages * pageSize), "", ""])
    table.add(["free", "", "", "\(freePages)", Self.size(freePages * pageSize), "", ""])
    if otherPages != 0 {
      let name = isExact ? "lost" : "long lists"
      table.add([name, "", "", "\(otherPages)", Self.size(otherPages * pageSize), "", ""])
    }
    lines += table.lines
    return lines.joined(separator: "\n")
  }

  /// A number of bytes in a suitable unit.
  static func size(_ bytes: Int) -> String {
    var (value, unit) = (Double(bytes), 0)
    let units = ["B", "KiB", "MiB", "GiB", "TiB"]
    while abs(value) >= 1024, unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    return unit == 0 ? "\(bytes) B" : "\(oneDecimal(value)) \(units[unit])"
  }

  fileprivate static func oneDecimal(_ value: Double) -> String {
    "\((value * 10).rounded() / 10)"
  }
}

/// Lines with columns: the first is left-aligned, the others right-aligned.
private struct TextTable {
  private var rows: [[String]] = []

  mutating func add(_ row: [String]) { rows.append(row) }

  mutating func add(_ name: String, _ tree: StoreStatistics.Tree, keys: Int? = nil) {
    let each = tree.entries == 0 ? 0 : Double(tree.bytes) / Double(tree.entries)
    add([
      name, "\(tree.entries)", keys.map { "\($0)" } ?? "", "\(tree.pages)",
      StoreStatistics.size(tree.bytes), tree.entries == 0 ? "" : StoreStatistics.oneDecimal(each),
      "\(tree.depth)",
    ])
  }

  var lines: [String] {
    let widths = (0..<(rows.first?.count ?? 0)).map { column in
      rows.map { $0[column].count }.max() ?? 0
    }
    return rows.map { row in
      var line = ""
      for (column, cell) in row.enumerated() {
        let padding = String(repeating: " ", count: widths[column] - cell.count)
        line += column == 0 ? cell + padding : "  " + padding + cell
      }
      while line.last == " " { line.removeLast() }
      return line
    }
  }
}
