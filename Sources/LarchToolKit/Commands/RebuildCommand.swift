internal import Larch
internal import LarchInspection

/// `larch rebuild`: indexes and links made again from the records.
struct RebuildCommand: Command {
  static let name = "rebuild"
  static let summary =
    "writes: makes indexes anew from the records, and both directions of links agree"
  static let discussion = """
    Each index is one transaction: it is new as a whole, or as it was. Others may have the store open;
    their writes wait meanwhile. An index whose keys only the program can make, or that is being built,
    is left as it is, which is said; `store.rebuild()` in the program makes it anew.
    """
  static let operands = [Operand.store]
  static let options: [any OptionDeclaration] = [Flag.json]
  static let examples = [
    Example("larch rebuild people.larch", "Repair indexes that `larch verify` complained of")
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
      let progress = Progress("making anew", on: console)
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
        Line("left as it is: ", .warning)
          + Line(
            "\(left.collection).\(left.index), "
              + (left.isReady
                ? "since only the program can make all its keys" : "which is being built")),
        indent: 0)
    }
    try console.print("made anew: \(Amount.counted(found.rebuilt.count, "index", "indexes"))")
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
