internal import Foundation

/// A file that is written beside its place, and takes it when it is complete.
struct ReplacementFile: ~Copyable {
  private let path: String
  private let directory: String
  private let temporary: String
  private let descriptor: Int32

  init(_ path: String) throws {
    guard !path.isEmpty, !path.utf8.contains(0), path.last != "/" else {
      throw ByteFile.error(EINVAL, path)
    }
    // The file behind a link is replaced, not the link.
    var place = path
    if let target = realpath(path, nil) {
      place = String(cString: target)
      free(target)
    }
    var status = stat()
    let isThere = stat(place, &status) == 0
    if isThere, status.st_mode & S_IFMT != S_IFREG { throw ByteFile.error(EINVAL, path) }
    let slash = place.lastIndex(of: "/")
    let directory = slash.map { $0 == place.startIndex ? "/" : String(place[..<$0]) } ?? "."
    // Short, since it may take no more bytes than the name of the file.
    let random = String(UInt64.random(in: .min ... .max), radix: 36)
    let temporary = directory + "/.larch-" + random
    let opened = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
    guard opened >= 0 else { throw ByteFile.error(errno, path) }
    self.path = place
    self.directory = directory
    self.temporary = temporary
    descriptor = opened
    if isThere { fchmod(opened, status.st_mode & 0o777) }
  }

  deinit {
    close(descriptor)
    // Gone from this name, when it has taken its place.
    unlink(temporary)
  }

  func write(_ data: Data) throws {
    try data.withUnsafeBytes { bytes in
      var done = 0
      while let base = bytes.baseAddress, done < bytes.count {
        let wrote = Foundation.write(descriptor, base + done, bytes.count - done)
        if wrote < 0 {
          if errno == EINTR { continue }
          throw ByteFile.error(errno, path)
        }
        done += wrote
      }
    }
  }

  /// Makes the disk keep the file, then gives it its place.
  func takePlace() throws {
    #if canImport(Darwin)
      if fcntl(descriptor, F_FULLFSYNC) != 0, fsync(descriptor) != 0 {
        throw ByteFile.error(errno, path)
      }
    #else
      guard fsync(descriptor) == 0 else { throw ByteFile.error(errno, path) }
    #endif
    guard rename(temporary, path) == 0 else { throw ByteFile.error(errno, path) }
    let folder = open(directory, O_RDONLY | O_CLOEXEC)
    guard folder >= 0 else { return }
    defer { close(folder) }
    // Some file systems cannot, and need not.
    if fsync(folder) != 0, errno != EINVAL { throw ByteFile.error(errno, path) }
  }
}
