/// Something that an operator may want to know about a store.
///
/// ``Store/Options/log`` is called with it. No data of records is in it: neither in the message, nor
/// in the context, nor in the plan of a query.
public struct LogMessage: Sendable {
  /// How much it matters.
  public enum Level: Int, Comparable, Sendable, CaseIterable {
    /// For those who look into a problem.
    case debug
    /// Something rare and expected, such as an index that was built.
    case notice
    /// Something that should not happen often, and costs.
    case warning
    /// Something failed that should never fail, such as the disk.
    case error

    /// By how much it matters.
    public static func < (a: Level, b: Level) -> Bool { a.rawValue < b.rawValue }
  }

  /// What it is about. New ones may come; switch with a default.
  public struct Event: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// The stable name of the event.
    public let rawValue: String

    /// Makes an event from its stable name.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The stable name of the event.
    public var description: String { rawValue }
  }

  /// What is known of the operation that a message is about: only what is known is set.
  public struct Details: Sendable, Hashable {
    /// Where the program asked for it.
    public var place: CodePlace?
    /// Where the program asked for what stood in its way.
    public var holder: CodePlace?
    /// How long it waited for its turn.
    public var waited: Duration?
    /// How long it ran: the closure of a write or a read, or the running of a query.
    public var ran: Duration?
    /// How long its commit took.
    public var committed: Duration?
    /// How many changes a write made: about one for each record that it saved or deleted, and for
    /// each link.
    public var changes: Int?
    /// The plan of its slowest query and what that looked at, without the values that it asks for.
    public var plan: String?

    /// Details of nothing yet.
    public init() {}
  }

  /// How much it matters.
  public let level: Level
  /// What it is about.
  public let event: Event
  /// What happened, in a sentence without data of records in it.
  public let message: String
  /// What it was about: only what is known is set.
  public let context: LarchError.Context
  /// What is known of the operation that it is about.
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
  /// The event, the message and what is known, on one line; a plan follows on lines of its own.
  public var description: String {
    let parts = context.parts + details.parts
    let line = "\(event): \(message)" + (parts.isEmpty ? "" : " (\(parts.joined(separator: ", ")))")
    return details.plan.map { line + "\n" + $0 } ?? line
  }
}

extension LogMessage.Details {
  /// What is known, each with its name, but for the plan.
  var parts: [String] {
    let known: [(name: String, value: (any CustomStringConvertible)?)] = [
      ("at", place), ("held by", holder), ("waited", waited?.logText), ("ran", ran?.logText),
      ("committed in", committed?.logText), ("changes", changes),
    ]
    return known.compactMap { part in part.value.map { "\(part.name): \($0)" } }
  }
}

extension Duration {
  /// In milliseconds with one decimal: the unit in which operations are slow.
  var logText: String {
    let (seconds, attoseconds) = components
    // In units of 0.1 ms; more than fits means without end.
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 10_000)
    let tenths = overflow ? Int64.max : whole &+ attoseconds / 100_000_000_000_000
    return "\(tenths / 10).\(abs(tenths % 10)) ms"
  }
}
