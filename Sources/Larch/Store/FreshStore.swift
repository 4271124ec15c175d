internal import Foundation

/// Makes new stores that get their place when they are complete: nobody could tell a part of the
/// records from all of them.
enum FreshStore {
  /// - Throws: `.fileExists` where something is there.
  static func checkPlace(_ target: String) throws {
    guard FileManager.default.fileExists(atPath: target) else { return }
    throw LarchError(
      .fileExists, "There is a file where the new store was to be made; choose another path."
    ) { $0.path = target }
  }

  /// Fills a new store and puts it to its place; when `fill` throws, nothing is left of it.
  ///
  /// - Parameter databaseCount: of those that `fill` makes.
  static func make(
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
      // The temporary name means nothing to anyone.
      if error.context.path == temporary.path { error.context.path = target }
      throw error
    }
  }

  /// An empty store under a temporary name; made again where another maker of a store in the same
  /// directory took it for a leftover, which it can until it is locked.
  private static func makeTemporary(
    in directory: String, for target: String, databaseCount: Int
  ) throws -> (environment: LMDBEnvironment, file: TemporaryFile) {
    var attempt = 0
    while true {
      attempt += 1
      let path = TemporaryFile.freePath(in: directory)
      do {
        var options = Store.Options().forEnvironment(StoreSchema())
        options.maxDatabases = max(options.maxDatabases, databaseCount + 64)
        let environment = try LMDBEnvironment.open(
          path: path, options: options, initialize: CatalogLoader.initialize)
        do {
          return (environment, try TemporaryFile(adopting: path, for: target))
        } catch {
          environment.close()
          throw error
        }
      } catch var error as LarchError {
        ScratchFile.remove(path)
        if attempt < 16, error.code == .fileNotFound || error.code == .outOfResources { continue }
        if error.context.path == path { error.context.path = target }
        throw error
      }
    }
  }
}
