import BenchmarkFigures
import Foundation

/// The same run at several sizes, to show what an operation costs as the store grows.
struct GrowthReport {
  private let arguments: Arguments
  private var reports: [Report] = []

  init(_ arguments: Arguments, file: FileHandle?) throws {
    self.arguments = arguments
    for size in arguments.sizes {
      var sized = arguments
      sized.size = size
      var harness = Harness(arguments: sized, file: file)
      try harness.run()
      reports.append(harness.report)
    }
  }

  var differences: [String] {
    zip(arguments.sizes, reports).flatMap { size, report in
      report.differences.map { "at \(size): \($0)" }
    }
  }

  func summary() -> GrowthSummary {
    let rows = arguments.benchmark.operations.compactMap { operation in
      let measured = reports.compactMap { $0.figures[operation.name] }
      return measured.count == reports.count ? row(operation, measured) : nil
    }
    return GrowthSummary(
      origin: Machine.origin(rounds: arguments.rounds), sizes: arguments.sizes,
      peers: arguments.peers, rows: rows, yardstick: arguments.benchmark.yardstick)
  }

  private func row(
    _ operation: Operation, _ measured: [[String: [Double]]]
  ) -> GrowthSummary.Row {
    let yardstick = arguments.benchmark.yardstick
    let complete = arguments.peers.filter { peer in measured.allSatisfy { $0[peer] != nil } }
    var figures: [String: [Double]] = [:]
    var growth: [String: Double] = [:]
    for peer in complete {
      figures[peer] = measured.compactMap { $0[peer].map(median) }
      guard peer != yardstick,
        let small = ratio(measured.first?[peer], measured.first?[yardstick]),
        let large = ratio(measured.last?[peer], measured.last?[yardstick])
      else { continue }
      growth[peer] = large / small
    }
    return GrowthSummary.Row(
      name: operation.name, unit: operation.unit, figures: figures, growthToBase: growth)
  }
}
