internal import Foundation

extension Store {
  /// Copies the current state of the store to a new file, while others read and write.
  ///
  /// The copy is a complete store without the free space of this one, and it is on the disk when
  /// this returns. It appears under its name when it is complete: a crash leaves nothing there, or
  /// the old file. The copy is a long read: space that is freed meanwhile is reused only after it.
  ///
  /// - Parameters:
  ///   - target: the path of the copy, on any disk.
  ///   - replacing: whether the copy may replace an existing file, such as an older backup.
  ///   - progress: called after each piece that was written; an error stops the copy and removes
  ///     it.
  /// - Throws: `.fileExists` if there is a file at `target` and `replacing` is false, `.busy` if
  ///   that file is open as a store; `.unsuitableFile` for the path of a file that belongs to a
  ///   store; `.nestedWrite` inside a write of the store; `.diskFull`, `.accessDenied`,
  ///   `.ioFailure`, `.closed`; what `progress` throws.
  /// - Complexity: O(live pages), about as long as copying the file.
  @available(
    *, noasync,
    message:
      "it would block a thread that all tasks share: use `try await`; at the top level of main.swift, where Swift finds this form even so, put the call into an async function"
  )
  public func backup(
    to target: String, replacing: Bool = false,
    progress: ((SpaceProgress) throws -> Void)? = nil
  ) throws {
    try copyBackup(to: target, replacing: replacing, progress)
  }

  /// Copies the current state of the store to a new file, without blocking the task's thread.
  ///
  /// Cancelling the task stops the copy and removes it.
  ///
  /// - Parameters:
  ///   - target: the path of the copy, on any disk.
  ///   - replacing: whether the copy may replace an existing file.
  ///   - progress: called after each piece that was written, on another thread; an error stops the
  ///     copy.
  /// - Throws: `CancellationError`, and the errors of the synchronous form.
  /// - Complexity: that of the synchronous form.
  public nonisolated(nonsending) func backup(
    to target: String, replacing: Bool = false,
    progress: (@Sendable (SpaceProgress) throws -> Void)? = nil
  ) async throws {
    try await SpaceWorker().run(progress) {
      try self.copyBackup(to: target, replacing: replacing, $0)
    }
  }

  private func copyBackup(
    to target: String, replacing: Bool, _ progress: ((SpaceProgress) throws -> Void)?
  ) throws {
    _ = try currentCatalog()
    if environment.isWriting {
      throw LarchError(
        .nestedWrite, "A backup cannot be made inside a write; make it after the write."
      ) { $0.path = path }
    }
    let location = try StoreLocation(target)
    try StoreLocation.refuseSideFile(location.path)
    let log = environment.options.log
    let bytes = try NewFile.make(at: location, replacing: replacing, log: log) { file in
      var copy = SpaceCopy(into: file.descriptor, path: location.path, progress)
      try copy.copy(environment)
      try copy.flush()
      return copy.bytesDone
    }
    environment.deliverMessages()
    options.log?(
      LogMessage(.debug, .backedUp, "A backup of the store was made.") {
        $0.path = location.path
        $0.detail = "\(bytes) bytes"
      })
  }
}

/// Creates a whole file beside its place and moves it there when it is complete.
enum NewFile {
  /// - Parameter log: learns of a log of another store that lay at the place. The folder is locked then, so the program's
  ///   own function must not be called.
  static func make<T>(
    at location: StoreLocation, replacing: Bool, log: (@Sendable (LogMessage) -> Void)? = nil,
    _ fill: (TemporaryFile) throws -> T
  ) throws -> T {
    // Checked before and after the work: another program may create a file in between.
    if try location.occupant() != nil, !replacing { throw location.exists }
    TemporaryFile.removeLeftovers(in: location.directory)
    let temporary = try TemporaryFile(in: location.directory, for: location.path)
    defer { temporary.discard() }
    let result = try DiskRoom.reporting { try fill(temporary) }
    if replacing {
      try temporary.replace(at: location)
    } else {
      try temporary.place(at: location, log)
    }
    return result
  }
}
