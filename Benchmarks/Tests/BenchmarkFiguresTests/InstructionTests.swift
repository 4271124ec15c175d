import Foundation
import Testing

@testable import BenchmarkFigures

@Suite("Counts of instructions are held against a baseline")
struct InstructionTests {
  let baseline = InstructionBaseline(
    environment: ["toolchain": "Swift version 6.3.1", "lmdb": "0.9.24"],
    counts: ["find": 1_000, "delete": 5_000])

  func verdicts(_ counts: [(name: String, count: Double)]) -> [InstructionComparison.Verdict] {
    InstructionComparison(counts, with: baseline).rows.map(\.verdict)
  }

  @Test("two hundredths more are allowed, and a little more than that is not")
  func toleranceUpwards() {
    let allowed = InstructionComparison(
      [("find", 1_020), ("delete", 5_100)], with: baseline)
    #expect(allowed.passes)
    #expect(!allowed.asksForNewBaseline)
    let worse = InstructionComparison([("find", 1_021), ("delete", 5_000)], with: baseline)
    #expect(worse.rows.map(\.verdict) == [.worse, .same])
    #expect(!worse.passes)
    #expect(worse.table().contains("WORSE"))
  }

  @Test("what became better passes and asks for a new baseline")
  func better() {
    let comparison = InstructionComparison([("find", 970), ("delete", 4_950)], with: baseline)
    #expect(comparison.rows.map(\.verdict) == [.better, .same])
    #expect(comparison.passes)
    #expect(comparison.asksForNewBaseline)
    #expect(comparison.rows[0].change.map { abs($0 + 0.03) < 1e-9 } == true)
  }

  @Test("something that became better does not make up for something that became worse")
  func noSums() {
    #expect(verdicts([("find", 1_100), ("delete", 1_000)]) == [.worse, .better])
    #expect(
      !InstructionComparison([("find", 1_100), ("delete", 1_000)], with: baseline).passes)
  }

  @Test("a path that the baseline does not know, or that nobody counts any more, does not pass")
  func otherPaths() {
    let comparison = InstructionComparison([("find", 1_000), ("scan", 10)], with: baseline)
    #expect(comparison.rows.map(\.name) == ["find", "scan", "delete"])
    #expect(comparison.rows.map(\.verdict) == [.same, .added, .gone])
    #expect(!comparison.passes)
  }

  @Test("another toolchain or library is named, and only then are there differences")
  func environments() {
    var other = baseline
    #expect(baseline.differences(from: other) == [])
    other.environment = ["toolchain": "Swift version 6.4", "libc": "glibc 2.36", "lmdb": "0.9.24"]
    #expect(
      baseline.differences(from: other) == [
        "libc: nothing, here glibc 2.36",
        "toolchain: Swift version 6.3.1, here Swift version 6.4",
      ])
  }

  @Test("a baseline is read as it was written")
  func roundTrip() throws {
    try Samples.withFile("") { path in
      try baseline.write(to: path)
      #expect(try InstructionBaseline(contentsOf: path) == baseline)
    }
  }

  @Test("a file that is missing or no baseline is an error with its path")
  func wrongFiles() throws {
    #expect(throws: FigureError("cannot read /nowhere/counts.json")) {
      try InstructionBaseline(contentsOf: "/nowhere/counts.json")
    }
    for text in ["", "[]", "{\"counts\": {}}", "\u{FF}\u{0}"] {
      try Samples.withFile(text) { path in
        #expect(throws: FigureError("\(path) is not a baseline of instruction counts")) {
          try InstructionBaseline(contentsOf: path)
        }
      }
    }
  }

  @Test("the total of a profile is that of its instructions, wherever they are listed")
  func profiles() throws {
    let head = "# callgrind format\nversion: 1\n\npositions: line\n"
    #expect(
      try CallgrindProfile.total(of: head + "events: Ir\nsummary: 4711\n\nfn=(1) x\n0 5\n") == 4711)
    #expect(try CallgrindProfile.total(of: head + "events: Dr Ir\ntotals: 5 12\n") == 12)
  }

  @Test("a profile without a total, of other events, or of nothing is an error")
  func wrongProfiles() {
    for text in ["", "events: Ir\n", "events: Dr\nsummary: 5\n", "events: Ir\nsummary: 0\n"] {
      #expect(throws: FigureError.self) { try CallgrindProfile.total(of: text) }
    }
  }

  @Test("a run has just as many profiles as regions")
  func parts() throws {
    try Samples.withFile("") { path in
      let profile = { (count: Int) in Data("events: Ir\nsummary: \(count)\n".utf8) }
      let parts = (1...3).map { "\(path).\($0)" }
      defer { for part in parts { try? FileManager.default.removeItem(atPath: part) } }
      for (index, part) in parts.enumerated() {
        try profile(10 * (index + 1)).write(to: URL(filePath: part))
      }
      #expect(try CallgrindProfile.totals(of: path, regions: 3) == [10, 20, 30])
      #expect(throws: FigureError.self) { try CallgrindProfile.totals(of: path, regions: 4) }
      #expect(throws: FigureError.self) { try CallgrindProfile.totals(of: path, regions: 2) }
    }
  }
}
