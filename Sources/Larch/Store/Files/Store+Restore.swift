internal import Foundation

extension Store {
  /// Restores a backup, in place of a store or to a new path.
  ///
  /// The backup is not changed. Every page and the checksum of every record are checked first. A
  /// crash leaves the old store or the new one, never a mixture. If the store at `path` is mirrored, it stays
  /// so, but its mirror stops: what the log has is only given up when ``StoreMirror/startOver()`` says so.
  ///
  /// - Parameters:
  ///   - backup: a file that `backup(to:replacing:progress:)` made, or a copy of a store that was
  ///     not open.
  ///   - path: the path of the store.
  ///   - replacing: whether an existing store may be replaced; its data is lost.
  ///   - progress: called after each piece that was copied; an error stops the restoration, and
  ///     nothing is changed.
  /// - Throws: `.fileNotFound`, `.notAStore`, `.newerFormat`, `.truncated`, `.corrupted`,
  ///   `.checksumMismatch` for a damaged backup; `.unsuitableFile` if it is a copy that needs the log of a
  ///   killed program; `.readOnly` if the store at `path` is the copy of a log;
  ///   `.notShipped` if it has commits that no server has; `.fileExists` if there is a file at `path` and
  ///   `replacing` is false; `.busy` if the backup or the file at `path` is open as a store, or the backup is
  ///   written meanwhile; `.diskFull`, `.accessDenied`, `.ioFailure`; what `progress` throws.
  /// - Complexity: O(file): it is copied once and read once more.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public static func restore(
    from backup: String, to path: String, replacing: Bool = false,
    progress: ((SpaceProgress) throws -> Void)? = nil
  ) throws {
    try Restoration(backup, to: path, replacing: replacing, progress).run()
  }

  /// Restores a backup in place of a store, without blocking the task's thread.
  ///
  /// If the task is cancelled before the end, nothing is changed.
  ///
  /// - Parameters:
  ///   - backup: a file that is a backup of a store.
  ///   - path: the path of the store.
  ///   - replacing: whether an existing store may be replaced; its data is lost.
  ///   - progress: called after each piece that was copied, on another thread; an error stops the
  ///     restoration.
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  public nonisolated(nonsending) static func restore(
    from backup: String, to path: String, replacing: Bool = false,
    progress: (@Sendable (SpaceProgress) throws -> Void)? = nil
  ) async throws {
    try await SpaceWorker().run(progress) {
      try Restoration(backup, to: path, replacing: replacing, $0).run()
    }
  }
}

/// One restoration.
struct Restoration {
  private let backup: String
  private let location: StoreLocation
  private let replacing: Bool
  /// Whether the store is to have the mirror of the backup, and not the one of the store that it replaces.
  private let takesOver: Bool
  private let progress: ((Store.SpaceProgress) throws -> Void)?

  init(
    _ backup: String, to path: String, replacing: Bool, takesOver: Bool = false,
    _ progress: ((Store.SpaceProgress) throws -> Void)?
  ) throws {
    self.backup = backup
    location = try StoreLocation(path)
    self.replacing = replacing
    self.takesOver = takesOver
    self.progress = progress
  }

  func run() throws {
    let source = try PageFile(path: backup)
    // A file that is clearly not a store is refused before a byte is copied.
    _ = try FileCheck.header(source)
    try checkNotInUse(source)
    try checkNeedsNoLog(source)
    if try location.occupant() != nil {
      guard replacing else { throw location.exists }
      if let open = try Self.openTarget(location) {
        defer { open.close() }
        try Self.checkReplaceable(Self.header(of: open), location)
        return try replaceFile(of: open, with: source)
      }
    }
    try NewFile.make(at: location, replacing: replacing) { file in
      try fill(file.path, file.descriptor, source, above: 0)
    }
  }

  private func fill(
    _ path: String, _ descriptor: Int32, _ source: PageFile, above number: UInt64,
    _ header: OutboxHeader? = nil
  ) throws {
    let state = try FileCheck.header(source)
    var copy = SpaceCopy(into: descriptor, path: location.path, progress)
    do {
      try copy.copy(source)
    } catch let error as LarchError where error.code == .ioFailure {
      // Whoever writes the backup also makes it longer.
      try expect(state, in: source)
      throw error
    }
    try expect(state, in: source)
    // Check the copy, not the backup: nobody can change the copy any more.
    do {
      try BackupCheck.check(path) { try copy.tell() }
    } catch var error as LarchError {
      // The temporary name means nothing to the caller.
      if error.context.path == path { error.context.path = backup }
      throw error
    }
    if let header { try StateFile.replaceOutbox(ofFileAt: path, with: header) }
    if number > 0 { try copy.renumber(PageFile(path: path), above: number) }
    try copy.flush()
  }

  /// The store to replace, which others may have open; nil if it is too damaged to notify them.
  private static func openTarget(_ location: StoreLocation) throws -> LMDBEnvironment? {
    if let open = LMDBRegistry.shared.environment(at: location.path) {
      if !open.options.isReadOnly { return open }
      open.close()
      throw location.busy
    }
    var options = Store.Options()
    options.isVerified = true
    options.createsFile = false
    do {
      return try LMDBEnvironment.open(
        path: location.path, options: options.forEnvironment(StoreSchema()))
    } catch let error as LarchError where damage.contains(error.code) {
      return nil
    }
  }

  /// Refuses to replace a store that has commits which its mirror has not shipped, since nobody else has them, and
  /// the copy of a log, which would not be that of its log any more.
  ///
  /// - Throws: `.notShipped`, `.readOnly`.
  static func checkReplaceable(_ location: StoreLocation) throws {
    guard let open = try openTarget(location) else { return }
    defer { open.close() }
    try checkReplaceable(header(of: open), location)
  }

  private static func checkReplaceable(_ header: OutboxHeader?, _ location: StoreLocation) throws {
    guard let header else { return }
    guard header.role == .writer || header.role == .superseded else {
      throw LarchError(
        .readOnly,
        "The file is the copy of a log on a server, which has all of it. Delete the file or move it away, then restore; or restore to another path."
      ) { $0.path = location.path }
    }
    guard header.hasUnshipped else { return }
    throw LarchError(
      .notShipped,
      "The store has commits that are not on the server of its mirror yet, and would be lost. Ship them (`larch mirror … --once`; with another `--name` and `--replace` if its log no longer accepts them), or move the file away; or end the mirror, which drops them (`endMirror()`, `larch mirror … --end`)."
    ) {
      $0.path = location.path
      let commits = header.place.position - header.shipped.position
      $0.detail =
        header.needsFirstCopy && !header.isRestored
        ? "the whole store" : "\(commits) commit\(commits == 1 ? "" : "s")"
    }
  }

  /// The outbox of a store; nil if it has none, or a damaged one.
  private static func header(of environment: LMDBEnvironment) throws -> OutboxHeader? {
    do {
      return try environment.outboxHeader()
    } catch let error as LarchError where error.code == .corrupted {
      return nil
    }
  }

  private static let damage: Set<LarchError.Code> = [
    .notAStore, .newerFormat, .truncated, .corrupted, .checksumMismatch,
  ]

  private func replaceFile(of environment: LMDBEnvironment, with source: PageFile) throws {
    try environment.replaceFile {
      try CatalogLoader(environment, StoreSchema()).raiseGeneration(in: $0)
    } fill: { path, descriptor, number in
      var header = try Self.header(of: environment)
      try Self.checkReplaceable(header, location)
      // The place that the backup had is none of this store any more.
      header?.moveToRestored()
      try fill(path, descriptor, source, above: number, takesOver ? nil : header)
    }
  }

  /// Refuses a backup that was written while it was copied. It is not locked meanwhile, since whoever opens it would wait.
  /// No page of a state is written again before another commit.
  private func expect(_ state: MetaPage, in source: PageFile) throws {
    guard try FileCheck.header(source) == state else {
      throw LarchError(
        .busy,
        "The backup was written while it was copied; close it in every process that uses it, then retry."
      ) { $0.path = backup }
    }
  }

  /// A file that is being written has bytes of several states.
  private func checkNotInUse(_ file: PageFile) throws {
    // A link leads to the file, and who has that open knows it by its own name.
    guard let resolved = realpath(backup, nil) else {
      throw LMDBError(errno, "realpath").larchError(path: backup)
    }
    defer { free(resolved) }
    let source = try StoreLocation(String(cString: resolved))
    if source.path == location.path {
      throw LarchError(
        .unsuitableFile, "The backup is the store file itself; name the backup file."
      ) { $0.path = location.path }
    }
    do throws(LMDBError) {
      // Also under a second name.
      if FileClaim.other(than: nil, file.descriptor) != nil { throw LMDBError(EBUSY, "fcntl") }
      if try source.isInUse() { throw LMDBError(EBUSY, "fcntl") }
    } catch {
      if error.code == EBUSY { throw source.busy }
      throw error.larchError(path: backup)
    }
  }

  /// A store whose program was killed is whole only together with its log.
  private func checkNeedsNoLog(_ source: PageFile) throws {
    guard let pair = try MetaPage.readPair(source),
      pair.first.isMarked || pair.second?.isMarked == true
    else { return }
    throw LarchError(
      .unsuitableFile,
      "The backup is a copy of a store whose program was killed, and its log has the newest commits; open and close the copy beside its log, then restore it."
    ) { $0.path = backup }
  }
}
