internal import Larch
internal import LarchInspection

/// `larch info`: a store at a glance.
struct InfoCommand: Command {
  static let name = "info"
  static let summary = "shows a store at a glance: format, size, space, readers, collections"
  static let discussion = """
    The map is the address space that is reserved for the file to grow. An open reader keeps the
    space of data that was deleted since it began.
    """
  private static let verify = Flag(
    "--verify", "check every page first, for a file that may be damaged")
  static let operands = [Operand.store]
  static let options: [any OptionDeclaration] = [verify, Flag.json]
  static let examples = [
    Example("larch info people.larch", "Look at a store"),
    Example("larch info people.larch --json", "The same for a program"),
  ]

  private let path: String
  private let isVerified: Bool
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    isVerified = arguments[Self.verify]
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.open(path, isVerified: isVerified)
    defer { store.close() }
    let found = try Findings(store)
    if isJSON {
      try console.print(json: found.json(path: path))
    } else {
      try found.print(path: path, on: console)
    }
    return .well
  }
}

/// The facts about a store.
private struct Findings {
  let format: FileFormat
  let space: StoreStatistics
  let reads: [Store.OpenRead]
  let migrations: Int
  /// How far the file is in the log of a server; nil if it has none.
  let server: OutboxHeader?

  init(_ store: Store) throws {
    format = try store.fileFormat()
    space = try store.statistics()
    // Without the reads of this process, which only looks.
    reads = try store.openReads().filter { $0.kind == .otherProcess }
    migrations = try store.inspect { $0.migrations.count }
    server = try store.environment.outboxHeader()
  }

  func print(path: String, on console: Console) throws {
    var table = Table([.init(""), .init("", .wrap)])
    func add(_ name: String, _ value: Line) { table.add([Line(name, .faint), value]) }
    add("store", "\(path, .strong)")
    add("format", "\(format.version), keys of texts in Unicode \(format.unicode)")
    add("size", "\(Amount.bytes(space.fileBytes))")
    let pinned =
      space.pinnedPages > 0 ? ", \(Amount.count(space.pinnedPages)) of them kept by readers" : ""
    add(
      "pages",
      "\(Amount.count(space.pages)) of \(Amount.count(space.pageSize)) bytes: \(Amount.count(space.usedPages)) in use, \(Amount.count(space.freePages)) free\(pinned)"
    )
    add("map", "\(Amount.bytes(space.mapBytes))")
    add("last commit", "transaction \(space.lastTransaction)")
    if let log = space.log {
      add(
        "commit log",
        "\(Amount.bytes(log.bytes)); \(Amount.count(log.commits)) commits since the checkpoint at transaction \(log.checkpoint)"
      )
    }
    if let server {
      add(
        "server log",
        "\(server.role.text) at commit \(Amount.count(Int(clamping: server.place.position)))\(waiting(server))"
      )
      if let log = server.log { add("", "\(log)") }
    }
    add(
      "readers",
      "\(Amount.count(reads.count)) open; \(Amount.count(space.readerSlots)) of \(Amount.count(space.maximumReaders)) slots taken"
    )
    for read in reads {
      let kept = read.pinnedBytes.map { ", keeps \(Amount.bytes($0))" } ?? ""
      let does = "\(read.version)" == space.log.map { "\($0.checkpoint)" } ? "keeps" : "reads"
      add("", "process \(read.process) \(does) transaction \(read.version)\(kept)")
    }
    if migrations > 0 { add("migrations", "\(Amount.count(migrations))") }
    try console.print(table)
    if !space.collections.isEmpty {
      try console.printEmptyLine()
      try console.print(collections)
    }
    if !space.associations.isEmpty {
      try console.printEmptyLine()
      try console.print(associations)
    }
  }

  /// What a mirrored store has for the server.
  private func waiting(_ server: OutboxHeader) -> String {
    guard server.role == .writer || server.role == .superseded else { return "" }
    if server.isRestored {
      return
        "; it was restored, and `larch mirror … --replace` puts it in place of what the server has"
    }
    if server.needsFirstCopy { return "; the whole store is sent next" }
    let commits = server.place.position - server.shipped.position
    return commits == 0
      ? "; the server has all of them"
      : "; \(Amount.count(Int(clamping: commits))) of them, with \(Amount.bytes(Int(clamping: server.bytes))) of changes, wait for the server"
  }

  private var collections: Table {
    var table = Table([
      .init("collection", .wrap), .init("records", isNumber: true),
      .init("indexes", isNumber: true), .init("size", isNumber: true),
    ])
    for collection in space.collections {
      table.add([
        "\(collection.name, .strong)", "\(Amount.count(collection.records))",
        "\(collection.indexes.count)", "\(Amount.bytes(collection.bytes))",
      ])
    }
    return table
  }

  private var associations: Table {
    var table = Table([
      .init("lists", .wrap), .init("links", isNumber: true), .init("size", isNumber: true),
    ])
    for association in space.associations {
      table.add([
        "\(association.name, .strong)", "\(Amount.count(association.links))",
        "\(Amount.bytes(association.bytes))",
      ])
    }
    return table
  }

  func json(path: String) -> JSON {
    [
      "path": .string(path),
      "format": .int(format.version),
      "unicode": .string(format.unicode),
      "bytes": .int(space.fileBytes),
      "pageSize": .int(space.pageSize),
      "pages": .int(space.pages),
      "usedPages": .int(space.usedPages),
      "freePages": .int(space.freePages),
      "pinnedPages": .int(space.pinnedPages),
      "mapBytes": .int(space.mapBytes),
      "lastTransaction": .int(Int(clamping: space.lastTransaction)),
      "log": space.log.map {
        [
          "bytes": .int($0.bytes), "checkpoint": .int(Int(clamping: $0.checkpoint)),
          "commits": .int($0.commits),
        ]
      } ?? .null,
      "server": server.map {
        [
          "role": .string($0.role.name), "commit": .int(Int(clamping: $0.place.position)),
          "waiting": .int(Int(clamping: $0.place.position - $0.shipped.position)),
          "waitingBytes": .int(Int(clamping: $0.bytes)), "needsFirstCopy": .bool($0.needsFirstCopy),
          "isRestored": .bool($0.isRestored), "log": $0.log.map { .string($0) } ?? .null,
        ]
      } ?? .null,
      "readerSlots": .int(space.readerSlots),
      "maximumReaders": .int(space.maximumReaders),
      "readers": .array(
        reads.map {
          [
            "process": .int(Int($0.process)), "transaction": .string("\($0.version)"),
            "keptBytes": .int(optional: $0.pinnedBytes),
          ]
        }),
      "migrations": .int(migrations),
      "collections": .array(
        space.collections.map {
          [
            "name": .string($0.name), "records": .int($0.records),
            "indexes": .int($0.indexes.count), "bytes": .int($0.bytes),
          ]
        }),
      "associations": .array(
        space.associations.map {
          ["name": .string($0.name), "links": .int($0.links), "bytes": .int($0.bytes)]
        }),
    ]
  }
}

extension OutboxRole {
  fileprivate var name: String {
    switch self {
    case .writer: "mirrored"
    case .follower: "follower"
    case .superseded: "superseded"
    case .shared: "shared"
    }
  }

  fileprivate var text: String {
    switch self {
    case .writer: "a mirrored store,"
    case .follower: "the copy of a follower,"
    case .superseded: "a store whose log another one continues,"
    case .shared: "a copy of a shared store,"
    }
  }
}
