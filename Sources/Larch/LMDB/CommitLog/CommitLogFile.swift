internal import CLMDB

internal import Foundation

/// The file `…-log` beside a store: its headers, its records, and the lock of the process that writes
/// the store.
///
/// The lock is one of `flock` on the file, held as long as the store is open. Whoever has it is the
/// only one who writes the store.
final class CommitLogFile {
  static let suffix = "-log"

  let path: String
  let descriptor: Int32
  /// The file as opened for headers. A system tells a failed write to the first who flushes, once for each opening: a
  /// checkpoint, whose thread flushes beside commits, must not take the error of a record.
  private let headerDescriptor: Int32
  private let process = getpid()
  private var isOpen = true

  private init(path: String, _ descriptor: Int32, headers: Int32) {
    self.path = path
    self.descriptor = descriptor
    headerDescriptor = headers
  }

  /// Opens the file a second time; if that fails, the first descriptor is closed.
  private static func make(
    path: String, _ descriptor: Int32
  ) throws(LMDBError) -> CommitLogFile {
    while true {
      let headers = Foundation.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
      if headers >= 0 { return CommitLogFile(path: path, descriptor, headers: headers) }
      let code = errno
      if code == EINTR { continue }
      Foundation.close(descriptor)
      throw LMDBError(code, "open")
    }
  }

  deinit { close() }

  static func path(for store: String) -> String { store + suffix }

  static func exists(for store: String) -> Bool {
    var status = stat()
    return lstat(path(for: store), &status) == 0
  }

  /// Opens the log of a store; nil if there is none.
  static func open(for store: String) throws(LMDBError) -> CommitLogFile? {
    let path = path(for: store)
    while true {
      let descriptor = Foundation.open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
      if descriptor >= 0 {
        do throws(LMDBError) {
          return try make(path: path, descriptor)
        } catch {
          // Its process has removed it in between.
          if error.code == ENOENT { return nil }
          throw error
        }
      }
      if errno == EINTR { continue }
      if errno == ENOENT { return nil }
      throw LMDBError(errno, "open")
    }
  }

  /// Makes the log of a store, with room for two halves. It must not exist.
  ///
  /// The room is written, and not only promised by the file system: the first write to a page that
  /// was never written changes the file system's own records, which would cost each flush a second
  /// write.
  static func create(for store: String, halfSize: Int) throws(LMDBError) -> CommitLogFile {
    let path = path(for: store)
    let descriptor = Foundation.open(
      path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw LMDBError(errno, "open") }
    let file: CommitLogFile
    do throws(LMDBError) { file = try make(path: path, descriptor) } catch {
      unlink(path)
      throw error
    }
    do throws(LMDBError) {
      guard file.lock() else { throw LMDBError(EBUSY, "flock") }
      FileRights.pass(from: store, to: descriptor, keeping: 0o600)
      let zeros = [UInt8](repeating: 0, count: 256 << 10)
      var place = 0
      let end = CommitLogFormat.firstHalf + 2 * halfSize
      while place < end {
        let part = min(zeros.count, end - place)
        var failure: LMDBError?
        zeros.withUnsafeBytes { bytes in
          do throws(LMDBError) {
            try file.write(UnsafeRawBufferPointer(rebasing: bytes[..<part]), at: place)
          } catch {
            failure = error
          }
        }
        if let failure { throw failure }
        place += part
      }
      let code = larch_flush(descriptor)
      if code != 0 { throw LMDBError(code, "fsync") }
    } catch {
      unlink(path)
      throw error
    }
    BackupExclusion.pass(from: store, to: path)
    return file
  }

  /// Takes the lock; false if another process has it.
  func lock() -> Bool {
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      if errno != EINTR { return false }
    }
    return true
  }

  /// Whether the name of the file still leads to it, as far as the system says.
  var hasItsName: Bool {
    var (own, there) = (stat(), stat())
    guard fstat(descriptor, &own) == 0 else { return true }
    guard lstat(path, &there) == 0 else { return errno != ENOENT && errno != ENOTDIR }
    return FileIdentity(own) == FileIdentity(there)
  }

  /// Removes the file, unless another one has its name.
  func remove() {
    var (own, there) = (stat(), stat())
    guard fstat(descriptor, &own) == 0, lstat(path, &there) == 0,
      FileIdentity(own) == FileIdentity(there)
    else { return }
    unlink(path)
  }

  func close() {
    guard isOpen else { return }
    isOpen = false
    // A child process that was forked may have the descriptor, and with it the lock. It must not end that of its parent.
    if process == getpid() { flock(descriptor, LOCK_UN) }
    Foundation.close(descriptor)
    Foundation.close(headerDescriptor)
  }

  // MARK: Bytes

  func write(_ bytes: UnsafeRawBufferPointer, at place: Int) throws(LMDBError) {
    try Self.write(descriptor, bytes, at: place)
  }

  static func write(
    _ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at place: Int
  ) throws(LMDBError) {
    var done = 0
    while done < bytes.count {
      let count = pwrite(
        descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(place + done))
      if count < 0, errno == EINTR { continue }
      if count < 0 { throw LMDBError(errno, "pwrite") }
      if count == 0 { throw LMDBError(ENOSPC, "pwrite") }
      done += count
    }
  }

  func write(_ bytes: [UInt8], at place: Int) throws(LMDBError) {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(LMDBError) in try write(bytes, at: place) }
    }
    try result.get()
  }

  /// Brings what was written to the disk.
  func flush() throws(LMDBError) { try Self.flush(descriptor) }

  private static func flush(_ descriptor: Int32) throws(LMDBError) {
    let code = larch_flush_data(descriptor)
    if code != 0 { throw LMDBError(code, "fdatasync") }
  }

  /// The bytes from a place on, fewer at the end of the file.
  func read(_ wanted: Int, at place: Int) throws(LMDBError) -> [UInt8] {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw LMDBError(errno, "fstat") }
    // A forged header may ask for more than there is memory.
    let count = min(wanted, max(0, Int(status.st_size) - place))
    var bytes = [UInt8](repeating: 0, count: count)
    let result = bytes.withUnsafeMutableBytes { bytes in
      Result { () throws(LMDBError) -> Int in
        try Self.read(descriptor, bytes, at: place)
      }
    }
    bytes.removeLast(count - (try result.get()))
    return bytes
  }

  static func read(
    _ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer, at place: Int
  ) throws(LMDBError) -> Int {
    var done = 0
    while done < bytes.count {
      let count = pread(
        descriptor, bytes.baseAddress.map { $0 + done }, bytes.count - done, off_t(place + done))
      if count < 0, errno == EINTR { continue }
      if count < 0 { throw LMDBError(errno, "pread") }
      if count == 0 { break }
      done += count
    }
    return done
  }

  // MARK: Headers

  /// The header that counts; nil if none is whole.
  func header() throws(LMDBError) -> CommitLogHeader? {
    var newest: CommitLogHeader?
    for slot in 0..<2 {
      let bytes = try read(
        CommitLogFormat.headerSize, at: slot * CommitLogFormat.headerDistance)
      guard let header = bytes.withUnsafeBytes({ CommitLogHeader($0) }),
        header.number & 1 == UInt64(slot)
      else { continue }
      if header.number >= newest?.number ?? 0 { newest = header }
    }
    return newest
  }

  /// Writes a header over the older one, and brings it to the disk with all that was logged before.
  func write(_ header: CommitLogHeader) throws(LMDBError) {
    let place = Int(header.number & 1) * CommitLogFormat.headerDistance
    let result = header.bytes.withUnsafeBytes { bytes in
      Result { () throws(LMDBError) in try Self.write(headerDescriptor, bytes, at: place) }
    }
    try result.get()
    try Self.flush(headerDescriptor)
  }

  /// Whether no header was ever written, so that nothing is in the file.
  func isNew() throws(LMDBError) -> Bool {
    try read(CommitLogFormat.firstHalf, at: 0).allSatisfy { $0 == 0 }
  }
}
