/// Times one write or read, for a log that wants to know of slow ones. Made only where one does.
///
/// Unchecked, since an asynchronous write hands it over: first its caller has it, then the thread
/// that writes.
final class OperationTimer: @unchecked Sendable {
  let place: CodePlace
  /// What is slow, in nanoseconds.
  let limit: Int64
  private let asked = MonotonicTime.now.nanoseconds
  private var began: Int64?
  private var ended: Int64?
  private var committed: Int64?
  /// Who had the write lock when this one began to wait, and how many were before it.
  private var wait: WriteWait?
  /// How often the closure changed something.
  var changes: Int?

  /// What takes long is a proof of the whole store, and no read of the program.
  var isVerification = false

  private var queryCount = 0
  private var slowestQuery: Int64 = 0
  private var slowestPlan: String?
  private var slowestCollection: String?

  init(at place: CodePlace, limit: Int64) {
    self.place = place
    self.limit = limit
  }

  // MARK: The life of the operation

  /// The write lock is there, and the closure runs; also when it runs again.
  func begin(_ wait: WriteWait? = nil) {
    if began != nil { return }
    began = MonotonicTime.now.nanoseconds
    self.wait = wait
  }

  /// The closure has run.
  func end() { ended = MonotonicTime.now.nanoseconds }

  /// The commit has ended now.
  func commit() {
    if let ended { committed = MonotonicTime.now.nanoseconds &- ended }
  }

  /// The commit of a group has ended, which took so long; a slow one is told once for the group.
  func commit(ofGroup time: Int64, isFirst: Bool) {
    committed = time > limit && !isFirst ? nil : time
  }

  // MARK: Queries

  /// When a query begins, for `endQuery`.
  func beginQuery() -> Int64 { MonotonicTime.now.nanoseconds }

  /// A query has ended; its plan is kept when it is the slowest, and not a trifle. No values that the
  /// query asks for may be in it.
  func endQuery(since began: Int64, in collection: String, plan: () -> String) {
    queryCount += 1
    let time = MonotonicTime.now.nanoseconds &- began
    guard time > slowestQuery else { return }
    slowestQuery = time
    guard time >= limit / 10 else {
      slowestPlan = nil
      return
    }
    slowestPlan = plan()
    slowestCollection = collection
  }

  // MARK: Telling

  private func details() -> LogMessage.Details {
    var details = LogMessage.Details()
    details.place = place.isOfLarch ? nil : place
    details.plan = slowestPlan
    return details
  }

  private func fill(_ context: inout LarchError.Context, path: String) {
    context.path = path
    context.collection = slowestCollection
    if queryCount > 1 {
      context.detail =
        "\(queryCount) queries, the slowest for \(Duration.nanoseconds(slowestQuery).logText)"
    }
  }

  /// What is to be told of a read.
  func messageOfRead(_ path: String) -> LogMessage? {
    let time = MonotonicTime.now.nanoseconds &- asked
    guard time > limit else { return nil }
    var details = details()
    details.ran = .nanoseconds(time)
    let text: StaticString = isVerification ? "A verification took long." : "A read took long."
    return LogMessage(.warning, .slowRead, text, details: details) { fill(&$0, path: path) }
  }

  /// What is to be told of a write.
  func messagesOfWrite(_ path: String) -> [LogMessage] {
    // It never got the write lock, or was given up before.
    guard let began else { return [] }
    var messages: [LogMessage] = []
    let waited = began &- asked
    let ran = (ended ?? began) &- began
    if waited > limit {
      var details = LogMessage.Details()
      details.place = place.isOfLarch ? nil : place
      details.waited = .nanoseconds(waited)
      details.holder = wait?.holder.flatMap { $0.isOfLarch ? nil : $0 }
      messages.append(
        LogMessage(.warning, .writerWait, "A write waited long for its turn.", details: details) {
          $0.path = path
          if let before = wait?.before, before > 0 {
            $0.detail = "\(before) \(before == 1 ? "write" : "writes") before it"
          }
        })
    }
    if ran &+ (committed ?? 0) > limit {
      var details = details()
      details.waited = .nanoseconds(waited)
      details.ran = .nanoseconds(ran)
      details.committed = committed.map { .nanoseconds($0) }
      details.changes = changes
      messages.append(
        LogMessage(.warning, .slowWrite, "A write took long.", details: details) {
          fill(&$0, path: path)
        })
    }
    return messages
  }
}

extension CodePlace {
  /// Whether Larch itself called, on behalf of an operation that knows no place.
  var isOfLarch: Bool { file.hasPrefix("Larch/") }
}
