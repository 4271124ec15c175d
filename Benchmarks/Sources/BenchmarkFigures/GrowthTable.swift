extension GrowthSummary {
  /// A line for each operation and peer: its figures, the last as a multiple of the first, and that
  /// growth as a multiple of that of raw LMDB, or of the yardstick.
  public func text() -> String {
    let width = Swift.max(10, 2 + (rows.map(\.name.count).max() ?? 0))
    var header = "op".padded(to: width) + "per".padded(to: 11) + "peer".padded(to: 9)
    for size in sizes { header += String(size).aligned(to: 12) }
    header += "growth".aligned(to: 10) + "to \(base)".aligned(to: 10)
    var lines = [header, String(repeating: "-", count: header.count)]
    for row in rows {
      var isFirst = true
      for peer in peers {
        guard let figures = row.figures[peer] else { continue }
        var line = (isFirst ? row.name : "").padded(to: width)
        line += (isFirst ? row.unit : "").padded(to: 11) + peer.padded(to: 9)
        for value in figures { line += measured(value, row.unit).aligned(to: 12) }
        line += (growth(of: figures).map { decimal($0, 2) } ?? "–").aligned(to: 10)
        if let relative = row.growthToBase[peer] {
          line += decimal(relative, 2).aligned(to: 10)
          line += relative > GrowthSummary.tolerance ? "  GROWS FASTER" : "  ok"
        }
        lines.append(line)
        isFirst = false
      }
    }
    return lines.joined(separator: "\n")
  }

  /// What Larch costs at each size, and how that grows beside the yardstick.
  public func markdown() -> String {
    let columns = [""] + sizes.map(\.grouped) + ["growth", title(of: base), "ratio"]
    var lines = [
      "| " + columns.joined(separator: " | ") + " |",
      "|---|" + String(repeating: "---:|", count: columns.count - 1),
    ]
    for row in rows {
      guard let figures = row.figures["larch"] else { continue }
      var cells = ["\(row.name), a \(row.unit)"]
      cells += figures.map { measured($0, row.unit) }
      cells.append(growth(of: figures).map { decimal($0, 2) } ?? "–")
      cells.append(row.figures[base].flatMap(growth(of:)).map { decimal($0, 2) } ?? "–")
      let relative = row.growthToBase["larch"]
      cells.append(
        relative.map { decimal($0, 2) + ($0 > GrowthSummary.tolerance ? " **faster**" : "") } ?? "–"
      )
      lines.append("| " + cells.joined(separator: " | ") + " |")
    }
    lines.append("")
    lines.append(origin.caption)
    return lines.joined(separator: "\n")
  }

  private func growth(of figures: [Double]) -> Double? {
    guard let first = figures.first, let last = figures.last, first > 0 else { return nil }
    return last / first
  }
}
