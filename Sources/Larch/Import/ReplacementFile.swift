package import Foundation

/// A file that is written beside its place and moved there when it is complete. Like a store, it
/// can be read only by its owner: it has the same records.
package struct ReplacementFile: ~Copyable {
  private let path: String
  private let directory: String
  private let temporary: TemporaryFile
  private var descriptor: Int32 { temporary.descriptor }

  /// - Parameter replacing: whether a file may exist there. A store, or a file that belongs to one,
  ///   is never replaced by another kind of file.
  /// - Throws: `.fileExists`, `.unsuitableFile`, `.accessDenied`, `.fileNotFound`, `.ioFailure`.
  package init(_ path: String, replacing: Bool = true) throws {
    guard !path.isEmpty, !path.utf8.contains(0), path.last != "/" else {
      throw ByteFile.error(EINVAL, path)
    }
    // The target of a link is replaced, not the link.
    var place = path
    if let target = realpath(path, nil) {
      place = String(cString: target)
      free(target)
    }
    var status = stat()
    let isThere = stat(place, &status) == 0
    if isThere, status.st_mode & S_IFMT != S_IFREG { throw ByteFile.error(EINVAL, path) }
    try StoreLocation.refuseSideFile(place)
    if isThere, !replacing {
      throw LarchError(
        .fileExists, "A file exists at the path; choose another path, or replace the file."
      ) { $0.path = path }
    }
    if isThere, FileCheck.looksLikeStore(path: place) {
      throw LarchError(
        .unsuitableFile, "A store exists at the path; choose another path, or remove the store."
      ) { $0.path = path }
    }
    let slash = place.lastIndex(of: "/")
    let directory = slash.map { $0 == place.startIndex ? "/" : String(place[..<$0]) } ?? "."
    TemporaryFile.removeLeftovers(in: directory)
    let temporary = try TemporaryFile(in: directory, for: path)
    if isThere { fchmod(temporary.descriptor, status.st_mode & 0o777) }
    self.path = place
    self.directory = directory
    self.temporary = temporary
  }

  deinit {
    // Without effect if the file was moved to its place.
    temporary.discard()
  }

  package func write(_ data: Data) throws {
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

  /// Flushes the file to the disk, then moves it to its place.
  package func takePlace() throws {
    #if canImport(Darwin)
      if fcntl(descriptor, F_FULLFSYNC) != 0, fsync(descriptor) != 0 {
        throw ByteFile.error(errno, path)
      }
    #else
      guard fsync(descriptor) == 0 else { throw ByteFile.error(errno, path) }
    #endif
    guard rename(temporary.path, path) == 0 else { throw ByteFile.error(errno, path) }
    let folder = open(directory, O_RDONLY | O_CLOEXEC)
    guard folder >= 0 else { return }
    defer { close(folder) }
    // Some file systems cannot, and need not.
    if fsync(folder) != 0, errno != EINVAL { throw ByteFile.error(errno, path) }
  }
}
