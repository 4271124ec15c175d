internal import Foundation
internal import Larch
internal import LarchPostgres

/// `larch mirror`: ships the commits of a store to a log in PostgreSQL.
struct MirrorCommand: Command {
  static let name = "mirror"
  static let onlyShows = false
  static let summary = "writes: ships the commits of a store to PostgreSQL, as they happen"
  static let discussion = """
    The first time, the whole store is sent. From then on the file keeps what PostgreSQL does not have
    yet, whoever writes to it. Other programs may have the store open. Ctrl-C ends the command; what
    waits then is shipped the next time. The file keeps the name of the log: `larch info` shows it, and \
    another log is refused, unless --replace moves the mirror there. --end ends the mirror, and deletes \
    what waits.

    Leave the password out of URL, where other users of the machine can see it: libpq takes it from \
    PGPASSWORD, PGPASSFILE or ~/.pgpass.
    """
  static let url = Operand(
    "URL", "where the server is: postgres://user@host:5432/database, or keywords as for psql")
  static let logName = Option<String>(
    "--name", "NAME", "the name of the store on the server; main if it is left out",
    allowed: "a name"
  ) { !$0.isEmpty }
  static let schema = Option<String>(
    "--schema", "NAME", "the schema of the log; larch if it is left out")
  private static let once = Flag(
    "--once", "end when everything is shipped, or when the server cannot be reached for 10 seconds")
  private static let replace = Flag(
    "--replace",
    "put this store in place of whatever PostgreSQL has under this name: after a restoration, or to move the mirror there"
  )
  private static let end = Flag("--end", "end the mirror of the store")
  static let operands = [Operand.store, url]
  static let options: [any OptionDeclaration] = [
    logName, schema, once, replace, end, Flag.json,
  ]
  static let examples = [
    Example("larch mirror shop.larch postgres://db/larch", "Ship commits until Ctrl-C"),
    Example("larch mirror shop.larch postgres://db/larch --once", "Ship what waits, then end"),
    Example("larch mirror shop.larch postgres://db/larch --end", "Stop mirroring"),
  ]

  private let path: String
  private let log: ServerLog
  private let isOnce: Bool
  private let isReplacing: Bool
  private let isEnding: Bool
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    log = Self.log(arguments)
    isOnce = arguments[Self.once]
    isReplacing = arguments[Self.replace]
    isEnding = arguments[Self.end]
    isJSON = arguments[.json]
    if isEnding, isOnce || isReplacing {
      throw UsageError("--end cannot be used together with --once or --replace")
    }
  }

  /// The log that a command names.
  static func log(_ arguments: Arguments) -> ServerLog {
    var options = PostgresOptions()
    if let schema = arguments[schema] { options.schema = schema }
    return .postgres(arguments[url], store: name(arguments), options: options)
  }

  /// The name of the store there.
  static func name(_ arguments: Arguments) -> String { arguments[logName] ?? "main" }

  func run(_ console: Console) throws -> ExitCode {
    // Whoever ships should see that commits cannot be restored any more.
    let messages = StoreMessages([.serverLostCommits])
    let store = try StoreFile.openToWrite(path, log: messages.log)
    defer { store.close() }
    if isEnding {
      return try end(of: store, console)
    }
    Interruption.beginWatching()
    let isNew = try store.environment.outboxHeader() == nil
    // A first mirror whose server cannot be reached would record commits that nobody ships.
    if isNew { try askServer() }
    try store.startMirror(log)
    if isReplacing { try store.mirror?.startOver() }
    do {
      return try follow(store, messages, console)
    } catch {
      if isNew, try store.mirror?.status.shipped == nil { try store.endMirror() }
      throw error
    }
  }

  private func end(of store: Store, _ console: Console) throws -> ExitCode {
    let header: OutboxHeader?
    do {
      header = try store.environment.outboxHeader()
    } catch let error as LarchError where error.code == .corrupted {
      // Ending the mirror is the cure for that.
      header = nil
    }
    if let header, let other = header.log, !header.isKnown(in: log.name), !isNamed(other) {
      throw LarchError(
        .conflictingOptions,
        "The mirror of the store is in another log, so it was not ended; give the address and the name of that one."
      ) {
        $0.path = path
        $0.detail = other
      }
    }
    try store.endMirror()
    // Nil where the server does not have the whole store, or nobody knows what it has.
    let dropped = header.flatMap { header in
      header.needsFirstCopy ? nil : header.place.position - header.shipped.position
    }
    if isJSON {
      try console.print(
        json: [
          "ended": .bool(true), "notShipped": dropped.map { .int(Int(clamping: $0)) } ?? .null,
        ])
      return .well
    }
    let loss =
      dropped.map {
        $0 == 0 ? "" : "; \(Amount.counted(Int(clamping: $0), "commit")) had not been shipped"
      } ?? "; the server may not have the whole store"
    try console.print("\(path, .strong): the mirror was ended\(loss)")
    return .well
  }

  /// Whether a kept name is that of the log; how the server is reached does not matter. Without libpq, the name of
  /// the log has no address.
  private func isNamed(_ kept: String) -> Bool {
    let names = [kept, log.name].map { $0.replacing(#/ \(sslmode [^)]*\)/#, with: "") }
    return names[0] == names[1]
      || names[1].hasPrefix("PostgreSQL,")
        && names[0].hasSuffix(names[1].dropFirst("PostgreSQL".count))
  }

  private func askServer() throws {
    let client = try log.open()
    defer { client.close() }
    _ = try client.head()
  }

  /// Shows what the mirror does until it is to end.
  private func follow(
    _ store: Store, _ messages: StoreMessages, _ console: Console
  ) throws -> ExitCode {
    var shown: String?
    var patience = Patience()
    while !Interruption.isRequested {
      guard let mirror = store.mirror else { return .failed }
      let status = try mirror.status
      messages.show(on: console)
      switch status.activity {
      case .stopped(let error): throw error
      case .waiting(let error): if isOnce, patience.hasEnded { throw error }
      case .copying, .shipping: patience = Patience()
      case .connecting: break
      }
      // The next command must find in the file that everything is shipped.
      let isDone = try isOnce && status.isComplete && mirror.hasNoted(status.committed)
      // Whoever waits for the end sees why it does not come.
      if isDone || !isOnce || status.isWaiting {
        let text = isJSON ? status.json.text(isIndented: false) : "\(status)"
        if text != shown {
          try isJSON ? console.print(jsonLine: status.json) : console.print(Line(text))
          try console.flush()
        }
        shown = text
      }
      if isDone { return .well }
      Interruption.wait(.milliseconds(isOnce ? 20 : 500))
    }
    return isOnce ? .no : .well
  }
}

/// How long a command that is to end by itself waits for a server which cannot be reached.
struct Patience {
  static let limit = Duration.seconds(10)
  private let end = ContinuousClock.now + Self.limit

  var hasEnded: Bool { ContinuousClock.now >= end }
}

extension MirrorStatus {
  fileprivate var isWaiting: Bool {
    if case .waiting = activity { return true }
    return false
  }

  /// Whether the server has everything.
  fileprivate var isComplete: Bool {
    guard case .shipping = activity, shipped != nil else { return false }
    return waiting == 0
  }

  fileprivate var json: JSON {
    let (name, error): (String, LarchError?) =
      switch activity {
      case .connecting: ("connecting", nil)
      case .shipping: (isComplete ? "settled" : "shipping", nil)
      case .copying: ("copying", nil)
      case .waiting(let error): ("waiting", error)
      case .stopped(let error): ("stopped", error)
      }
    return .object([
      "activity": .string(name), "error": error.map { .string("\($0)") } ?? .null,
      "committed": .int(Int(clamping: committed)),
      "shipped": shipped.map { .int(Int(clamping: $0)) } ?? .null,
      "waitingBytes": .int(waitingBytes),
    ])
  }
}
