public import Foundation

// The same operations for a URL, such as one of the file manager.
extension Store {
  /// Opens the store in the file at a URL, or creates it.
  ///
  /// - Throws: `.unsuitableFile` for a URL that is not a file URL; the errors of
  ///   `init(at:for:migrations:options:)` with a path.
  /// - Complexity: the same.
  public convenience init(
    at url: URL, for types: any Record.Type..., migrations: [Migration] = [],
    options: Options = Options()
  ) throws {
    var options = options
    options.migrations += migrations
    try self.init(
      path: try StoreLocation.path(of: url), types: types, options: options, isTemporary: false)
  }

  /// Removes the store at a URL: its file, its lock file, and what a crash left of them.
  ///
  /// - Returns: whether there was a store.
  /// - Throws: `.unsuitableFile` for a URL that is not a file URL; the errors of `destroy(at:)`
  ///   with a path.
  /// - Complexity: O(1).
  @discardableResult
  public static func destroy(at url: URL) throws -> Bool {
    try destroy(at: try StoreLocation.path(of: url))
  }

  /// Copies the current state of the store to a new file at a URL.
  ///
  /// - Throws: `.unsuitableFile` for a URL that is not a file URL; the errors of
  ///   `backup(to:replacing:progress:)` with a path.
  /// - Complexity: the same.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`, inside of an `async` function"
  )
  public func backup(
    to url: URL, replacing: Bool = false, progress: ((SpaceProgress) throws -> Void)? = nil
  ) throws {
    try backup(to: try StoreLocation.path(of: url), replacing: replacing, progress: progress)
  }

  /// Copies the current state of the store to a new file at a URL, without blocking the task's
  /// thread.
  ///
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  public nonisolated(nonsending) func backup(
    to url: URL, replacing: Bool = false,
    progress: (@Sendable (SpaceProgress) throws -> Void)? = nil
  ) async throws {
    try await backup(to: try StoreLocation.path(of: url), replacing: replacing, progress: progress)
  }

  /// Restores the backup at a URL, in place of a store or to a new path.
  ///
  /// - Throws: `.unsuitableFile` for a URL that is not a file URL; the errors of
  ///   `restore(from:to:replacing:progress:)` with paths.
  /// - Complexity: the same.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`, inside of an `async` function"
  )
  public static func restore(
    from backup: URL, to url: URL, replacing: Bool = false,
    progress: ((SpaceProgress) throws -> Void)? = nil
  ) throws {
    try restore(
      from: try StoreLocation.path(of: backup), to: try StoreLocation.path(of: url),
      replacing: replacing, progress: progress)
  }

  /// Restores the backup at a URL in place of a store, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  public nonisolated(nonsending) static func restore(
    from backup: URL, to url: URL, replacing: Bool = false,
    progress: (@Sendable (SpaceProgress) throws -> Void)? = nil
  ) async throws {
    try await restore(
      from: try StoreLocation.path(of: backup), to: try StoreLocation.path(of: url),
      replacing: replacing, progress: progress)
  }
}

extension StoreLocation {
  /// The path of a file URL.
  static func path(of url: URL) throws -> String {
    guard url.isFileURL else {
      throw LarchError(
        .unsuitableFile, "The URL is not a file URL; use `URL(fileURLWithPath:)`."
      ) { $0.path = url.absoluteString }
    }
    return url.path
  }
}
