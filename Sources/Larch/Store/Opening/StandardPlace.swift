internal import Foundation

/// The folder in which a program of this platform keeps its data, and what it is found by.
package struct StandardPlace: Sendable {
  /// The folder of all programs; nil if the platform names none.
  let base: String?
  /// The name of this program's folder in it.
  let program: String

  package init(base: String?, program: String) {
    self.base = base
    self.program = program
  }

  /// The place of this process.
  ///
  /// - Parameter program: the name of the folder; nil for the name of the program.
  init(program: String?) {
    #if canImport(Darwin)
      base =
        FileManager.default.urls(for: .applicationSupportDirectory, in: .userDomainMask).first?.path
      self.program = program ?? Bundle.main.bundleIdentifier ?? Self.executable
    #else
      base = Self.dataFolder(of: ProcessInfo.processInfo.environment) { Self.homeOfUser }
      self.program = program ?? Self.executable
    #endif
  }

  /// The folder for data by the XDG base directory specification: a path that is not absolute is
  /// ignored.
  package static func dataFolder(
    of environment: [String: String], homeOfUser: () -> String?
  ) -> String? {
    func absolute(_ path: String?) -> String? { path?.hasPrefix("/") == true ? path : nil }
    if let folder = absolute(environment["XDG_DATA_HOME"]) { return folder }
    guard let home = absolute(environment["HOME"]) ?? absolute(homeOfUser()) else { return nil }
    return home + (home.hasSuffix("/") ? "" : "/") + ".local/share"
  }

  /// The home folder that the system has for the user; nil for a user that the system does not know.
  private static var homeOfUser: String? {
    guard let user = getpwuid(getuid()), let home = user.pointee.pw_dir else { return nil }
    return String(cString: home)
  }

  private static var executable: String {
    let path = CommandLine.arguments.first ?? ""
    return path.split(separator: "/").last.map { String($0) } ?? ""
  }

  /// The path of the store with a name. Makes nothing.
  package func path(named name: String) throws -> String {
    guard let base else {
      throw LarchError(
        .unsuitableFile,
        "The system names no folder for the data of programs; set HOME or XDG_DATA_HOME, or open the store at a path."
      )
    }
    for (part, what) in [(program, "program"), (name, "name")] {
      guard !part.isEmpty, part != ".", part != "..", !part.contains("/"), !part.utf8.contains(0)
      else {
        throw LarchError(
          .unsuitableFile,
          "The name of a standard store and of its program must be the name of a file, without a slash; give another one."
        ) { $0.detail = "\(what) \"\(part)\"" }
      }
    }
    let folder = base.hasSuffix("/") ? base + program : base + "/" + program
    // A bundle is replaced with the next version of the program, and its signature covers its files.
    if folder.split(separator: "/").dropLast().contains(where: Self.isBundle) {
      throw LarchError(
        .unsuitableFile,
        "The folder for the data of programs is inside a bundle, which the next version of the program replaces; open the store at a path."
      ) { $0.path = folder }
    }
    return folder + "/" + name + ".larch"
  }

  private static func isBundle(_ folder: Substring) -> Bool {
    ["app", "appex", "bundle", "framework", "xpc"].contains {
      folder.count > $0.count + 1 && folder.hasSuffix("." + $0)
    }
  }

  /// Makes the folder of a store where it is missing, for nobody but the user.
  package func makeFolder(for path: String) throws {
    guard let end = path.lastIndex(of: "/") else { return }
    try Self.makeFolder(String(path[..<end]))
  }

  private static func makeFolder(_ folder: String) throws {
    if mkdir(folder, 0o700) == 0 { return }
    var code = errno
    if code == ENOENT, let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
      try makeFolder(String(folder[..<slash]))
      if mkdir(folder, 0o700) == 0 { return }
      code = errno
    }
    var status = stat()
    guard code == EEXIST || code == ENOTDIR || stat(folder, &status) == 0 else {
      throw LMDBError(code, "mkdir").larchError(path: folder)
    }
    guard stat(folder, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw LarchError(
        .unsuitableFile,
        "A file is where the folder of the store belongs; remove it, or open the store at a path."
      ) { $0.path = folder }
    }
  }
}
