internal import Foundation
internal import Larch
internal import LarchPostgres

/// `larch server`: prepares a server for the logs of stores, and shows what it has.
struct ServerCommand: Command {
  static let name = "server"
  static let onlyShows = false
  static let summary =
    "prepares a PostgreSQL server for the logs of stores, and lists the stores it has"
  static let discussion = """
    init makes the tables that logs are kept in. Run it once for a database, as a user who may create a schema there. A program that connects as such \
    a user itself does not need it. What exists is kept, so it can be run again for another user. \
    list shows the stores by name, and the commits that each can be restored to.

    Leave the password out of URL, where other users of the machine can see it: libpq takes it from \
    PGPASSWORD, PGPASSFILE or ~/.pgpass.
    """
  private static let action = Operand(
    "ACTION", "init: make the tables, and give a user rights on them; list: show the stores",
    completion: .oneOf(["init", "list"]))
  private static let url = Operand(
    "URL", "where the server is: postgres://user@host:5432/database, or keywords as for psql")
  private static let role = Option<String>(
    "--role", "NAME", "let this user of the server read and write the logs")
  private static let readOnly = Flag(
    "--read-only", "let the user only read, which is enough to follow and to restore")
  private static let schema = Option<String>(
    "--schema", "NAME", "the schema of the log; larch if it is left out")
  static let operands = [action, url]
  static let options: [any OptionDeclaration] = [role, readOnly, schema, Flag.json]
  static let examples = [
    Example(
      "larch server init postgres://postgres@db.example/app --role larch",
      "Make the tables, and let the user larch keep logs there"),
    Example(
      "larch server init postgres://postgres@db.example/app --role reports --read-only",
      "Let another user follow the stores"),
    Example("larch server list postgres://db.example/app", "Show which stores are there"),
  ]

  private let lists: Bool
  private let url: String
  private let role: String?
  private let readsOnly: Bool
  private let schema: String?
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    // It is not quoted: it may be the URL, with a password in it.
    let action = arguments[Self.action]
    guard ["init", "list"].contains(action) else {
      throw UsageError("ACTION must be init or list")
    }
    lists = action == "list"
    url = arguments[Self.url]
    role = arguments[Self.role]
    readsOnly = arguments[Self.readOnly]
    schema = arguments[Self.schema]
    isJSON = arguments[.json]
    if readsOnly, role == nil { throw UsageError("--read-only needs --role") }
    if lists, role != nil { throw UsageError("list cannot be used together with --role") }
    if isJSON, !lists { throw UsageError("init cannot be used together with --json") }
  }

  func run(_ console: Console) throws -> ExitCode {
    var options = PostgresOptions()
    if let schema { options.schema = schema }
    if lists { return try list(ServerLog.storesOnPostgres(url, options: options), console) }
    try ServerLog.preparePostgres(url, for: role, readsOnly: readsOnly, options: options)
    try console.print("the tables are in the schema \(options.schema, .strong)")
    if let role {
      try console.print("\(role, .strong) may \(readsOnly ? "read" : "read and write") them")
    }
    return .well
  }

  private func list(_ found: [StoreOnServer]?, _ console: Console) throws -> ExitCode {
    // A restoration by time takes these.
    func time(_ seconds: Double) -> String { LogTime.text(including: seconds) }
    guard let stores = found else {
      try isJSON
        ? console.print(json: .array([]))
        : console.print("there are no tables of Larch in the schema \(schema ?? "larch", .strong)")
      return .well
    }
    if isJSON {
      let found = stores.map { store -> JSON in
        [
          "name": .string(store.name), "use": .string(store.use.name),
          "first": .int(Int(clamping: store.positions.lowerBound)),
          "last": .int(Int(clamping: store.positions.upperBound)),
          "oldest": .string(time(store.times.lowerBound)),
          "newest": .string(time(store.times.upperBound)),
        ]
      }
      try console.print(json: .array(found))
      return .well
    }
    guard !stores.isEmpty else {
      try console.print("the server has no store")
      return .well
    }
    var table = Table([
      .init("store", .wrap), .init("use"), .init("first commit", isNumber: true), .init("at"),
      .init("last commit", isNumber: true), .init("at"),
    ])
    for store in stores {
      table.add([
        "\(store.name, .strong)", "\(store.use.name)",
        "\(store.positions.lowerBound)", "\(time(store.times.lowerBound))",
        "\(store.positions.upperBound)", "\(time(store.times.upperBound))",
      ])
    }
    try console.print(table)
    return .well
  }
}

extension LogUse {
  fileprivate var name: String {
    switch self {
    case .mirrored: "mirrored"
    case .shared: "shared"
    }
  }
}
