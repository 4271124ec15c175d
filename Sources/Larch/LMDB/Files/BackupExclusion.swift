internal import Foundation

/// The mark on a file that excludes it from the backups of the system.
///
/// It belongs to the file, not to its name. So each file that takes the place of a marked one gets the
/// mark from it, also in a process that did not ask for the mark itself.
package enum BackupExclusion {
  /// The marks of a platform; tests have their own, where the platform has none.
  package struct Platform: Sendable {
    let mark: @Sendable (String) throws -> Void
    let isMarked: @Sendable (String) -> Bool

    package init(
      mark: @escaping @Sendable (String) throws -> Void,
      isMarked: @escaping @Sendable (String) -> Bool
    ) {
      self.mark = mark
      self.isMarked = isMarked
    }
  }

  private static let ofTests = Locked<[String: Platform]>([:])

  /// Sets the marks of a test, for the files of a folder.
  package static func use(_ platform: Platform?, in folder: String) {
    ofTests.withLock { $0[folder] = platform }
  }

  #if canImport(Darwin)
    private static let ofSystem: Platform? = Platform(
      mark: { path in
        var url = URL(fileURLWithPath: path)
        var values = URLResourceValues()
        values.isExcludedFromBackup = true
        try url.setResourceValues(values)
      },
      isMarked: { path in
        let values = try? URL(fileURLWithPath: path).resourceValues(
          forKeys: [.isExcludedFromBackupKey])
        return values?.isExcludedFromBackup ?? false
      })
  #else
    private static let ofSystem: Platform? = nil
  #endif

  /// The marks of the file at a path; nil if there are none.
  private static func platform(of path: String) -> Platform? {
    ofTests.withLock { tests in tests.first { path.hasPrefix($0.key + "/") }?.value } ?? ofSystem
  }

  /// Whether a file is marked.
  static func isMarked(_ path: String) -> Bool { platform(of: path)?.isMarked(path) ?? false }

  /// Marks a new file like the one whose place it takes. The next opening that asks for the mark sets
  /// it again, and tells if that fails.
  static func pass(from old: String, to new: String) {
    guard let platform = platform(of: old), platform.isMarked(old) else { return }
    try? platform.mark(new)
  }

  /// Marks the file of a store and its companions.
  ///
  /// - Returns: a message for the log if that was not possible.
  static func mark(_ store: String) -> LogMessage? {
    guard let platform = platform(of: store) else {
      return LogMessage(
        .notice, .notExcludedFromBackup,
        "This platform has no mark that excludes a file from backups; exclude it where the backup is set up."
      ) { $0.path = store }
    }
    for path in [store, store + "-lock", store + "-log"] {
      var status = stat()
      guard lstat(path, &status) == 0, !platform.isMarked(path) else { continue }
      do {
        try platform.mark(path)
      } catch {
        // A companion may go at any moment.
        if path != store, lstat(path, &status) != 0 { continue }
        return LogMessage(
          .warning, .notExcludedFromBackup,
          "The file could not be marked as excluded from backups; check the file system."
        ) {
          $0.path = path
          $0.detail = "\(error)"
        }
      }
    }
    return nil
  }
}
