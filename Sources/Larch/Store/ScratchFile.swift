internal import Foundation

/// Files of temporary stores.
enum ScratchFile {
  static func freshPath() -> String {
    FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-\(UUID().uuidString).larch").path
  }

  static func remove(_ path: String) {
    unlink(path)
    unlink(path + "-lock")
    unlink(SuccessorFile.path(for: path))
  }
}
