internal import Foundation

/// A value that one thread at a time may use.
///
/// It uses a pthread mutex, not the standard library's `Mutex`: on Linux the thread sanitizer does
/// not see that one's system calls, and reports every use of the guarded value as a race.
final class Locked<Value>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  // Used only with the mutex held, so the check for overlapping accesses is not needed.
  @exclusivity(unchecked) private var value: Value

  init(_ value: sending Value) {
    self.value = value
    mutex = .allocate(capacity: 1)
    mutex.initialize(to: pthread_mutex_t())
    pthread_mutex_init(mutex, nil)
  }

  deinit {
    pthread_mutex_destroy(mutex)
    mutex.deinitialize(count: 1)
    mutex.deallocate()
  }

  /// Runs `body` with the value; it must not take the same lock again.
  @inline(__always)
  func withLock<T>(_ body: (inout Value) throws -> T) rethrows -> T {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}
