import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("larch mirror and larch restore", needsServer)
struct MirrorCommandTests {
  private struct Note: Record {
    var id = RecordID<Note>()
    var text: String
  }

  /// A store file that no program has open, with the name of its log.
  private struct Setting {
    let server: PostgresServer
    let path = ScratchFile.freshPath()
    let name = freshName()

    init() throws {
      server = try PostgresServer.shared.get()
      try save("first")
    }

    func save(_ text: String) throws {
      try Store.using(path, Note.self) { store in
        var note = Note(text: text)
        try store.save(&note)
      }
    }

    func texts(at path: String? = nil) throws -> [String] {
      try Store.using(path ?? self.path, Note.self) { try $0.fetch(Note.all).map(\.text) }
    }

    var isMirrored: Bool {
      get throws { try Store.using(path, Note.self) { try $0.environment.outboxHeader() != nil } }
    }

    func run(_ command: String, _ url: String? = nil, _ options: String...) throws
      -> LarchCommand.Result
    {
      try LarchCommand.run([command, path, url ?? server.url, "--name", name] + options)
    }
  }

  @Test(
    "A first mirror that cannot reach its server, or may not write there, leaves the file as it was"
  )
  func firstFails() throws {
    let setting = try Setting()
    defer { ScratchFile.remove(setting.path) }
    let nowhere = "postgres://larch@127.0.0.1:1/larch"
    for options in [["--once"], []] {
      let result = try LarchCommand.run(["mirror", setting.path, nowhere] + options)
      #expect(result.code == 2 && result.errors.contains("Check the address"), "\(result)")
      #expect(try !setting.isMirrored)
    }
    let role = freshName("role")
    try setting.server.run("CREATE ROLE \(role) LOGIN")
    let schema = freshName()
    let server = setting.server
    let made = try LarchCommand.run([
      "server", "init", server.url, "--schema", schema, "--role", role, "--read-only",
    ])
    #expect(made.code == 0)
    let refused = try setting.run("mirror", server.url(user: role), "--once", "--schema", schema)
    #expect(refused.code == 2 && refused.errors.contains("lacks the right"), "\(refused)")
    #expect(try !setting.isMirrored)
  }

  @Test("--once gives up a server that cannot be reached, and what waits stays in the file")
  func onceGivesUp() throws {
    let setting = try Setting()
    defer { ScratchFile.remove(setting.path) }
    #expect(try setting.run("mirror", nil, "--once").code == 0)
    try setting.save("second")
    let nowhere = try setting.run("mirror", "postgres://larch@127.0.0.1:1/larch", "--once")
    #expect(nowhere.code == 2 && nowhere.errors.contains("unavailable"), "\(nowhere)")
    #expect(nowhere.output.contains("1 of 2 commits shipped"), "\(nowhere)")
    #expect(try setting.run("mirror", nil, "--once").output.contains("2 of 2 commits shipped"))
  }

  @Test("A restoration says what it has restored, and never drops what only the file has")
  func restore() throws {
    let setting = try Setting()
    defer { ScratchFile.remove(setting.path) }
    #expect(try setting.run("mirror", nil, "--once").code == 0)
    try setting.save("second")
    let refused = try setting.run("restore", nil, "--replace")
    #expect(refused.code == 2 && refused.errors.contains("not_shipped"), "\(refused)")
    #expect(try setting.texts() == ["first", "second"])
    #expect(try setting.run("mirror", nil, "--once").code == 0)
    let restored = try setting.run("restore", nil, "--replace", "--position", "1")
    #expect(restored.output.contains("as it was at commit 1 of 20"), "\(restored)")
    #expect(try setting.texts() == ["first"])
    let info = try LarchCommand.run(["info", setting.path])
    #expect(info.output.contains("it was restored"), "\(info)")
    let stopped = try setting.run("mirror", nil, "--once")
    #expect(stopped.code == 2 && stopped.errors.contains("--replace"), "\(stopped)")
    #expect(try setting.run("mirror", nil, "--once", "--replace").code == 0)
    #expect(try setting.run("mirror", nil, "--once").code == 0)
    let other = ScratchFile.freshPath()
    defer { ScratchFile.remove(other) }
    let again = try LarchCommand.run([
      "restore", other, setting.server.url, "--name", setting.name,
    ])
    #expect(again.code == 0)
    #expect(try setting.texts(at: other) == ["first"])
  }

  @Test(
    "A mirror that runs notices that another process has restored its file",
    .timeLimit(.minutes(15))
  )
  func restoredMeanwhile() throws {
    let setting = try Setting()
    defer { ScratchFile.remove(setting.path) }
    #expect(try setting.run("mirror", nil, "--once").code == 0)
    let mirror = try LarchCommand([
      "mirror", setting.path, setting.server.url, "--name", setting.name,
    ])
    // It has reached the server.
    while let line = mirror.line(), !line.contains("everything is on the server") {}
    let restored = try setting.run("restore", nil, "--replace")
    #expect(restored.code == 0, "\(restored)")
    let ended = mirror.result()
    #expect(ended.code == 2 && ended.errors.contains("was restored"), "\(ended)")
  }

  @Test("The file knows its log: a wrong name neither moves the mirror nor ends it")
  func anotherName() throws {
    let setting = try Setting()
    defer { ScratchFile.remove(setting.path) }
    #expect(try setting.run("mirror", nil, "--once").code == 0)
    func run(_ name: String, _ options: String...) throws -> LarchCommand.Result {
      try LarchCommand.run(["mirror", setting.path, setting.server.url, "--name", name] + options)
    }
    let other = freshName()
    for options in [["--once"], ["--end"]] {
      let refused = try run(other, options[0])
      #expect(refused.code == 2 && refused.errors.contains("store \(setting.name)"), "\(refused)")
    }
    let schema = try setting.run("mirror", nil, "--once", "--schema", freshName())
    #expect(schema.code == 2 && schema.errors.contains("mirrored to another log"), "\(schema)")
    let stores = { try LarchCommand.run(["server", "list", setting.server.url]).output }
    #expect(try !stores().contains(other))
    func info() throws -> String { try LarchCommand.run(["info", setting.path]).output }
    #expect(try info().contains("store \(setting.name)"))
    try setting.save("second")
    // The move takes a number of its own.
    #expect(try run(other, "--once", "--replace").output.contains("3 of 3 commits shipped"))
    #expect(try stores().contains(other))
    #expect(try info().contains("store \(other)"))
    try setting.save("third")
    let ended = try run(other, "--end")
    #expect(ended.output.contains("was ended; 1 commit had not been shipped"), "\(ended)")
    #expect(try !setting.isMirrored)
    let again = try run(other, "--end")
    #expect(again.code == 2 && again.errors.contains("has no mirror"), "\(again)")
  }

  @Test(
    "Tables say that their copy was another store's and was replaced, and never have its rows",
    arguments: [false, true])
  func anotherCopy(isCut: Bool) throws {
    let (setting, other) = (try Setting(), try Setting())
    if isCut {
      // Then the log begins after the place of the copy.
      #expect(try other.run("mirror", nil, "--once").code == 0)
      for text in ["second", "third"] { try other.save(text) }
      #expect(try other.run("mirror", nil, "--once", "--replace").code == 0)
    }
    let copy = ScratchFile.freshPath()
    defer { [setting.path, other.path, copy].forEach(ScratchFile.remove) }
    for setting in [setting, other] {
      #expect(try setting.run("mirror", nil, "--once").code == 0)
      let tables = try LarchCommand.run([
        "tables", copy, setting.server.url, "--name", setting.name, "--into", freshName("t"),
        "--once",
      ])
      #expect(tables.code == 0, "\(tables)")
      #expect(tables.output.ranges(of: "filled").count == 1, "\(tables)")
      let isSecond = setting.name == other.name
      #expect(tables.errors.contains("kept beside") == isSecond, "\(tables)")
      if isSecond, isCut { #expect(tables.output.contains("3 rows"), "\(tables)") }
    }
    let restored = try LarchCommand.run([
      "restore", copy, other.server.url, "--name", other.name, "--replace",
    ])
    #expect(restored.code == 2 && restored.errors.contains("Delete the file"), "\(restored)")
    let ended = try LarchCommand.run([
      "mirror", copy, other.server.url, "--name", other.name, "--end",
    ])
    #expect(ended.code == 2 && ended.errors.contains("a copy that follows a log"), "\(ended)")
  }

  @Test("A wrong name is an error that says how to list the right ones")
  func names() throws {
    let setting = try Setting()
    defer { ScratchFile.remove(setting.path) }
    let restored = try LarchCommand.run([
      "restore", setting.path + "-x", setting.server.url, "--name", "no",
    ])
    #expect(restored.code == 2 && restored.errors.contains("larch server list"), "\(restored)")
    #expect(try setting.run("mirror", nil, "--once").code == 0)
    let tables = try LarchCommand.run([
      "tables", setting.path, setting.server.url, "--name", "no", "--once",
    ])
    #expect(tables.code == 2 && tables.errors.contains("larch server list"), "\(tables)")
    let (schema, name) = (freshName("t"), setting.name)
    var line = try setting.run("tables", nil, "--into", schema, "--once")
    #expect(line.output == "filled: 1 row\nup to date\n", "\(line)")
    line = try setting.run("tables", nil, "--into", schema, "--once", "--json")
    #expect(line.output.contains(#""step":"up to date""#), "\(line)")
    #expect(try LarchCommand.run(["server", "list", setting.server.url]).output.contains(name))
  }
}
