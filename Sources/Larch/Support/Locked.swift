internal import Foundation

/// A value that one thread at a time may use.
///
/// A pthread mutex and not the standard library's `Mutex`: the thread sanitizer does not see the
/// system calls of that one on Linux and takes every use of what it guards for a race.
final class Locked<Value>: @unchecked Sendable {
  private let mutex: UnsafeMutablePointer<pthread_mutex_t>
  // Only touched with the mutex held, so the check for overlapping accesses would never find any.
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

  /// Runs `body` with the value; it must not come back to the same lock.
  @inline(__always)
  func withLock<T>(_ body: (inout Value) throws -> T) rethrows -> T {
    pthread_mutex_lock(mutex)
    defer { pthread_mutex_unlock(mutex) }
    return try body(&value)
  }
}
