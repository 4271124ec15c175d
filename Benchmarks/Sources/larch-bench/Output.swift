import BenchmarkFigures
import Foundation
import Workload

/// Writes what a run came to into files.
enum Output {
  /// Finds out before a long run whether its results can be kept.
  static func check(_ arguments: Arguments) throws {
    if let charts = arguments.charts {
      let units = arguments.benchmark.units
      guard arguments.peers.count > 1, arguments.peers.contains(where: units.contains) else {
        throw BenchmarkError(
          "charts show ratios: --peers must name \(units.joined(separator: " or ")) and another one"
        )
      }
      try makeFolder(charts)
    }
    try makeFolder(arguments.directory)
    guard FileManager.default.isWritableFile(atPath: arguments.directory) else {
      throw BenchmarkError("cannot write into \(arguments.directory)")
    }
    for page in arguments.tables {
      guard FileManager.default.isWritableFile(atPath: page) else {
        throw BenchmarkError("cannot write \(page)")
      }
      _ = try fill(page, ResultFile())
    }
  }

  static func write(_ results: ResultFile, _ arguments: Arguments) throws {
    if let charts = arguments.charts {
      try makeFolder(charts)
      if let run = results.run {
        try write(try RatioChart(run).svg(), to: charts + "/benchmark-ratios.svg")
      }
      if let growth = results.growth {
        try write(try GrowthChart(growth).svg(), to: charts + "/benchmark-growth.svg")
      }
      if let shapes = results.shapes {
        try write(try RatioChart(shapes).svg(), to: charts + "/benchmark-shapes.svg")
      }
      if let growth = results.shapesGrowth {
        try write(try GrowthChart(growth).svg(), to: charts + "/benchmark-shapes-growth.svg")
      }
    }
    for page in arguments.tables {
      try write(try fill(page, results), to: page)
    }
  }

  private static func fill(_ page: String, _ results: ResultFile) throws -> String {
    do {
      return try MarkedBlocks.filled(try read(page), with: results)
    } catch let error as FigureError {
      throw FigureError("\(page): \(error)")
    }
  }

  private static func makeFolder(_ path: String) throws {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw BenchmarkError("cannot make the folder \(path)")
    }
  }

  private static func read(_ path: String) throws -> String {
    guard let data = FileManager.default.contents(atPath: path),
      let text = String(data: data, encoding: .utf8)
    else { throw BenchmarkError("cannot read \(path)") }
    return text
  }

  private static func write(_ text: String, to path: String) throws {
    do {
      try Data(text.utf8).write(to: URL(filePath: path), options: .atomic)
    } catch {
      throw BenchmarkError("cannot write \(path): \(error.localizedDescription)")
    }
    print("wrote \(path)")
  }
}
