import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchToolKit

/// Wrong files and arguments: one clear line, exit code 2, nothing changed.
@Suite("Refusals of the tool")
struct HostileTests {
  /// The arguments of a command after the store.
  private static func rest(_ command: String, _ directory: String) -> [String] {
    switch command {
    case "backup": [directory + "/target.larch"]
    case "watch": ["--count", "1"]
    case "import": [directory + "/export.jsonl"]
    case "query", "count": ["Tower"]
    case "get": ["Tower", "1"]
    case "mirror": ["postgres://127.0.0.1:1/none", "--once"]
    default: []
    }
  }

  /// The commands that take a store, but for the one that takes a damaged one.
  static let commands = Tool.commands.filter { $0.operands.first?.name == "STORE" }
    .map { $0.name }.filter { $0 != SalvageCommand.name }

  enum File: String, CaseIterable {
    case missing, directory, text, empty, truncated, header, otherFormat, otherOrder, noise, script

    func make(at path: String, from store: Data) throws {
      let url = URL(fileURLWithPath: path)
      var bytes = store
      switch self {
      case .missing: return
      case .directory:
        return try FileManager.default.createDirectory(
          at: url, withIntermediateDirectories: false)
      case .text: bytes = Data(String(repeating: "a line of text\n", count: 1000).utf8)
      case .empty: bytes = Data()
      case .truncated: bytes = bytes.prefix(bytes.count / 2)
      case .header: bytes = bytes.prefix(100)
      // The version of LMDB's format, after its mark in both header pages.
      case .otherFormat:
        for page in 0...1 { bytes[page * Int(sysconf(Int32(_SC_PAGESIZE))) + 20] = 9 }
      case .otherOrder:
        for page in 0...1 {
          let start = page * Int(sysconf(Int32(_SC_PAGESIZE))) + 16
          bytes.replaceSubrange(start..<start + 4, with: bytes[start..<start + 4].reversed())
        }
      case .noise:
        var seed: UInt64 = 7
        bytes = Data(
          (0..<20_000).map { _ in
            seed = seed &* 6_364_136_223_846_793_005 &+ 1
            return UInt8(truncatingIfNeeded: seed >> 33)
          })
      case .script: bytes = Data("\u{1B}[31m\u{7}".utf8)
      }
      try bytes.write(to: url)
    }
  }

  @Test("Files that are not stores", arguments: commands, File.allCases)
  func files(command: String, file: File) throws {
    let fixture = try Fixture(towers: 3)
    let directory = try CrashDirectory()
    let path = directory.path + "/file.larch"
    try file.make(at: path, from: try fixture.bytes)
    let before = FileManager.default.contents(atPath: path)
    let names = directory.names
    let result = try Program.run([command, path] + Self.rest(command, directory.path))
    #expect(result.code == 2, "\(result)")
    #expect(result.output.isEmpty)
    #expect(result.errors.hasPrefix("larch: "))
    #expect(result.errors.filter { $0 == "\n" }.count == 1 && result.errors.hasSuffix("\n"))
    #expect(!result.errors.contains("\u{1B}"))
    #expect(FileManager.default.contents(atPath: path) == before)
    #expect(directory.names == names)
  }

  @Test("A store of a newer format of Larch", arguments: commands)
  func newerFormat(command: String) throws {
    let fixture = try Fixture(towers: 1)
    let store = try Fixture.open(fixture.path)
    try store.environment.write { transaction in
      let storage = try CatalogLoader(store.environment, StoreSchema())
        .openStorage(in: transaction)
      var format = StoredFormat(unicodeVersion: "99")
      format.version = 99
      format.minimumReader = 99
      try storage.set(.format, to: format.encoded(), in: transaction)
    }
    store.close()
    let before = try fixture.bytes
    let result = try Program.run(
      [command, fixture.path] + Self.rest(command, fixture.directory.path))
    #expect(result.code == 2)
    #expect(result.errors.hasPrefix("larch: newer_format: "))
    #expect(result.errors.filter { $0 == "\n" }.count == 1)
    #expect(try fixture.bytes == before)
  }

  @Test("Arguments that do not fit", arguments: Tool.commands.map { $0.name })
  func arguments(command: String) throws {
    let fixture = try Fixture(towers: 1)
    let before = try fixture.bytes
    let wrong = [
      [command, fixture.path, "--no-such\noption"],
      [command, fixture.path, "a", "b", "c", "\u{1B}[2J"],
      [command, fixture.path, "--count", "many"], [command, fixture.path, "--json=1"],
      [command, "--", "--count", "-1", "x", "y"],
    ]
    for arguments in wrong {
      let result = try Program.run(arguments, in: fixture.directory.path)
      #expect(result.code == 2, "\(arguments): \(result)")
      #expect(result.output.isEmpty)
      #expect(result.errors.hasPrefix("larch: "))
      // It accepts any number of collections; only the store shows that these do not exist.
      #expect(
        command == "export" || result.errors.contains("larch help"), "\(arguments): \(result)")
      #expect(result.errors.filter { $0 == "\n" }.count == 1)
      #expect(!result.errors.contains("\u{1B}"))
    }
    #expect(try fixture.bytes == before)
  }

  @Test("Names of missing collections", arguments: ["schema", "dump", "query", "count"])
  func names(command: String) throws {
    let fixture = try Fixture(towers: 1)
    for (name, hint) in [
      ("Towr", "did you mean Tower?"), ("a\nb\u{1B}[0m", "a\\nb\\u{1b}[0m"),
      ("", "it has Club, Owner, Tower"), (String(repeating: "x", count: 100_000), "…"),
    ] {
      let result = try Program.run([command, fixture.path, name])
      #expect(result.code == 2 && result.output.isEmpty)
      #expect(result.errors.contains(hint) && result.errors.utf8.count < 2000)
      #expect(result.errors.filter { $0 == "\n" }.count == 1)
    }
  }

  @Test("A path with a line break and an escape character is shown escaped")
  func paths() throws {
    let fixture = try Fixture(towers: 1)
    let name = "a\n\u{1B}[31mb.larch"
    let path = fixture.directory.path + "/" + name
    try FileManager.default.copyItem(atPath: fixture.path, toPath: path)
    let good = try Program.run(["info", path])
    #expect(good.code == 0 && good.output.contains("a\\n\\u{1b}[31mb.larch"))
    let missing = try Program.run(["info", path + "x"])
    #expect(missing.code == 2 && missing.errors.contains("a\\n\\u{1b}[31mb.larchx"))
    #expect(missing.errors.filter { $0 == "\n" }.count == 1)
  }

  @Test("Names in the file with escape characters are shown escaped")
  func storedNames() throws {
    let fixture = try Fixture(towers: 1)
    let store = try Fixture.open(fixture.path)
    try store.environment.write { transaction in
      let storage = try CatalogLoader(store.environment, StoreSchema())
        .openStorage(in: transaction)
      for var entry in try storage.collections(in: transaction) {
        entry.typeName = "\u{1B}]0;title\u{7}\n"
        try storage.set(entry, in: transaction)
      }
    }
    store.close()
    for command in ["info", "schema", "dump", "stats", "verify"] {
      for options in [[], ["--json"]] {
        let result = try Program.run([command, fixture.path] + options)
        #expect(result.code == 0)
        #expect(!result.output.contains("\u{1B}") && !result.output.contains("\u{7}"))
      }
    }
  }

  @Test("Random damage never ends a command by a signal", arguments: 0..<40)
  func damage(seed: Int) throws {
    let fixture = try Fixture(towers: 60)
    var bytes = [UInt8](try fixture.bytes)
    var generator = SeededGenerator(seed: UInt64(seed))
    let kind = FileDamage.allCases[seed % FileDamage.allCases.count]
    kind.apply(
      to: &bytes, pageSize: Int(sysconf(Int32(_SC_PAGESIZE))), using: &generator)
    try Data(bytes).write(to: URL(fileURLWithPath: fixture.path))
    for command in ["info", "schema", "dump", "stats", "verify", "salvage"] {
      let rest = command == "salvage" ? [fixture.directory.path + "/saved.larch"] : []
      let result = try Program.run([command, fixture.path] + rest)
      #expect([0, 1, 2].contains(result.code), "\(command), \(kind), \(seed): \(result)")
      #expect(result.code != 2 || result.errors.filter { $0 == "\n" }.count == 1)
      #expect([UInt8](try fixture.bytes) == bytes)
    }
  }
}
