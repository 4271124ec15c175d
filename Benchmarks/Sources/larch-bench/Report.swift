import Foundation

/// Collects measurements, writes them as JSON lines, and draws the table at the end.
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
        text += ", \"ns_per_op\": \(format(line.figure, 1)), \"ops\": \(line.operations)"
      }
      text += ", \"rows\": \(line.rows), \"checksum\": \"\(hexadecimal(line.checksum))\""
    }
    text += ", \"round\": \(round)}\n"
    try file.write(contentsOf: Data(text.utf8))
  }

  // MARK: The table

  /// The table as text; the ratios are medians over rounds, each of one round.
  func table() -> String {
    let peers = arguments.peers.map { $0.peer }
    var lines = [
      header(peers), String(repeating: "-", count: header(peers).count),
    ]
    for operation in Operation.all {
      guard let row = figures[operation.name] else { continue }
      lines.append(line(operation.name, operation, operation.limit, row, peers, "larch"))
      if let memberwise = operation.memberwise, row["larch-m"] != nil {
        lines.append(line(memberwise.name, operation, memberwise.limit, row, peers, "larch-m"))
      }
    }
    let based = Operation.all.filter { $0.base != nil && figures[$0.name] != nil }
    if let base = based.first?.base {
      lines.append("\(based.map(\.name).joined(separator: ", ")): ratios to \(base) of lmdb")
    }
    return lines.joined(separator: "\n")
  }

  private func header(_ peers: [String]) -> String {
    var text = pad("op", 10) + pad("per", 10) + pad("lmdb", 12, right: true)
    for peer in peers where peer != "lmdb" { text += pad(peer + " x", 12, right: true) }
    return text + pad("limit", 10, right: true) + pad("aim", 9, right: true) + "  verdict"
  }

  private func line(
    _ name: String, _ operation: Operation, _ limit: Operation.Limit?, _ row: [String: [Double]],
    _ peers: [String], _ judged: String
  ) -> String {
    let unit = operation.unit
    let base = figures[operation.base ?? operation.name]?["lmdb"]
    var text = pad(name, 10) + pad(unit, 10)
    text += pad(row["lmdb"].map { figure(median($0), unit) } ?? "-", 12, right: true)
    for peer in peers where peer != "lmdb" {
      text += pad(ratio(row[peer], base).map { format($0, 2) } ?? "-", 12, right: true)
    }
    guard let limit else { return text }
    let (must, aim, reached): (Double, Double, Double?)
    switch limit {
    case .ratio(let most, let best):
      // Small stores are allowed a factor for what does not shrink with them.
      (must, aim) = (arguments.size <= 10_000 ? most * 1.3 : most, best)
      reached = ratio(row[judged], base)
      text += pad(format(must, 2), 10, right: true) + pad(format(aim, 2), 9, right: true)
    case .nanoseconds(let most, let best):
      (must, aim) = (most, best)
      reached = row[judged].map(median)
      text += pad(figure(must, unit), 10, right: true) + pad(figure(aim, unit), 9, right: true)
    }
    guard let reached else { return text }
    if let slowest = operation.slowest, let ratio = ratio(row[judged], row[slowest]), ratio > 1 {
      return text + "  MISSED: slower than \(slowest)"
    }
    return text + (reached > must ? "  MISSED" : reached > aim ? "  ok" : "  ok, aim reached")
  }

}

func ratio(_ figures: [Double]?, _ base: [Double]?) -> Double? {
  guard let figures, let base, figures.count == base.count else { return nil }
  return medianRatio(figures, base)
}

func figure(_ value: Double, _ unit: String) -> String {
  if unit == "bytes" { return format(value / 1e6, 2) + " MB" }
  if value >= 1e6 { return format(value / 1e6, 2) + " ms" }
  if value >= 1e4 { return format(value / 1e3, 1) + " us" }
  return format(value, 1) + " ns"
}

func format(_ value: Double, _ digits: Int) -> String {
  String(format: "%.\(digits)f", value)
}

func hexadecimal(_ value: UInt64) -> String {
  let digits = String(value, radix: 16)
  return "0x" + String(repeating: "0", count: 16 - digits.count) + digits
}

func pad(_ text: String, _ width: Int, right: Bool = false) -> String {
  let space = String(repeating: " ", count: max(0, width - text.count))
  return right ? space + text : text + space
}
