internal import Foundation

internal import Synchronization

/// Keeps messages for the log until their thread holds nothing that others wait for: so the
/// program's log function cannot stop the store.
///
/// Messages that the log function itself causes are dropped, to prevent an endless loop.
final class LogMailbox: Sendable {
  private let sink: @Sendable (LogMessage) -> Void
  private let waiting = Locked<[UInt: [LogMessage]]>([:])
  private let count = Atomic<Int>(0)
  /// The threads that are inside a log function.
  private static let telling = Locked<[UInt]>([])

  init(_ sink: @escaping @Sendable (LogMessage) -> Void) { self.sink = sink }

  /// Whether any thread has left a message here.
  @inline(__always)
  var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

  /// Adds a message, which the same thread delivers.
  func add(_ message: LogMessage) {
    let thread = ThreadIdentity.current
    if LogMailbox.telling.withLock({ $0.contains(thread) }) { return }
    waiting.withLock { $0[thread, default: []].append(message) }
    count.add(1, ordering: .relaxed)
  }

  /// Delivers the messages of this thread.
  func deliver() {
    let thread = ThreadIdentity.current
    let isInside = LogMailbox.telling.withLock { telling in
      if telling.contains(thread) { return true }
      telling.append(thread)
      return false
    }
    if isInside { return }
    defer { LogMailbox.telling.withLock { $0.removeAll { $0 == thread } } }
    while let messages = take(thread) { for message in messages { sink(message) } }
  }

  /// Delivers the messages of this thread on another one: for a thread that writes next, and must
  /// not wait for a log function that itself writes.
  func deliverElsewhere() {
    if isEmpty { return }
    let thread = ThreadIdentity.current
    let messages = take(thread) ?? []
    LogMailbox.queue.async { [messages] in
      for message in messages { self.add(message) }
      self.deliver()
    }
  }

  private static let queue = DispatchQueue(label: "larch.log")

  /// All messages of a thread, in their order; nil if there are none.
  private func take(_ thread: UInt) -> [LogMessage]? {
    let messages = waiting.withLock { $0.removeValue(forKey: thread) }
    count.subtract(messages?.count ?? 0, ordering: .relaxed)
    return messages
  }
}

/// The subject of a message that is logged only once.
struct LogSubject: Hashable {
  private let event: LogMessage.Event
  /// The collection or the type.
  private let name: String
  /// The index or the field, if it is about one.
  private let part: AnyHashable

  init(_ event: LogMessage.Event, _ name: String, _ part: AnyHashable = "") {
    self.event = event
    self.name = name
    self.part = part
  }
}

extension LMDBEnvironment {
  /// Adds a message for the log, unless there was one about the same subject.
  func log(once subject: LogSubject, _ message: () -> LogMessage) {
    guard let post else { return }
    let isNew = loggedOnce.withLock { logged in
      // Key paths with run-time arguments must not fill the memory.
      logged.count < 4096 && logged.insert(subject).inserted
    }
    if isNew { post.add(message()) }
  }

  /// Delivers the messages of this thread, unless it still has the write lock.
  @inline(__always)
  func deliverMessages() {
    if let post, !post.isEmpty { deliver(post) }
  }

  @inline(never)
  private func deliver(_ post: LogMailbox) {
    // Called when it releases the write lock: the map may be about to move, and others wait.
    if !isWriting { post.deliver() }
  }
}
