import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchToolKit

/// The tool beside programs that write, on files that it may not write, and in pipes and terminals.
@Suite("The tool among other programs")
struct LiveTests {
  private static let looking = ["info", "schema", "dump", "stats", "verify"]

  @Test("A store that is being written is shown in its last committed state", arguments: looking)
  func writing(command: String) throws {
    let fixture = try Fixture()
    let before = try Program.run([command, fixture.path]).output
    let store = try Fixture.open(fixture.path)
    defer { store.close() }
    try store.write { tx throws in
      var tower = Tower.sample(500)
      try tx.save(&tower)
      let meanwhile = try Program.run([command, fixture.path])
      #expect(meanwhile.code == 0 && meanwhile.errors.isEmpty)
      if command != "info" { #expect(meanwhile.output == before) }
    }
    let after = try Program.run([command, fixture.path])
    #expect(after.code == 0)
    #expect(after.output != before)
  }

  @Test("A backup is made while another program writes")
  func backup() throws {
    let fixture = try Fixture()
    let target = fixture.directory.path + "/copy.larch"
    let store = try Fixture.open(fixture.path)
    defer { store.close() }
    try store.write { tx throws in
      var tower = Tower.sample(500)
      try tx.save(&tower)
      #expect(try Program.run(["backup", fixture.path, target]).code == 0)
    }
    #expect(try Program.run(["verify", target]).code == 0)
    #expect(try Program.run(["dump", target, "Tower"]).output.contains("Tower: 30 records"))
  }

  @Test("No command that only reads changes a byte of the file", arguments: looking)
  func unchanged(command: String) throws {
    let fixture = try Fixture()
    let before = try fixture.bytes
    #expect(try Program.run([command, fixture.path]).code == 0)
    #expect(try fixture.bytes == before)
  }

  @Test("A file and a directory that are not writable can be read", arguments: looking)
  func readOnly(command: String) throws {
    let fixture = try Fixture()
    try FileManager.default.removeItem(atPath: fixture.path + "-lock")
    let expected = try Program.run([command, fixture.path])
    try? FileManager.default.removeItem(atPath: fixture.path + "-lock")
    #expect(chmod(fixture.path, 0o444) == 0 && chmod(fixture.directory.path, 0o555) == 0)
    defer { chmod(fixture.directory.path, 0o755) }
    let result = try Program.run([command, fixture.path])
    #expect(result.code == 0, "\(result)")
    if command != "info" { #expect(result.output == expected.output) }
  }

  #if os(Linux)
    // Only root can become somebody else.
    @Test(
      "A user who may only read sees everything, and leaves no files",
      .enabled(if: getuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0), arguments: looking)
    func stranger(command: String) throws {
      let fixture = try Fixture()
      let temporary = fixture.directory.path + "/temporary"
      try FileManager.default.createDirectory(
        atPath: temporary, withIntermediateDirectories: false)
      let program = fixture.directory.path + "/larch"
      try FileManager.default.copyItem(atPath: try Program.url.get().path, toPath: program)
      chmod(fixture.path, 0o644)
      chmod(fixture.path + "-lock", 0o644)
      chmod(temporary, 0o777)
      chmod(program, 0o755)
      chmod(fixture.directory.path, 0o755)
      let expected = try Program.run([command, fixture.path])
      let before = try fixture.bytes
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
      process.arguments = [
        "--reuid=65534", "--regid=65534", "--clear-groups", program, command, fixture.path,
      ]
      process.environment = ["TMPDIR": temporary]
      let pipe = Pipe()
      process.standardOutput = pipe
      try process.run()
      let output = String(
        decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
      if command != "info" { #expect(output == expected.output) }
      #expect(try fixture.bytes == before)
      #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty)
    }

    @Test(
      "The copy for a user who may only read is removed, even after a signal",
      .enabled(if: getuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0),
      arguments: [SIGINT, SIGTERM, SIGHUP])
    func killedStranger(signal: Int32) throws {
      let fixture = try Fixture(towers: 2000)
      let temporary = fixture.directory.path + "/temporary"
      try FileManager.default.createDirectory(
        atPath: temporary, withIntermediateDirectories: false)
      let program = fixture.directory.path + "/larch"
      try FileManager.default.copyItem(atPath: try Program.url.get().path, toPath: program)
      chmod(fixture.path, 0o644)
      chmod(temporary, 0o777)
      chmod(program, 0o755)
      chmod(fixture.directory.path, 0o755)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/setpriv")
      process.arguments = [
        "--reuid=65534", "--regid=65534", "--clear-groups", program, "dump", fixture.path,
      ]
      process.environment = ["TMPDIR": temporary]
      // Nobody reads, so that it does not end.
      let pipe = Pipe()
      process.standardOutput = pipe
      try process.run()
      try waitUntil("a copy is made") {
        let folders = try FileManager.default.contentsOfDirectory(atPath: temporary)
        return folders.contains {
          FileManager.default.fileExists(atPath: "\(temporary)/\($0)/copy.larch")
        }
      }
      kill(process.processIdentifier, signal)
      process.waitUntilExit()
      #expect(process.terminationReason == .uncaughtSignal && process.terminationStatus == signal)
      #expect(try FileManager.default.contentsOfDirectory(atPath: temporary).isEmpty)
    }
  #endif

  @Test("A pipe that is closed early ends the program quietly")
  func closedPipe() throws {
    let fixture = try Fixture(towers: 2000)
    let program = try Program.url.get().path
    for command in ["dump", "dump --json --entries"] {
      let errors = fixture.directory.path + "/errors"
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/bin/bash")
      process.arguments = [
        "-c",
        "'\(program)' \(command.replacing("dump", with: "dump '\(fixture.path)'")) 2>'\(errors)' | head -1 >/dev/null; exit ${PIPESTATUS[0]}",
      ]
      try process.run()
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
      #expect(try String(contentsOfFile: errors, encoding: .utf8).isEmpty)
    }
  }

  #if os(Linux)
    @Test("A dump of any size needs little memory", arguments: ["", "--json"])
    func memory(options: String) throws {
      let fixture = try Fixture(towers: 0)
      let store = try Fixture.open(fixture.path)
      try store.write { tx throws in
        for number in 0..<5000 {
          var tower = Tower.sample(number)
          tower.plan = Data(repeating: UInt8(number % 256), count: 20_000)
          try tx.save(&tower)
        }
      }
      store.close()
      let program = try Program.url.get().path
      func bytes(limit: Int) throws -> Int {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        // The limit is in KiB, of what a process writes to; the map of the file is not in it.
        process.arguments = [
          "-c",
          "(ulimit -d \(limit); exec '\(program)' dump '\(fixture.path)' Tower \(options)) 2>/dev/null | wc -c",
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let text = String(
          decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return try #require(Int(text.trimmingCharacters(in: .whitespacesAndNewlines)))
      }
      // Some 135 MB of text, more than twice what the process may have.
      #expect(try bytes(limit: 60_000) > 130_000_000)
      // The limit has an effect: with very little memory the program cannot run.
      #expect(try bytes(limit: 100) < 130_000_000)
    }

    @Test("A full disk is reported")
    func fullDisk() throws {
      let fixture = try Fixture()
      let errors = fixture.directory.path + "/errors"
      let process = try Program.start(
        ["dump", fixture.path], output: "/dev/full", errors: errors)
      process.waitUntilExit()
      #expect(process.terminationStatus == 2)
      #expect(
        try String(contentsOfFile: errors, encoding: .utf8).hasPrefix(
          "larch: the output cannot be written: "))
    }
  #endif

  @Test("A terminal gets colours and tables of its width, and NO_COLOR removes the colours")
  func terminal() throws {
    let fixture = try Fixture()
    for (environment, isColoured) in [([:], true), (["NO_COLOR": "1"], false)] {
      let text = try onTerminal(
        ["schema", fixture.path], columns: 50,
        environment: environment.merging(["TERM": "xterm"]) { $1 })
      #expect(text.contains("\u{1B}[1m") == isColoured)
      let plain = text.replacing(/\u{1B}\[[0-9]*m/, with: "")
      for line in plain.split(whereSeparator: \.isNewline) { #expect(line.count <= 50) }
    }
  }

  /// The output of the program on a terminal.
  private func onTerminal(
    _ arguments: [String], columns: UInt16, environment: [String: String]
  ) throws -> String {
    let terminal = try PseudoTerminal()
    let master = terminal.master
    let slave = open(terminal.name, O_RDWR | O_NOCTTY)
    var size = winsize(ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0)
    guard slave >= 0, ioctl(slave, UInt(TIOCSWINSZ), &size) == 0 else {
      throw Mismatch("no terminal")
    }
    let process = Process()
    process.executableURL = try Program.url.get()
    process.arguments = arguments
    var all = ProcessInfo.processInfo.environment
    for name in ["COLUMNS", "NO_COLOR"] { all[name] = nil }
    process.environment = all.merging(environment) { $1 }
    process.standardOutput = FileHandle(fileDescriptor: slave, closeOnDealloc: true)
    process.standardError = FileHandle.nullDevice
    try process.run()
    var text: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    // A terminal holds little: it is read while the program writes, and once more when it ended.
    var isOver = false
    while true {
      var wanted = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
      if poll(&wanted, 1, isOver ? 0 : 20) > 0, wanted.revents & Int16(POLLIN) != 0 {
        let count = read(master, &buffer, buffer.count)
        if count > 0 { text += buffer[..<count] }
      } else if isOver {
        break
      } else {
        isOver = !process.isRunning
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

func waitUntil(_ what: String, _ isMet: () throws -> Bool) throws {
  let deadline = Date() + 900
  while try !isMet() {
    guard Date() < deadline else { throw Mismatch("15 minutes have passed before \(what)") }
    usleep(5000)
  }
}

/// A terminal without a screen. Its functions are looked up by name, since the module of the system's
/// library hides them on Linux.
private final class PseudoTerminal {
  let master: Int32
  let name: String

  init() throws {
    func function<T>(_ name: String, as type: T.Type) throws -> T {
      guard let found = dlsym(dlopen(nil, RTLD_NOW), name) else { throw Mismatch("no \(name)") }
      return unsafeBitCast(found, to: type)
    }
    typealias Call = @convention(c) (Int32) -> Int32
    typealias Name = @convention(c) (Int32) -> UnsafePointer<CChar>?
    let opened = try function("posix_openpt", as: Call.self)(O_RDWR | O_NOCTTY)
    guard opened >= 0, try function("grantpt", as: Call.self)(opened) == 0,
      try function("unlockpt", as: Call.self)(opened) == 0,
      let path = try function("ptsname", as: Name.self)(opened)
    else { throw Mismatch("no terminal") }
    master = opened
    name = String(cString: path)
  }

  deinit { close(master) }
}
