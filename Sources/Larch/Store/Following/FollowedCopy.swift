internal import Foundation

/// Makes copies of the store that a log is of.
enum FollowedCopy {
  /// Makes the copy if there is no file at the path. Nobody sees half of it.
  static func makeIfMissing(
    at path: String, from serverLog: ServerLog, _ options: Store.Options
  ) throws {
    let location = try StoreLocation(path)
    guard try location.occupant() == nil else { return }
    let log = try serverLog.open()
    defer { log.close() }
    let place: LogPlace
    do {
      place = try make(at: location.path, from: log, options, isComplete: false)
    } catch let error as LarchError where error.code == .fileExists {
      // Another process was faster.
      return
    }
    options.log?(
      LogMessage(.notice, .copied, "A copy of the store was made from its log.") {
        $0.path = location.path
        $0.detail = "position \(place.position) of \(log.name)"
      })
  }

  /// Makes a copy where no file is.
  ///
  /// - Parameters:
  ///   - role: what the copy is for.
  ///   - isComplete: whether it may be read before it has the entries after the state.
  ///   - isStopped: asked now and then; the copy is given up if it returns true.
  /// - Returns: the place of the copy.
  static func make(
    at path: String, from log: any SharedLog, _ options: Store.Options,
    role: OutboxRole = .follower, isComplete: Bool = true,
    isStopped: @escaping () -> Bool = { false }
  ) throws -> LogPlace {
    guard let head = try log.head() else { throw log.nothingThere }
    if role == .shared, head.use != .shared { throw CopyMaker.isMirrored(log.name, path) }
    let file = try StateFile(at: path)
    defer { file.discard() }
    let writer = CountingWriter(file, options.copyProgress) {
      if isStopped() { throw LarchError.closed(path) }
    }
    let place = try log.state(into: writer)
    var header = OutboxHeader(role: role, identity: OutboxHeader.newIdentity(), place: place)
    header.needsFirstCopy = !isComplete
    header.log = log.name
    try file.complete(header)
    writer.report()
    return place
  }

  /// Applies to a new copy what the log has after its state, so that whoever goes on with the copy sees no
  /// older state than before.
  ///
  /// - Returns: the places that the copy has reached, of which the last one is its own.
  static func bringUp(
    _ path: String, from place: LogPlace, with log: any SharedLog,
    _ options: LMDBEnvironment.Options
  ) throws -> [LogPlace] {
    var options = options
    (options.canCreate, options.logsCommits, options.durability) = (false, false, .none)
    let environment = try LMDBEnvironment.open(path: path, options: options)
    defer { environment.close() }
    var (place, places) = (place, [place])
    while case .entries(let entries) = try log.tail(after: place, limit: FollowingWork.batchBytes),
      !entries.isEmpty
    {
      place = try environment.apply(entries)
      places += entries.map(\.place)
    }
    return places
  }
}

/// Passes pairs on, and reports how many there were.
private final class CountingWriter: LogStateWriter {
  private static let interval = 5_000

  private let writer: any LogStateWriter
  private let tell: (@Sendable (Store.CopyProgress) -> Void)?
  private let check: () throws -> Void
  private var progress = Store.CopyProgress()

  init(
    _ writer: any LogStateWriter, _ tell: (@Sendable (Store.CopyProgress) -> Void)?,
    check: @escaping () throws -> Void
  ) {
    self.writer = writer
    self.tell = tell
    self.check = check
  }

  func begin(_ tree: LogTree) throws { try writer.begin(tree) }

  func add(_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) throws {
    try writer.add(key, value)
    progress.keys += 1
    progress.bytes += key.count + value.count
    guard progress.keys % Self.interval == 0 else { return }
    try check()
    report()
  }

  func report() { tell?(progress) }
}

// MARK: - In place of another copy

extension FollowingWork {
  enum Reason {
    /// The log begins after the copy's place.
    case cut
    /// The log has another entry at the place.
    case diverged
  }

  /// Puts a new copy in the place of the one that is open. Whoever has it open goes on with the new one.
  ///
  /// A kill at any point leaves one of the two at the path, and perhaps a file beside it, which the next
  /// attempt removes.
  ///
  /// - Parameter mayStop: whether it is given up when the thread is to end.
  func copyAnew(
    _ reason: Reason, from log: any SharedLog, insteadOf old: LogPlace, mayStop: Bool = true
  ) throws {
    if reason == .diverged, pasts.areMany { throw contradiction(log) }
    change { $0.activity = .copying }
    let location = try StoreLocation(environment.path)
    let next = environment.path + "-next"
    // A leftover: who makes one has the claim on the copy, and only one has that.
    _ = try Store.destroy(at: next)
    let made = try FollowedCopy.make(at: next, from: log, options, role: role) { [self] in
      mayStop && isStopping
    }
    var aside: String?
    let places: [LogPlace]
    do {
      defer { _ = try? Store.destroy(at: next) }
      places = try FollowedCopy.bringUp(next, from: made, with: log, environment.options)
      if reason == .diverged { aside = try keepAside(location) }
      do {
        let source = try PageFile(path: next)
        try environment.withUpkeep {
          try environment.writeQueue.lending { try replace(with: source, insteadOf: old) }
          // Claims that the log has lost count no more.
          environment.ids.forgetBlocks()
        }
      } catch {
        // If the old copy is in its place, the next attempt keeps it again.
        if let aside, (try? environment.followedPlace(role)) == old {
          _ = try? Store.destroy(at: aside)
        }
        throw error
      }
    }
    if reason == .diverged { pasts.noteAnother() }
    let place = places.last ?? made
    tell(message(reason, old, place, aside))
    change { status in
      status.position = place.position
      if let aside { status.keptAside = aside }
    }
    arrivals.note(places, isAnew: true)
    generation = environment.generation
  }

  private func replace(with source: PageFile, insteadOf old: LogPlace) throws {
    try environment.replaceFile(replacesFollower: true) {
      guard try environment.outboxTree(in: $0)?.header(in: $0)?.place == old else {
        throw LarchError(.busy, "Another process has changed the copy meanwhile.") {
          $0.path = environment.path
        }
      }
      try CatalogLoader(environment, StoreSchema()).raiseGeneration(in: $0)
    } fill: { path, descriptor, number in
      var copy = SpaceCopy(into: descriptor, path: environment.path, nil)
      try copy.copy(source)
      try copy.renumber(PageFile(path: path), above: number)
      try copy.flush()
    }
  }

  /// Keeps the copy under another name: it may have commits that nobody else has.
  private func keepAside(_ location: StoreLocation) throws -> String {
    let path = try location.asidePath(at: options.clock())
    try NewFile.make(at: try StoreLocation(path), replacing: false) { file in
      var copy = SpaceCopy(into: file.descriptor, path: path, nil)
      try copy.copy(environment)
      try copy.flush()
    }
    return path
  }

  private func contradiction(_ log: any SharedLog) -> LarchError {
    LarchError(
      .damagedLog,
      "The log contradicts itself: no new copy fits what it says next. Check the server, then open the store again."
    ) {
      $0.path = self.environment.path
      $0.detail = log.name
    }
  }

  private func message(
    _ reason: Reason, _ old: LogPlace, _ new: LogPlace, _ aside: String?
  ) -> LogMessage {
    let detail = "position \(old.position) to \(new.position)"
    switch reason {
    case .cut:
      return LogMessage(
        .notice, .copiedAnew,
        "The copy was too old for what the log keeps, and was made again in its place."
      ) {
        $0.path = environment.path
        $0.detail = detail
      }
    case .diverged:
      return LogMessage(
        .warning, .copiedAnew,
        "The copy had another past than the log, and was made again; the old one is kept beside it."
      ) {
        $0.path = environment.path
        $0.detail = detail + (aside.map { ", kept as \($0)" } ?? "")
      }
    }
  }
}

/// How often a copy had another past than its log, without going on in between.
///
/// Each time, the old copy is kept beside a new one. A server whose answers never fit would fill the disk.
struct OtherPasts {
  private static let limit = 3

  private var count = 0
  private var hasContinued = false

  /// The log continues at the place of the copy. Once is too little: what it says may be what does not fit.
  mutating func noteContinued() {
    if hasContinued { count = 0 }
    hasContinued = true
  }

  /// A copy with another past was replaced. An attempt that fails does not count.
  mutating func noteAnother() {
    hasContinued = false
    count += 1
  }

  /// Whether that has happened too often.
  var areMany: Bool { count >= Self.limit }
}
