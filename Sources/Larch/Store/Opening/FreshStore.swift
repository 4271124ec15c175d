internal import Foundation

/// Creates new stores that get their place only when they are complete: nobody could distinguish a
/// part of the records from all of them.
package enum FreshStore {
  /// - Throws: `.fileExists` if a file exists there.
  package static func checkPlace(_ target: String) throws {
    guard FileManager.default.fileExists(atPath: target) else { return }
    throw LarchError(
      .fileExists, "A file exists at the path of the new store; choose another path."
    ) { $0.path = target }
  }

  /// Fills a new store and moves it to its place; if `fill` throws, the store is removed.
  ///
  /// - Parameter databaseCount: the number of databases that `fill` creates.
  package static func make(
    at target: String, databaseCount: Int, fill: (LMDBEnvironment) throws -> Void
  ) throws {
    let location = try StoreLocation(target)
    let (environment, temporary) = try makeTemporary(
      in: location.directory, for: target, databaseCount: databaseCount)
    defer { temporary.discard() }
    do {
      do {
        defer { environment.close() }
        try fill(environment)
      }
      try temporary.place(at: location)
    } catch var error as LarchError {
      // The temporary name means nothing to the caller.
      if error.context.path == temporary.path { error.context.path = target }
      throw error
    }
  }

  /// An empty store under a temporary name; its lock marks it as in use.
  private static func makeTemporary(
    in directory: String, for target: String, databaseCount: Int
  ) throws -> (environment: LMDBEnvironment, file: TemporaryFile) {
    var options = Store.Options().forEnvironment(StoreSchema())
    options.maxDatabases = max(options.maxDatabases, databaseCount + 64)
    TemporaryFile.removeLeftovers(in: directory)
    let file = try TemporaryFile(in: directory, for: target)
    do {
      try LMDBEnvironment.fill(
        file.path, options: options, for: target, CatalogLoader.initialize)
      return (try LMDBEnvironment.open(path: file.path, options: options), file)
    } catch {
      file.discard()
      guard var found = error as? LarchError else { throw error }
      if found.context.path == file.path { found.context.path = target }
      throw found
    }
  }
}
