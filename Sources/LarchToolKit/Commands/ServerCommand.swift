internal import Larch
internal import LarchPostgres

/// `larch server`: what is done on a server, once, before stores use it.
struct ServerCommand: Command {
  static let name = "server"
  static let summary = "makes the tables on a PostgreSQL server that the logs of stores are kept in"
  static let discussion = """
    Run it once for a database, as a user who may create a schema there. A program that connects as such \
    a user itself does not need it. What exists is kept, so it can be run again for another user.

    Leave the password out of URL, where other users of the machine can see it: libpq takes it from \
    PGPASSWORD, PGPASSFILE or ~/.pgpass.
    """
  private static let action = Operand(
    "ACTION", "init: make the tables, and give a user rights on them", completion: .oneOf(["init"]))
  private static let url = Operand(
    "URL", "where the server is: postgres://user@host:5432/database, or keywords as for psql")
  private static let role = Option<String>(
    "--role", "NAME", "let this user of the server read and write the logs")
  private static let readOnly = Flag(
    "--read-only", "let the user only read, which is enough to follow and to restore")
  private static let schema = Option<String>(
    "--schema", "NAME", "the schema of the log; larch if it is left out")
  static let operands = [action, url]
  static let options: [any OptionDeclaration] = [role, readOnly, schema]
  static let examples = [
    Example(
      "larch server init postgres://postgres@db.example/app --role larch",
      "Make the tables, and let the user larch keep logs there"),
    Example(
      "larch server init postgres://postgres@db.example/app --role reports --read-only",
      "Let another user follow the stores"),
  ]

  private let url: String
  private let role: String?
  private let readsOnly: Bool
  private let schema: String?

  init(_ arguments: Arguments) throws {
    // It is not quoted: it may be the URL, with a password in it.
    guard arguments[Self.action] == "init" else { throw UsageError("ACTION must be init") }
    url = arguments[Self.url]
    role = arguments[Self.role]
    readsOnly = arguments[Self.readOnly]
    schema = arguments[Self.schema]
    if readsOnly, role == nil { throw UsageError("--read-only needs --role") }
  }

  func run(_ console: Console) throws -> ExitCode {
    var options = PostgresOptions()
    if let schema { options.schema = schema }
    try ServerLog.preparePostgres(url, for: role, readsOnly: readsOnly, options: options)
    try console.print("the tables are in the schema \(options.schema, .strong)")
    if let role {
      try console.print("\(role, .strong) may \(readsOnly ? "read" : "read and write") them")
    }
    return .well
  }
}
