#if LARCH_SHARE_EVERYTHING
  internal import Foundation

  /// Makes every store that tests open a copy of a shared one, in a build for that: see docs/testing.md.
  package protocol SharedTestLogs {
    /// The log for the store at a path; nil for one that stays alone.
    ///
    /// - Parameter file: whether the file there is a copy of a shared store; nil if there is none.
    static func log(for path: String, file: Bool?) -> ServerLog?
    /// The store is open.
    static func didOpen(_ path: String) throws
    /// The copy is about to be closed: all copies must have the same pairs.
    static func willClose(_ path: String, _ environment: LMDBEnvironment)
  }

  enum SharedEverything {
    /// The implementation is in LarchTestSupport, which this module cannot name.
    private static var logs: (any SharedTestLogs.Type)? {
      _typeByName("16LarchTestSupport17SharedTestServersC") as? any SharedTestLogs.Type
    }

    static func log(for path: String, _ options: Store.Options) -> ServerLog? {
      guard !options.isReadOnly, options.durability != .logged, options.onMismatch == .refuse,
        options.createsFile, options.evolution != .check, let logs
      else { return nil }
      // A file that cannot be opened gives its own error.
      guard FileManager.default.fileExists(atPath: path) else {
        return logs.log(for: path, file: nil)
      }
      guard let isCopy = isCopy(path) else { return nil }
      return logs.log(for: path, file: isCopy)
    }

    private static func isCopy(_ path: String) -> Bool? {
      var options = LMDBEnvironment.Options()
      options.canCreate = false
      options.durability = .none
      guard let environment = try? LMDBEnvironment.open(path: path, options: options) else {
        return nil
      }
      defer { environment.close() }
      do {
        guard let header = try environment.outboxHeader() else { return false }
        return header.role == .shared ? true : nil
      } catch {
        return nil
      }
    }

    static func didOpen(_ path: String) throws { try logs?.didOpen(path) }

    static func willClose(_ environment: LMDBEnvironment) {
      logs?.willClose(environment.path, environment)
    }
  }
#endif
