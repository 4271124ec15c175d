internal import Foundation
internal import Synchronization

/// Whether the user asked the program to end, by Ctrl-C or a signal.
enum Interruption {
  private static let isAskedFor = Atomic(false)

  /// From now on the signals only set a mark that `isRequested` tells of.
  static func beginWatching() {
    for number in [SIGINT, SIGTERM] {
      // A store to an atomic boolean is one of the few things that a handler may do.
      signal(number) { _ in Interruption.isAskedFor.store(true, ordering: .relaxed) }
    }
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
