internal import Foundation

/// One restoration from a log.
///
/// The store is made under another name, in a folder beside its place, and then restored like a backup.
struct LogRestoration {
  private let log: any SharedLog
  private let location: StoreLocation
  private let point: Store.RestorePoint
  private let progress: ((Int) throws -> Void)?

  private init(
    _ log: any SharedLog, to path: String, at point: Store.RestorePoint,
    _ progress: ((Int) throws -> Void)?
  ) throws {
    self.log = log
    location = try StoreLocation(path)
    self.point = point
    self.progress = progress
  }

  static func run(
    _ log: ServerLog, _ path: String, _ point: Store.RestorePoint, continuing: Bool = false,
    replacing: Bool, _ progress: ((Int) throws -> Void)?
  ) throws -> Store.RestoredCommit {
    let shared = try log.open()
    defer { shared.close() }
    return try LogRestoration(shared, to: path, at: point, progress)
      .run(continuing: continuing, replacing: replacing)
  }

  static func points(in log: ServerLog) throws -> Store.RestorablePoints {
    let shared = try log.open()
    defer { shared.close() }
    let head = try Self.head(of: shared)
    return Store.RestorablePoints(
      positions: head.folded.position...max(head.newest.position, head.folded.position),
      oldest: Date(timeIntervalSince1970: head.foldedTime),
      newest: Date(timeIntervalSince1970: head.time))
  }

  private static func head(of log: any SharedLog) throws -> LogHead {
    guard let head = try log.head() else { throw log.nothingThere }
    return head
  }

  private func run(continuing: Bool, replacing: Bool) throws -> Store.RestoredCommit {
    if try location.occupant() != nil {
      guard replacing else { throw location.exists }
      // Before anything is fetched; what comes after that is checked with the store locked.
      try Restoration.checkReplaceable(location)
    }
    let head = try Self.head(of: log)
    if continuing, head.use == .shared { throw cannotTakeOver }
    try checkPoint(head)
    let folder = location.path + "-restore"
    // Left by a process that was killed.
    try? FileManager.default.removeItem(atPath: folder)
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let copy = folder + "/store.larch"
    let restored: Store.RestoredCommit
    do {
      restored = try make(copy, continuing: continuing)
    } catch var error as LarchError {
      // The name in the folder means nothing to the caller.
      if error.context.path == copy { error.context.path = location.path }
      throw error
    }
    try Restoration(
      copy, to: location.path, replacing: replacing, takesOver: continuing, nil
    ).run()
    return restored
  }

  /// Refuses what the log cannot have before anything is fetched.
  private func checkPoint(_ head: LogHead) throws {
    switch point {
    case .newest: return
    case .position(let position):
      let known = head.folded.position...max(head.newest.position, head.folded.position)
      if known.contains(position) { return }
    case .time(let time): if time.timeIntervalSince1970 >= head.foldedTime { return }
    }
    throw outside(head)
  }

  private func outside(_ head: LogHead) -> LarchError {
    LarchError(
      .notInLog,
      "The log does not have the commit. It has those that the detail names (`Store.restorablePoints(in:)`, `larch server list`); a longer `history` keeps more."
    ) {
      $0.path = location.path
      let (oldest, newest) = (head.foldedTime, head.time)
      $0.detail =
        "commit \(head.folded.position) of \(LogTime.text(including: oldest)) to commit \(head.newest.position) of \(LogTime.text(including: newest))"
    }
  }

  private func make(_ path: String, continuing: Bool) throws -> Store.RestoredCommit {
    let file = try StateFile(at: path)
    var place = try log.state(into: CountedPairs(into: file, progress))
    let head = try Self.head(of: log)
    guard head.folded == place else { throw cutMeanwhile }
    try checkPoint(head)
    var header = OutboxHeader(
      role: .follower, identity: OutboxHeader.newIdentity(), place: place)
    header.needsFirstCopy = false
    header.log = log.name
    try file.complete(header)
    let environment = try LMDBEnvironment.open(
      path: path, options: Store.Options().with(durability: .none).forEnvironment(StoreSchema()))
    defer { environment.close() }
    var commits = 0
    var time = head.foldedTime
    while true {
      let entries = try next(after: place)
      guard !entries.isEmpty else {
        if try !continuing || takePlace(after: place, environment) { break }
        continue
      }
      place = try environment.apply(entries)
      commits += entries.count
      time = entries.last?.time ?? time
      try progress?(commits)
    }
    if case .position(let wanted) = point, place.position != wanted {
      throw outside(try Self.head(of: log))
    }
    if !continuing { try environment.endOutbox() }
    try environment.sync()
    return Store.RestoredCommit(
      position: place.position, time: Date(timeIntervalSince1970: time))
  }

  /// Takes the next place in the log, with an entry that changes nothing: the store that shipped to it until now does
  /// not get the place any more.
  ///
  /// - Returns: false if it was faster, and has appended once more.
  private func takePlace(after place: LogPlace, _ environment: LMDBEnvironment) throws -> Bool {
    let entry = LogEntry(
      after: place, random: .random(in: .min ... .max), changes: ChangeRecord.nothing)
    let end = MonotonicTime.after(seconds: 10)
    var mayBeThere = false
    while true {
      do {
        guard try log.append([entry], mayBeThere: mayBeThere) else { return false }
        try environment.becomeWriter(with: entry)
        return true
      } catch let error as LarchError
        where error.code == .unavailable && MonotonicTime.now.nanoseconds < end.nanoseconds
      {
        // Nobody knows whether the append happened: the same one again tells.
        mayBeThere = true
        Thread.sleep(forTimeInterval: 0.05)
      }
    }
  }

  /// The next entries up to the point; none at the end.
  private func next(after place: LogPlace) throws -> [LogEntry] {
    switch try log.tail(after: place, limit: 4 << 20) {
    case .entries(let entries):
      switch point {
      case .newest: return entries
      case .position(let wanted): return entries.filter { $0.place.position <= wanted }
      case .time(let time):
        return Array(entries.prefix { ($0.time ?? 0) <= time.timeIntervalSince1970 })
      }
    case .cut, .diverged: throw cutMeanwhile
    }
  }

  private var cannotTakeOver: LarchError {
    LarchError(
      .conflictingOptions,
      "The log is that of a shared store, to which all its copies write, so no store takes its place. Open a copy with `Store(sharing:copy:for:)`, or restore a store of its own."
    ) {
      $0.path = location.path
      $0.detail = log.name
    }
  }

  private var cutMeanwhile: LarchError {
    LarchError(.unavailable, "The log was cut while it was read; restore again.") {
      $0.path = location.path
    }
  }
}

/// The times of entries of a log, as texts.
package enum LogTime {
  /// A time of an entry, rounded up to a millisecond after it, so that a restoration to what this says has the entry.
  package static func text(including seconds: Double) -> String {
    let milliseconds = (seconds * 1000).rounded(.down) + 2
    return Date(timeIntervalSince1970: (milliseconds + 0.1) / 1000)
      .formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }
}

extension Store.Options {
  fileprivate func with(durability: Durability) -> Self {
    var options = self
    options.durability = durability
    return options
  }
}
