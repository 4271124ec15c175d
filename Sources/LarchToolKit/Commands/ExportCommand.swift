internal import Foundation
internal import Larch
internal import LarchInspection

/// `larch export`: a store as text.
struct ExportCommand: Command {
  static let name = "export"
  static let summary = "writes a store, or some collections, as JSON lines that import reads back"
  static let discussion = """
    The first line holds the catalog. Each further line is a record or a part of a list, and the \
    last line counts them. Nothing is lost: import creates a store in which each record has the \
    same bytes. docs/export-format.md describes the format.
    """
  private static let collections = Operand(
    "COLLECTION", "a collection to export; all by default", isOptional: true,
    isRepeated: true)
  private static let output = Option<String>(
    "--output", short: "-o", "FILE", "write to this file",
    completion: .file)
  private static let replace = Flag("--replace", "replace a file that exists")
  static let operands = [Operand.store, collections]
  static let options: [any OptionDeclaration] = [output, replace]
  static let examples = [
    Example("larch export people.larch -o people.jsonl", "Write everything to a file"),
    Example("larch export people.larch Person | jq .record.name", "Look into one collection"),
    Example("larch export people.larch | gzip > people.jsonl.gz", "Compress it on the way"),
  ]

  private let path: String
  private let names: [String]?
  private let output: String?
  private let isReplacing: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    let names = arguments.all(Self.collections)
    self.names = names.isEmpty ? nil : names
    output = arguments[Self.output]
    isReplacing = arguments[Self.replace]
    if isReplacing, output == nil {
      throw UsageError("--replace is for a file, so it needs --output")
    }
  }

  private func check(_ names: [String], in inspector: StoreInspector) throws {
    for name in names { _ = try CollectionName.chosen(name, in: inspector) }
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.open(path)
    defer { store.close() }
    if let names { try store.inspect { try check(names, in: $0) } }
    let progress = Progress("exporting", on: console)
    defer { progress.end() }
    func show(_ done: Int, _ total: Int) {
      progress.update(
        total == 0 ? 1 : Double(done) / Double(total), ", \(Amount.count(done)) records")
    }
    guard let output else {
      try store.export(names, progress: show) { piece in
        try console.print(verbatim: String(decoding: piece, as: UTF8.self))
      }
      return .well
    }
    let summary = try TargetFile.explaining(output, isReplacing) {
      try store.export(names, toFile: output, replacing: isReplacing, progress: show)
    }
    progress.end()
    let records = Amount.counted(summary.recordCount, "record")
    let links = summary.linkCount > 0 ? " and \(Amount.counted(summary.linkCount, "link"))" : ""
    let collections = Amount.counted(summary.collectionCount, "collection")
    let size = Amount.bytes(summary.byteCount)
    try console.print(
      "exported \(records)\(links) of \(collections): \(size) in \(output)")
    return .well
  }
}
