import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("A store at the place of the platform")
struct StandardStoreTests {
  private struct Note: Record {
    var id = RecordID<Note>()
    var text: String
  }

  private func withFolder(_ body: (String) throws -> Void) throws {
    let folder = NSTemporaryDirectory() + "/larch-standard-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer {
      chmod(folder, 0o700)
      try? FileManager.default.removeItem(atPath: folder)
    }
    try body(folder)
  }

  private func open(
    _ base: String?, _ program: String = "addresses", named name: String = "store",
    _ options: Store.Options = .quick
  ) throws -> Store {
    try Store.standard(
      types: [Note.self], named: name, in: StandardPlace(base: base, program: program),
      options: options)
  }

  private func mode(_ path: String) -> mode_t? {
    var status = stat()
    return stat(path, &status) == 0 ? status.st_mode & 0o777 : nil
  }

  @Test("The folder is made for nobody but the user, and the store says its path")
  func folder() throws {
    try withFolder { folder throws in
      let base = folder + "/.local/share"
      let store = try open(base)
      #expect(store.path.hasSuffix("/.local/share/addresses/store.larch"))
      #expect(mode(folder + "/.local") == 0o700 && mode(base + "/addresses") == 0o700)
      #expect(mode(base + "/addresses/store.larch") == 0o600)
      var note = Note(text: "kept")
      try store.save(&note)
      // A second opening is one of the same file.
      let second = try open(base)
      #expect(try second.count(Note.all) == 1)
      second.close()
      let other = try open(base, named: "other")
      #expect(try other.count(Note.all) == 0)
      #expect(other.path.hasSuffix("/addresses/other.larch"))
      other.close()
      store.close()
      #expect(try open(base).count(Note.all) == 1)
      // A folder that is there keeps its permissions.
      #expect(chmod(base + "/addresses", 0o750) == 0)
      try open(base).close()
      #expect(mode(base + "/addresses") == 0o750)
    }
  }

  @Test("On Linux the folder is that of the XDG specification")
  func xdg() {
    func folder(_ environment: [String: String], _ home: String? = "/home/ada") -> String? {
      StandardPlace.dataFolder(of: environment) { home }
    }
    #expect(folder(["XDG_DATA_HOME": "/data", "HOME": "/h"]) == "/data")
    #expect(folder(["XDG_DATA_HOME": "relative", "HOME": "/h"]) == "/h/.local/share")
    #expect(folder(["XDG_DATA_HOME": "", "HOME": "/h/"]) == "/h/.local/share")
    #expect(folder([:]) == "/home/ada/.local/share")
    #expect(folder(["HOME": ""]) == "/home/ada/.local/share")
    #expect(folder([:], nil) == nil && folder([:], "") == nil)
  }

  @Test("A place that cannot be used is refused with a typed error, and nothing is made")
  func refused() throws {
    try withFolder { folder throws in
      func code(_ base: String?, _ program: String = "p", _ name: String = "n") -> LarchError.Code?
      {
        caught { try open(base, program, named: name).close() }?.code
      }
      #expect(code(nil) == .unsuitableFile)
      for name in ["", ".", "..", "a/b", "a\0b"] {
        #expect(code(folder, "p", name) == .unsuitableFile)
        #expect(code(folder, name) == .unsuitableFile)
      }
      #expect(code(folder + "/My.app/Data") == .unsuitableFile)
      #expect(code(folder + "/My.bundle") == .unsuitableFile)
      let entries = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(entries.isEmpty)
      // A file in the place of the folder, and of one above it.
      try Data("x".utf8).write(to: URL(fileURLWithPath: folder + "/file"))
      #expect(code(folder, "file") == .unsuitableFile)
      #expect(code(folder + "/file") == .unsuitableFile)
      // No folder is made to read a store that is not there.
      let reading = Store.Options.quick.with { $0.isReadOnly = true }
      #expect(
        caught { try open(folder, "none", named: "store", reading).close() }?.code == .fileNotFound)
      #expect(mode(folder + "/none") == nil)
      if getuid() != 0 {
        chmod(folder, 0o500)
        #expect(code(folder, "denied") == .accessDenied)
      }
    }
  }

  @Test("Without a name it is named after the program")
  func program() throws {
    let path = try Store.standardPath()
    let program = CommandLine.arguments[0].split(separator: "/").last.map { String($0) } ?? ""
    #if os(Linux)
      #expect(path.hasSuffix("/\(program)/store.larch") && path.hasPrefix("/"))
    #else
      #expect(path.hasSuffix("/store.larch") && path.contains("Application Support"))
    #endif
    let other = try Store.standardPath(named: "cache", program: "addresses")
    #expect(other.hasSuffix("/addresses/cache.larch"))
    #expect(caught { _ = try Store.standardPath(named: "a/b") }?.code == .unsuitableFile)
  }
}
