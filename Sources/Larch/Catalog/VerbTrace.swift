/// The verbs of one write or read, for a log that names each of them. Created only for such a log
/// (``LogMessage/Level/trace``).
///
/// Used only by the thread that runs the operation.
final class VerbTrace {
  /// A verb that has ended.
  struct Verb {
    let name: StaticString
    let collection: String
    var id: String?
    let nanoseconds: Int64
    /// The number of its results, or of the changes that it made.
    var results: Int?
    var changes: Int?
    var plan: String?
    /// The error that it threw.
    var error: String?
  }

  /// An operation keeps this many verbs until it ends; of more, it has the sums.
  private static let limit = 1000

  /// Whether plans have the values of their queries.
  let showsValues: Bool
  private var verbs: [Verb] = []
  private struct Kind: Hashable {
    let name: String
    let collection: String
  }
  private var more: [Kind: (count: Int, nanoseconds: Int64)] = [:]
  private var order: [Kind] = []

  init(showsValues: Bool) { self.showsValues = showsValues }

  /// Forgets all verbs: the closure runs again, since the map had no room.
  func reset() {
    verbs = []
    more = [:]
    order = []
  }

  /// Whether another verb is kept with its plan.
  var isFull: Bool { verbs.count >= VerbTrace.limit }

  func add(_ verb: @autoclosure () -> Verb) {
    let verb = verb()
    guard isFull else { return verbs.append(verb) }
    let kind = Kind(name: verb.name.description, collection: verb.collection)
    if more[kind] == nil { order.append(kind) }
    let sum = more[kind] ?? (0, 0)
    more[kind] = (sum.count + 1, sum.nanoseconds &+ verb.nanoseconds)
  }

  /// The messages about the verbs, in the order in which they ended.
  func messages(_ path: String, at place: CodePlace?) -> [LogMessage] {
    var messages = verbs.map { verb in
      var details = LogMessage.Details()
      details.place = place
      details.verb = verb.name.description
      details.ran = .nanoseconds(verb.nanoseconds)
      details.results = verb.results
      details.changes = verb.changes
      details.plan = verb.plan
      let text: StaticString = verb.error == nil ? "A verb ran." : "A verb threw an error."
      return LogMessage(.trace, .verb, text, details: details) {
        $0.path = path
        $0.collection = verb.collection
        $0.id = verb.id
        $0.detail = verb.error
      }
    }
    for kind in order {
      guard let sum = more[kind] else { continue }
      var details = LogMessage.Details()
      details.place = place
      details.verb = kind.name
      details.ran = .nanoseconds(sum.nanoseconds)
      details.times = sum.count
      messages.append(
        LogMessage(
          .trace, .verb, "More verbs of one kind ran than are named one by one.", details: details
        ) {
          $0.path = path
          $0.collection = kind.collection
        })
    }
    return messages
  }
}

extension OperationTimer {
  /// Runs a verb about one record or collection, and keeps it for the log.
  @inline(never)
  func tracing<T>(
    _ name: StaticString, _ collection: String, id: () -> String? = { nil },
    changes: () -> Int? = { nil }, results: (T) -> Int? = { _ in nil }, _ body: () throws -> T
  ) rethrows -> T {
    guard let trace else { return try body() }
    let began = MonotonicTime.now.nanoseconds
    let before = changes()
    func verb(_ error: String?) -> VerbTrace.Verb {
      VerbTrace.Verb(
        name: name, collection: collection, id: id(),
        nanoseconds: MonotonicTime.now.nanoseconds &- began,
        changes: before.flatMap { before in changes().map { $0 &- before } }, error: error)
    }
    do {
      let result = try body()
      var done = verb(nil)
      done.results = results(result)
      trace.add(done)
      return result
    } catch {
      // The text of an error of the program may have values.
      trace.add(verb((error as? LarchError)?.code.rawValue ?? "\(type(of: error))"))
      throw error
    }
  }
}

extension OperationTimer {
  /// The text of an id in the log: one that the store assigned is no data.
  func shown<ID: RecordIdentifier>(_ id: ID) -> String? {
    id._isUnassigned || !showsValues && ID.idKind != .assigned ? nil : "\(id)"
  }
}
