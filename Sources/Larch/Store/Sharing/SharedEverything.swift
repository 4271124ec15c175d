#if LARCH_SHARE_EVERYTHING
  /// Makes every store that tests open a copy of a shared one, in a build for that: see docs/testing.md.
  package protocol SharedTestLogs {
    /// The log for the store at a path.
    static func log(for path: String) -> ServerLog?
    /// The store is open.
    static func didOpen(_ path: String) throws
    /// The copy is about to be closed: all copies must have the same pairs.
    static func willClose(_ path: String, _ environment: LMDBEnvironment)
  }

  enum SharedEverything {
    /// The implementation is in LarchTestSupport, which this module cannot name.
    private static let logs =
      _typeByName("16LarchTestSupport17SharedTestServersC") as? any SharedTestLogs.Type

    static func log(for path: String, _ options: Store.Options) -> ServerLog? {
      guard !options.isReadOnly, options.durability != .logged, options.onMismatch == .refuse,
        options.createsFile, options.evolution != .check
      else { return nil }
      return logs?.log(for: path)
    }

    static func didOpen(_ path: String) throws { try logs?.didOpen(path) }

    static func willClose(_ environment: LMDBEnvironment) {
      logs?.willClose(environment.path, environment)
    }
  }
#endif
