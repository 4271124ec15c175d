import Foundation
import Testing

@testable import BenchmarkFigures

@Suite("The table of the shapes is judged by SQLite")
struct ShapeTableTests {
  let limit = RunSummary.Limit.slowest(must: 1, aim: 0.5)

  /// A row whose ratios are to a peer, with those of Larch to SQLite.
  func row(
    _ name: String, unit: String, _ ratios: [String: Double], plain: Double, memberwise: Double?
  ) -> RunSummary.Row {
    var row = RunSummary.Row(
      name: name, what: "what \(name) does", unit: "query", figures: [unit: 1_000],
      ratios: ratios.merging([unit: 1]) { first, _ in first })
    row.unitPeer = unit
    row.limit = limit
    row.slowest = "sqlite"
    row.toSlowest = ["larch": plain]
    if let memberwise {
      row.toSlowest["larch-m"] = memberwise
      row.memberwiseLimit = limit
    }
    return row
  }

  var run: RunSummary {
    Samples.run([
      row(
        "events.find", unit: "lmdb", ["larch": 2, "larch-m": 1.2, "sqlite": 3], plain: 0.67,
        memberwise: 0.4),
      row(
        "orders.find", unit: "sqlite", ["larch": 0.5, "larch-m": 0.4], plain: 0.5, memberwise: 0.4),
      row(
        "orders.page", unit: "sqlite", ["larch": 1.5, "larch-m": 0.9], plain: 1.5, memberwise: 0.9),
      row("orders.sum", unit: "sqlite", ["larch": 9, "larch-m": 8], plain: 9, memberwise: 8),
    ])
  }

  @Test("a row at level with the peer holds, half of its time is the aim, more is behind it")
  func verdicts() {
    for (ratio, verdict) in [
      (0.5, RunSummary.Verdict.reachesAim), (0.51, .holds), (1, .holds),
      (1.01, .behind(peer: "sqlite")),
    ] {
      let row = row("events.find", unit: "sqlite", [:], plain: ratio, memberwise: nil)
      #expect(row.verdict(of: "larch", limit) == verdict)
      #expect(row.verdict(of: "larch-m", limit) == nil)
    }
    #expect(limit.words("query").must == "1.00")
    #expect(limit.words("query").aim == "0.50")
  }

  @Test("both codings must keep the limit, and a mark says which one does not")
  func codings() {
    let table = ResultTable(run)
    #expect(table.missed == ["orders.page", "orders.sum"])
    let lines = table.markdown().split(separator: "\n").map(String.init)
    #expect(lines[2].hasSuffix("| 0.67 | 0.40 | ok |"))
    #expect(lines[3].hasSuffix("| 0.50 | 0.40 | aim |"))
    #expect(lines[4].hasSuffix("| 1.50 | 0.90 | memberwise |"))
    #expect(lines[5].hasSuffix("| 9.00 | 8.00 | missed: behind sqlite |"))
    #expect(
      ResultTable(
        Samples.run([row("a.b", unit: "sqlite", [:], plain: 0.9, memberwise: 1.2)])
      ).markdown().contains("| missed memberwise |"))
  }

  @Test("each row names the peer that its ratios are of, and has a column for every peer")
  func units() {
    let lines = ResultTable(run).text().split(separator: "\n").map(String.init)
    #expect(lines[0].contains("unit    lmdb x   larch x larch-m x  sqlite x"))
    #expect(lines[2].contains("lmdb 1000.0 ns      1.00      2.00      1.20      3.00"))
    #expect(lines[3].contains("sqlite 1000.0 ns         –      0.50      0.40      1.00"))
    let header = ResultTable(run).markdown().split(separator: "\n")[0]
    #expect(header.contains("| unit | raw LMDB | Larch | Larch memberwise | SQLite |"))
  }

  @Test("the lines below count the rows that keep their limit and reach their aim")
  func standings() {
    let text = ResultTable(run).text()
    #expect(text.contains("larch: 2 of 4 rows keep their limit, 1 reach their aim"))
    #expect(text.contains("larch-m: 3 of 4 rows keep their limit, 2 reach their aim"))
    let people = ResultTable(Samples.run([Samples.row("R1", ["larch": 1])])).text()
    #expect(!people.contains("keep their limit"))
  }

  @Test("a chart has no bar for the unit of a row, but one for it elsewhere")
  func chart() throws {
    let svg = try RatioChart(run).svg()
    #expect(svg.contains("events.find SQLite: 3.00"))
    #expect(svg.contains("orders.find Larch: 0.50"))
    #expect(!svg.contains("orders.find SQLite"))
    #expect(!svg.contains("events.find raw LMDB"))
    #expect(svg.contains("as a multiple of the first peer that runs it"))
  }

  @Test("results of the shapes are kept beside those of people")
  func files() throws {
    let people = Samples.run([Samples.row("R1", ["larch": 1.5])])
    let lines =
      String(decoding: try ResultFile(run: people).line(), as: UTF8.self)
      + String(decoding: try ResultFile(run: run, isOfShapes: true).line(), as: UTF8.self)
    let read = try Samples.withFile(lines) { try ResultFile(contentsOf: [$0]) }
    #expect(read.run == people)
    #expect(read.shapes == run)
    #expect(read.growth == nil && read.shapesGrowth == nil)
    let page = "<!-- bench:begin shapes -->\nold\n<!-- bench:end -->"
    #expect(try MarkedBlocks.filled(page, with: read).contains("orders.sum"))
    #expect(try MarkedBlocks.filled(page, with: ResultFile(run: people)) == page)
  }

  @Test("growth is compared with that of the yardstick")
  func growth() throws {
    let row = GrowthSummary.Row(
      name: "readings.find", unit: "find",
      figures: ["sqlite": [100, 300], "larch": [50, 100]], growthToBase: ["larch": 0.67])
    let summary = GrowthSummary(
      origin: Samples.origin, sizes: [1_000, 10_000], peers: ["larch", "sqlite"], rows: [row],
      yardstick: "sqlite")
    #expect(summary.text().split(separator: "\n")[0].hasSuffix("to sqlite"))
    #expect(summary.markdown().contains("| growth | SQLite | ratio |"))
    #expect(summary.markdown().contains("| 2.00 | 3.00 | 0.67 |"))
    let line = try ResultFile(growth: summary, isOfShapes: true).line()
    let read = try Samples.withFile(String(decoding: line, as: UTF8.self)) {
      try ResultFile(contentsOf: [$0])
    }
    #expect(read.shapesGrowth == summary)
  }
}
