internal import Larch

/// The program: finds the command, runs it, and returns the exit code.
package enum Tool {
  /// All commands, in the order of the help.
  package static let commands: [any Command.Type] = [
    InfoCommand.self,
    SchemaCommand.self,
    DumpCommand.self,
    GetCommand.self,
    QueryCommand.self,
    CountCommand.self,
    StatsCommand.self,
    VerifyCommand.self,
    RebuildCommand.self,
    SalvageCommand.self,
    BackupCommand.self,
    CompactCommand.self,
    ExportCommand.self,
    ImportCommand.self,
    ReportCommand.self,
    WatchCommand.self,
    ServerCommand.self,
    MirrorCommand.self,
    RestoreCommand.self,
    TablesCommand.self,
    CompletionCommand.self,
    ManualCommand.self,
  ]

  package static let summary = "looks into any Larch store without its Swift types"

  static func command(_ name: String) -> (any Command.Type)? {
    commands.first { $0.name == name }
  }

  /// Runs the program with the arguments after its name.
  package static func run(_ arguments: [String], on console: Console) -> ExitCode {
    defer { StoreCopies.removeAll() }
    do {
      let code = try dispatch(arguments, console)
      do { try console.flush() } catch is PipeClosed {}
      return code
    } catch is PipeClosed {
      // `larch dump | head`: the reader has enough. What any other command does was not done.
      guard arguments.first.flatMap(command)?.onlyShows == false else { return .well }
      console.fail("stopped, since nobody reads the output any more")
      return .failed
    } catch {
      console.fail(message(error, arguments))
      return .failed
    }
  }

  private static func dispatch(_ arguments: [String], _ console: Console) throws -> ExitCode {
    guard let first = arguments.first else {
      throw UsageError("a command is missing; `larch --help` lists them")
    }
    let rest = Array(arguments.dropFirst())
    switch first {
    case "--help", "-h": return try help(nil, console)
    case "help": return try help(rest, console)
    case "--version":
      try console.print(Line(version))
      return .well
    default: break
    }
    guard let command = command(first) else {
      throw first.hasPrefix("-")
        ? UsageError("there is no option \(Quoted(first)) before a command")
        : UsageError.unknownCommand(first)
    }
    let parsed = try Arguments(rest, of: command)
    if parsed.asksForHelp { return try help([command.name], console) }
    return try command.init(parsed).run(console)
  }

  private static func help(_ names: [String]?, _ console: Console) throws -> ExitCode {
    guard let names, let name = names.first, !["--help", "-h", "help"].contains(name) else {
      try Help.ofTool.print(on: console)
      return .well
    }
    guard names.count == 1 || names[1] == "--help" else {
      throw UsageError("`larch help` is for one command")
    }
    guard let command = command(name) else { throw UsageError.unknownCommand(name) }
    try Help.of(command).print(on: console)
    return .well
  }

  /// The error and the advice, on one line.
  private static func message(_ error: any Error, _ arguments: [String]) -> String {
    switch error {
    case is UsageError:
      let hint = arguments.first.flatMap(command).map { "larch help \($0.name)" } ?? "larch --help"
      let text = "\(error)"
      let hasHint = text.contains("`larch --help`") || text.contains("`larch help`")
      return hasHint ? text : "\(text); see `\(hint)`"
    default: return "\(error)"
    }
  }

  /// The version of the library, and the format of the files that it writes.
  package static var version: String {
    "larch \(LarchVersion.library), file format \(LarchVersion.format), LMDB \(LarchVersion.lmdb)"
  }
}
