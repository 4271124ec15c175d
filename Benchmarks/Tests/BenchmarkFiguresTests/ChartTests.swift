import Foundation
import Testing

@testable import BenchmarkFigures

@Suite("Charts put figures where they belong")
struct ChartTests {
  @Test("equal ratios have equal lengths")
  func logarithms() {
    let scale = LogarithmicScale(domain: 0.1...100, ends: (0, 300))
    #expect(abs(scale.position(0.1) - 0) < 1e-9)
    #expect(abs(scale.position(1) - 100) < 1e-9)
    #expect(abs(scale.position(100) - 300) < 1e-9)
    let doubled = scale.position(2) - scale.position(1)
    #expect(abs(scale.position(14) - scale.position(7) - doubled) < 1e-9)
  }

  @Test("an axis may go up, which is down in the coordinates of a picture")
  func upwards() {
    let scale = LogarithmicScale(domain: 1...100, ends: (200, 100))
    #expect(scale.position(1) == 200)
    #expect(scale.position(100) == 100)
    #expect(scale.position(5) > scale.position(50))
  }

  @Test("numbers beyond the ends, zero and worse are drawn at an end")
  func outside() {
    let scale = LogarithmicScale(domain: 1...10, ends: (0, 100))
    #expect(scale.position(1_000) == 100)
    #expect(scale.position(0.5) == 0)
    #expect(scale.position(0) == 0)
    #expect(scale.position(-3) == 0)
    #expect(scale.position(.nan) == 0)
  }

  @Test("a scale around values ends at the powers of ten around them")
  func domains() {
    let ends = (0.0, 1.0)
    #expect(LogarithmicScale(around: [0.3, 42], ends: ends).domain == 0.1...100)
    #expect(LogarithmicScale(around: [5], ends: ends).domain == 1...10)
    #expect(LogarithmicScale(around: [10, 10], ends: ends).domain == 10...100)
    #expect(LogarithmicScale(around: [], ends: ends).domain == 1...10)
    #expect(LogarithmicScale(around: [0, -1, .infinity, .nan, 3], ends: ends).domain == 1...10)
  }

  @Test("ticks are inside the scale, ascend, and include 1 where it is inside")
  func ticks() {
    let narrow = LogarithmicScale(domain: 0.1...10, ends: (0, 100)).ticks
    #expect(narrow.count == 7)
    #expect(zip(narrow, [0.1, 0.2, 0.5, 1, 2, 5, 10]).allSatisfy { abs($0 / $1 - 1) < 1e-9 })
    let wide = LogarithmicScale(domain: 0.01...1_000, ends: (0, 100)).ticks
    #expect(wide.count == 6)
  }

  @Test("a bar of what takes longer than raw LMDB begins at 1 and goes right, a shorter one left")
  func bars() throws {
    let run = Samples.run([Samples.row("R1", ["larch": 2, "sqlite": 0.5])])
    let chart = try RatioChart(run)
    let one = chart.scale.position(1)
    let svg = chart.svg()
    let bars = try bars(in: svg)
    let larch = try #require(bars["R1 Larch: 2.00"])
    let sqlite = try #require(bars["R1 SQLite: 0.50"])
    #expect(abs(larch.x - one) < 0.01)
    #expect(abs(larch.width - (chart.scale.position(2) - one)) < 0.02)
    #expect(abs(sqlite.x + sqlite.width - one) < 0.02)
    #expect(abs(sqlite.width - larch.width) < 0.02)
    #expect(bars.count == 2)
  }

  private func bars(in svg: String) throws -> [String: (x: Double, width: Double)] {
    let pattern = /<rect x="([0-9.]+)" [^>]*?width="([0-9.]+)"[^>]*><title>([^<]*)</
    let found = svg.matches(of: pattern).map { match in
      (String(match.3), (x: Double(match.1) ?? -1, width: Double(match.2) ?? -1))
    }
    return Dictionary(uniqueKeysWithValues: found)
  }

  @Test("a picture is well-formed whatever the texts are")
  func escaping() throws {
    var row = Samples.row("R<1>", ["larch": 2])
    row.what = "a & \"b\" </svg>"
    for svg in [
      try RatioChart(Samples.run([row])).svg(), try GrowthChart(Samples.growth).svg(),
    ] {
      let parser = WellFormed(svg)
      #expect(parser.unclosed == [])
      #expect(svg.contains("A &lt;small&gt; machine"))
      #expect(svg.hasPrefix("<svg xmlns="))
    }
  }

  @Test("growth has a line for each peer that ran at every size")
  func growthLines() throws {
    let svg = try GrowthChart(Samples.growth).svg()
    let lines = svg.components(separatedBy: "<polyline").count - 1
    #expect(lines == 4)
    #expect(svg.contains("R1, a get"))
    #expect(svg.contains(">1M<"))
  }

  @Test("what cannot be drawn is an error")
  func nothingToDraw() {
    #expect(throws: FigureError.self) { try RatioChart(Samples.run([])) }
    #expect(throws: FigureError.self) { try RatioChart(Samples.run([Samples.row("R1", [:])])) }
    var growth = Samples.growth
    growth.sizes = [10_000]
    #expect(throws: FigureError.self) { try GrowthChart(growth) }
    growth.sizes = [10, 10, 5]
    #expect(throws: FigureError.self) { try GrowthChart(growth) }
    growth = Samples.growth
    growth.rows = []
    #expect(throws: FigureError.self) { try GrowthChart(growth) }
  }
}

/// Counts what begins and does not end; enough for a program's own pictures.
private struct WellFormed {
  var unclosed: [String] = []

  init(_ text: String) {
    for match in text.matches(of: /<(\/?)([a-z]+)([^<>]*)>/) {
      if match.3.hasSuffix("/") { continue }
      if match.1.isEmpty {
        unclosed.append(String(match.2))
      } else if unclosed.last == String(match.2) {
        unclosed.removeLast()
      } else {
        unclosed.append("/" + String(match.2))
      }
    }
    let inside = text.replacing(/<\/?[a-z]+[^<>]*>/, with: "")
    if inside.contains("<") || inside.contains(">") { unclosed.append("a bracket in a text") }
  }
}
