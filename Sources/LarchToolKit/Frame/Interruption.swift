internal import Foundation
internal import Synchronization

/// Whether the user asked the program to end, by Ctrl-C or a signal.
enum Interruption {
  private static let isAskedFor = Atomic(false)

  /// From now on the signals only set a mark that `isRequested` tells of.
  static func beginWatching() {
    // A store to an atomic boolean is one of the few things that a handler may do.
    handle([SIGINT, SIGTERM]) { _ in Interruption.isAskedFor.store(true, ordering: .relaxed) }
  }

  /// Has a handler called for signals.
  static func handle(_ numbers: [Int32], _ handler: @escaping @convention(c) (Int32) -> Void) {
    // Whoever started the program may have had them blocked, which a new program inherits.
    var signals = sigset_t()
    sigemptyset(&signals)
    for number in numbers {
      sigaddset(&signals, number)
      signal(number, handler)
    }
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
  }

  static var isRequested: Bool { isAskedFor.load(ordering: .relaxed) }

  /// Waits, at most until the user asks for the end.
  static func wait(_ duration: Duration) {
    let (seconds, attoseconds) = duration.components
    var wanted = timespec(tv_sec: Int(seconds), tv_nsec: Int(attoseconds / 1_000_000_000))
    var left = timespec()
    while !isRequested, nanosleep(&wanted, &left) != 0, errno == EINTR { wanted = left }
  }
}
