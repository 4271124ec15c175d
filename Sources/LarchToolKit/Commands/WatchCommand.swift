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
    With --records, a line for each changed record follows: + added, - removed, ~ changed, with the
    fields that differ. Until the next look, the file keeps the space of what is deleted meanwhile, so
    do not leave the command suspended. Ctrl-C ends the command; if fewer than --count lines were printed, the exit code is 1.
    """
  private static let count = Option<Int>(
    "--count", "N", "end after N lines", allowed: "a whole number above 0"
  ) { $0 > 0 }
  private static let every = Option<Double>(
    "--every", "SECONDS", "how often to look; 0.1 by default",
    allowed: "a number of seconds between 0.001 and 86400"
  ) { $0 >= 0.001 && $0 <= 86_400 }
  static let operands = [Operand.store]
  private static let records = Flag("--records", "also print each changed record")
  static let options: [any OptionDeclaration] = [count, every, records, Flag.json]
  static let examples = [
    Example("larch watch people.larch", "See what a program writes"),
    Example("larch watch people.larch --records", "See which records it changes"),
    Example("larch watch people.larch --count 1 && make report", "Wait for the next commit"),
  ]

  private let path: String
  private let limit: Int?
  private let interval: Duration
  private let showsRecords: Bool
  private let isJSON: Bool

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    limit = arguments[Self.count]
    interval = .seconds(arguments[Self.every] ?? 0.1)
    showsRecords = arguments[Self.records]
    isJSON = arguments[.json]
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.open(path, follows: true)
    defer { store.close() }
    Interruption.beginWatching()
    var last = try Moment.newest(of: store)
    if console.isTerminal, !isJSON {
      try console.print(Line("transaction \(last.transaction); Ctrl-C ends", .faint))
    }
    var printed = 0
    while !Interruption.isRequested {
      if let limit, printed >= limit { break }
      // Only a write shows whether anybody still reads the output.
      try console.flush()
      Interruption.wait(interval)
      if Interruption.isRequested { break }
      // A store ends a snapshot that is too old.
      guard try Moment.transaction(of: store) != last.transaction || last.isOld else { continue }
      let now = try Moment.newest(of: store)
      if now.transaction != last.transaction {
        try tell(last, now, console)
        printed += 1
      }
      last.end()
      last = now
    }
    // A script that waits for a number of commits must not continue without them.
    return printed < limit ?? 0 ? .no : .well
  }

  private func tell(_ before: Moment, _ now: Moment, _ console: Console) throws {
    let changes = try now.changes(since: before, withRecords: showsRecords)
    if isJSON {
      try console.print(
        jsonLine: [
          "time": .string(Date().formatted(.iso8601)), "transaction": .int(now.transaction),
          "commits": .int(max(1, now.transaction - before.transaction)),
          "changes": .array(changes.map { $0.json(withRecords: showsRecords) }),
        ])
    } else {
      var line: Line = "\(Amount.time(Date()), .faint)  transaction \(now.transaction, .strong)"
      let commits = now.transaction - before.transaction
      if commits > 1 { line = line + Line(" (\(commits) commits)") }
      for change in changes { line = line + change.line }
      // For several commits together, it is not known whether each changed records.
      if changes.isEmpty, commits == 1 { line = line + "  no records" }
      try console.print(line)
      if showsRecords {
        for change in changes { for line in change.recordLines { try console.print(line) } }
      }
    }
    try console.flush()
  }
}

/// What has changed in a collection.
private struct CollectionChange {
  let collection: String
  let records: Int
  /// The number of added records, negative for removed ones.
  let difference: Int
  /// Nil if they are not known.
  let changed: [StoreInspector.ChangedRecord]?

  var line: Line {
    let sign = difference > 0 ? "+" : ""
    let text = difference == 0 ? "~" : "\(sign)\(difference)"
    return "  \(collection) \(text, difference < 0 ? .bad : .good)"
  }

  var recordLines: [Line] {
    guard let changed else { return ["  \(collection): too many records, or not known which"] }
    return changed.map { record in
      switch (record.before, record.after) {
      case (nil, let after): "  \("+", .good) \(collection) \(record.id)  \(after ?? "", .faint)"
      case (let before?, nil): "  \("-", .bad) \(collection) \(record.id)  \(before, .faint)"
      case (_?, _?): "  ~ \(collection) \(record.id)  \(record.fieldsText)"
      }
    }
  }

  func json(withRecords: Bool) -> JSON {
    var members: [String: JSON] = [
      "collection": .string(collection), "records": .int(records), "difference": .int(difference),
    ]
    if withRecords {
      members["changed"] =
        changed.map { changed in
          .array(
            changed.map { record in
              [
                "id": .string(record.id), "before": record.before.map { .text($0) } ?? .null,
                "after": record.after.map { .text($0) } ?? .null,
              ]
            })
        } ?? .null
    }
    return .object(members)
  }
}

extension StoreInspector.ChangedRecord {
  fileprivate var fieldsText: String {
    // Two stored forms may have the same fields.
    if fields.isEmpty { return "the same values" }
    return fields.map { "\($0.name): \($0.before ?? "none") -> \($0.after ?? "none")" }
      .joined(separator: ", ")
  }
}

/// The state of a store at one moment.
private struct Moment {
  /// How old a held state may be, in seconds.
  private static let age = Duration.seconds(60)

  let transaction: Int
  private let collections: [StoreInspector.Footprint]
  private let store: Store
  /// Keeps the pages of this state. Without it, a later state may have the same root page for other
  /// records.
  private let snapshot: Snapshot

  var isOld: Bool { snapshot.age > Self.age }

  private init(_ store: Store) throws {
    self.store = store
    // A read knows only the trees that this process has opened before it.
    try store.inspect { _ in }
    let snapshot = try store.snapshot()
    self.snapshot = snapshot
    (transaction, collections) = try store.inspect(in: snapshot) { inspector in
      (Int(clamping: inspector.transaction.id), try inspector.footprints())
    }
  }

  /// The newest state.
  static func newest(of store: Store) throws -> Moment {
    do {
      return try Moment(store)
    } catch let error as LarchError where error.code == .storage {
      // Another program has made a collection just before the snapshot.
      return try Moment(store)
    }
  }

  static func transaction(of store: Store) throws -> Int { try store.transactionNumber() }

  func end() { snapshot.end() }

  func changes(since before: Moment, withRecords: Bool) throws -> [CollectionChange] {
    // Asked after this state was read: until then, no page of the earlier one was used again.
    let isCertain = before.snapshot.isOpen
    let different = collections.filter { !isCertain || !before.collections.contains($0) }
    let records = withRecords && isCertain ? try changedRecords(of: different, since: before) : [:]
    let now = different.map { here in
      let there = before.collections.first { $0.collection == here.collection }
      return CollectionChange(
        collection: here.collection, records: here.records,
        difference: here.records - (there?.records ?? 0), changed: records[here.collection])
    }
    let gone = before.collections.filter { there in
      !collections.contains { $0.collection == there.collection }
    }
    return now
      + gone.map {
        CollectionChange(
          collection: $0.collection, records: 0, difference: -$0.records, changed: nil)
      }
  }

  /// By collection; nothing for one whose changed records are not known.
  private func changedRecords(
    of collections: [StoreInspector.Footprint], since before: Moment
  ) throws -> [String: [StoreInspector.ChangedRecord]] {
    try store.inspect(in: snapshot) { inspector in
      var found: [String: [StoreInspector.ChangedRecord]] = [:]
      for here in collections {
        found[here.collection] = try inspector.changes(of: here.collection, since: before.snapshot)
      }
      return found
    }
  }
}
