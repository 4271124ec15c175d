internal import Foundation

extension Store {
  /// Removes a store: its file, its lock file, and what a crash left of either.
  ///
  /// Where nothing is, nothing happens. A crash leaves the whole store or none.
  ///
  /// - Parameter path: where the file is.
  /// - Returns: whether there was a store.
  /// - Throws: `.busy` when a process has it open, also this one and under whatever name;
  ///   `.notAStore` for a file that is not a store of Larch, or of which nothing can be read any more;
  ///   `.unsuitableFile` for what is no plain file; `.fileNotFound` when the directory is not there;
  ///   `.accessDenied`, `.ioFailure`.
  /// - Complexity: O(1).
  @discardableResult
  public static func destroy(at path: String) throws -> Bool {
    let location = try StoreLocation(path)
    try StoreLocation.refuseSideFile(location.path)
    TemporaryFile.removeLeftovers(in: location.directory)
    return try location.withDirectoryLock { directory in
      if try location.occupant() != nil, !FileCheck.isLarchStore(path: location.path) {
        throw LarchError(
          .notAStore, "The file is not a Larch store and was not removed; remove it yourself."
        ) { $0.path = path }
      }
      return try location.removeStore(directory)
    }
  }
}
