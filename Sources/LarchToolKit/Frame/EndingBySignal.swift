internal import Foundation

/// The files to remove when a signal ends the program: nobody would find them later.
enum EndingBySignal {
  // Unsafe, since a handler must not take a lock: only the single thread of the tool writes it, and
  // each pointer stays valid until the program ends. In C, since a handler must not allocate
  // either.
  nonisolated(unsafe) private static var files:
    (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
  nonisolated(unsafe) private static var folder: UnsafeMutablePointer<CChar>?

  /// From now on, a signal removes two files and then their folder.
  static func removes(_ paths: [String], in folder: String) {
    files = (
      paths.first.map { strdup($0) } ?? nil, paths.dropFirst().first.map { strdup($0) } ?? nil
    )
    self.folder = strdup(folder)
    Interruption.handle([SIGINT, SIGTERM, SIGHUP]) { number in
      if let file = EndingBySignal.files.0 { unlink(file) }
      if let file = EndingBySignal.files.1 { unlink(file) }
      if let folder = EndingBySignal.folder { rmdir(folder) }
      signal(number, SIG_DFL)
      raise(number)
    }
  }

  static func removesNothing() {
    files = (nil, nil)
    folder = nil
  }
}
