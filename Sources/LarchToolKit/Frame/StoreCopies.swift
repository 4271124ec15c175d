internal import Foundation
internal import Larch
internal import Synchronization

/// Copies of stores whose lock file may not be written. They are removed when the program ends.
enum StoreCopies {
  private static let folders = Mutex<[String]>([])

  /// Copies a store to the temporary folder; nil if it cannot be read.
  ///
  /// The next commit never overwrites a snapshot, only later ones do. So a copy is consistent if no
  /// commit came meanwhile, which the number in the header shows.
  ///
  /// - Throws: `LarchError` for a file that is not a store, or that changes all the time.
  static func make(of path: String) throws -> String? {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-\(UUID().uuidString)")
    let target = folder.appendingPathComponent("copy.larch")
    for _ in 0..<8 {
      guard let before = try transaction(of: path) else { return nil }
      do {
        try FileManager.default.createDirectory(
          at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        folders.withLock { $0.append(folder.path) }
        EndingBySignal.removes([target.path, target.path + "-lock"], in: folder.path)
        try FileManager.default.copyItem(at: URL(fileURLWithPath: path), to: target)
      } catch {
        return nil
      }
      if try transaction(of: path) == before { return target.path }
      removeAll()
    }
    throw LarchError(
      .busy,
      "The store changes too fast to be copied, and its lock file may not be written; run this as a user who may write it."
    ) { $0.path = path }
  }

  private static func transaction(of path: String) throws -> UInt64? {
    guard access(path, R_OK) == 0 else { return nil }
    return try FileCheck.lastTransaction(path: path)
  }

  /// Removes the copies.
  static func removeAll() {
    let made = folders.withLock { folders in
      defer { folders = [] }
      return folders
    }
    for folder in made { try? FileManager.default.removeItem(atPath: folder) }
    EndingBySignal.removesNothing()
  }
}
