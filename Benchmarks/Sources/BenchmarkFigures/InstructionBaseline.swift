import Foundation

/// What the main paths cost in instructions, and where that was counted.
public struct InstructionBaseline: Codable, Equatable, Sendable {
  /// What makes counts comparable: toolchain, architecture, the system's libraries.
  public var environment: [String: String]
  /// Instructions of one operation, by the path's name.
  public var counts: [String: Double]

  /// Counts that were just made, or that are to be compared with.
  public init(environment: [String: String], counts: [String: Double]) {
    self.environment = environment
    self.counts = counts
  }

  /// Reads a file that ``write(to:)`` wrote.
  ///
  /// - Throws: ``FigureError`` with the path, when there is no such file or it is something else.
  public init(contentsOf path: String) throws {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw FigureError("cannot read \(path)")
    }
    guard let baseline = try? JSONDecoder().decode(InstructionBaseline.self, from: data) else {
      throw FigureError("\(path) is not a baseline of instruction counts")
    }
    self = baseline
  }

  /// Writes the baseline in a form whose lines a version control can compare.
  ///
  /// - Throws: ``FigureError`` when the file cannot be written.
  public func write(to path: String) throws {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      var data = try encoder.encode(rounded())
      data.append(UInt8(ascii: "\n"))
      try data.write(to: URL(filePath: path))
    } catch {
      throw FigureError("cannot write \(path): \(error.localizedDescription)")
    }
  }

  /// Where the environments differ, as "name: there, here"; counts are comparable when nowhere.
  public func differences(from other: InstructionBaseline) -> [String] {
    Set(environment.keys).union(other.environment.keys).sorted().compactMap { key in
      let (there, here) = (environment[key] ?? "nothing", other.environment[key] ?? "nothing")
      return there == here ? nil : "\(key): \(there), here \(here)"
    }
  }

  private func rounded() -> InstructionBaseline {
    InstructionBaseline(
      environment: environment, counts: counts.mapValues { ($0 * 10).rounded() / 10 })
  }
}

/// How counts stand to a baseline.
public struct InstructionComparison: Equatable, Sendable {
  /// How one path stands to the baseline.
  public enum Verdict: Equatable, Sendable {
    case same, better, worse
    /// Not in the baseline yet.
    case added
    /// In the baseline, and not counted any more.
    case gone
  }

  /// One line of the table.
  public struct Row: Equatable, Sendable {
    /// The path.
    public var name: String
    /// Instructions an operation in the baseline.
    public var before: Double?
    /// Instructions an operation now.
    public var now: Double?
    /// How they compare.
    public var verdict: Verdict

    /// By how much of the baseline the count changed; 0.02 is two hundredths more.
    public var change: Double? {
      guard let before, let now, before > 0 else { return nil }
      return now / before - 1
    }
  }

  /// Counts that differ by no more than this part count as the same.
  public static let tolerance = 0.02

  /// The paths in the order they were counted in, then those that are gone.
  public let rows: [Row]

  /// Compares counts with a baseline that was made in the same environment.
  public init(
    _ counts: [(name: String, count: Double)], with baseline: InstructionBaseline,
    tolerance: Double = InstructionComparison.tolerance
  ) {
    let counted = counts.map { name, count in
      guard let before = baseline.counts[name] else {
        return Row(name: name, now: count, verdict: .added)
      }
      let verdict: Verdict =
        count > before * (1 + tolerance)
        ? .worse : count < before * (1 - tolerance) ? .better : .same
      return Row(name: name, before: before, now: count, verdict: verdict)
    }
    let names = Set(counts.map(\.name))
    let gone = baseline.counts.filter { !names.contains($0.key) }.sorted { $0.key < $1.key }
      .map { Row(name: $0.key, before: $0.value, verdict: .gone) }
    rows = counted + gone
  }

  /// Whether nothing became worse and the baseline names the paths that are counted.
  public var passes: Bool {
    rows.allSatisfy { $0.verdict == .same || $0.verdict == .better }
  }

  /// Whether the baseline is behind: something became better by more than the tolerance.
  public var asksForNewBaseline: Bool {
    rows.contains { $0.verdict == .better }
  }

  /// The table as text.
  public func table() -> String {
    var lines = [
      "path".padded(to: 20) + "baseline".aligned(to: 12) + "now".aligned(to: 12)
        + "change".aligned(to: 10)
    ]
    lines.append(String(repeating: "-", count: lines[0].count))
    for row in rows {
      var line = row.name.padded(to: 20)
      line += (row.before.map { decimal($0, 0) } ?? "–").aligned(to: 12)
      line += (row.now.map { decimal($0, 0) } ?? "–").aligned(to: 12)
      line += (row.change.map { signedPercent($0) } ?? "–").aligned(to: 10)
      switch row.verdict {
      case .same: break
      case .better: line += "  better"
      case .worse: line += "  WORSE"
      case .added: line += "  NOT IN THE BASELINE"
      case .gone: line += "  NOT COUNTED ANY MORE"
      }
      lines.append(line)
    }
    return lines.joined(separator: "\n")
  }
}
