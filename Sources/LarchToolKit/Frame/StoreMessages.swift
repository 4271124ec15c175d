internal import Larch

/// What a store reports while a command works with it, for standard error: a console is of one thread.
struct StoreMessages: Sendable {
  private let waiting = Locked<[LogMessage]>([])
  private let events: Set<LogMessage.Event>

  /// - Parameter events: what the user of the command should know.
  init(_ events: Set<LogMessage.Event>) { self.events = events }

  var log: @Sendable (LogMessage) -> Void {
    { message in if events.contains(message.event) { waiting.withLock { $0.append(message) } } }
  }

  /// Writes what has come.
  func show(on console: Console) {
    let new = waiting.withLock { messages in
      defer { messages = [] }
      return messages
    }
    for message in new { console.warn(Line("\(message)")) }
  }
}
