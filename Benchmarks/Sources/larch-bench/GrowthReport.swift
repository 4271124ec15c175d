import Foundation

/// The same run at several sizes, to show what an operation costs as the store grows.
struct GrowthReport {
  static let sizes = [10_000, 100_000, 1_000_000]
  /// Between two sizes ratios differ by this much from noise alone.
  static let tolerance = 1.15

  private let peers: [String]
  private var reports: [Report] = []

  init(_ arguments: Arguments, file: FileHandle?) throws {
    peers = arguments.peers.map { $0.peer }
    for size in GrowthReport.sizes {
      var sized = arguments
      sized.size = size
      var harness = Harness(arguments: sized, file: file)
      try harness.run()
      reports.append(harness.report)
    }
  }

  var differences: [String] {
    zip(GrowthReport.sizes, reports).flatMap { size, report in
      report.differences.map { "at \(size): \($0)" }
    }
  }

  /// A line for each operation and peer: its figures, the last as a multiple of the first, and that
  /// growth as a multiple of raw LMDB's.
  func table() -> String {
    var header = pad("op", 10) + pad("per", 11) + pad("peer", 9)
    for size in GrowthReport.sizes { header += pad(String(size), 12, right: true) }
    header += pad("growth", 10, right: true) + pad("to lmdb", 10, right: true)
    var lines = [header, String(repeating: "-", count: header.count)]
    for operation in Operation.all {
      for (index, peer) in peers.enumerated() {
        let name = index == 0 ? operation.name : ""
        let unit = index == 0 ? operation.unit : ""
        guard let line = line(operation, peer) else { continue }
        lines.append(pad(name, 10) + pad(unit, 11) + pad(peer, 9) + line)
      }
    }
    return lines.joined(separator: "\n")
  }

  private func line(_ operation: Operation, _ peer: String) -> String? {
    let rows = reports.compactMap { $0.figures[operation.name] }
    let figures = rows.compactMap { $0[peer] }
    guard figures.count == GrowthReport.sizes.count, let first = figures.first,
      let last = figures.last
    else { return nil }
    var text = ""
    for value in figures { text += pad(figure(median(value), operation.unit), 12, right: true) }
    text += pad(format(median(last) / median(first), 2), 10, right: true)
    guard peer != "lmdb", let small = ratio(first, rows.first?["lmdb"]),
      let large = ratio(last, rows.last?["lmdb"])
    else { return text }
    text += pad(format(large / small, 2), 10, right: true)
    return text + (large / small > GrowthReport.tolerance ? "  GROWS FASTER" : "  ok")
  }
}
