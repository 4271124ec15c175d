/// A summary as a table.
public struct ResultTable {
  private let summary: RunSummary

  /// The table of a run.
  public init(_ summary: RunSummary) {
    self.summary = summary
  }

  // MARK: For a terminal

  /// Columns in plain text; a row for each limit.
  public func text() -> String {
    let header = self.header()
    var lines = [header, String(repeating: "-", count: header.count)]
    for row in summary.rows {
      lines.append(line(row, row.name, row.limit, "larch"))
      if let limit = row.memberwiseLimit, row.figures["larch-m"] != nil {
        lines.append(line(row, row.name + "m", limit, "larch-m"))
      }
    }
    let based = summary.rows.filter { $0.base != nil }
    if let base = based.first?.base {
      lines.append("\(based.map(\.name).joined(separator: ", ")): ratios to \(base) of lmdb")
    }
    let missed = self.missed
    if !missed.isEmpty { lines.append("limits missed: " + missed.joined(separator: ", ")) }
    return lines.joined(separator: "\n")
  }

  /// The operations whose limits do not hold; one that plain coding cannot reach may be met
  /// memberwise.
  public var missed: [String] {
    summary.rows.filter { row in
      let plain = row.verdict(of: "larch", row.limit)
      let memberwise = row.verdict(of: "larch-m", row.memberwiseLimit)
      // R8 has a limit of its own for memberwise coding, which the other one does not stand for.
      if row.memberwiseLimit != nil, row.memberwiseLimit != row.limit {
        return isMiss(plain) || isMiss(memberwise)
      }
      return isMiss(plain) && (memberwise == nil || isMiss(memberwise))
    }.map(\.name)
  }

  private func isMiss(_ verdict: RunSummary.Verdict?) -> Bool {
    switch verdict {
    case .missed, .behind: true
    case .holds, .reachesAim, nil: false
    }
  }

  private func header() -> String {
    var text = "op".padded(to: 10) + "per".padded(to: 10) + "lmdb".aligned(to: 12)
    for peer in others { text += "\(peer) x".aligned(to: 12) }
    return text + "limit".aligned(to: 10) + "aim".aligned(to: 9) + "  verdict"
  }

  private var others: [String] { summary.peers.filter { $0 != "lmdb" } }

  private func line(
    _ row: RunSummary.Row, _ name: String, _ limit: RunSummary.Limit?, _ judged: String
  ) -> String {
    var text = name.padded(to: 10) + row.unit.padded(to: 10)
    text += (row.figures["lmdb"].map { measured($0, row.unit) } ?? "–").aligned(to: 12)
    for peer in others { text += (row.ratios[peer].map { decimal($0, 2) } ?? "–").aligned(to: 12) }
    guard let limit else { return text }
    let words = limit.words(row.unit)
    text += words.must.aligned(to: 10) + words.aim.aligned(to: 9)
    switch row.verdict(of: judged, limit) {
    case .missed: return text + "  MISSED"
    case .behind(let peer): return text + "  MISSED: slower than \(peer)"
    case .holds: return text + "  ok"
    case .reachesAim: return text + "  ok, aim reached"
    case nil: return text
    }
  }

  // MARK: For a page

  /// The rows as Markdown, ratios to raw LMDB, with when and where below.
  ///
  /// - Parameter names: The operations to show; all when there is nothing.
  public func markdown(only names: [String]? = nil) -> String {
    let columns =
      ["", "raw LMDB"] + others.map(title(of:)) + ["limit", "aim", ""]
    var lines = [
      "| " + columns.joined(separator: " | ") + " |",
      "|---|" + String(repeating: "---:|", count: columns.count - 2) + "---|",
    ]
    let rows = summary.rows.filter { names?.contains($0.name) ?? true }
    for row in rows { lines.append(markdownLine(row)) }
    lines.append("")
    lines.append("\(summary.size.grouped) records. " + summary.origin.caption)
    return lines.joined(separator: "\n")
  }

  private func markdownLine(_ row: RunSummary.Row) -> String {
    var cells = ["\(row.name): \(row.what)"]
    cells.append(row.figures["lmdb"].map { measured($0, row.unit) } ?? "–")
    for peer in others { cells.append(cell(row, peer)) }
    let plain = row.limit?.words(row.unit)
    let memberwise = row.memberwiseLimit == row.limit ? nil : row.memberwiseLimit?.words(row.unit)
    cells.append((plain?.must ?? "–") + (memberwise.map { " / \($0.must)" } ?? ""))
    cells.append((plain?.aim ?? "–") + (memberwise.map { " / \($0.aim)" } ?? ""))
    cells.append(mark(row))
    return "| " + cells.joined(separator: " | ") + " |"
  }

  private func cell(_ row: RunSummary.Row, _ peer: String) -> String {
    // A limit that is a time is read beside times.
    if case .nanoseconds = row.limit {
      return row.figures[peer].map { measured($0, row.unit) } ?? "–"
    }
    return row.ratios[peer].map { decimal($0, 2) } ?? "–"
  }

  private func mark(_ row: RunSummary.Row) -> String {
    let plain = row.verdict(of: "larch", row.limit)
    let memberwise = row.verdict(of: "larch-m", row.memberwiseLimit)
    if missed.contains(row.name) {
      for case .behind(let peer) in [plain, memberwise] { return "missed: behind \(peer)" }
      return "missed"
    }
    if isMiss(plain) { return "memberwise" }
    return plain == .reachesAim ? "aim" : plain == .holds ? "ok" : ""
  }
}

extension GrowthSummary {
  /// A line for each operation and peer: its figures, the last as a multiple of the first, and that
  /// growth as a multiple of raw LMDB's.
  public func text() -> String {
    var header = "op".padded(to: 10) + "per".padded(to: 11) + "peer".padded(to: 9)
    for size in sizes { header += String(size).aligned(to: 12) }
    header += "growth".aligned(to: 10) + "to lmdb".aligned(to: 10)
    var lines = [header, String(repeating: "-", count: header.count)]
    for row in rows {
      var isFirst = true
      for peer in peers {
        guard let figures = row.figures[peer] else { continue }
        var line = (isFirst ? row.name : "").padded(to: 10)
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

  /// What Larch costs at each size, and how that grows beside raw LMDB.
  public func markdown() -> String {
    let columns = [""] + sizes.map(\.grouped) + ["growth", "raw LMDB", "ratio"]
    var lines = [
      "| " + columns.joined(separator: " | ") + " |",
      "|---|" + String(repeating: "---:|", count: columns.count - 1),
    ]
    for row in rows {
      guard let figures = row.figures["larch"] else { continue }
      var cells = ["\(row.name), a \(row.unit)"]
      cells += figures.map { measured($0, row.unit) }
      cells.append(growth(of: figures).map { decimal($0, 2) } ?? "–")
      cells.append(row.figures["lmdb"].flatMap(growth(of:)).map { decimal($0, 2) } ?? "–")
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

extension Int {
  /// With commas between thousands.
  var grouped: String {
    var text = String(magnitude)
    var index = text.endIndex
    while text.distance(from: text.startIndex, to: index) > 3 {
      index = text.index(index, offsetBy: -3)
      text.insert(",", at: index)
    }
    return (self < 0 ? "-" : "") + text
  }
}
