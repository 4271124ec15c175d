internal import CLMDB

internal import Foundation

/// The mark in a store file that names the file that replaces it.
///
/// It is the only entry of its own database. After the commit that writes it, nobody changes the
/// file, and every process that finds it switches to the other file. See
/// docs/decisions/0014-compaction-swaps-files.md.
struct ReplacementMark: Equatable {
  static let databaseName = "larch.replaced"
  private static let key: [UInt8] = Array("by".utf8)

  /// The length of the new file.
  var length: UInt64
  /// The checksum of both its meta pages, in which each commit leaves another number.
  var checksum: UInt32

  init(length: UInt64, checksum: UInt32) {
    self.length = length
    self.checksum = checksum
  }

  /// The mark for a complete file that nobody uses yet; nil if it is not one.
  init?(ofFile descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_size > 0 else { return nil }
    // The meta pages, whatever the page size is, up to the largest one.
    var head = [UInt8](repeating: 0, count: Int(min(status.st_size, 2 * 32_768)))
    let count = head.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, 0) }
    guard count == head.count else { return nil }
    length = UInt64(status.st_size)
    checksum = head.withUnsafeBytes { bytes in
      var checksum = Checksum()
      checksum.add(bytes)
      return checksum.value
    }
  }

  /// Whether a snapshot has a mark.
  static func isThere(in transaction: LMDBTransaction) throws(LMDBError) -> Bool {
    try LMDBDatabase.exists(databaseName, in: transaction)
  }

  /// The mark of a snapshot; nil if there is none.
  static func read(in transaction: LMDBTransaction) throws(LMDBError) -> ReplacementMark? {
    guard let database = try LMDBDatabase.open(databaseName, in: transaction) else { return nil }
    var found: ReplacementMark?
    var failure: LMDBError?
    key.withUnsafeBytes { key in
      do throws(LMDBError) {
        guard let value = try database.get(key, in: transaction), value.count == 12 else {
          // A damaged mark; it names no file, so none will be found.
          found = ReplacementMark(length: 0, checksum: 0)
          return
        }
        found = ReplacementMark(
          length: UInt64(littleEndian: value.loadUnaligned(as: UInt64.self)),
          checksum: UInt32(
            littleEndian: value.loadUnaligned(fromByteOffset: 8, as: UInt32.self)))
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return found
  }

  func write(in transaction: LMDBTransaction) throws(LMDBError) {
    guard let database = try LMDBDatabase.open(Self.databaseName, .create, in: transaction) else {
      throw LMDBError(MDB_NOTFOUND, "mdb_dbi_open")
    }
    var bytes: [UInt8] = []
    withUnsafeBytes(of: length.littleEndian) { bytes += $0 }
    withUnsafeBytes(of: checksum.littleEndian) { bytes += $0 }
    var failure: LMDBError?
    Self.key.withUnsafeBytes { key in
      bytes.withUnsafeBytes { value in
        do throws(LMDBError) {
          try database.put(key, value, in: transaction)
        } catch {
          failure = error
        }
      }
    }
    if let failure { throw failure }
  }

  /// Removes the mark, so that the file is the store again.
  static func remove(in transaction: LMDBTransaction) throws(LMDBError) {
    try LMDBDatabase.open(databaseName, in: transaction)?.drop(in: transaction)
  }
}

/// The file that will replace a store. It has one name per store, so that it is found after a
/// crash, and its creator keeps it locked.
struct SuccessorFile: ~Copyable {
  let path: String
  let descriptor: Int32

  static let suffix = "-compact"

  static func path(for store: String) -> String { store + suffix }

  /// Creates the file, or reuses the leftover of a dead process. The caller must have the write
  /// lock of a store without a mark: nobody needs the leftover.
  init(for store: String) throws(LMDBError) {
    let path = Self.path(for: store)
    while true {
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
      guard descriptor >= 0 else { throw LMDBError(errno, "open") }
      do throws(LMDBError) {
        while flock(descriptor, LOCK_EX) != 0 {
          if errno != EINTR { throw LMDBError(errno, "flock") }
        }
        var made = stat()
        var named = stat()
        // A cleanup may have removed this file.
        if fstat(descriptor, &made) == 0, lstat(path, &named) == 0,
          FileIdentity(made) == FileIdentity(named)
        {
          guard ftruncate(descriptor, 0) == 0 else { throw LMDBError(errno, "ftruncate") }
          FileRights.pass(from: store, to: descriptor)
          BackupExclusion.pass(from: store, to: path)
          self.path = path
          self.descriptor = descriptor
          return
        }
      } catch {
        Foundation.close(descriptor)
        throw error
      }
      Foundation.close(descriptor)
    }
  }

  deinit { Foundation.close(descriptor) }

  /// Removes what a dead process left beside a store. `isNeeded` is called once it is certain that
  /// nobody uses the file: only then does the answer stay true.
  static func removeLeftover(of store: String, isNeeded: () -> Bool) {
    let path = path(for: store)
    var status = stat()
    guard lstat(path, &status) == 0 else { return }
    let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard descriptor >= 0 else { return }
    defer { Foundation.close(descriptor) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, !isNeeded() else { return }
    unlink(path)
  }
}
