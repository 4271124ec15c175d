import BenchmarkFigures
import Foundation
import Workload

/// Collects measurements, writes them as JSON lines, and sums them up at the end.
struct Report {
  private let arguments: Arguments
  private let file: FileHandle?
  /// Figures by operation, then peer, one a round.
  private(set) var figures: [String: [String: [Double]]] = [:]
  private(set) var differences: [String] = []

  /// JSON lines go to the file where there is one.
  init(arguments: Arguments, file: FileHandle?) {
    self.arguments = arguments
    self.file = file
  }

  static func createFile(_ arguments: Arguments) throws -> FileHandle? {
    guard let path = arguments.json else { return nil }
    guard FileManager.default.createFile(atPath: path, contents: nil),
      let handle = FileHandle(forWritingAtPath: path)
    else { throw BenchmarkError("cannot write \(path)") }
    return handle
  }

  mutating func add(
    _ operation: Operation, _ round: Int, _ measurements: [String: Measurement]
  ) throws {
    try compare(operation.name, measurements)
    for (peer, measurement) in measurements.sorted(by: { $0.key < $1.key }) {
      figures[operation.name, default: [:]][peer, default: []].append(measurement.figure)
      var named = measurement
      if let memberwise = operation.memberwise, arguments.isMemberwise(peer) {
        named.operation = memberwise.name
      }
      try write(peer, round, named, isTimed: true)
    }
  }

  mutating func addUntimed(
    _ name: String, _ round: Int, _ measurements: [String: Measurement]
  ) throws {
    try compare(name, measurements)
    for (peer, measurement) in measurements.sorted(by: { $0.key < $1.key }) {
      try write(peer, round, measurement, isTimed: false)
    }
  }

  private mutating func compare(_ name: String, _ measurements: [String: Measurement]) throws {
    let results = Set(measurements.values.map { [$0.rows, $0.checksum] })
    guard results.count > 1 else { return }
    let list = measurements.sorted { $0.key < $1.key }
      .map { "\($0.key) \($0.value.rows) rows \(hexadecimal($0.value.checksum))" }
    differences.append("\(name): " + list.joined(separator: ", "))
  }

  private func write(_ peer: String, _ round: Int, _ line: Measurement, isTimed: Bool) throws {
    guard let file else { return }
    var text = "{\"peer\": \"\(peer)\", \"op\": \"\(line.operation)\", \"n\": \(arguments.size)"
    if let bytes = line.bytes {
      text += ", \"bytes\": \(bytes)"
    } else {
      if isTimed {
        text += ", \"ns_per_op\": \(decimal(line.figure, 1)), \"ops\": \(line.operations)"
      }
      text += ", \"rows\": \(line.rows), \"checksum\": \"\(hexadecimal(line.checksum))\""
    }
    text += ", \"round\": \(round)}\n"
    try file.write(contentsOf: Data(text.utf8))
  }

  // MARK: What it comes to

  /// Medians and ratios, each ratio of one round.
  func summary() -> RunSummary {
    let rows = arguments.benchmark.operations.compactMap { operation in
      figures[operation.name].map { row(operation, $0) }
    }
    return RunSummary(
      origin: Machine.origin(rounds: arguments.rounds), size: arguments.size,
      peers: arguments.peers, rows: rows)
  }

  private func row(_ operation: Operation, _ measured: [String: [Double]]) -> RunSummary.Row {
    let based = figures[operation.base ?? operation.name]
    let unit = arguments.benchmark.units.first { based?[$0] != nil }
    let base = unit.flatMap { based?[$0] }
    var row = RunSummary.Row(
      name: operation.name, what: operation.what, unit: operation.unit,
      figures: measured.mapValues(median), ratios: measured.compactMapValues { ratio($0, base) })
    row.base = operation.base
    row.unitPeer = arguments.benchmark.units.count > 1 ? unit : nil
    row.limit = allowed(operation.limit)
    row.memberwiseLimit = allowed(operation.memberwise?.limit)
    row.slowest = operation.slowest
    if let slowest = operation.slowest.flatMap({ measured[$0] }) {
      row.toSlowest = measured.filter { $0.key.hasPrefix("larch") }
        .compactMapValues { ratio($0, slowest) }
    }
    return row
  }

  /// Small stores are allowed a factor for what does not shrink with them.
  private func allowed(_ limit: RunSummary.Limit?) -> RunSummary.Limit? {
    guard case .ratio(let must, let aim) = limit, arguments.size <= 10_000 else { return limit }
    return .ratio(must: must * 1.3, aim: aim)
  }
}

/// The median of same-round ratios, where both ran in every round.
func ratio(_ figures: [Double]?, _ base: [Double]?) -> Double? {
  guard let figures, let base, figures.count == base.count else { return nil }
  return medianRatio(figures, base)
}

func hexadecimal(_ value: UInt64) -> String {
  let digits = String(value, radix: 16)
  return "0x" + String(repeating: "0", count: 16 - digits.count) + digits
}
