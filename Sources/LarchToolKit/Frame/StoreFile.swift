internal import Foundation
package import Larch

/// How the commands open a store.
package enum StoreFile {
  /// A file up to this size is checked page by page before it is mapped, which is fast. LMDB trusts
  /// its file, and a tool is used on files of all kinds.
  private static let provedSize = 1 << 30

  /// Opens a store for reading: it never creates or writes a file.
  ///
  /// The lock file lists the reads, so that nobody overwrites their data. If it may not be written,
  /// a copy of the store is opened instead, because a tool that only reads must not prevent others
  /// from writing.
  ///
  /// - Parameters:
  ///   - isVerified: checks every page even of a large file.
  ///   - follows: whether later commits are needed, which a copy would not have.
  /// - Throws: `LarchError`.
  package static func open(
    _ path: String, isVerified: Bool = false, follows: Bool = false
  ) throws -> Store {
    do {
      return try openInPlace(path, isVerified, follows)
    } catch let error as LarchError where error.code == .accessDenied && !follows {
      guard let copy = try StoreCopies.make(of: path) else { throw error }
      return try openInPlace(copy, isVerified, follows)
    }
  }

  private static func openInPlace(
    _ path: String, _ isVerified: Bool, _ follows: Bool
  ) throws -> Store {
    var options = Store.Options()
    // Whoever compares states keeps the earlier one for as long as the user says.
    if follows { options.maximumSnapshotAge = nil }
    options.isReadOnly = true
    options.needsLockFile = true
    options.isVerified = isVerified || isSmall(path)
    do {
      return try Store(at: path, options: options)
    } catch let error as LarchError where error.code == .storage && options.isVerified {
      // Another process writes faster than the pages can be read; then the file is not damaged.
      if isVerified { throw error }
      options.isVerified = false
      return try Store(at: path, options: options)
    }
  }

  /// Opens an existing store for writing: only for commands that say so.
  ///
  /// - Throws: `LarchError`.
  package static func openToWrite(
    _ path: String, log: (@Sendable (LogMessage) -> Void)? = nil
  ) throws -> Store {
    var options = Store.Options()
    options.log = log
    options.createsFile = false
    options.isVerified = isSmall(path)
    return try Store(at: path, options: options)
  }

  private static func isSmall(_ path: String) -> Bool {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path)
    let size = (attributes?[.size] as? NSNumber)?.int64Value ?? 0
    return size <= provedSize
  }
}
