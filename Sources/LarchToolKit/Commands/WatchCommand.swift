internal import Foundation
internal import Larch
internal import LarchInspection

/// `larch watch`: the commits of other programs.
struct WatchCommand: Command {
  static let name = "watch"
  static let summary =
    "prints a line for each commit of other programs, with the changed collections"
  static let discussion = """
    Commits that follow each other faster than --every share a line. The number after a collection is
    how many records were added or removed; ~ means that records changed but their number did not.
    Ctrl-C ends the command; if fewer than --count lines were printed, the exit code is 1.
    """
  private static let count = Option<Int>(
    "--count", "N", "end after N lines", allowed: "a whole number above 0"
  ) { $0 > 0 }
  private static let every = Option<Double>(
    "--every", "SECONDS", "how often to look; 0.1 by default",
    allowed: "a number of seconds between 0.001 and 86400"
  ) { $0 >= 0.001 && $0 <= 86_400 }
  static let operands = [Operand.store]
  static let options: [any OptionDeclaration] = [count, every, Flag.json]
  static let examples = [
    Example("larch watch people.larch", "See what a program writes"),
    Example("larch watch people.larch --count 1 && make report", "Wait for the next commit"),
  ]

  private let path: String
  private let limit: Int?
  private let interval: Duration
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    limit = arguments[Self.count]
    interval = .seconds(arguments[Self.every] ?? 0.1)
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.open(path, follows: true)
    defer { store.close() }
    Interruption.beginWatching()
    var last = try Moment(store)
    if console.isTerminal, !isJSON {
      try console.print(Line("transaction \(last.transaction); Ctrl-C ends", .faint))
    }
    var printed = 0
    while !Interruption.isRequested {
      if let limit, printed >= limit { break }
      // Only a write shows whether anybody still reads the output.
      try console.flush()
      Interruption.wait(interval)
      guard !Interruption.isRequested, try Moment.transaction(of: store) != last.transaction else {
        continue
      }
      let now = try Moment(store)
      try tell(last, now, console)
      last = now
      printed += 1
    }
    // A script that waits for a number of commits must not continue without them.
    return printed < limit ?? 0 ? .no : .well
  }

  private func tell(_ before: Moment, _ now: Moment, _ console: Console) throws {
    let changes = now.changes(since: before)
    if isJSON {
      try console.print(
        jsonLine: [
          "time": .string(Date().formatted(.iso8601)), "transaction": .int(now.transaction),
          "commits": .int(max(1, now.transaction - before.transaction)),
          "changes": .array(
            changes.map {
              [
                "collection": .string($0.collection), "records": .int($0.records),
                "difference": .int($0.difference),
              ]
            }),
        ])
    } else {
      var line: Line = "\(Amount.time(Date()), .faint)  transaction \(now.transaction, .strong)"
      let commits = now.transaction - before.transaction
      if commits > 1 { line = line + Line(" (\(commits) commits)") }
      for change in changes {
        let sign = change.difference > 0 ? "+" : ""
        let text = change.difference == 0 ? "~" : "\(sign)\(change.difference)"
        line = line + "  \(change.collection) \(text, change.difference < 0 ? .bad : .good)"
      }
      // For several commits together, it is not known whether each changed records.
      if changes.isEmpty, commits == 1 { line = line + "  no records" }
      try console.print(line)
    }
    try console.flush()
  }
}

/// The state of a store at one moment.
private struct Moment {
  struct Change {
    let collection: String
    let records: Int
    /// The number of added records, negative for removed ones.
    let difference: Int
  }

  let transaction: Int
  private let collections: [StoreInspector.Footprint]

  init(_ store: Store) throws {
    (transaction, collections) = try store.footprints()
  }

  static func transaction(of store: Store) throws -> Int { try store.transactionNumber() }

  func changes(since before: Moment) -> [Change] {
    let now = collections.compactMap { here -> Change? in
      let there = before.collections.first { $0.collection == here.collection }
      guard there != here else { return nil }
      return Change(
        collection: here.collection, records: here.records,
        difference: here.records - (there?.records ?? 0))
    }
    let gone = before.collections.filter { there in
      !collections.contains { $0.collection == there.collection }
    }
    return now
      + gone.map { Change(collection: $0.collection, records: 0, difference: -$0.records) }
  }
}
