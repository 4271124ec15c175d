internal import Foundation
package import Larch

/// How the commands open a store.
package enum StoreFile {
  /// A file up to this size is proved page by page before it is mapped, which takes a moment. LMDB
  /// trusts its file, and a tool is pointed at files of all kinds.
  private static let provedSize = 1 << 30

  /// Opens a store to look at it: never makes a file, and never writes one.
  ///
  /// Who reads is noted in the lock file, so that nobody writes over what is read. Where that file
  /// may not be written, a copy of the store is opened instead: to keep others from writing is not
  /// for a tool that looks.
  ///
  /// - Parameters:
  ///   - isVerified: proves every page also of a large file.
  ///   - follows: whether later commits are wanted too, which a copy would not have.
  /// - Throws: `LarchError`.
  package static func open(
    _ path: String, isVerified: Bool = false, follows: Bool = false
  ) throws -> Store {
    do {
      return try openInPlace(path, isVerified)
    } catch let error as LarchError where error.code == .accessDenied && !follows {
      guard let copy = try StoreCopies.make(of: path) else { throw error }
      return try openInPlace(copy, isVerified)
    }
  }

  private static func openInPlace(_ path: String, _ isVerified: Bool) throws -> Store {
    var options = Store.Options()
    options.isReadOnly = true
    options.needsLockFile = true
    options.isVerified = isVerified || isSmall(path)
    do {
      return try Store(at: path, options: options)
    } catch let error as LarchError where error.code == .storage && options.isVerified {
      // Somebody writes faster than the pages can be read; then it is no damaged file.
      if isVerified { throw error }
      options.isVerified = false
      return try Store(at: path, options: options)
    }
  }

  /// Opens a store that there is, to change it: only for commands that say so.
  ///
  /// - Throws: `LarchError`.
  package static func openToWrite(_ path: String) throws -> Store {
    var options = Store.Options()
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
