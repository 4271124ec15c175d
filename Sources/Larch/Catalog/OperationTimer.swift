/// Measures one write or read, for a log that reports slow ones. Created only for such a log.
///
/// Unchecked, since an asynchronous write passes it on: first its caller has it, then the writing
/// thread.
final class OperationTimer: @unchecked Sendable {
  let place: CodePlace
  /// The limit for slow operations, in nanoseconds.
  let limit: Int64
  /// The verbs of the operation, if the log names each.
  let trace: VerbTrace?
  /// Whether plans have the values of their queries.
  let showsValues: Bool
  private let asked = MonotonicTime.now.nanoseconds
  private var began: Int64?
  private var ended: Int64?
  private var committed: Int64?
  /// Who had the write lock when the wait began, and how many others waited.
  private var wait: WriteWait?
  /// The number of changes by the closure.
  var changes: Int?
  /// Whether the commit kept the changes.
  private var isKept = false

  /// Whether the operation is a verification of the whole store, not a read of the program.
  var isVerification = false

  private var queryCount = 0
  private var slowestQuery: Int64 = 0
  private var slowestPlan: String?
  private var slowestCollection: String?

  init(at place: CodePlace, limit: Int64, traces: Bool = false, showsValues: Bool = false) {
    self.place = place
    self.limit = limit
    self.showsValues = showsValues
    trace = traces ? VerbTrace(showsValues: showsValues) : nil
  }

  // MARK: The life of the operation

  /// Called when the write lock is held and the closure begins, also when it runs again.
  func begin(_ wait: WriteWait? = nil) {
    if began != nil {
      trace?.reset()
      return
    }
    began = MonotonicTime.now.nanoseconds
    self.wait = wait
  }

  /// Called when the closure has ended.
  func end() { ended = MonotonicTime.now.nanoseconds }

  /// Called when the commit has ended.
  func commit() {
    isKept = true
    if let ended { committed = MonotonicTime.now.nanoseconds &- ended }
  }

  /// Called when the commit of a group has ended, with its duration; a slow commit is reported once
  /// per group.
  func commit(ofGroup time: Int64, isFirst: Bool, isKept: Bool) {
    self.isKept = isKept
    committed = time > limit && !isFirst ? nil : time
  }

  // MARK: Queries

  /// Returns the start time of a query, for `endQuery`.
  func beginQuery() -> Int64 { MonotonicTime.now.nanoseconds }

  /// Called when a query has ended. Its plan is kept if it is the slowest so far, and not trivial.
  /// The plan must not contain values of the query, unless `showsValues`.
  func endQuery(
    since began: Int64, in collection: String, as verb: StaticString, results: Int,
    plan: () -> String
  ) {
    queryCount += 1
    let time = MonotonicTime.now.nanoseconds &- began
    if let trace {
      trace.add(
        VerbTrace.Verb(
          name: verb, collection: collection, nanoseconds: time, results: results,
          plan: trace.isFull ? nil : plan()))
    }
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

  private var knownPlace: CodePlace? { place.isOfLarch ? nil : place }

  private func details() -> LogMessage.Details {
    var details = LogMessage.Details()
    details.place = knownPlace
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

  /// The messages about a read.
  func messagesOfRead(_ path: String) -> [LogMessage] {
    let time = MonotonicTime.now.nanoseconds &- asked
    let verbs = trace?.messages(path, at: knownPlace) ?? []
    guard time > limit else { return verbs }
    var details = details()
    details.ran = .nanoseconds(time)
    let text: StaticString = isVerification ? "A verification took long." : "A read took long."
    return verbs
      + [LogMessage(.warning, .slowRead, text, details: details) { fill(&$0, path: path) }]
  }

  /// The messages about a write.
  func messagesOfWrite(_ path: String) -> [LogMessage] {
    // It never got the write lock, or was cancelled before.
    guard let began else { return [] }
    var messages = trace?.messages(path, at: knownPlace) ?? []
    let waited = began &- asked
    let ran = (ended ?? began) &- began
    if trace != nil {
      var details = LogMessage.Details()
      details.place = knownPlace
      details.waited = .nanoseconds(waited)
      details.ran = .nanoseconds(ran)
      details.committed = isKept ? committed.map { .nanoseconds($0) } : nil
      details.changes = changes
      let text: StaticString = isKept ? "A write was committed." : "A write was undone."
      messages.append(LogMessage(.trace, .write, text, details: details) { $0.path = path })
    }
    if waited > limit {
      var details = LogMessage.Details()
      details.place = knownPlace
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
  /// Whether Larch itself made the call, for an operation without a known place.
  var isOfLarch: Bool { file.hasPrefix("Larch/") }
}
