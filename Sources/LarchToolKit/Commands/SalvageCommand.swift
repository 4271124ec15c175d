internal import Larch

/// `larch salvage`: copies what can be read of a damaged store.
struct SalvageCommand: Command {
  static let name = "salvage"
  static let onlyShows = false
  static let summary =
    "copies the readable records of a damaged store to a new file; exits with 1 if some could not be"
  static let discussion = """
    The damaged file is only read. Each record is checked by its checksum; those on pages that no other
    page leads to are copied too, and counted as stray: they may be old or deleted. The program that
    opens the new file builds its indexes. A backup has everything: prefer it if it is recent.
    """
  private static let target = Operand("DEST", "the file to create", completion: .file)
  static let operands = [Operand.store, target]
  static let options: [any OptionDeclaration] = [Flag.json]
  static let examples = [
    Example("larch salvage people.larch saved.larch", "Save what is left of a damaged store")
  ]

  private let path: String
  private let target: String
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    target = arguments[Self.target]
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let report: SalvageReport
    do {
      let progress = Progress("copying", on: console)
      defer { progress.end() }
      report = try Store.salvage(path, to: target) { progress.update(count: $0, "records") }
    }
    if isJSON {
      try console.print(json: report.json(target))
    } else {
      try report.print(on: console, target)
    }
    return report.isWhole ? .well : .no
  }
}

extension SalvageReport {
  fileprivate var damagedCount: Int { collections.reduce(0) { $0 + $1.damagedCount } }
  fileprivate var droppedCount: Int { lists.reduce(0) { $0 + $1.droppedCount } }
  fileprivate var isWhole: Bool { damage.isEmpty && damagedCount == 0 && droppedCount == 0 }

  fileprivate func print(on console: Console, _ target: String) throws {
    var table = Table([
      .init("collection"), .init("copied", isNumber: true), .init("stray", isNumber: true),
      .init("damaged", isNumber: true),
    ])
    for collection in collections {
      table.add([
        "\(collection.name)", "\(Amount.count(collection.recordCount))",
        "\(Amount.count(collection.strayCount))", "\(Amount.count(collection.damagedCount))",
      ])
    }
    try console.print(table)
    for list in lists {
      try console.print(
        "\(list.name): \(Amount.counted(list.linkCount, "link")), \(Amount.count(list.droppedCount)) dropped"
      )
    }
    for place in damage {
      try console.print(Line("not readable: ", .bad) + Line("\(place)"), indent: 0)
    }
    try console.print(
      "\(target, .strong): \(Amount.counted(recordCount, "record"))"
        + (isWhole ? Line("") : Line("; some could not be copied", .warning)))
  }

  fileprivate func json(_ target: String) -> JSON {
    [
      "path": .string(target), "isWhole": .bool(isWhole),
      "collections": .array(
        collections.map {
          [
            "name": .string($0.name), "records": .int($0.recordCount), "stray": .int($0.strayCount),
            "damaged": .int($0.damagedCount),
          ]
        }),
      "lists": .array(
        lists.map {
          [
            "name": .string($0.name), "links": .int($0.linkCount), "dropped": .int($0.droppedCount),
          ]
        }),
      "damage": .array(damage.map { .string($0) }),
    ]
  }
}
