internal import Foundation

extension Store {
  /// How new the state must be that a read sees: `read(_:within:_:)`.
  public struct Freshness: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
      case atLeast(StoreVersion)
      case fresh
    }

    let kind: Kind

    /// A state that has everything that the version has. On the store where the version was read it
    /// is at once true.
    public static func atLeast(_ version: StoreVersion) -> Self { Self(kind: .atLeast(version)) }

    /// A state that has everything that was in the log at the call. It asks the server once for the
    /// whole closure. On a store that follows nobody every read is fresh.
    public static let fresh = Self(kind: .fresh)
  }

  /// Runs `body` on a snapshot that is new enough, and waits for it if it must.
  ///
  /// ```swift
  /// // Where it was written, on another machine:
  /// session.version = try store.version
  /// // Where it is read:
  /// let orders = try follower.read(.atLeast(session.version)) { tx in try tx.fetch(Order.all) }
  /// ```
  ///
  /// - Parameters:
  ///   - freshness: how new the state must be.
  ///   - limit: how long to wait for it. With `.fresh` the wait for the server's answer comes before.
  ///   - file: the calling file, for messages; do not pass it.
  ///   - line: the calling line; do not pass it.
  ///   - body: reads.
  /// - Throws: the errors of `body`; `.unavailable` if the state did not come in time, or the server
  ///   cannot be reached (`.fresh`); `.diverged` if the commit of the version was lost with its server;
  ///   `.closed`, `.schemaChanged`, `.readersFull`.
  /// - Complexity: that of ``read(file:line:_:)``, after the wait; with `.fresh` one question to the
  ///   server.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func read<T>(
    _ freshness: Freshness, within limit: Duration = .seconds(5),
    file: StaticString = #fileID, line: UInt = #line, _ body: (ReadTransaction) throws -> T
  ) throws -> T {
    switch freshness.kind {
    case .atLeast(let version): try wait(for: version, within: limit)
    case .fresh: try waitForNewest(within: limit)
    }
    return try read(file: file, line: line, body)
  }

  /// Runs `body` on a snapshot that is new enough, and waits for it without blocking the task's thread.
  ///
  /// - Parameters:
  ///   - freshness: how new the state must be.
  ///   - limit: how long to wait for it. With `.fresh` the wait for the server's answer comes before.
  ///   - file: the calling file, for messages; do not pass it.
  ///   - line: the calling line; do not pass it.
  ///   - body: reads; it runs in the calling task.
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  public nonisolated(nonsending) func read<T>(
    _ freshness: Freshness, within limit: Duration = .seconds(5),
    file: StaticString = #fileID, line: UInt = #line, _ body: (ReadTransaction) throws -> T
  ) async throws -> T {
    switch freshness.kind {
    case .atLeast(let version): try await wait(for: version, within: limit)
    case .fresh: try await waitForNewest(within: limit)
    }
    return try read(file: file, line: line, body)
  }

  /// Waits until the store has a version.
  package func wait(for version: StoreVersion, within limit: Duration) throws {
    if let follower, let place = version.place { return try follower.work.wait(for: place, limit) }
    try waitLocally(for: version, limit) { Thread.sleep(forTimeInterval: $0) }
  }

  private nonisolated(nonsending) func wait(
    for version: StoreVersion, within limit: Duration
  ) async throws {
    guard let follower, let place = version.place else {
      return try await waitLocally(for: version, limit)
    }
    try await follower.work.wait(for: place, limit)
  }

  private func waitForNewest(within limit: Duration) throws {
    guard let follower else { return try checkIsNewest() }
    try follower.work.wait(for: try follower.work.newestPlace(), limit)
  }

  private nonisolated(nonsending) func waitForNewest(within limit: Duration) async throws {
    guard let follower else { return try checkIsNewest() }
    try await follower.settled(within: limit)
  }

  /// Throws if another store has newer states, and this one does not know where.
  private func checkIsNewest() throws {
    guard try environment.isCopy() else { return }
    throw LarchError(
      .unavailable,
      "The file is the copy of a store, and nothing here knows its log; open it with `Store(following:copy:for:)`."
    ) { $0.path = path }
  }

  // Whoever writes or follows may be another process, which tells nobody here.

  private func waitLocally(
    for version: StoreVersion, _ limit: Duration, _ pause: (Double) -> Void
  ) throws {
    let end = MonotonicTime.after(limit)
    while try !hasReached(version) {
      if MonotonicTime.now.nanoseconds >= end.nanoseconds { throw notReached(version) }
      pause(0.005)
    }
  }

  private nonisolated(nonsending) func waitLocally(
    for version: StoreVersion, _ limit: Duration
  ) async throws {
    let end = MonotonicTime.after(limit)
    while try !hasReached(version) {
      if MonotonicTime.now.nanoseconds >= end.nanoseconds { throw notReached(version) }
      try await Task.sleep(for: .milliseconds(5))
    }
  }

  private func hasReached(_ version: StoreVersion) throws -> Bool {
    let here = try self.version
    if version.place != nil, here.place == nil {
      throw LarchError(
        .diverged,
        "The version is one of a store with a log, and this store has none; ask a copy of that store."
      ) { $0.path = path }
    }
    guard let wanted = version.place, let place = here.place, wanted.position == place.position
    else {
      return here >= version
    }
    guard wanted == place else {
      throw LarchError(
        .diverged,
        "The commit was lost with the server or the writer that had it; read again without it."
      ) { $0.path = path }
    }
    return true
  }

  private func notReached(_ version: StoreVersion) -> LarchError {
    LarchError(
      .unavailable,
      "The store did not get the commit in time; read what it has, wait longer, or ask the store that has it."
    ) {
      $0.path = path
      $0.detail = version.position.map { "position \($0)" }
    }
  }
}
