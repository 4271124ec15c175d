internal import CLMDB

internal import Foundation

/// What a store file says when another file takes its place: which file that is.
///
/// It is the one entry of a database of its own. From the commit that writes it on nobody changes
/// the file any more, and whoever meets it goes over to the other one. See
/// docs/decisions/0014-compaction-swaps-files.md.
struct ReplacementMark: Equatable {
  static let databaseName = "larch.replaced"
  private static let key: [UInt8] = Array("by".utf8)

  /// The length of the new file.
  var length: UInt64
  /// The checksum of both its meta pages, where each commit leaves another number.
  var checksum: UInt32

  init(length: UInt64, checksum: UInt32) {
    self.length = length
    self.checksum = checksum
  }

  /// The mark of a file that is complete and that nobody uses yet; nil when it is none.
  init?(ofFile descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_size > 0 else { return nil }
    // The meta pages, whatever the size of a page is, up to the largest one.
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

  /// Whether a snapshot has a mark: one look into the tree of named databases.
  static func isThere(in transaction: LMDBTransaction) throws(LMDBError) -> Bool {
    // The unnamed database is always there; this asks for its handle, which costs nothing.
    guard let names = try LMDBDatabase.open(nil, in: transaction) else { return false }
    var key = MDB_val()
    return try withBytes(of: databaseName) { (bytes) throws(LMDBError) -> Bool in
      key = MDB_val(bytes)
      var value = MDB_val()
      let code = mdb_get(transaction.pointer, names.handle, &key, &value)
      if code == MDB_NOTFOUND { return false }
      try LMDBError.check(code, "mdb_get")
      return true
    }
  }

  private static func withBytes<T>(
    of name: String, _ body: (UnsafeRawBufferPointer) throws(LMDBError) -> T
  ) throws(LMDBError) -> T {
    var result: Result<T, LMDBError>?
    var name = name
    name.withUTF8 { bytes in
      result = Result { () throws(LMDBError) -> T in try body(UnsafeRawBufferPointer(bytes)) }
    }
    guard let result else { throw LMDBError(EINVAL, "mdb_get") }
    return try result.get()
  }

  /// The mark of a snapshot; nil where there is none.
  static func read(in transaction: LMDBTransaction) throws(LMDBError) -> ReplacementMark? {
    guard let database = try LMDBDatabase.open(databaseName, in: transaction) else { return nil }
    var found: ReplacementMark?
    var failure: LMDBError?
    key.withUnsafeBytes { key in
      do throws(LMDBError) {
        guard let value = try database.get(key, in: transaction), value.count == 12 else {
          // A mark that names no file, so that none will be found.
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

  /// Takes the mark away; the file is the store again.
  static func remove(in transaction: LMDBTransaction) throws(LMDBError) {
    try LMDBDatabase.open(databaseName, in: transaction)?.drop(in: transaction)
  }
}

/// The file that is made to take the place of a store. It has one name for each store, so that
/// whoever comes after a crash finds it, and it is locked as long as its maker works on it.
struct SuccessorFile: ~Copyable {
  let path: String
  let descriptor: Int32

  static let suffix = "-compact"

  static func path(for store: String) -> String { store + suffix }

  /// Makes the file, or takes over what a maker that is no more has left. Only with the lock of the
  /// writer of a store that has no mark: nobody needs what is there.
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
        // Whoever clears leftovers away may have taken this one.
        if fstat(descriptor, &made) == 0, lstat(path, &named) == 0,
          FileIdentity(made) == FileIdentity(named)
        {
          guard ftruncate(descriptor, 0) == 0 else { throw LMDBError(errno, "ftruncate") }
          var old = stat()
          // Whoever could use the store can use it afterwards.
          if stat(store, &old) == 0 {
            fchmod(descriptor, old.st_mode & 0o777)
            if old.st_uid != made.st_uid || old.st_gid != made.st_gid {
              _ = fchown(descriptor, old.st_uid, old.st_gid)
            }
          }
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

  /// Clears away what a dead maker left beside a store. `isNeeded` is asked once it is certain that
  /// nobody works on the file: only then does the answer stay true.
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
