internal import Foundation

extension Store {
  /// Flushes every commit to the disk, including those of ``Options/Durability-swift.enum/relaxed``
  /// writes and of other processes.
  ///
  /// When it returns, earlier commits survive a power failure. A `.durable` store does not need it.
  ///
  /// - Throws: `.ioFailure` or `.diskFull` if the disk fails, `.closed`.
  /// - Complexity: one flush of the file, which may have much to write.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func sync() throws { try syncFile() }

  /// Flushes every commit to the disk, without blocking the task's thread.
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

/// Blocking work for which a task waits: the threads that all tasks share must not block.
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
