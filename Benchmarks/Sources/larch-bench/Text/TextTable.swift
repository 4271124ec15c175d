import BenchmarkFigures
import Foundation
import Workload

/// What both peers took for each row, in the order in which the rows came.
struct TextTable {
  /// What is shown of many figures.
  enum Statistic {
    case median, longest99
  }

  struct Row {
    var name: String
    var what: String
    var unit: String
    var statistic: Statistic
    /// How many texts were found; nil of what finds nothing.
    var found: Int?
    var figures: [String: [Double]] = [:]
  }

  private(set) var rows: [Row] = []

  mutating func add(
    _ name: String, _ what: String, _ figures: [String: [Double]], unit: String = "ns",
    _ statistic: Statistic = .median, found: Int? = nil
  ) {
    let place =
      rows.firstIndex { $0.name == name && $0.what == what }
      ?? {
        rows.append(
          Row(name: name, what: what, unit: unit, statistic: statistic, found: found))
        return rows.count - 1
      }()
    for (peer, values) in figures { rows[place].figures[peer, default: []] += values }
  }

  /// A table of Markdown.
  func text() -> String {
    var lines = [
      "|  | found | \(SQLiteTexts.name) | \(LarchTexts.name) | ratio |  |",
      "|---|---:|---:|---:|---:|---|",
    ]
    for row in rows {
      guard let larch = row.figures[LarchTexts.name], let fts = row.figures[SQLiteTexts.name]
      else { continue }
      // Of the same turn, so that noise that lasts longer cancels out.
      let ratio =
        row.statistic == .median
        ? medianRatio(larch, fts) : show(row.statistic, larch) / show(row.statistic, fts)
      let cells = [
        "\(row.name): \(row.what)", row.found.map(String.init) ?? "",
        measured(show(row.statistic, fts), row.unit),
        measured(show(row.statistic, larch), row.unit),
        decimal(ratio, 2), ratio > 1 ? "behind" : "",
      ]
      lines.append("| " + cells.joined(separator: " | ") + " |")
    }
    return lines.joined(separator: "\n")
  }

  private func show(_ statistic: Statistic, _ values: [Double]) -> Double {
    switch statistic {
    case .median: median(values)
    case .longest99: values.sorted()[Int(Double(values.count - 1) * 0.99)]
    }
  }
}
