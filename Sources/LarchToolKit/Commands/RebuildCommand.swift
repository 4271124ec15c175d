internal import Larch
internal import LarchInspection

/// `larch rebuild`: builds indexes and links again from the records.
struct RebuildCommand: Command {
  static let name = "rebuild"
  static let onlyShows = false
  static let summary =
    "writes: builds indexes and the links of both directions again"
  static let discussion = """
    Each index is rebuilt in one transaction, completely or not at all. Other programs may have the
    store open; their writes wait meanwhile. An index whose keys only the program can make, or that is
    incomplete, is not rebuilt, and the output says so; `store.rebuild()` in the program rebuilds it.
    """
  static let operands = [Operand.store]
  static let options: [any OptionDeclaration] = [Flag.json]
  static let examples = [
    Example("larch rebuild people.larch", "Repair indexes in which `larch verify` found faults")
  ]

  private let path: String
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.openToWrite(path)
    defer { store.close() }
    let found: TypelessRebuild
    do {
      let progress = Progress("rebuilding", on: console)
      defer { progress.end() }
      var done = 0
      found = try store.rebuildWithoutTypes { _, _ in
        done += 1
        progress.update(count: done, done == 1 ? "index" : "indexes")
      }
    }
    if isJSON {
      try console.print(json: json(found))
    } else {
      try print(found, on: console)
    }
    return .well
  }

  private func print(_ found: TypelessRebuild, on console: Console) throws {
    var table = Table([
      .init("index", .wrap), .init("entries before", isNumber: true),
      .init("after", isNumber: true),
    ])
    for index in found.rebuilt {
      table.add([
        "\(index.collection).\(index.index)", "\(Amount.count(index.entriesBefore))",
        "\(Amount.count(index.entriesAfter))",
      ])
    }
    if !table.isEmpty { try console.print(table) }
    for left in found.left {
      try console.print(
        Line("not rebuilt: ", .warning)
          + Line(
            "\(left.collection).\(left.index), "
              + (left.isReady
                ? "since only the program can make all its keys" : "which is being built")),
        indent: 0)
    }
    try console.print("rebuilt: \(Amount.counted(found.rebuilt.count, "index", "indexes"))")
  }

  private func json(_ found: TypelessRebuild) -> JSON {
    [
      "rebuilt": .array(
        found.rebuilt.map {
          [
            "collection": .string($0.collection), "index": .string($0.index),
            "entriesBefore": .int($0.entriesBefore), "entriesAfter": .int($0.entriesAfter),
          ]
        }),
      "left": .array(
        found.left.map { ["collection": .string($0.collection), "index": .string($0.index)] }),
    ]
  }
}
