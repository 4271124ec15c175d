internal import Foundation

/// A value that one thread at a time may use. A lock that the thread sanitizer knows, which the
/// standard library's is not on Linux.
package final class Guarded<Value>: @unchecked Sendable {
  private let lock = NSLock()
  // Only touched with the lock held.
  private var value: Value

  package init(_ value: sending Value) { self.value = value }

  /// Runs `body` with the value; it must not come back to the same lock.
  package func withLock<T>(_ body: (inout Value) throws -> T) rethrows -> T {
    lock.lock()
    defer { lock.unlock() }
    return try body(&value)
  }
}
