internal import Foundation
internal import Larch
internal import LarchInspection
internal import LarchPostgres

/// `larch restore`: makes a store from its log on a server.
struct RestoreCommand: Command {
  static let name = "restore"
  static let onlyShows = false
  static let summary = "makes a store from the log that it was mirrored to"
  static let discussion = """
    The store appears under its name when it is complete and checked. It has no mirror, unless \
    --take-over is given: then it takes the place of the store that shipped to the log, and that one is \
    refused from then on. `larch server list` shows which commits a log can restore.
    """
  private static let target = Operand("DEST", "the file to create", completion: .file)
  private static let position = Option<Int>(
    "--position", "N", "restore the commit with this number", allowed: "a whole number above 0"
  ) { $0 > 0 }
  private static let time = Option<String>(
    "--time", "TIME", "restore the last commit before this time, such as 2026-11-26T08:30:00Z",
    allowed: "a time in the form 2026-11-26T08:30:00Z"
  ) { RestoreCommand.date($0) != nil }
  private static let takeOver = Flag("--take-over", "let the restored store continue the log")
  private static let replace = Flag(
    "--replace", "replace a file that exists; a store without a mirror is lost with all that it has"
  )
  static let operands = [target, MirrorCommand.url]
  static let options: [any OptionDeclaration] = [
    MirrorCommand.logName, MirrorCommand.schema, position, time, takeOver, replace, Flag.json,
  ]
  static let examples = [
    Example("larch restore shop.larch postgres://db/larch", "Restore the newest commit"),
    Example(
      "larch restore shop.larch postgres://db/larch --time 2026-11-26T08:30:00Z",
      "Restore what was there at half past eight"),
    Example(
      "larch restore shop.larch postgres://db/larch --take-over",
      "Go on in place of a machine that is lost"),
  ]

  private static let exact = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

  private let path: String
  private let log: ServerLog
  private let point: Store.RestorePoint
  private let takesOver: Bool
  private let isReplacing: Bool
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[Self.target]
    log = MirrorCommand.log(arguments)
    takesOver = arguments[Self.takeOver]
    isReplacing = arguments[Self.replace]
    isJSON = arguments[.json]
    switch (arguments[Self.position], arguments[Self.time].flatMap(Self.date)) {
    case (let position?, nil): point = .position(UInt64(position))
    case (nil, let time?): point = .time(time)
    case (nil, nil): point = .newest
    case (_?, _?): throw UsageError("--position and --time cannot be used together")
    }
    if takesOver, point != .newest {
      throw UsageError("--take-over cannot be used together with --position or --time")
    }
  }

  private static func date(_ text: String) -> Date? {
    ExactText.date(text).map(Date.init(timeIntervalSinceReferenceDate:))
  }

  func run(_ console: Console) throws -> ExitCode {
    let restored: Store.RestoredCommit
    do {
      let progress = Progress("restoring", on: console)
      defer { progress.end() }
      let show: (Int) throws -> Void = { progress.update(count: $0, "pairs or commits") }
      restored = try TargetFile.explaining(path, isReplacing) {
        takesOver
          ? try Store.takeOver(log, to: path, replacing: isReplacing, progress: show)
          : try Store.restore(
            from: log, to: path, at: point, replacing: isReplacing, progress: show)
      }
    }
    let (position, time) = (Int(clamping: restored.position), restored.time.formatted(Self.exact))
    if isJSON {
      try console.print(
        json: [
          "path": .string(path), "takesOver": .bool(takesOver), "commit": .int(position),
          "time": .string(time),
        ])
    } else {
      let place = takesOver ? "; it continues the log" : ""
      try console.print(
        "\(path, .strong): restored, as it was at commit \(position) of \(time)\(place)")
    }
    return .well
  }
}
