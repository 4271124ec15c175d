internal import Foundation

internal import Synchronization

/// Keeps messages for the log until the thread that they came up on holds nothing that others wait
/// for: whatever the program does in its log, it cannot stop the store.
///
/// Messages that the program's own log gives rise to are left out, or they would have no end.
final class LogPost: Sendable {
  private let sink: @Sendable (LogMessage) -> Void
  private let waiting = Locked<[(thread: UInt, message: LogMessage)]>([])
  private let count = Atomic<Int>(0)
  /// The threads that are inside of a log.
  private static let telling = Locked<[UInt]>([])

  init(_ sink: @escaping @Sendable (LogMessage) -> Void) { self.sink = sink }

  /// Whether any thread has left something here.
  @inline(__always)
  var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

  /// Leaves a message, which the same thread delivers.
  func add(_ message: LogMessage) {
    let thread = ThreadIdentity.current
    if LogPost.telling.withLock({ $0.contains(thread) }) { return }
    waiting.withLock { $0.append((thread, message)) }
    count.add(1, ordering: .relaxed)
  }

  /// Delivers what this thread has left.
  func deliver() {
    let thread = ThreadIdentity.current
    let isInside = LogPost.telling.withLock { telling in
      if telling.contains(thread) { return true }
      telling.append(thread)
      return false
    }
    if isInside { return }
    defer { LogPost.telling.withLock { $0.removeAll { $0 == thread } } }
    while let message = take(thread) { sink(message) }
  }

  /// Delivers what this thread has left from another one: for a thread whose own turn comes next,
  /// and which must not wait for it in a log that writes.
  func deliverElsewhere() {
    if isEmpty { return }
    let thread = ThreadIdentity.current
    var messages: [LogMessage] = []
    while let message = take(thread) { messages.append(message) }
    LogPost.queue.async { [messages] in
      for message in messages { self.add(message) }
      self.deliver()
    }
  }

  private static let queue = DispatchQueue(label: "larch.log")

  private func take(_ thread: UInt) -> LogMessage? {
    waiting.withLock { waiting in
      guard let place = waiting.firstIndex(where: { $0.thread == thread }) else { return nil }
      count.subtract(1, ordering: .relaxed)
      return waiting.remove(at: place).message
    }
  }
}

extension LMDBEnvironment {
  /// Leaves a message for the log, unless it has one about the same thing.
  func log(once key: AnyHashable, _ message: () -> LogMessage) {
    guard let post else { return }
    let isNew = toldOnce.withLock { told in
      // Key paths with run-time arguments must not fill the memory.
      told.count < 4096 && told.insert(key).inserted
    }
    if isNew { post.add(message()) }
  }

  /// Delivers what this thread has to tell the log, unless it still has the write lock.
  @inline(__always)
  func deliverMessages() {
    if let post, !post.isEmpty { deliver(post) }
  }

  @inline(never)
  private func deliver(_ post: LogPost) {
    // When it gives the write lock back: the map may be about to move, and others wait.
    if !isWriting { post.deliver() }
  }
}
