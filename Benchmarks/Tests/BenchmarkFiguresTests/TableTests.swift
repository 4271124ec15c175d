import Foundation
import Testing

@testable import BenchmarkFigures

@Suite("Tables tell how Larch stands to its limits")
struct TableTests {
  let limit = RunSummary.Limit.ratio(must: 1.8, aim: 1.3)

  @Test("a figure reaches its aim, holds its limit, or misses it, both bounds included")
  func verdicts() {
    for (ratio, verdict) in [
      (1.3, RunSummary.Verdict.reachesAim), (1.31, .holds), (1.8, .holds), (1.81, .missed),
    ] {
      let row = Samples.row("R1", ["larch": ratio])
      #expect(row.verdict(of: "larch", limit) == verdict)
    }
    #expect(Samples.row("R1", [:]).verdict(of: "larch", limit) == nil)
    #expect(Samples.row("R1", ["larch": 9]).verdict(of: "larch", nil) == nil)
  }

  @Test("a limit that is a time is held against the time")
  func times() {
    let row = Samples.row("open", ["larch": 5])
    let verdict = { (must: Double) in
      row.verdict(of: "larch", .nanoseconds(must: must, aim: 1_000))
    }
    #expect(verdict(5_000) == .holds)
    #expect(verdict(4_999) == .missed)
  }

  @Test("being slower than the peer that must be reached misses whatever the limit")
  func slowest() {
    var row = Samples.row("A1", ["larch": 1.0, "sqlite": 0.9], limit: limit)
    row.slowest = "sqlite"
    row.toSlowest = ["larch": 1.11]
    #expect(row.verdict(of: "larch", limit) == .behind(peer: "sqlite"))
    #expect(ResultTable(Samples.run([row])).missed == ["A1"])
    #expect(ResultTable(Samples.run([row])).text().contains("MISSED: slower than sqlite"))
    #expect(ResultTable(Samples.run([row])).markdown().contains("| missed: behind sqlite |"))
    row.toSlowest = ["larch": 1]
    #expect(row.verdict(of: "larch", limit) == .reachesAim)
  }

  @Test("a limit that both codings share may be met memberwise; one of its own must be met")
  func memberwise() {
    var shared = Samples.row("R2", ["larch": 2, "larch-m": 1.5], limit: limit)
    shared.memberwiseLimit = limit
    var own = shared
    own.name = "R8"
    own.limit = .ratio(must: 8, aim: 5)
    own.memberwiseLimit = .ratio(must: 1.2, aim: 1.1)
    let table = ResultTable(Samples.run([shared, own]))
    #expect(table.missed == ["R8"])
    let lines = table.markdown().split(separator: "\n")
    #expect(lines[2].hasSuffix("| 1.80 | 1.30 | memberwise |"))
    #expect(lines[3].hasSuffix("| 8.00 / 1.20 | 5.00 / 1.10 | missed |"))
    #expect(table.text().contains("limits missed: R8"))
  }

  @Test("what a peer does not do is a dash")
  func gaps() {
    let table = ResultTable(Samples.run([Samples.row("A1", ["larch": 1.5], limit: limit)]))
    #expect(
      table.markdown().split(separator: "\n")[2]
        == "| A1: what A1 does | 1000.0 ns | 1.50 | – | – | 1.80 | 1.30 | ok |")
    #expect(table.text().split(separator: "\n")[2].contains("1.50           –           –"))
  }

  @Test("only the operations that are asked for are shown, and the page says when and where")
  func short() {
    let run = Samples.run(["R1", "R2"].map { Samples.row($0, ["larch": 1]) })
    let text = ResultTable(run).markdown(only: ["R2"])
    #expect(!text.contains("R1:"))
    #expect(text.contains("R2:"))
    #expect(
      text.hasSuffix("100,000 records. 2026-01-31, A <small> machine; medians of 3 rounds."))
  }

  @Test("growth faster than that of raw LMDB is marked")
  func growth() {
    let lines = Samples.growth.text().split(separator: "\n")
    #expect(lines.count == 6)
    #expect(lines[3].hasSuffix("2.00      0.50  ok"))
    #expect(lines[5].hasSuffix("400.00      4.00  GROWS FASTER"))
    #expect(Samples.growth.markdown().contains("| 400.00 | 100.00 | 4.00 **faster** |"))
  }

  @Test("a result file gives the last summary of each kind, and nothing else is one")
  func resultFiles() throws {
    let run = Samples.run([Samples.row("R1", ["larch": 1.5], limit: limit)])
    let lines =
      "{\"peer\": \"larch\", \"op\": \"R1\"}\n"
      + String(decoding: try ResultFile(run: Samples.run([])).line(), as: UTF8.self)
      + String(decoding: try ResultFile(run: run).line(), as: UTF8.self)
    try Samples.withFile(lines) { path in
      let read = try ResultFile(contentsOf: [path])
      #expect(read.run == run)
      #expect(read.growth == nil)
    }
    for text in ["", "{}\n", "not JSON\n", "{\"run\": 5}\n"] {
      try Samples.withFile(text) { path in
        #expect(throws: FigureError.self) { try ResultFile(contentsOf: [path]) }
      }
    }
    #expect(throws: FigureError("cannot read /nowhere.json")) {
      try ResultFile(contentsOf: ["/nowhere.json"])
    }
  }
}

@Suite("The blocks of a page are filled in")
struct MarkedBlockTests {
  let results = ResultFile(
    run: Samples.run(["R1", "A5"].map { Samples.row($0, ["larch": 1.5]) }))

  @Test("what is between the markers is replaced, and nothing else, any number of times")
  func replaces() throws {
    let page = """
      before
      <!-- bench:begin -->
      old
      <!-- bench:end -->
      between
      <!-- bench:begin all -->
      <!-- bench:end -->
      after

      """
    let filled = try MarkedBlocks.filled(page, with: results)
    #expect(filled.hasPrefix("before\n<!-- bench:begin -->\n\n| "))
    #expect(filled.hasSuffix("\n\n<!-- bench:end -->\nafter\n"))
    #expect(filled.contains("<!-- bench:end -->\nbetween\n<!-- bench:begin all -->"))
    #expect(!filled.contains("old"))
    #expect(filled.components(separatedBy: "R1:").count == 3)
    #expect(filled.components(separatedBy: "A5:").count == 2)
    #expect(try MarkedBlocks.filled(filled, with: results) == filled)
  }

  @Test("a block that the results say nothing of stays as it is")
  func stays() throws {
    let page = "<!-- bench:begin growth -->\nkept\n<!-- bench:end -->"
    #expect(try MarkedBlocks.filled(page, with: results) == page)
  }

  @Test("a page without a block, a block without an end, and an unknown one are errors")
  func refuses() {
    for page in [
      "", "nothing here", "<!-- bench:begin -->\nno end",
      "<!-- bench:begin -->\n<!-- bench:begin all -->\n<!-- bench:end -->",
      "<!-- bench:begin rest -->\n<!-- bench:end -->",
    ] {
      #expect(throws: FigureError.self) { try MarkedBlocks.filled(page, with: results) }
    }
  }
}
