internal import Larch
internal import LarchInspection

/// `larch stats`: the use of space.
struct StatsCommand: Command {
  static let name = "stats"
  static let summary = "shows entries, keys, depth, fill and size of each tree of pages"
  static let discussion = """
    Every page of the file is counted once. Depth is the number of pages that a search reads. Keys
    is the number of distinct keys of an index: entries divided by keys is how many records share
    one. Fill is the part of its pages that a tree uses; it is highest after a compaction.

    Keys and fill are read from all pages; --quick leaves them out.
    """
  private static let quick = Flag("--quick", "show only what the catalog has, at once")
  static let operands = [Operand.store]
  static let options: [any OptionDeclaration] = [quick, Flag.json]
  static let examples = [
    Example("larch stats people.larch", "Where the space goes"),
    Example("larch stats people.larch --json | jq .freePages", "One number, for a program"),
  ]

  private let path: String
  private let isQuick: Bool
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    isQuick = arguments[Self.quick]
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.open(path)
    defer { store.close() }
    let found = try store.statistics(exact: !isQuick)
    let used = isQuick ? [:] : try store.inspect { try $0.usedBytes() }
    let report = StatsReport(statistics: found, used: used)
    if isJSON {
      try console.print(json: report.json)
    } else {
      try report.print(on: console)
    }
    return .well
  }
}

/// The statistics of a store as a table.
private struct StatsReport {
  let statistics: StoreStatistics
  let used: [StoreInspector.TreeName: Int]

  private func fill(_ name: StoreInspector.TreeName, _ tree: StoreStatistics.Tree) -> Double? {
    guard let used = used[name], tree.bytes > 0 else { return nil }
    return Double(used) / Double(tree.bytes)
  }

  func print(on console: Console) throws {
    var table = Table([
      .init("", .wrap), .init("entries", isNumber: true), .init("keys", isNumber: true),
      .init("depth", isNumber: true), .init("pages", isNumber: true), .init("size", isNumber: true),
      .init("fill", isNumber: true),
    ])
    func add(_ name: Line, _ tree: StoreStatistics.Tree, keys: Int? = nil, _ fill: Double? = nil) {
      table.add([
        name, "\(Amount.count(tree.entries))", "\(keys.map(Amount.count) ?? "")",
        "\(tree.depth)", "\(Amount.count(tree.pages))", "\(Amount.bytes(tree.bytes))",
        "\(fill.map(Amount.percent) ?? "")",
      ])
    }
    for collection in statistics.collections {
      add(
        "\(collection.name, .strong)", collection.tree,
        fill(.records(collection.name), collection.tree))
      for index in collection.indexes {
        let kind = index.isUnique ? "unique" : "index"
        let state = index.isReady ? "" : ", being built"
        add(
          "  \(kind) \(index.name)\(state)", index.tree, keys: index.keys,
          fill(.index(collection.name, index.name), index.tree))
      }
    }
    for association in statistics.associations {
      add("lists \(association.name, .strong)", association.forward)
      add("  inverse", association.inverse)
    }
    for part in statistics.parts { add("\(part.name)", part.tree) }
    func add(_ name: Line, pages: Int) {
      table.add([
        name, "", "", "", "\(Amount.count(pages))",
        "\(Amount.bytes(pages * statistics.pageSize))",
      ])
    }
    add("header", pages: statistics.headerPages)
    add("free", pages: statistics.freePages)
    if statistics.otherPages != 0 {
      add(statistics.isExact ? "lost" : "long lists", pages: statistics.otherPages)
    }
    add("all", pages: statistics.pages)
    try console.print(table)
  }

  var json: JSON {
    [
      "bytes": .int(statistics.fileBytes), "pageSize": .int(statistics.pageSize),
      "pages": .int(statistics.pages), "freePages": .int(statistics.freePages),
      "pinnedPages": .int(statistics.pinnedPages), "otherPages": .int(statistics.otherPages),
      "isExact": .bool(statistics.isExact),
      "collections": .array(
        statistics.collections.map { collection in
          .object(
            members(collection.tree, fill(.records(collection.name), collection.tree)).merging([
              "name": .string(collection.name),
              "indexes": .array(
                collection.indexes.map { index in
                  .object(
                    members(index.tree, fill(.index(collection.name, index.name), index.tree))
                      .merging([
                        "name": .string(index.name), "isUnique": .bool(index.isUnique),
                        "isReady": .bool(index.isReady), "keys": .int(optional: index.keys),
                      ]) { $1 })
                }),
            ]) { $1 })
        }),
      "associations": .array(
        statistics.associations.map {
          [
            "name": .string($0.name), "forward": .object(members($0.forward)),
            "inverse": .object(members($0.inverse)),
          ]
        }),
      "parts": .array(
        statistics.parts.map { part in
          .object(members(part.tree).merging(["name": .string(part.name)]) { $1 })
        }),
    ]
  }

  private func members(
    _ tree: StoreStatistics.Tree, _ fill: Double? = nil
  ) -> [String: JSON] {
    [
      "entries": .int(tree.entries), "depth": .int(tree.depth), "pages": .int(tree.pages),
      "bytes": .int(tree.bytes),
      "fill": fill.map { .double(($0 * 1000).rounded() / 1000) } ?? .null,
    ]
  }
}
