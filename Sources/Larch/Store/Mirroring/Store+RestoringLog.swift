public import Foundation

extension Store {
  /// To which commit a store is restored from its log.
  public enum RestorePoint: Sendable, Hashable {
    /// The newest commit that the log has.
    case newest
    /// The commit with this number: ``MirrorStatus/shipped`` counts them.
    case position(UInt64)
    /// The last commit that the server had at this time, by its clock.
    case time(Date)
  }

  /// The commits of a log to which a store can be restored.
  public struct RestorablePoints: Sendable {
    /// The numbers of the commits.
    public let positions: ClosedRange<UInt64>
    /// When the server got the oldest one.
    public let oldest: Date
    /// When the server got the newest one.
    public let newest: Date
  }

  /// The commit that a store was restored to.
  public struct RestoredCommit: Sendable, Hashable {
    /// Its number.
    public let position: UInt64
    /// When the server got it, by its clock.
    public let time: Date
  }

  /// What a log can restore: the whole store at each of its newest commits.
  ///
  /// - Throws: `.logNotFound` if the server has no log of this name; `.unavailable`, `.serverRefused`, `.damagedLog`,
  ///   `.newerLog`.
  /// - Complexity: one call of the server.
  @available(*, noasync, message: "it would block a thread that all tasks share: use `try await`")
  public static func restorablePoints(in log: ServerLog) throws -> RestorablePoints {
    try LogRestoration.points(in: log)
  }

  /// What a log can restore, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: one call of the server.
  public nonisolated(nonsending) static func restorablePoints(
    in log: ServerLog
  ) async throws -> RestorablePoints {
    let progress: (@Sendable (Int) throws -> Void)? = nil
    return try await SpaceWorker().run(progress) { _ in try LogRestoration.points(in: log) }
  }

  /// Restores a store from the log to which it was mirrored. A restored store has no mirror.
  ///
  /// The store at `path` appears when it is complete and checked; a crash leaves what was there. A mirrored store
  /// that is replaced keeps its mirror, which stops: what the log has is only given up when
  /// ``StoreMirror/startOver()`` says so.
  ///
  /// - Parameters:
  ///   - log: the log.
  ///   - path: the path of the store.
  ///   - point: the commit; the newest one by default.
  ///   - replacing: whether an existing store may be replaced; its data is lost.
  ///   - progress: called with the number of pairs of keys and values, and then of commits, that were
  ///     written; an error stops the restoration.
  /// - Returns: the commit that the store has.
  /// - Throws: `.logNotFound` if the server has no log of this name, `.notInLog` if it does not reach
  ///   back to the commit; `.notShipped` if the store to replace has commits that no server has, `.readOnly` if it
  ///   is the copy of a log;
  ///   `.unavailable`, `.serverRefused`, `.damagedLog`, `.newerLog`; the errors of a restored backup; what
  ///   `progress` throws.
  /// - Complexity: O(store + commits since the log's state); the disk needs room for two copies.
  @available(*, noasync, message: "it would block a thread that all tasks share: use `try await`")
  @discardableResult public static func restore(
    from log: ServerLog, to path: String, at point: RestorePoint = .newest,
    replacing: Bool = false, progress: ((Int) throws -> Void)? = nil
  ) throws -> RestoredCommit {
    try LogRestoration.run(log, path, point, replacing: replacing, progress)
  }

  /// Restores a store from its log, without blocking the task's thread.
  ///
  /// If the task is cancelled before the end, nothing is changed.
  ///
  /// - Parameters:
  ///   - log: the log.
  ///   - path: the path of the store.
  ///   - point: the commit; the newest one by default.
  ///   - replacing: whether an existing store may be replaced; its data is lost.
  ///   - progress: as in the synchronous form, on another thread.
  /// - Returns: the commit that the store has.
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  @discardableResult public nonisolated(nonsending) static func restore(
    from log: ServerLog, to path: String, at point: RestorePoint = .newest,
    replacing: Bool = false, progress: (@Sendable (Int) throws -> Void)? = nil
  ) async throws -> RestoredCommit {
    try await SpaceWorker().run(progress) {
      try LogRestoration.run(log, path, point, replacing: replacing, $0)
    }
  }

  /// Restores a store from the log to which it was mirrored, to take its place: when the restored store
  /// is opened with `mirror:`, it continues the log, and the one that shipped to it before is refused.
  ///
  /// For a machine that is lost. Make sure that its program does not run: what it commits from now on
  /// stays in its file, and the log never gets it.
  ///
  /// The place in the log is taken before the file gets its path. If an error comes in between, as from a full disk, the
  /// old program is refused already: call this again.
  ///
  /// - Parameters:
  ///   - log: the log.
  ///   - path: the path of the store.
  ///   - replacing: whether an existing store may be replaced; its data is lost.
  ///   - progress: called with the number of pairs of keys and values, and then of commits, that were
  ///     written; an error stops the restoration.
  /// - Returns: the commit that the store has.
  /// - Throws: `.conflictingOptions` for the log of a shared store, whose copies go on writing; the errors of
  ///   `restore(from:to:at:replacing:progress:)`.
  /// - Complexity: that of `restore(from:to:at:replacing:progress:)`.
  @available(*, noasync, message: "it would block a thread that all tasks share: use `try await`")
  @discardableResult public static func takeOver(
    _ log: ServerLog, to path: String, replacing: Bool = false,
    progress: ((Int) throws -> Void)? = nil
  ) throws -> RestoredCommit {
    try LogRestoration.run(log, path, .newest, continuing: true, replacing: replacing, progress)
  }

  /// Restores a store that takes the place of another one, without blocking the task's thread.
  ///
  /// - Parameters:
  ///   - log: the log.
  ///   - path: the path of the store.
  ///   - replacing: whether an existing store may be replaced; its data is lost.
  ///   - progress: as in the synchronous form, on another thread.
  /// - Returns: the commit that the store has.
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  @discardableResult public nonisolated(nonsending) static func takeOver(
    _ log: ServerLog, to path: String, replacing: Bool = false,
    progress: (@Sendable (Int) throws -> Void)? = nil
  ) async throws -> RestoredCommit {
    try await SpaceWorker().run(progress) {
      try LogRestoration.run(log, path, .newest, continuing: true, replacing: replacing, $0)
    }
  }
}
