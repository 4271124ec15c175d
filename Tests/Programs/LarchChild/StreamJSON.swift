internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// One element of many.
private struct Line: Record {
  var id = RecordID<Line>()
  var name: String
  var email: String
  var age: Int
  var score: Double
  var tags: [String]

  static let schema = Schema<Line> {
    Unique(\.email)
    Index(\.age)
  }
}

/// `stream-json <directory> <count>`: imports and exports the given number of elements in several
/// ways. For each it prints the memory that the process used after the first tenth, and the
/// elements per second.
func streamJSON(_ arguments: [String]) throws {
  guard arguments.count == 2, let count = Int(arguments[1]) else { throw UsageError() }
  limitLifetime()
  let path = arguments[0] + "/lines.json"
  try writeLines(count, to: path)
  var options = Store.Options()
  options.durability = .relaxed
  let store = try Store(at: arguments[0] + "/lines.larch", for: Line.self, options: options)
  try measure("decoder", count) { _ in try decodeAlone(path) }
  try measure("insert", count) { seen in
    let report = try store.importJSON(Line.self, from: .file(path), onError: .skip) {
      seen($0.elements)
    }
    try expect(report.inserted, count)
  }
  try measure("match", count) { seen in
    let report = try store.importJSON(
      Line.self, from: .file(path), matching: \.email, onError: .skip
    ) { seen($0.elements) }
    try expect(report.unchanged, count)
  }
  try measure("export", count) { seen in
    let written = try store.exportJSON(Line.self, to: .file(arguments[0] + "/out.json")) {
      seen($0.records)
    }
    try expect(written, count)
  }
  try measure("unchanged", count) { seen in
    let report = try store.importJSON(
      Line.self, from: .file(arguments[0] + "/out.json"), onError: .skip
    ) { seen($0.elements) }
    try expect(report.unchanged, count)
  }
  store.close()
}

private func expect(_ found: Int, _ wanted: Int) throws {
  if found != wanted { throw Mismatch("\(found) instead of \(wanted)") }
}

private func writeLines(_ count: Int, to path: String) throws {
  guard FileManager.default.createFile(atPath: path, contents: nil),
    let file = FileHandle(forWritingAtPath: path)
  else { throw Mismatch("no file") }
  defer { try? file.close() }
  var text = ""
  for number in 0..<count {
    text += """
      {"name":"Name \(number)","email":"n\(number)@example.org","age":\(number % 90),\
      "score":\(Double(number) / 7),"tags":["one","two","number \(number % 10)"]}\n
      """
    if text.utf8.count > 1 << 20 || number == count - 1 {
      try file.write(contentsOf: Data(text.utf8))
      text = ""
    }
  }
}

/// The lower limit for the time of an import.
private func decodeAlone(_ path: String) throws {
  struct Plain: Decodable {
    var name: String
    var email: String
    var age: Int
    var score: Double
    var tags: [String]
  }
  let data = try Data(contentsOf: URL(fileURLWithPath: path))
  let decoder = JSONDecoder()
  for line in data.split(separator: 0x0A) { _ = try decoder.decode(Plain.self, from: line) }
}

private func measure(_ name: String, _ count: Int, _ work: (@escaping (Int) -> Void) throws -> Void)
  throws
{
  var before = 0
  var most = 0
  let start = ContinuousClock.now
  try work { seen in
    guard let now = try? ownMemory() else { return }
    if seen <= count / 10 { before = now } else { most = max(most, now - before) }
  }
  let seconds = (ContinuousClock.now - start) / .seconds(1)
  print(name, most, Int(Double(count) / seconds))
}
