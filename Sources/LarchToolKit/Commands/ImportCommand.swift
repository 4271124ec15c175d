internal import Foundation
internal import Larch
internal import LarchInspection

/// `larch import`: reads an export into a store.
struct ImportCommand: Command {
  static let name = "import"
  static let onlyShows = false
  static let summary =
    "creates a store from an export, or imports its records into an existing store"
  static let discussion = """
    If STORE does not exist, it is created from the whole file and appears once it is complete. An \
    existing store receives the records and lists of the collections that it has: all or none of \
    them, unless --batch allows parts. Indexes are maintained, unique indexes refuse duplicates, \
    and references must lead to records. Rules and hooks written in Swift are not run.

    An index whose keys only Swift code can make is built when a program opens the new store with \
    its types. Only that program can import into a store that has such an index.
    """
  private static let file = Operand(
    "FILE", "a file that larch export wrote; not a pipe, not compressed", completion: .file)
  private static let replace = Flag("--replace", "replace the record that has the id of a line")
  private static let skip = Flag("--skip", "keep the record that has the id of a line")
  private static let batch = Option<Int>(
    "--batch", "LINES", "commit after every LINES lines", allowed: "a number above 0"
  ) { $0 > 0 }
  static let operands = [Operand.store, file]
  static let options: [any OptionDeclaration] = [replace, skip, batch, Flag.json]
  static let examples = [
    Example("larch import copy.larch people.jsonl", "Create a store from an export"),
    Example("larch import people.larch people.jsonl --skip", "Add the records that are missing"),
    Example(
      "larch import people.larch people.jsonl --replace --batch 10000",
      "Import many records in several commits"),
  ]

  private let path: String
  private let source: String
  private let policy: StoredIDPolicy
  private let batchSize: Int?
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    source = arguments[Self.file]
    if arguments[Self.replace], arguments[Self.skip] {
      throw UsageError("--replace and --skip cannot be used together")
    }
    policy = arguments[Self.replace] ? .replace : arguments[Self.skip] ? .skip : .refuse
    batchSize = arguments[Self.batch]
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let isNew = !FileManager.default.fileExists(atPath: path)
    let progress = Progress("importing", on: console)
    func show(_ state: StoreImportProgress) {
      progress.update(
        state.total == 0 ? 1 : Double(state.done) / Double(state.total),
        ", \(Amount.count(state.recordCount)) records")
    }
    let summary: StoreImportSummary
    do {
      defer { progress.end() }
      if isNew {
        summary = try Store.makeStore(at: path, from: .file(source), progress: show)
      } else {
        let store = try StoreFile.openToWrite(path)
        defer { store.close() }
        summary = try store.importExport(
          from: .file(source), existing: policy, batchSize: batchSize, progress: show)
      }
    }
    if isJSON {
      try console.print(json: json(summary, isNew: isNew))
    } else {
      try print(summary, isNew: isNew, on: console)
    }
    return .well
  }

  private func print(
    _ summary: StoreImportSummary, isNew: Bool, on console: Console
  ) throws {
    var parts = [Amount.counted(summary.insertedCount, "record")]
    if summary.linkCount > 0 { parts.append(Amount.counted(summary.linkCount, "link")) }
    if isNew { parts.append(Amount.counted(summary.indexCount, "index", "indexes") + " built") }
    if summary.replacedCount > 0 { parts.append("\(Amount.count(summary.replacedCount)) replaced") }
    if summary.skippedCount > 0 { parts.append("\(Amount.count(summary.skippedCount)) skipped") }
    try console.print(
      "\(isNew ? "made" : "imported into") \(path): \(parts.joined(separator: ", "))")
    for waiting in summary.waitingIndexes {
      try console.print(
        "index \(waiting.index) of \(waiting.collection) is built when a program opens the store with its types"
      )
    }
  }

  private func json(_ summary: StoreImportSummary, isNew: Bool) -> JSON {
    [
      "store": .string(path),
      "made": .bool(isNew),
      "inserted": .int(summary.insertedCount),
      "replaced": .int(summary.replacedCount),
      "skipped": .int(summary.skippedCount),
      "links": .int(summary.linkCount),
      "indexes": .int(summary.indexCount),
      "waitingIndexes": .array(
        summary.waitingIndexes.map {
          ["collection": .string($0.collection), "index": .string($0.index)]
        }),
    ]
  }
}
