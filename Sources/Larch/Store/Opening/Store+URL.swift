public import Foundation

// The same operations for those who have a URL, as the file manager gives them.
extension Store {
  /// Opens the store in the file at a URL, and makes it when it is not there.
  ///
  /// - Throws: `.unsuitableFile` for a URL that is not one of a file; as
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

  /// Removes the store at a URL: its file, its lock file, and what a crash left of either.
  ///
  /// - Returns: whether there was a store.
  /// - Throws: `.unsuitableFile` for a URL that is not one of a file; as `destroy(at:)` with a path.
  /// - Complexity: O(1).
  @discardableResult
  public static func destroy(at url: URL) throws -> Bool {
    try destroy(at: try StoreLocation.path(of: url))
  }

  /// Copies the store as it is now to a new file at a URL.
  ///
  /// - Throws: `.unsuitableFile` for a URL that is not one of a file; as
  ///   `backup(to:replacing:progress:)` with a path.
  /// - Complexity: the same.
  @available(*, noasync)
  public func backup(
    to url: URL, replacing: Bool = false, progress: ((SpaceProgress) throws -> Void)? = nil
  ) throws {
    try backup(to: try StoreLocation.path(of: url), replacing: replacing, progress: progress)
  }

  /// Copies the store as it is now to a new file at a URL, without blocking the task's thread.
  ///
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  public nonisolated(nonsending) func backup(
    to url: URL, replacing: Bool = false,
    progress: (@Sendable (SpaceProgress) throws -> Void)? = nil
  ) async throws {
    try await backup(to: try StoreLocation.path(of: url), replacing: replacing, progress: progress)
  }

  /// Puts the backup at a URL in the place of a store, or where there is none yet.
  ///
  /// - Throws: `.unsuitableFile` for a URL that is not one of a file; as
  ///   `restore(from:to:replacing:progress:)` with paths.
  /// - Complexity: the same.
  @available(*, noasync)
  public static func restore(
    from backup: URL, to url: URL, replacing: Bool = false,
    progress: ((SpaceProgress) throws -> Void)? = nil
  ) throws {
    try restore(
      from: try StoreLocation.path(of: backup), to: try StoreLocation.path(of: url),
      replacing: replacing, progress: progress)
  }

  /// Puts the backup at a URL in the place of a store, without blocking the task's thread.
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
  /// The path that a URL of a file means.
  static func path(of url: URL) throws -> String {
    guard url.isFileURL else {
      throw LarchError(
        .unsuitableFile, "The URL is not a file URL; use `URL(fileURLWithPath:)`."
      ) { $0.path = url.absoluteString }
    }
    return url.path
  }
}
