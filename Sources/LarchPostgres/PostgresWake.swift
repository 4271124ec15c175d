internal import Foundation
internal import Larch

/// Ends what waits for a server, from any thread and for good.
///
/// A pipe with a byte in it: every `poll` that watches it returns at once, now and later.
package final class PostgresWake: Sendable {
  let descriptor: CInt
  private let other: CInt
  private let ended = Locked(false)

  package init() throws(PostgresFailure) {
    var ends: [CInt] = [-1, -1]
    guard pipe(&ends) == 0 else {
      throw PostgresFailure(.connection, "no pipe: \(String(cString: strerror(errno)))")
    }
    descriptor = ends[0]
    other = ends[1]
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
  }

  deinit {
    _ = Foundation.close(descriptor)
    _ = Foundation.close(other)
  }

  /// Whether everything was ended.
  var hasEnded: Bool { ended.withLock { $0 } }

  package func end() {
    ended.withLock { hasEnded in
      if hasEnded { return }
      hasEnded = true
      _ = write(other, [1], 1)
    }
  }

  /// Waits, unless everything is ended before.
  ///
  /// - Parameters:
  ///   - socket: what to wait for, or nil for the time alone.
  ///   - deadline: on the clock of `now`.
  /// - Returns: the events of the socket; none if the time has passed.
  func wait(_ socket: CInt?, for events: Int32, until deadline: Double) throws(PostgresFailure)
    -> Int32
  {
    while true {
      let left = deadline - Self.now
      var watched = [
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        // Negative numbers are passed over.
        pollfd(fd: socket ?? -1, events: Int16(truncatingIfNeeded: events), revents: 0),
      ]
      let milliseconds = max(0, min(left * 1000, 1_000_000)).rounded(.up)
      let found = poll(&watched, 2, CInt(milliseconds))
      let failure = errno
      if watched[0].revents != 0 { throw PostgresFailure(.closed) }
      if found > 0 { return Int32(watched[1].revents) }
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
