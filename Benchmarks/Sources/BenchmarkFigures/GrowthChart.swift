/// A small picture for each operation: what it costs as the store grows, both axes logarithmic.
public struct GrowthChart {
  private static let columns = 4
  private static let panel = (width: 225.0, height: 165.0)
  private static let plot = (left: 44.0, right: 214.0, top: 24.0, bottom: 138.0)
  private static let top = 70.0

  private let summary: GrowthSummary
  private let rows: [GrowthSummary.Row]

  /// A chart of the operations that were run at more than one size.
  ///
  /// - Throws: ``FigureError`` when none was, or the sizes do not ascend.
  public init(_ summary: GrowthSummary) throws {
    self.summary = summary
    rows = summary.rows.filter { !$0.figures.isEmpty }
    guard zip(summary.sizes, summary.sizes.dropFirst()).allSatisfy({ 0 < $0 && $0 < $1 }) else {
      throw FigureError("growth needs sizes that ascend")
    }
    guard summary.sizes.count > 1, !rows.isEmpty else {
      throw FigureError("growth needs an operation that was run at more than one size")
    }
  }

  /// The picture as SVG.
  public func svg() -> String {
    let lines = (rows.count + Self.columns - 1) / Self.columns
    let bottom = Self.top + Double(lines) * Self.panel.height
    var drawing = Drawing(
      width: 16 + Double(Self.columns) * Self.panel.width, height: bottom + 24)
    drawing.text(
      "What an operation costs as the store grows", x: 16, y: 26, size: 15, isBold: true)
    var x = 16.0
    for peer in summary.peers {
      drawing.line(from: (x, 47), to: (x + 14, 47), stroke: Palette.colour(of: peer), width: 3)
      drawing.text(title(of: peer), x: x + 19, y: 51)
      x += 42 + 7 * Double(title(of: peer).count)
    }
    for (index, row) in rows.enumerated() {
      let corner = (
        Double(index % Self.columns) * Self.panel.width,
        Self.top + Double(index / Self.columns) * Self.panel.height
      )
      draw(row, at: corner, &drawing)
    }
    drawing.text(summary.origin.caption, x: 16, y: bottom + 14, size: 10, fill: Palette.quiet)
    return drawing.document()
  }

  private func draw(
    _ row: GrowthSummary.Row, at corner: (Double, Double), _ drawing: inout Drawing
  ) {
    let sizes = summary.sizes.map(Double.init)
    let across = LogarithmicScale(
      domain: sizes[0]...sizes[sizes.count - 1],
      ends: (corner.0 + Self.plot.left, corner.0 + Self.plot.right))
    let up = LogarithmicScale(
      around: row.figures.values.flatMap { $0 },
      ends: (corner.1 + Self.plot.bottom, corner.1 + Self.plot.top))
    drawing.text(
      "\(row.name), a \(row.unit)", x: corner.0 + Self.plot.left, y: corner.1 + 14, isBold: true)
    for tick in up.ticks where isPowerOfTen(tick) {
      let y = up.position(tick)
      drawing.line(from: (across.ends.0, y), to: (across.ends.1, y), stroke: Palette.faint)
      drawing.text(
        short(tick, row.unit), x: across.ends.0 - 4, y: y + 3, size: 9, anchor: .end,
        fill: Palette.quiet)
    }
    for size in sizes {
      let x = across.position(size)
      drawing.line(from: (x, up.ends.0), to: (x, up.ends.1), stroke: Palette.faint)
      drawing.text(
        count(size), x: x, y: up.ends.0 + 12, size: 9, anchor: .middle, fill: Palette.quiet)
    }
    for peer in summary.peers {
      guard let figures = row.figures[peer], figures.count == sizes.count else { continue }
      let points = zip(sizes, figures).map { (across.position($0), up.position($1)) }
      drawing.path(points, stroke: Palette.colour(of: peer))
    }
  }

  private func isPowerOfTen(_ value: Double) -> Bool {
    var value = value
    while value > 1.5 { value /= 10 }
    return abs(value - 1) < 0.001
  }

  private func short(_ value: Double, _ unit: String) -> String {
    let suffixes = unit == "bytes" ? ["B", "kB", "MB", "GB"] : ["ns", "us", "ms", "s"]
    var (value, index) = (value, 0)
    while value >= 999.5, index < suffixes.count - 1 { (value, index) = (value / 1_000, index + 1) }
    return decimal(value, 0) + " " + suffixes[index]
  }

  private func count(_ size: Double) -> String {
    if size >= 1e6 { return decimal(size / 1e6, 0) + "M" }
    return size >= 1e3 ? decimal(size / 1e3, 0) + "k" : decimal(size, 0)
  }
}
