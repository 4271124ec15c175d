internal import Foundation

/// Files of temporary stores, and of tests.
package enum ScratchFile {
  package static func freshPath() -> String {
    FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-\(UUID().uuidString).larch").path
  }

  package static func remove(_ path: String) {
    unlink(path)
    unlink(path + "-lock")
    unlink(SuccessorFile.path(for: path))
  }
}
