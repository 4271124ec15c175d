internal import Foundation

/// What it means for a write that there is no room: on the disk, or below the limit on the size of files.
enum DiskRoom {
  /// Runs a body in which a write beyond the limit on the size of files is an error, `EFBIG`, and no more.
  ///
  /// The system also sends SIGXFSZ to the thread that writes, which ends the process unless the program has
  /// said otherwise. What the process does with its signals is for the program to say, so this thread only
  /// holds that one off meanwhile, and takes it if it came. Darwin sends it to the process and not to the
  /// thread: there only the program can ignore it.
  static func reporting<T, Failure: Error>(
    _ body: () throws(Failure) -> T
  ) throws(Failure) -> T {
    #if os(Linux)
      // Nearly no process has a limit, and asking for it costs less than the rest.
      guard let limit, limit != .max else { return try body() }
      var (signal, before) = (sigset_t(), sigset_t())
      sigemptyset(&signal)
      sigaddset(&signal, SIGXFSZ)
      pthread_sigmask(SIG_BLOCK, &signal, &before)
      // Held off already, by the program or by a caller of this one, who takes it.
      guard sigismember(&before, SIGXFSZ) == 0 else { return try body() }
      defer {
        var now = timespec()
        while sigtimedwait(&signal, nil, &now) < 0, errno == EINTR {}
        pthread_sigmask(SIG_UNBLOCK, &signal, nil)
      }
    #endif
    return try body()
  }

  /// Whether the file system, or the limit on the size of files, leaves a file no room to grow.
  static func isOut(at path: String) -> Bool {
    var system = statvfs()
    if statvfs(path, &system) == 0, UInt64(system.f_bavail) &* UInt64(system.f_frsize) < 1 << 20 {
      return true
    }
    var status = stat()
    guard let limit, stat(path, &status) == 0 else { return false }
    // The system cuts a write at the limit, so that the file ends within about a page of it.
    return UInt64(clamping: status.st_size) &+ (1 << 20) > limit
  }

  /// The limit on the size of files; nil if the system does not tell it.
  private static var limit: UInt64? {
    var limit = rlimit()
    #if canImport(Glibc)
      let code = getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
    #else
      let code = getrlimit(RLIMIT_FSIZE, &limit)
    #endif
    return code == 0 ? UInt64(limit.rlim_cur) : nil
  }
}
