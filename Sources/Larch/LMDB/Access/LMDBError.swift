internal import CLMDB

internal import Foundation

/// A failure that LMDB reported: its return code and the function that returned it.
package struct LMDBError: Error, Sendable, Equatable {
  let code: Int32
  let operation: StaticString

  init(_ code: Int32, _ operation: StaticString) {
    self.code = code
    self.operation = operation
  }

  package static func == (left: Self, right: Self) -> Bool { left.code == right.code }
}

extension LMDBError {
  /// The kind of failure, as far as a caller needs it.
  enum Kind: Hashable, Sendable {
    case keyExists, notFound, pageNotFound, corrupted, panic, versionMismatch, invalidFile
    case mapFull, databasesFull, readersFull, threadKeysFull, transactionFull, cursorFull, pageFull
    case mapResized, incompatible, badReaderSlot, badTransaction, badValueSize, badDatabase
    case diskFull, ioFailure, accessDenied, readOnlyFileSystem, fileNotFound, outOfMemory
    case busy, invalidArgument, tooManyFiles, fileExists, unsuitablePath, unknown
  }

  var kind: Kind { Self.kinds[code] ?? .unknown }

  private static let kinds: [Int32: Kind] = [
    MDB_KEYEXIST: .keyExists, MDB_NOTFOUND: .notFound, MDB_PAGE_NOTFOUND: .pageNotFound,
    MDB_CORRUPTED: .corrupted, MDB_PANIC: .panic, MDB_VERSION_MISMATCH: .versionMismatch,
    MDB_INVALID: .invalidFile, MDB_MAP_FULL: .mapFull, MDB_DBS_FULL: .databasesFull,
    MDB_READERS_FULL: .readersFull, MDB_TLS_FULL: .threadKeysFull, MDB_TXN_FULL: .transactionFull,
    MDB_CURSOR_FULL: .cursorFull, MDB_PAGE_FULL: .pageFull, MDB_MAP_RESIZED: .mapResized,
    MDB_INCOMPATIBLE: .incompatible, MDB_BAD_RSLOT: .badReaderSlot, MDB_BAD_TXN: .badTransaction,
    MDB_BAD_VALSIZE: .badValueSize, MDB_BAD_DBI: .badDatabase,
    ENOSPC: .diskFull, EDQUOT: .diskFull, EFBIG: .diskFull,
    EIO: .ioFailure, EBADF: .ioFailure, ENXIO: .ioFailure, ENODEV: .ioFailure, ESTALE: .ioFailure,
    EACCES: .accessDenied, EPERM: .accessDenied, EROFS: .readOnlyFileSystem,
    ENOENT: .fileNotFound, ENOTDIR: .fileNotFound,
    ENOMEM: .outOfMemory, EAGAIN: .busy, EBUSY: .busy, ENOLCK: .busy, EDEADLK: .busy,
    EINTR: .busy, EINVAL: .invalidArgument, EMFILE: .tooManyFiles, ENFILE: .tooManyFiles,
    EEXIST: .fileExists, EISDIR: .unsuitablePath, ELOOP: .unsuitablePath,
    ENAMETOOLONG: .unsuitablePath, EXDEV: .unsuitablePath,
  ]

  /// The words of LMDB or of the system for the code.
  var cause: String { String(cString: mdb_strerror(code)) }
}

extension LMDBError: CustomStringConvertible {
  package var description: String { "\(operation): \(cause) (\(code))" }
}

extension LMDBError {
  /// Throws if LMDB did not return success.
  @inline(__always)
  static func check(
    _ code: Int32, _ operation: StaticString, in transaction: OpaquePointer? = nil
  ) throws(LMDBError) {
    if code != MDB_SUCCESS { throw failure(code, operation, in: transaction) }
  }

  /// The error of a code. It is not inlined: failures are rare, and the callers are hot.
  ///
  /// A full map is also noted in the environment. The closure of a write may catch the error and
  /// return as if nothing had happened, with half of its changes missing.
  @inline(never)
  static func failure(
    _ code: Int32, _ operation: StaticString, in transaction: OpaquePointer?
  ) -> LMDBError {
    if code == MDB_MAP_FULL, let transaction, let handle = mdb_txn_env(transaction),
      let context = mdb_env_get_userctx(handle)
    {
      Unmanaged<LMDBEnvironment>.fromOpaque(context).takeUnretainedValue().noteMapFull()
    }
    return LMDBError(code, operation)
  }
}
