import BenchmarkFigures
import Foundation

/// Writes what a run came to into files.
enum Output {
  /// Finds out before a long run whether its results can be kept.
  static func check(_ arguments: Arguments) throws {
    if let charts = arguments.charts { try makeFolder(charts) }
    for page in arguments.tables {
      guard FileManager.default.isWritableFile(atPath: page) else {
        throw BenchmarkError("cannot write \(page)")
      }
      _ = try MarkedBlocks.filled(try read(page), with: ResultFile())
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
    }
    for page in arguments.tables {
      try write(try MarkedBlocks.filled(try read(page), with: results), to: page)
    }
  }

  private static func makeFolder(_ path: String) throws {
    do {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    } catch {
      throw BenchmarkError("cannot make the folder \(path): \(error.localizedDescription)")
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
