internal import Foundation
internal import Larch
internal import LarchInspection
internal import LarchPostgres

/// `larch tables`: keeps the records of a store as tables for SQL.
struct TablesCommand: Command {
  static let name = "tables"
  static let onlyShows = false
  static let summary =
    "writes: keeps the records of a store as tables in PostgreSQL, for tools that speak SQL"
  static let discussion = """
    COPY is a copy of the store on this machine, which follows the log at URL; it is made if there is \
    no file. The file of the store that writes the log will do, too. The tables are in the same \
    database, in a schema of their own: for each collection a view with a column for each field, and \
    a table with the id and the whole record (jsonb). They are kept as the log is written, until Ctrl-C; \
    the next time it goes on where it was. When the fields of a collection change, its view is made \
    again, and views that others have made of it are dropped.
    """
  private static let copy = Operand("COPY", "the file of the copy; made if it is missing")
  private static let into = Option<String>(
    "--into", "SCHEMA", "the schema that the tables are written to; larch_tables if it is left out")
  private static let once = Flag(
    "--once",
    "end when the tables have everything, or when the server cannot be reached for 10 seconds")
  static let operands = [copy, MirrorCommand.url]
  static let options: [any OptionDeclaration] = [
    MirrorCommand.logName, MirrorCommand.schema, into, once, Flag.json,
  ]
  static let examples = [
    Example("larch tables copy.larch postgres://db/larch", "Keep tables until Ctrl-C"),
    Example("larch tables copy.larch postgres://db/larch --once", "Bring them up to date"),
  ]

  private let path: String
  private let url: String
  private let name: String
  private let log: ServerLog
  private let schema: String
  private let options: PostgresOptions
  private let isOnce: Bool
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[Self.copy]
    url = arguments[MirrorCommand.url]
    name = MirrorCommand.name(arguments)
    log = MirrorCommand.log(arguments)
    schema = arguments[Self.into] ?? "larch_tables"
    var options = PostgresOptions()
    if let schema = arguments[MirrorCommand.schema] { options.schema = schema }
    self.options = options
    isOnce = arguments[Self.once]
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let tables = try PostgresRecordTables(url, of: name, schema: schema, options)
    defer { tables.close() }
    // Whoever gave a wrong name sees that the copy was replaced.
    let messages = StoreMessages([.copiedAnew])
    let store = try open(messages)
    defer { store.close() }
    defer { messages.show(on: console) }
    let client = try log.open()
    defer { client.close() }
    Interruption.beginWatching()
    let feed = TablesFeed(store, client, into: tables)
    var patience = Patience()
    var failure = ""
    while !Interruption.isRequested {
      messages.show(on: console)
      do {
        let step = try feed.step()
        (patience, failure) = (Patience(), "")
        guard step == .current else {
          try tell(step, console)
          continue
        }
        if isOnce {
          try tell(step, console)
          return .well
        }
      } catch let error as LarchError
        where error.code == .unavailable && !(isOnce && patience.hasEnded)
      {
        // The server comes back, or the copy is made again; the tables have the place from which to go on.
        if !isOnce, "\(error)" != failure {
          failure = "\(error)"
          try isJSON
            ? console.print(jsonLine: ["step": "waiting", "error": .string(failure)])
            : console.print(Line("waiting: \(failure)"))
          try console.flush()
        }
        Interruption.wait(.seconds(1))
      }
      Interruption.wait(.milliseconds(100))
    }
    return isOnce ? .no : .well
  }

  /// The copy, or the file of the writer.
  private func open(_ messages: StoreMessages) throws -> Store {
    do {
      var options = Store.Options()
      options.log = messages.log
      return try Store(following: log, copy: path, types: [], options: options)
    } catch let error as LarchError where error.code == .unsuitableFile {
      let store = try StoreFile.open(path, follows: true)
      do {
        guard let header = try store.environment.outboxHeader() else { throw error }
        if let other = header.log, !header.isKnown(in: log.name) { throw isElsewhere(other) }
        return store
      } catch {
        store.close()
        throw error
      }
    }
  }

  private func isElsewhere(_ other: String) -> LarchError {
    LarchError(
      .unsuitableFile,
      "The file is mirrored to another log, which the detail names. Check the address and the name (`larch server list`)."
    ) {
      $0.path = path
      $0.detail = other
    }
  }

  private func tell(_ step: TablesFeed.Step, _ console: Console) throws {
    switch step {
    case .filled(let rows): try print("filled", rows, entries: nil, console)
    case .applied(let entries, let rows): try print("applied", rows, entries: entries, console)
    case .overtaken:
      throw LarchError(
        .conflict,
        "Another program keeps the same tables; end it, or name another schema with --into."
      ) { $0.detail = schema }
    case .current: try print("up to date", 0, entries: nil, console)
    }
  }

  private func print(_ what: String, _ rows: Int, entries: Int?, _ console: Console) throws {
    if isJSON {
      try console.print(
        jsonLine: [
          "commits": entries.map { .int($0) } ?? .null, "rows": .int(rows), "step": .string(what),
        ])
    } else {
      let commits = entries.map { " of \(Amount.counted($0, "commit"))" } ?? ""
      let amount = rows == 0 && entries == nil ? "" : ": \(Amount.counted(rows, "row"))\(commits)"
      try console.print(Line("\(what)\(amount)"))
    }
    try console.flush()
  }
}
