internal import Foundation

extension Store {
  /// Brings every commit to the disk, also those of ``Options/Durability-swift.enum/relaxed``
  /// writes and of other processes.
  ///
  /// When it returns, nothing that was committed before is lost when the power fails. A store that
  /// is `.durable` has nothing to gain by it.
  ///
  /// - Throws: `.ioFailure` or `.diskFull` when the disk refuses, `.closed`.
  /// - Complexity: one flush of the file, which may have much to write.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func sync() throws { try syncFile() }

  /// Brings every commit to the disk, without blocking the task's thread.
  ///
  /// - Throws: the errors of the synchronous form.
  /// - Complexity: that of the synchronous form, and a change of threads.
  public nonisolated(nonsending) func sync() async throws {
    try await BlockingWork.run { try self.syncFile() }
  }

  private func syncFile() throws {
    _ = try currentCatalog()
    try environment.sync()
  }
}

/// Work that blocks and that a task waits for: the threads that all tasks share must not.
enum BlockingWork {
  private static let queue = DispatchQueue(label: "larch.blocking", attributes: .concurrent)

  /// Runs `body` on a thread that may block. It is not cancelled with the task.
  nonisolated(nonsending) static func run<T: Sendable>(
    _ body: @escaping @Sendable () throws -> T
  ) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      queue.async { continuation.resume(with: Result(catching: body)) }
    }
  }
}
