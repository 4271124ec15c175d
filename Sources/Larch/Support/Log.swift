/// An event of a store that an operator may want to know.
///
/// ``Store/Options/log`` receives it. It has no data of records: neither the message, nor the
/// context, nor the plan of a query, unless ``Store/Options/logsValues`` asks for that.
public struct LogMessage: Sendable {
  /// The importance of a message.
  public enum Level: Int, Comparable, Sendable, CaseIterable {
    /// Each verb of the program, with its plan, its counts and its time, and the end of each write.
    /// Made only for ``Store/Options/logLevel`` `.trace`.
    case trace
    /// Useful only for debugging a problem.
    case debug
    /// Something rare and expected, such as an index that was built.
    case notice
    /// Something that should be rare, and that costs time or space.
    case warning
    /// Something failed that should never fail, such as the disk.
    case error

    /// Compares the importance.
    public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
  }

  /// The kind of event. New ones may be added; switch with a default.
  public struct Event: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable name of the event.
    public let rawValue: String

    /// Creates an event from its stable name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable name of the event.
    public var description: String { rawValue }
  }

  /// Details of the operation of a message: only known values are set.
  public struct Details: Sendable, Hashable {
    /// Where the program called the operation.
    public var place: CodePlace?
    /// Where the program called the operation that blocked it.
    public var holder: CodePlace?
    /// How long the operation waited for its turn.
    public var waited: Duration?
    /// How long it ran: the closure of a write or a read, or a query.
    public var ran: Duration?
    /// How long its commit took.
    public var committed: Duration?
    /// The number of changes of a write or a verb: about one for each record that it saved or
    /// deleted, and for each link.
    public var changes: Int?
    /// The verb, such as `fetch` or `save`.
    public var verb: String?
    /// The number of results of a verb: rows, or records.
    public var results: Int?
    /// How many verbs the message is about, if it is about more than one.
    public var times: Int?
    /// The plan of its slowest query, or of the verb, and the counts of what that read. It has the
    /// values in the query only with ``Store/Options/logsValues``.
    public var plan: String?

    /// Empty details.
    public init() {}
  }

  /// The importance of the message.
  public let level: Level
  /// The kind of event.
  public let event: Event
  /// What happened, without data of records.
  public let message: String
  /// The context of the event: only known values are set.
  public let context: LarchError.Context
  /// Details of the operation.
  public let details: Details

  package init(
    _ level: Level, _ event: Event, _ message: StaticString, details: Details = Details(),
    _ fill: (inout LarchError.Context) -> Void = { _ in }
  ) {
    self.level = level
    self.event = event
    self.message = message.description
    self.details = details
    var context = LarchError.Context()
    fill(&context)
    self.context = context
  }
}

extension LogMessage: CustomStringConvertible {
  /// The event, the message and the details on one line; a plan follows on its own lines.
  public var description: String {
    let parts = context.parts + details.parts
    let line = "\(event): \(message)" + (parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))")
    return details.plan.map { line + "\n" + $0 } ?? line
  }
}

extension LogMessage.Details {
  /// The known details, each with its name, except the plan.
  var parts: [String] {
    let known: [(name: String, value: (any CustomStringConvertible)?)] = [
      ("verb", verb), ("times", times), ("at", place), ("held by", holder),
      ("waited", waited?.logText), ("ran", ran?.logText),
      ("committed in", committed?.logText), ("results", results), ("changes", changes),
    ]
    return known.compactMap { part in part.value.map { "\(part.name): \($0)" } }
  }
}

extension Duration {
  /// In milliseconds with one decimal: the scale of slow operations.
  var logText: String {
    let (seconds, attoseconds) = components
    // In units of 0.1 ms; an overflow means forever.
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 10_000)
    let tenths = overflow ? Int64.max : whole &+ attoseconds / 100_000_000_000_000
    return "\(tenths / 10).\(abs(tenths % 10)) ms"
  }
}
