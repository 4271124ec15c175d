internal import Foundation
internal import Synchronization

/// Whether the user asked the program to end, with Ctrl-C or a signal.
enum Interruption {
  private static let isAskedFor = Atomic(false)

  /// From now on, the signals only set the flag `isRequested`. A second one ends the program, which may be waiting for a
  /// server.
  static func beginWatching() {
    // A store to an atomic boolean and `signal` are two of the few things that a handler may do.
    handle([SIGINT, SIGTERM]) { number in
      Interruption.isAskedFor.store(true, ordering: .relaxed)
      signal(number, SIG_DFL)
    }
  }

  /// Sets a handler for signals.
  static func handle(_ numbers: [Int32], _ handler: @escaping @convention(c) (Int32) -> Void) {
    // The parent process may have blocked them, and a new program inherits that.
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in numbers {
      sigaddset(&signals, number)
      signal(number, handler)
    }
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  }

  static var isRequested: Bool { isAskedFor.load(ordering: .relaxed) }

  /// Waits for this time, or until the user asks the program to end.
  static func wait(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var wanted = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    var left = timespec()
    while !isRequested, nanosleep(&wanted, &left) != 0, errno == EINTR { wanted = left }
  }
}
