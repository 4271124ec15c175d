#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Musl)
  internal import Musl
#else
  internal import Glibc
#endif

/// A store file that is opened for reading without LMDB and without a map.
///
/// LMDB keeps its locks on the lock file only, so closing this descriptor releases none of them.
final class PageFile {
  let descriptor: Int32
  let path: String
  private(set) var length: UInt64 = 0

  init(path: String) throws {
    self.path = path
    guard !path.isEmpty, !path.utf8.contains(0) else { throw Self.openError(EINVAL, path) }
    // Non-blocking, so that a pipe at the path cannot hang the caller.
    var opened: Int32
    repeat {
      opened = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    } while opened < 0 && errno == EINTR
    if opened < 0 { throw Self.openError(errno, path) }
    descriptor = opened
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw ioError(errno) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw LarchError(
        .unsuitableFile,
        "The path is not a regular file; name the store file itself, not a directory or device."
      ) { $0.path = path }
    }
    length = UInt64(max(0, status.st_size))
  }

  deinit { close(descriptor) }

  /// Reads the length again; another process may have written meanwhile.
  func refreshLength() throws {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw ioError(errno) }
    length = UInt64(max(0, status.st_size))
  }

  /// Reads bytes from an offset, fewer at the end; nil is an input error.
  func read(at offset: UInt64, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    guard let base = buffer.baseAddress, offset <= UInt64(Int64.max) else { return 0 }
    var done = 0
    while done < buffer.count {
      let (position, overflow) = offset.addingReportingOverflow(UInt64(done))
      if overflow || position > UInt64(Int64.max) { break }
      let got = pread(descriptor, base + done, buffer.count - done, off_t(position))
      if got < 0 {
        if errno == EINTR { continue }
        return nil
      }
      if got == 0 { break }
      done += got
    }
    return done
  }

  func ioError(_ code: Int32) -> LarchError {
    LarchError(.ioFailure, "The file cannot be read; check the disk and try again.") {
      $0.path = self.path
      $0.detail = String(cString: strerror(code))
    }
  }

  private static func openError(_ code: Int32, _ path: String) -> LarchError {
    let detail = String(cString: strerror(code))
    switch code {
    case ENOENT, ENOTDIR:
      return LarchError(.fileNotFound, "There is no file at this path; check the path.") {
        $0.path = path
      }
    case EACCES, EPERM:
      return LarchError(
        .accessDenied, "The process may not read the file; change its permissions or owner."
      ) { $0.path = path }
    case EISDIR, ELOOP, ENXIO, ENAMETOOLONG, EINVAL:
      return LarchError(.unsuitableFile, "The path cannot be used for a store; choose another.") {
        $0.path = path
        $0.detail = detail
      }
    default:
      return LarchError(.ioFailure, "The file cannot be opened; see the detail and try again.") {
        $0.path = path
        $0.detail = detail
      }
    }
  }
}
