public import Foundation

/// The source of JSON.
///
/// A file is read piece by piece, so its size does not matter.
public struct JSONSource: Sendable {
  package let open: @Sendable () throws -> any ByteSource

  /// The file at a path.
  public static func file(_ path: String) -> JSONSource {
    JSONSource { try ByteFile(path: path) }
  }

  /// The file of a URL.
  public static func file(_ url: URL) -> JSONSource { file(url.path) }

  /// Bytes in UTF-8.
  public static func data(_ data: Data) -> JSONSource { JSONSource { DataBytes(data: data) } }

  /// A text in memory.
  public static func text(_ text: String) -> JSONSource { data(Data(text.utf8)) }
}

/// The arrangement of the elements of a JSON text.
public enum JSONFormat: Sendable, Hashable {
  /// One array: `[{…}, {…}]`.
  case array
  /// An element on each line, also called JSON Lines or NDJSON.
  case lines
}

/// Bytes that can be read at any offset.
package protocol ByteSource {
  var count: Int { get }

  /// Reads bytes from an offset; fewer at the end.
  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int
}

struct DataBytes: ByteSource {
  let data: Data

  var count: Int { data.count }

  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let size = min(buffer.count, data.count - offset)
    guard offset >= 0, size > 0 else { return 0 }
    let start = data.startIndex + offset
    data.copyBytes(to: buffer, from: start..<(start + size))
    return size
  }
}

/// A file that is open for reading.
final class ByteFile: ByteSource {
  private let descriptor: Int32
  private let path: String
  /// Its length when it was opened.
  let count: Int

  init(path: String) throws {
    self.path = path
    guard !path.isEmpty, !path.utf8.contains(0) else {
      throw ByteFile.error(EINVAL, path)
    }
    // Non-blocking, so that a pipe at the path cannot hang the caller.
    var opened: Int32
    repeat {
      opened = Foundation.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    } while opened < 0 && errno == EINTR
    guard opened >= 0 else { throw ByteFile.error(errno, path) }
    descriptor = opened
    var status = stat()
    guard fstat(opened, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
      close(opened)
      throw ByteFile.error(EINVAL, path)
    }
    count = Int(status.st_size)
  }

  deinit { close(descriptor) }

  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    guard let base = buffer.baseAddress, offset >= 0 else { return 0 }
    var done = 0
    while done < buffer.count {
      let got = pread(descriptor, base + done, buffer.count - done, off_t(offset + done))
      if got < 0 {
        if errno == EINTR { continue }
        throw ByteFile.error(errno, path)
      }
      if got == 0 { break }
      done += got
    }
    return done
  }

  /// The error of the system for a file that is imported or exported.
  static func error(_ code: Int32, _ path: String) -> LarchError {
    let fill: (inout LarchError.Context) -> Void = {
      $0.path = path
      $0.detail = String(cString: strerror(code))
    }
    switch code {
    case ENOENT, ENOTDIR:
      return LarchError(.fileNotFound, "There is no file or directory at this path.", fill)
    case EACCES, EPERM, EROFS:
      return LarchError(
        .accessDenied, "The process may not use the file; change its permissions.", fill)
    case ENOSPC, EDQUOT:
      return LarchError(.diskFull, "The disk is full; free some space, then retry.", fill)
    case EINVAL, EISDIR, ELOOP, ENXIO, ENAMETOOLONG:
      return LarchError(
        .unsuitableFile, "The path is not a plain file; choose another one.", fill)
    default:
      return LarchError(.ioFailure, "The file cannot be read or written; see the detail.", fill)
    }
  }
}
