internal import Foundation
internal import Synchronization

/// Puts the commits of a copy of a shared store into the order that all copies have.
///
/// The log decides: a commit is an append at the place after the newest entry that the copy has. If another
/// copy has taken the place, the write is undone, what came between is applied, and the closure runs again.
///
/// Used by the thread that has the write lock; but `log` has no state here.
package final class CommitOrder: @unchecked Sendable {
  /// The client for commits; others wait on their own.
  package let log: any SharedLog
  /// How many seconds a commit waits for the server.
  let patience: Double
  /// Reserves a block of ids in a transaction: it knows the catalog, which this layer does not.
  let claimIDs: (LMDBTransaction, UInt32, Int64) throws -> Range<Int64>
  /// The first id that nobody has claimed, in a transaction.
  let firstUnclaimedID: (LMDBTransaction, UInt32) throws -> Int64
  /// Told of each place that the copy reaches.
  let reached: @Sendable ([LogPlace]) -> Void

  /// For how long a copy takes turns after it has seen entries of others in its way: one second, since
  /// copies that go back at once lose their places to each other again.
  static let turnTime: Int64 = 1_000_000_000
  /// How many bytes of changes are read and applied at once, about.
  static let batchBytes = 1 << 20

  /// Until when the copy takes turns.
  private var turnsEnd: Int64?
  private var hasTurn = false
  /// Whether an entry is on its way, which the copy will have in a moment.
  private let committing = Atomic<Bool>(false)
  /// How often another copy had the place.
  package private(set) var lostPlaces = 0
  /// How often the own commit of an entry failed after its append.
  package private(set) var takenIn = 0

  func noteTakenIn() { takenIn += 1 }

  package init(
    log: any SharedLog, patience: Double,
    claimIDs: @escaping (LMDBTransaction, UInt32, Int64) throws -> Range<Int64>,
    firstUnclaimedID: @escaping (LMDBTransaction, UInt32) throws -> Int64,
    reached: @escaping @Sendable ([LogPlace]) -> Void
  ) {
    self.log = log
    self.patience = patience
    self.claimIDs = claimIDs
    self.firstUnclaimedID = firstUnclaimedID
    self.reached = reached
  }

  // MARK: Appending

  /// Appends the entry of a commit. While the server does not answer, the same is sent again.
  ///
  /// - Returns: false if another copy has the place: then nothing has happened.
  /// - Throws: `.unavailable` if nothing has happened; `.commitUnknown` if that is not known.
  func append(_ entry: LogEntry) throws -> Bool {
    committing.store(true, ordering: .relaxed)
    var isDone = false
    defer {
      if !isDone { committing.store(false, ordering: .relaxed) }
      // The append ends the turn.
      hasTurn = false
    }
    var mayHaveHappened = false
    var attempts = Attempts(patience)
    defer { log.expectAnswers(within: nil) }
    while true {
      do {
        log.expectAnswers(within: attempts.left)
        isDone = try log.append([entry], mayBeThere: mayHaveHappened)
        // If an earlier attempt succeeded, others may have appended after it since.
        if !isDone, mayHaveHappened { isDone = try isThere(entry) }
        if !isDone { noteLoss() }
        return isDone
      } catch {
        if !error.hadNoEffect { mayHaveHappened = true }
        guard Self.isPassing(error), attempts.pause() else {
          throw mayHaveHappened ? unknown(entry, error) : unavailable(error)
        }
      }
    }
  }

  /// The copy has the entry of its commit.
  func didCommit(_ entry: LogEntry) {
    endCommit()
    reached([entry.place])
  }

  /// The commit has ended, even if the copy does not have its entry.
  func endCommit() { committing.store(false, ordering: .relaxed) }

  package var isCommitting: Bool { committing.load(ordering: .relaxed) }

  private func isThere(_ entry: LogEntry) throws -> Bool {
    let before = LogPlace(position: entry.place.position - 1, token: entry.before)
    // Where it was folded already, its outcome is not known here; the error says so.
    guard case .entries(let found) = try log.tail(after: before, limit: 1) else {
      throw LarchError(.damagedLog, "The log has cut or replaced what was just appended.")
    }
    guard found.first?.place == entry.place else { return false }
    try log.confirm()
    return true
  }

  static func isPassing(_ error: any Error) -> Bool {
    (error as? LarchError)?.code == .unavailable
  }

  private func unknown(_ entry: LogEntry, _ cause: any Error) -> LarchError {
    LarchError(
      .commitUnknown,
      "The server did not say whether the write has happened; ask `outcome(of:)` later, and do not repeat the write before.",
      underlying: UnknownCommit(
        place: entry.place,
        before: LogPlace(position: entry.place.position - 1, token: entry.before), cause: cause)
    ) { $0.detail = self.name(beside: cause) }
  }

  private func unavailable(_ cause: any Error) -> any Error {
    guard Self.isPassing(cause) else { return cause }
    return LarchError(
      .unavailable, "The server cannot be reached, and nothing was written; retry later.",
      underlying: cause
    ) { $0.detail = self.name(beside: cause) }
  }

  /// The log, unless the cause names it.
  private func name(beside cause: any Error) -> String? {
    (cause as? LarchError)?.context.path == log.name ? nil : log.name
  }

  // MARK: What others have committed

  /// What the log has after a place. While the server does not answer, it is asked again.
  ///
  /// - Parameter takesTurn: whether to wait until no other copy has a turn.
  func missing(after place: LogPlace, takesTurn: Bool = false) throws -> LogTail {
    var attempts = Attempts(patience)
    defer { log.expectAnswers(within: nil) }
    while true {
      do {
        log.expectAnswers(within: attempts.left)
        guard takesTurn else { return try log.tail(after: place, limit: Self.batchBytes) }
        let tail = try log.takeTurn(after: place, limit: Self.batchBytes)
        hasTurn = true
        if case .entries(let entries) = tail, !entries.isEmpty { noteForeign() }
        return tail
      } catch {
        guard Self.isPassing(error), attempts.pause() else { throw unavailable(error) }
      }
    }
  }

  // MARK: Turns

  private func noteLoss() {
    lostPlaces += 1
    noteForeign()
  }

  private func noteForeign() { turnsEnd = MonotonicTime.now.nanoseconds &+ Self.turnTime }

  /// Whether a write should take a turn before it runs.
  @inline(__always)
  var wantsTurn: Bool {
    guard let end = turnsEnd, !hasTurn else { return false }
    if MonotonicTime.now.nanoseconds < end { return true }
    turnsEnd = nil
    return false
  }

  /// Called when the write lock is released: a turn without an append ends too.
  @inline(__always)
  func endTurn() {
    guard hasTurn else { return }
    hasTurn = false
    log.endTurn()
  }
}

/// The pauses between attempts to reach a server.
private struct Attempts {
  private let end: Int64
  private var seconds = 0.005

  init(_ patience: Double) {
    end = MonotonicTime.now.nanoseconds &+ Int64(min(patience, 1e9) * 1e9)
  }

  /// The seconds that are left.
  var left: Double { Double(max(0, end &- MonotonicTime.now.nanoseconds)) / 1e9 }

  /// Waits before the next attempt; false if there is no time for one.
  mutating func pause() -> Bool {
    guard MonotonicTime.now.nanoseconds &+ Int64(seconds * 1e9) < end else { return false }
    Thread.sleep(forTimeInterval: seconds)
    seconds = min(2 * seconds, 0.5)
    return true
  }
}

/// The commit whose outcome is not known, as the cause of an error `.commitUnknown`.
package struct UnknownCommit: Error, CustomStringConvertible {
  package let place: LogPlace
  /// The place that it follows.
  package let before: LogPlace
  package let cause: any Error

  package var description: String { "position \(place.position), \(cause)" }
}
