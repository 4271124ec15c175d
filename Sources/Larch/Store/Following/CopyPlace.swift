/// The place of a copy in its log, which is in the outbox of its file.
extension LMDBEnvironment {
  /// Whether the newest state is one of a copy that follows a log.
  func isCopy() throws -> Bool { [.follower, .shared].contains(try outboxHeader()?.role) }

  /// The place of the newest commit of a copy.
  ///
  /// - Throws: `.unsuitableFile` if the file is no copy, or none any more.
  func followedPlace(_ role: OutboxRole = .follower) throws -> LogPlace {
    guard let header = try outboxHeader() else {
      throw LarchError(
        .unsuitableFile,
        "The file is a store of its own, and no copy that follows a log; choose another path for the copy."
      ) { $0.path = path }
    }
    guard header.role == role else {
      if header.role == .shared { throw isCopyOfShared() }
      throw LarchError(
        .unsuitableFile,
        "The file is that of the store that writes the log; open it with `mirror:`, or choose another path for the copy."
      ) { $0.path = path }
    }
    return header.place
  }

  private func isCopyOfShared() -> LarchError {
    LarchError(
      .unsuitableFile,
      "The file is a copy of a shared store; open it with `Store(sharing:copy:for:)`, or choose another path for the copy."
    ) { $0.path = path }
  }
}
