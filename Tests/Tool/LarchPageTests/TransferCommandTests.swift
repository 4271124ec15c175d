import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchToolKit

@Suite("larch export and larch import")
struct TransferCommandTests {
  /// The lines of `dump` about records, entries and links.
  private func dump(_ path: String) throws -> String {
    var options = Store.Options()
    options.isReadOnly = true
    let store = try Store(at: path, options: options)
    defer { store.close() }
    return try store.dump()
  }

  @Test("An export that is imported to a new store gives the same dump")
  func roundTrip() throws {
    try withFolder { folder throws in
      let (path, file, copy) = (folder + "/a.larch", folder + "/a.jsonl", folder + "/b.larch")
      try makeHostileStore(at: path)
      let exported = ToolRun("export", path, "-o", file)
      #expect(exported.code == .well)
      #expect(exported.output.hasPrefix("exported 183 records and 11 links of 3 collections: "))
      let printed = ToolRun("export", path)
      #expect(printed.output == (try String(contentsOfFile: file, encoding: .utf8)))
      let imported = ToolRun("import", copy, file)
      #expect(imported.code == .well, "\(imported.errors)")
      #expect(imported.output.contains("183 records, 11 links, "))
      #expect(TextDifference.between(expected: try dump(path), actual: try dump(copy)) == nil)
      #expect(ToolRun("export", copy).output == printed.output)
      #expect(ToolRun("export", path, "-o", file).code == .failed)
      #expect(ToolRun("export", path, "-o", file, "--replace").code == .well)
      let one = ToolRun("export", path, "Shelf")
      #expect(one.output.split(separator: "\n").count == 161 + 2)
      #expect(ToolRun("export", path, "Nobody").code == .failed)
    }
  }

  @Test("No export, page or backup replaces a store or its files by mistake")
  func stores() throws {
    try withFolder { folder throws in
      let (path, other) = (folder + "/a.larch", folder + "/b.larch")
      try makeHostileStore(at: path)
      try makeHostileStore(at: other)
      let link = folder + "/link"
      try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
      func contents() throws -> [String: Data] {
        var all: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder)
        where !name.hasSuffix("-lock") {
          all[name] = try Data(contentsOf: URL(fileURLWithPath: folder + "/" + name))
        }
        return all
      }
      let before = try contents()
      for target in [path, other, link, path + "-lock", other + "-lock", path + "-compact"] {
        for options in [[], ["--replace"]] {
          for command in ["export", "report"] {
            let run = ToolRun(arguments: [command, path, "-o", target] + options)
            #expect(run.code == .failed, "\(command) \(target)")
            #expect(
              run.errors.contains("unsuitable_file") || run.errors.contains("--replace"),
              "\(command) \(target) \(run.errors)")
          }
          if target != other || options.isEmpty {
            let run = ToolRun(arguments: ["backup", path, target] + options)
            #expect(run.code == .failed, "backup \(target) \(run.output)")
          }
        }
      }
      #expect(try contents() == before)
      let backup = folder + "/c.larch"
      for options in [[], ["--replace"]] {
        #expect(ToolRun(arguments: ["backup", path, backup] + options).code == .well)
      }
    }
  }

  @Test("The next export removes unfinished files, and only the owner may read the output")
  func leftovers() throws {
    try withFolder { folder throws in
      let path = folder + "/a.larch"
      try makeHostileStore(at: path)
      let left = folder + "/.larch-new-left"
      try Data("half".utf8).write(to: URL(fileURLWithPath: left))
      for (command, target) in [("export", folder + "/a.jsonl"), ("report", folder + "/a.html")] {
        #expect(ToolRun(command, path, "-o", target).code == .well)
        let refused = ToolRun(command, path, "-o", target)
        #expect(refused.code == .failed && refused.errors.contains("--replace"))
        #expect(ToolRun(command, path, "-o", target, "--replace").code == .well)
        let mode = try FileManager.default.attributesOfItem(atPath: target)[.posixPermissions]
        #expect(mode as? NSNumber == 0o600)
      }
      #expect(!FileManager.default.fileExists(atPath: left))
      let names = try FileManager.default.contentsOfDirectory(atPath: folder)
      #expect(!names.contains { $0.hasPrefix(".larch") }, "\(names)")
    }
  }

  @Test("Into an existing store: refused, skipped, replaced, in batches")
  func existing() throws {
    try withFolder { folder throws in
      let (path, file) = (folder + "/a.larch", folder + "/a.jsonl")
      try makeHostileStore(at: path)
      #expect(ToolRun("export", path, "Shelf", "-o", file).code == .well)
      let before = try dump(path)
      let refused = ToolRun("import", path, file)
      #expect(refused.code == .failed)
      #expect(refused.errors.contains("id_exists") && refused.errors.contains("line 2"))
      #expect(ToolRun("import", path, file, "--skip").output.contains("161 skipped"))
      #expect(ToolRun("import", path, file, "--replace", "--batch", "7").code == .well)
      #expect(try dump(path) == before)
      #expect(ToolRun("import", path, file, "--replace", "--skip").code == .failed)
      #expect(ToolRun("import", path, file, "--batch", "0").code == .failed)
      let json = ToolRun("import", path, file, "--skip", "--json")
      #expect(json.output.contains("\"skipped\": 161"))
    }
  }

  @Test("A file that is not an export gives one line and exit code 2, and changes nothing")
  func hostile() throws {
    try withFolder { folder throws in
      let (path, file) = (folder + "/a.larch", folder + "/a.jsonl")
      try makeHostileStore(at: path)
      #expect(ToolRun("export", path, "-o", file).code == .well)
      let text = try String(contentsOfFile: file, encoding: .utf8)
      let before = try dump(path)
      let wrong: [String: String] = [
        "empty": "", "text": "hello\n", "cut": String(text.dropLast(text.count / 2)),
        "version": text.replacing("\"version\":1", with: "\"version\":9"),
        "type": text.replacing("\"id\":0,\"place\"", with: "\"id\":\"0\",\"place\""),
        "twice": text + text, "long": text + String(repeating: "x", count: 10 << 20),
        "collection": text.replacing(
          "{\"collection\":\"Shelf\"", with: "{\"collection\":\"Shelve\""),
      ]
      for (name, content) in wrong {
        let place = folder + "/" + name
        try content.write(toFile: place, atomically: true, encoding: .utf8)
        for target in [folder + "/new.larch", path] {
          let run = ToolRun("import", target, place, "--replace")
          #expect(run.code == .failed, "\(name)")
          #expect(run.errors.split(separator: "\n").count == 1, "\(name)")
          #expect(run.output == "", "\(name)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder + "/new.larch"))
      }
      for place in [folder, folder + "/nowhere"] {
        #expect(ToolRun("import", folder + "/new.larch", place).code == .failed)
        #expect(ToolRun("import", path, place).code == .failed)
      }
      #expect(ToolRun("import", folder, file).code == .failed)
      #expect(ToolRun("import", file, file).code == .failed)
      #expect(ToolRun("export", file).code == .failed)
      #expect(ToolRun("export", folder + "/nowhere.larch").code == .failed)
      #expect(ToolRun("export", path, "-o", folder + "/nowhere/x").code == .failed)
      #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
      #expect(try dump(path) == before)
    }
  }
}
