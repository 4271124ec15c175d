internal import Foundation

/// What goes when a signal ends the program: nobody would know of it later.
enum EndingBySignal {
  // Unsafe, since a handler may take no lock: it is written by the one thread of the tool, and each
  // pointer stays good until the program ends. In C, since a handler may not allocate either.
  nonisolated(unsafe) private static var files:
    (UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<CChar>?)
  nonisolated(unsafe) private static var folder: UnsafeMutablePointer<CChar>?

  /// From now on two files are removed, and then the folder they are in.
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
