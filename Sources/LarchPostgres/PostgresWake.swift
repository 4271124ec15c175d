internal import Foundation
internal import Larch

/// Ends what waits for a server: from any thread and for good, or at a time.
///
/// Waits are cut into short ones, between which they see the end. A pipe would end them at once, but takes two
/// descriptors, and a process may have thousands of logs open.
package final class PostgresWake: Sendable {
  /// The longest part of a wait.
  private static let part = 0.02

  private let ended = Locked(false)
  /// When waits end, on the clock of `now`.
  private let limit = Locked(Double.infinity)

  package init() {}

  /// Whether everything was ended.
  var hasEnded: Bool { ended.withLock { $0 } }

  /// Lets waits end after some seconds; nil lets them go on as long as their callers say.
  func endWaits(in seconds: Double?) {
    limit.withLock { $0 = seconds.map { Self.now + $0 } ?? .infinity }
  }

  /// A time for a wait, in words.
  func text(_ seconds: Double) -> String {
    limit.withLock { $0 } == .infinity ? "within \(seconds) s" : "in time"
  }

  /// The earlier one of a time and the end of waits.
  func earlier(_ deadline: Double) -> Double { min(deadline, limit.withLock { $0 }) }

  /// - Returns: false if everything was ended before.
  @discardableResult
  package func end() -> Bool {
    ended.withLock { hasEnded in
      defer { hasEnded = true }
      return !hasEnded
    }
  }

  /// Waits, unless everything is ended before.
  ///
  /// - Parameter deadline: on the clock of `now`.
  /// - Returns: the events of the socket; none if the time has passed.
  func wait(_ socket: CInt, for events: Int32, until deadline: Double) throws(PostgresFailure)
    -> Int32
  {
    let deadline = earlier(deadline)
    while true {
      if hasEnded { throw PostgresFailure(.closed) }
      let left = min(deadline - Self.now, Self.part)
      var watched = pollfd(fd: socket, events: Int16(truncatingIfNeeded: events), revents: 0)
      let found = poll(&watched, 1, CInt((max(0, left) * 1000).rounded(.up)))
      let failure = errno
      if found > 0 { return Int32(watched.revents) }
      if found < 0, failure != EINTR {
        throw PostgresFailure(.connection, String(cString: strerror(failure)))
      }
      if found == 0, Self.now >= deadline { return 0 }
    }
  }

  /// Seconds of a clock that never goes back.
  static var now: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}
