internal import CLMDB

internal import Foundation

/// The place of a store that is being opened: nobody replaces the file, and nobody begins or ends to
/// log its commits.
struct Door: ~Copyable {
  let place: PlaceLock
  /// Whether another process logs its commits.
  let found: LogFound

  /// Waits for the place, and makes the store whole if a log was left behind.
  init(_ environment: LMDBEnvironment) throws {
    let (path, options) = (environment.path, environment.options)
    while true {
      let isExclusive = options.logsCommits || CommitLogFile.exists(for: path)
      guard let place = try Self.lock(path, isExclusive: isExclusive),
        place.file == environment.file
      else { throw LMDBEnvironment.FileReplaced() }
      if CommitLogFile.exists(for: path) {
        // It came after the look.
        if !isExclusive { continue }
        let settling = LogSettling(path: path, options: options, file: place.file)
        guard try settling.run(place) == .inUse else { continue }
        self.place = place
        found = .inUse
        return
      }
      if options.logsCommits, try Self.isWrittenElsewhere(path, place.descriptor) {
        throw environment.openElsewhere(place)
      }
      self.place = place
      found = .nothing
      return
    }
  }

  private static func lock(_ path: String, isExclusive: Bool) throws -> PlaceLock? {
    do throws(LMDBError) {
      return try PlaceLock(path, isExclusive: isExclusive)
    } catch {
      throw translated(error, path: path)
    }
  }

  /// What a file system without `flock` cannot have is a log. Other errors pass.
  static func translated(_ error: LMDBError, path: String) -> any Error {
    guard PlaceLock.isMissing(error.code) else { return error }
    return LarchError(
      .unsuitableFile,
      "The file system has no locks on whole files, which a commit log needs; put the store on another one, or open it with `durability: .durable`.",
      underlying: error
    ) { $0.path = path }
  }

  /// Readers do no harm, and see what is logged like every commit.
  private static func isWrittenElsewhere(
    _ path: String, _ descriptor: Int32
  ) throws(LMDBError) -> Bool {
    if let answer = FileClaim.isWritable(elsewhere: descriptor) { return answer }
    return try LogSettling.isOpenElsewhere(path, descriptor)
  }
}

extension LMDBEnvironment {
  /// The error of a store whose commits cannot be logged.
  fileprivate func openElsewhere(_ place: borrowing PlaceLock) -> LarchError {
    LarchError(
      .busy,
      "Another process has the store open for writing, and only one may write a store whose commits are logged; close it there, or open it here with `durability: .durable`."
    ) {
      $0.path = path
      if let holder = FileClaim.other(than: nil, place.descriptor) {
        $0.detail = holder.description(of: file)
      }
    }
  }

  /// The log of a store that was opened, which is not in use yet.
  func makeLog(_ file: CommitLogFile, _ handle: OpaquePointer) throws -> CommitLog {
    var descriptor: Int32 = -1
    mdb_env_get_fd(handle, &descriptor)
    do {
      guard let pageSize = try LogMark.pageSize(descriptor) else {
        throw LMDBError(EINVAL, "pread")
      }
      let identity = UInt64.random(in: 1 ... .max)
      var header = CommitLogHeader(
        identity: identity, salt: .random(in: 1 ... .max), halfSize: options.logLimits.halfSize,
        pageSize: pageSize)
      header.number = 1
      try file.write(header)
      let mark = LogMark(descriptor: descriptor, pageSize: pageSize)
      try mark.name(identity)
      try StoreLocation(path).flushDirectory()
      return CommitLog(
        file: file, handle: handle, mark: mark, header: header, limits: options.logLimits,
        recorder: recorder, post: post)
    } catch {
      file.remove()
      file.close()
      throw error
    }
  }

  /// The commit log that is in use beside the file, by whichever process; nil if there is none.
  func commitLogInUse() -> (bytes: Int, checkpoint: UInt64)? {
    guard let log = try? CommitLogFile.open(for: path) else { return nil }
    defer { log.close() }
    guard let header = try? log.header(), header.state != .clean else { return nil }
    return (CommitLogFormat.firstHalf + 2 * header.halfSize, header.checkpoint)
  }

  /// Ends the log, and closes an environment. Then the store is whole by itself.
  func closeHandle(_ handle: OpaquePointer) {
    if let commitLog {
      self.commitLog = nil
      #if LARCH_LOG_EVERYTHING
        ReplayComparison(path: path, options: options).run(handle)
      #endif
      do {
        // Nobody opens the store meanwhile. Without the lock there is no file that somebody could open.
        let place = try PlaceLock(path, isExclusive: true)
        withExtendedLifetime(place) { DiskRoom.reporting { commitLog.close(isAlone: true) } }
      } catch {
        // As when no more files can be opened. Whoever opens the store next follows the log.
        DiskRoom.reporting { commitLog.close(isAlone: false) }
      }
    }
    Self.close(handle)
  }
}
