internal import Foundation

/// A value that one thread at a time may use. The thread sanitizer knows this lock; on Linux it
/// does not know that of the standard library.
package final class Guarded<Value>: @unchecked Sendable {
  private let lock = NSLock()
  // Used only with the lock held.
  private var value: Value

  package init(_ value: sending Value) { self.value = value }

  /// Runs `body` with the value; `body` must not take the same lock.
  package func withLock<T>(_ body: (inout Value) throws -> T) rethrows -> T {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
