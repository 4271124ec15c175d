internal import Foundation

/// A value that one thread at a time may use.
///
/// It uses a pthread mutex, not the standard library's `Mutex`: on Linux the thread sanitizer does
/// not see that one's system calls, and reports every use of the guarded value as a race.
///
/// The value and the mutex are one object. Copies of a `Locked` are the same one.
///
/// Unchecked, since the mutex guards the value.
package struct Locked<Value>: @unchecked Sendable {
  private final class Room: ManagedBuffer<Value, pthread_mutex_t> {
    deinit {
      _ = withUnsafeMutablePointerToElements { pthread_mutex_destroy($0) }
    }
  }

  private let room: ManagedBuffer<Value, pthread_mutex_t>

  package init(_ value: sending Value) {
    room = Room.create(minimumCapacity: 1) { _ in value }
    _ = room.withUnsafeMutablePointerToElements { mutex in
      mutex.initialize(to: pthread_mutex_t())
      return pthread_mutex_init(mutex, nil)
    }
  }

  /// Runs `body` with the value; it must not take the same lock again.
  @inline(__always)
  package func withLock<T>(_ body: (inout Value) throws -> T) rethrows -> T {
    try room.withUnsafeMutablePointers { value, mutex in
      pthread_mutex_lock(mutex)
      defer { pthread_mutex_unlock(mutex) }
      return try body(&value.pointee)
    }
  }

  /// The same, but nil if another thread has the lock, or this one.
  package func withLockIfAvailable<T>(_ body: (inout Value) throws -> T) rethrows -> T? {
    try room.withUnsafeMutablePointers { value, mutex in
      guard pthread_mutex_trylock(mutex) == 0 else { return nil }
      defer { pthread_mutex_unlock(mutex) }
      return try body(&value.pointee)
    }
  }
}
