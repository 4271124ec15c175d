internal import Foundation

extension Store {
  /// Removes a store: its file, its lock file, and what a crash left of them.
  ///
  /// If there is no store, a commit log that lies at the path stays: a store that was moved may need it. A crash leaves
  /// the whole store, or none of it but such a log.
  ///
  /// - Parameter path: the path of the file.
  /// - Returns: whether there was a store.
  /// - Throws: `.busy` if a process has it open, including this one, under any name; `.notAStore`
  ///   for a file that is not a Larch store, or that cannot be read any more; `.unsuitableFile` if
  ///   it is not a plain file; `.fileNotFound` if the directory does not exist; `.accessDenied`,
  ///   `.ioFailure`.
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
