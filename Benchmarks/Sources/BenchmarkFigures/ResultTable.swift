/// A summary as a table.
public struct ResultTable {
  let summary: RunSummary

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
      if isOfUnits {
        lines.append(unitLine(row))
        continue
      }
      lines.append(line(row, row.name, row.limit, "larch"))
      if let limit = row.memberwiseLimit, row.figures["larch-m"] != nil {
        lines.append(line(row, row.name + "m", limit, "larch-m"))
      }
    }
    let based = summary.rows.filter { $0.base != nil }
    if let base = based.first?.base {
      lines.append("\(based.map(\.name).joined(separator: ", ")): ratios to \(base) of lmdb")
    }
    lines += standings
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
      if case .slowest = row.limit { return isMiss(plain) || isMiss(memberwise) }
      // R8 has a limit of its own for memberwise coding, which the other one does not stand for.
      if row.memberwiseLimit != nil, row.memberwiseLimit != row.limit {
        return isMiss(plain) || isMiss(memberwise)
      }
      return isMiss(plain) && (memberwise == nil || isMiss(memberwise))
    }.map(\.name)
  }

  func isMiss(_ verdict: RunSummary.Verdict?) -> Bool {
    switch verdict {
    case .missed, .behind: true
    case .holds, .reachesAim, nil: false
    }
  }

  private func header() -> String {
    if isOfUnits { return unitHeader() }
    var text = "op".padded(to: 10) + "per".padded(to: 10) + "lmdb".aligned(to: 12)
    for peer in others { text += "\(peer) x".aligned(to: 12) }
    return text + "limit".aligned(to: 10) + "aim".aligned(to: 9) + "  verdict"
  }

  var others: [String] { isOfUnits ? summary.peers : summary.peers.filter { $0 != "lmdb" } }

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
      ["", isOfUnits ? "unit" : "raw LMDB"] + others.map(title(of:))
      + (isOfUnits ? judgedPeers.map { "\(title(of: $0)) to its peer" } : ["limit", "aim"]) + [""]
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
    cells.append(row.figures[row.ratioPeer].map { measured($0, row.unit) } ?? "–")
    for peer in others { cells.append(cell(row, peer)) }
    if isOfUnits {
      for peer in judgedPeers { cells.append(row.toSlowest[peer].map { decimal($0, 2) } ?? "–") }
      return "| " + (cells + [mark(row)]).joined(separator: " | ") + " |"
    }
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

  func mark(_ row: RunSummary.Row) -> String {
    let plain = row.verdict(of: "larch", row.limit)
    let memberwise = row.verdict(of: "larch-m", row.memberwiseLimit)
    if case .slowest = row.limit, isMiss(plain) != isMiss(memberwise), memberwise != nil {
      return isMiss(plain) ? "memberwise" : "missed memberwise"
    }
    if missed.contains(row.name) {
      for case .behind(let peer) in [plain, memberwise] { return "missed: behind \(peer)" }
      return "missed"
    }
    if isMiss(plain) { return "memberwise" }
    return plain == .reachesAim ? "aim" : plain == .holds ? "ok" : ""
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
