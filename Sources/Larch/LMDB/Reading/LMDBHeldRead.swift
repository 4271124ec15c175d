/// A read that stays open until its owner ends it, or something else requires its end.
///
/// LMDB lets a read transaction move between threads if its uses are synchronized: one thread uses
/// it at a time, others wait. While it is not in use, it can be ended at once. It is in use as long
/// as something has pointers into the map.
final class LMDBHeldRead: @unchecked Sendable {
  /// Why a held read was ended.
  enum Ending: Sendable, Hashable {
    /// Its owner ended it.
    case given
    /// It was older than its owner allowed.
    case tooOld
    /// The map had to move; no read may be open then.
    case mapMoved
    /// The environment was reopened after a disk failure.
    case reopened
    /// The file was replaced by another one.
    case replaced
    /// The store was closed.
    case closed
  }

  /// Who took it. The held reads of one owner are counted and ended together.
  let owner: ObjectIdentifier
  /// Where the program took it.
  let place: CodePlace
  let began: MonotonicTime
  /// When it is ended automatically; nil for never.
  let deadline: MonotonicTime?
  /// The last commit that it sees.
  let snapshot: UInt64
  /// Whether it is the pin of a `CommitWatch`. It is ended where its slot or the map is needed, and
  /// the log is not told.
  let isObserving: Bool

  // Everything below is guarded by the mutex of `ReaderPool`.

  /// Nil when it has ended.
  var reader: LMDBReader?
  /// The thread that uses it, or 0.
  var thread: UInt = 0
  /// The nesting depth of its uses on that thread.
  var depth = 0
  /// Why it has ended, or will when its use ends.
  var ending: Ending?
  /// Signalled when a use has ended.
  let released = SystemCondition()

  init(
    _ reader: LMDBReader, owner: ObjectIdentifier, place: CodePlace, began: MonotonicTime,
    deadline: MonotonicTime?, isObserving: Bool
  ) {
    self.reader = reader
    self.owner = owner
    self.place = place
    self.began = began
    self.deadline = deadline
    self.isObserving = isObserving
    snapshot = reader.transaction.id
  }

  /// How long it has been open.
  var age: Duration { .nanoseconds(MonotonicTime.now.nanoseconds &- began.nanoseconds) }

  func isTooOld(at now: MonotonicTime) -> Bool {
    deadline.map { $0.nanoseconds <= now.nanoseconds } ?? false
  }
}

extension LMDBHeldRead.Ending {
  /// The error of a use after its end.
  func error(of read: LMDBHeldRead, path: String) -> LarchError {
    if self == .closed { return .closed(path) }
    let message: StaticString =
      switch self {
      case .tooOld:
        "The snapshot has ended: it was older than `Options.maximumSnapshotAge`; take a new one."
      case .mapMoved:
        "The snapshot has ended, because the map had to grow; take a new one, or reserve a larger map with `Options.initialMapSize`."
      case .reopened:
        "The snapshot has ended, because the store was opened again after a disk failure; take a new one."
      case .replaced:
        "The snapshot has ended, because the file of the store was replaced; take a new one."
      case .given, .closed: "The snapshot has ended; take a new one."
      }
    return LarchError(.snapshotEnded, message) {
      $0.path = path
      $0.detail = "taken at \(read.place)"
    }
  }

  /// The message for the log; nil if the program itself ended it.
  func message(of read: LMDBHeldRead, path: String) -> LogMessage? {
    let (level, text): (LogMessage.Level, StaticString)
    switch self {
    case .given, .closed: return nil
    case .tooOld:
      (level, text) = (.warning, "A snapshot was ended, because it was too old.")
    case .mapMoved:
      (level, text) = (.notice, "A snapshot was ended, because the map had to grow.")
    case .reopened:
      (level, text) = (.notice, "A snapshot was ended, because the file was opened again.")
    case .replaced:
      (level, text) = (.notice, "A snapshot was ended, because the file was replaced.")
    }
    var details = LogMessage.Details()
    details.place = read.place
    details.ran = read.age
    return LogMessage(level, .snapshotEnded, text, details: details) { $0.path = path }
  }
}
