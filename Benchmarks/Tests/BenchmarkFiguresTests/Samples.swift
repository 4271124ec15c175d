import Foundation

@testable import BenchmarkFigures

/// Small summaries with figures that are easy to follow.
enum Samples {
  static let origin = RunOrigin(date: "2026-01-31", machine: "A <small> machine", rounds: 3)

  static func row(
    _ name: String, _ ratios: [String: Double], limit: RunSummary.Limit? = nil
  ) -> RunSummary.Row {
    var figures = ratios.mapValues { $0 * 1_000 }
    figures["lmdb"] = 1_000
    var row = RunSummary.Row(
      name: name, what: "what \(name) does", unit: "get", figures: figures,
      ratios: ratios.merging(["lmdb": 1]) { first, _ in first })
    row.limit = limit
    return row
  }

  static func run(_ rows: [RunSummary.Row]) -> RunSummary {
    RunSummary(
      origin: origin, size: 100_000, peers: ["lmdb", "larch", "larch-m", "sqlite"], rows: rows)
  }

  static let growth = GrowthSummary(
    origin: origin, sizes: [10_000, 100_000, 1_000_000], peers: ["lmdb", "larch", "sqlite"],
    rows: [
      GrowthSummary.Row(
        name: "R1", unit: "get",
        figures: ["lmdb": [100, 200, 400], "larch": [150, 250, 300]],
        growthToBase: ["larch": 0.5]),
      GrowthSummary.Row(
        name: "R8", unit: "query", figures: ["lmdb": [1e6, 1e7, 1e8], "larch": [2e6, 4e7, 8e8]],
        growthToBase: ["larch": 4]),
    ])

  /// A file that is gone after the body.
  @discardableResult
  static func withFile<T>(_ text: String, _ body: (String) throws -> T) throws -> T {
    let path = FileManager.default.temporaryDirectory
      .appending(path: "figures-\(UUID().uuidString)").path
    try Data(text.utf8).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try body(path)
  }
}
