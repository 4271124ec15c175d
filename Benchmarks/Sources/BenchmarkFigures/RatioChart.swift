/// Bars of what each operation takes as a multiple of raw LMDB, or of the unit of its row: to the left
/// where it takes less.
public struct RatioChart {
  private static let barHeight = 8.0
  private static let gap = 8.0
  private static let left = 250.0
  private static let right = 860.0
  private static let top = 78.0

  private let summary: RunSummary
  private let rows: [RunSummary.Row]
  private let peers: [String]
  /// The scale of the bars.
  let scale: LogarithmicScale

  /// A chart of the operations that have ratios.
  ///
  /// - Throws: ``FigureError`` when none has.
  public init(_ summary: RunSummary) throws {
    let rows = summary.rows.filter { row in row.ratios.contains { $0.key != row.ratioPeer } }
    // The unit of every row is no bar.
    let peers = summary.peers.filter { peer in rows.contains { $0.ratioPeer != peer } }
    guard !rows.isEmpty else {
      throw FigureError(
        "there are no ratios to draw: they need the peer that is the unit and another one")
    }
    let ratios = rows.flatMap { row in peers.compactMap { row.ratios[$0] } }
    (self.summary, self.rows, self.peers) = (summary, rows, peers)
    scale = LogarithmicScale(around: ratios + [1], ends: (Self.left, Self.right))
  }

  /// The picture as SVG.
  public func svg() -> String {
    let rowHeight = Double(peers.count) * Self.barHeight + Self.gap
    let bottom = Self.top + Double(rows.count) * rowHeight
    var drawing = Drawing(width: 900, height: bottom + 46)
    drawing.text(
      "Time of each operation as a multiple of \(units), \(summary.size) records", x: 16, y: 26,
      size: 15, isBold: true)
    drawLegend(&drawing)
    for tick in scale.ticks {
      let x = scale.position(tick)
      drawing.line(
        from: (x, Self.top - 6), to: (x, bottom), stroke: tick == 1 ? Palette.ink : Palette.faint)
      drawing.text(plain(tick), x: x, y: bottom + 14, size: 10, anchor: .middle)
    }
    for (index, row) in rows.enumerated() {
      draw(row, at: Self.top + Double(index) * rowHeight, height: rowHeight, &drawing)
    }
    drawing.text(summary.origin.caption, x: 16, y: bottom + 36, size: 10, fill: Palette.quiet)
    return drawing.document()
  }

  private var units: String {
    rows.contains { $0.unitPeer != nil } ? "the first peer that runs it" : "raw LMDB"
  }

  private func drawLegend(_ drawing: inout Drawing) {
    var x = 16.0
    for peer in peers {
      drawing.rectangle(x: x, y: 42, width: 12, height: 12, fill: Palette.colour(of: peer))
      drawing.text(title(of: peer), x: x + 17, y: 52)
      x += 40 + 7 * Double(title(of: peer).count)
    }
    drawing.line(from: (x + 4, 41), to: (x + 4, 55), stroke: Palette.ink, width: 2)
    drawing.text("limit for Larch", x: x + 12, y: 52)
  }

  private func draw(
    _ row: RunSummary.Row, at y: Double, height: Double, _ drawing: inout Drawing
  ) {
    let middle = y + (height - Self.gap) / 2
    drawing.text(row.name, x: Self.left - 10, y: middle + 1, anchor: .end, isBold: true)
    drawing.text(
      row.what, x: Self.left - 10, y: middle + 12, size: 9, anchor: .end, fill: Palette.quiet)
    let one = scale.position(1)
    for (index, peer) in peers.enumerated() {
      guard peer != row.ratioPeer, let ratio = row.ratios[peer] else { continue }
      let end = scale.position(ratio)
      drawing.rectangle(
        x: min(one, end), y: y + Double(index) * Self.barHeight, width: max(1, abs(end - one)),
        height: Self.barHeight - 1, fill: Palette.colour(of: peer),
        title: "\(row.name) \(title(of: peer)): \(decimal(ratio, 2))")
    }
    drawLimit(row.limit, of: "larch", at: y, &drawing)
    drawLimit(row.memberwiseLimit, of: "larch-m", at: y, &drawing)
  }

  private func drawLimit(
    _ limit: RunSummary.Limit?, of peer: String, at y: Double, _ drawing: inout Drawing
  ) {
    guard case .ratio(let must, _) = limit, let index = peers.firstIndex(of: peer) else { return }
    let top = y + Double(index) * Self.barHeight
    let x = scale.position(must)
    drawing.line(
      from: (x, top - 1), to: (x, top + Self.barHeight), stroke: Palette.ink, width: 2)
  }

  private func plain(_ tick: Double) -> String {
    tick >= 1 ? decimal(tick, 0) : decimal(tick, tick >= 0.1 ? 1 : tick >= 0.01 ? 2 : 3)
  }
}
