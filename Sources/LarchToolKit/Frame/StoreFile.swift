package import Larch

/// How the commands open a store.
package enum StoreFile {
  /// Opens a store to look at it: never makes a file, and never writes one.
  ///
  /// - Parameter isVerified: proves every page of the file first, for one that may be damaged.
  /// - Throws: `LarchError`.
  package static func open(_ path: String, isVerified: Bool = false) throws -> Store {
    var options = Store.Options()
    options.isReadOnly = true
    options.isVerified = isVerified
    // Nothing of the catalog is compared with types, since there are none.
    return try Store(at: path, options: options)
  }

  /// Opens a store that there is, to change it: only for commands that say so.
  ///
  /// - Throws: `LarchError`.
  package static func openToWrite(_ path: String) throws -> Store {
    var options = Store.Options()
    options.createsFile = false
    return try Store(at: path, options: options)
  }
}
