internal import Foundation

/// Runs a body on a thread of its own.
///
/// A test that waits for what a task does must not wait on a thread of tasks: there are as many as processors, and two
/// such waits on two processors end only when their time has passed. Transactions belong to threads besides.
package func onThread<T: Sendable>(_ body: @escaping @Sendable () throws -> T) async throws -> T {
  try await withCheckedThrowingContinuation { ended in
    Thread.detachNewThread { ended.resume(with: Result { try body() }) }
  }
}
