package import Foundation

/// A child process that a test starts, watches and kills.
package final class Child {
  package enum Ending: Equatable {
    case exit(Int32)
    case signal(Int32)
  }

  private let process = Process()
  private let errors: String
  private let label: String

  /// Starts a subcommand of `LarchChild`; its output goes to files in the directory.
  package init(
    _ arguments: [String], in directory: String, environment extra: [String: String] = [:]
  ) throws {
    label = arguments[0]
    let name = directory + "/child-\(UInt64.random(in: .min ... .max))"
    errors = name
    _ = FileManager.default.createFile(atPath: errors, contents: nil)
    guard let log = FileHandle(forWritingAtPath: errors) else { throw Mismatch("no log \(errors)") }
    defer { try? log.close() }
    process.executableURL = try Child.program.get()
    process.arguments = arguments
    var environment = ProcessInfo.processInfo.environment
    // A backtrace of each expected crash would take a second and a page of output.
    environment["SWIFT_BACKTRACE"] = "enable=no"
    process.environment = environment.merging(extra) { $1 }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = log
    process.standardError = log
    try process.run()
  }

  deinit {
    if process.isRunning { kill() }
    unlink(errors)
  }

  package var id: Int32 { process.processIdentifier }
  package var isRunning: Bool { process.isRunning }

  /// What the child has printed.
  package var output: String { (try? String(contentsOfFile: errors, encoding: .utf8)) ?? "" }

  /// Kills the child and waits for it; throws if it had already ended.
  package func killHard() throws {
    kill()
    guard ending == .signal(SIGKILL) else {
      throw Mismatch("\(label) ended by itself with \(ending): \(output)")
    }
  }

  /// Kills the child; false if it had already ended.
  package func killOrLeave() -> Bool {
    kill()
    return ending == .signal(SIGKILL)
  }

  /// Sends a signal to the child.
  package func signal(_ number: Int32) { Foundation.kill(id, number) }

  private func kill() {
    Foundation.kill(id, SIGKILL)
    // `waitUntilExit` looks again every 50 ms on the main thread, and all the time on others.
    while process.isRunning { usleep(200) }
  }

  /// Waits for the child to end, and kills it if that takes too long.
  package func wait(seconds: Double = 600) throws -> Ending {
    let deadline = Date() + seconds
    while process.isRunning {
      if Date() > deadline {
        kill()
        throw Mismatch("\(label) hangs: \(output)")
      }
      usleep(500)
    }
    process.waitUntilExit()
    return ending
  }

  private var ending: Ending {
    process.terminationReason == .exit
      ? .exit(process.terminationStatus) : .signal(process.terminationStatus)
  }

  /// Lets the child run for some microseconds; true if it ended in that time.
  package func ends(within microseconds: Int) -> Bool {
    let deadline = Date() + Double(microseconds) / 1e6
    while process.isRunning {
      if Date() >= deadline { return false }
      usleep(200)
    }
    return true
  }

  /// Waits until the child has noted its start in the beacon, or has ended.
  package func waitUntilStarted(_ beacon: Beacon, _ number: Int) throws {
    try wait("starts") { beacon[.started(number)] == Int(id) }
  }

  /// Waits for a condition while the child runs.
  package func wait(
    _ what: String, seconds: Double = 600, until isMet: () throws -> Bool
  ) throws {
    let deadline = Date() + seconds
    while try !isMet() {
      guard process.isRunning else {
        throw Mismatch("\(label) ended with \(ending) before it \(what): \(output)")
      }
      guard Date() < deadline else { throw Mismatch("\(label) hangs before it \(what): \(output)") }
      usleep(200)
    }
  }

  /// Runs a subcommand of `LarchChild` to its end, and returns its output; throws if it fails.
  package static func lines(_ arguments: [String]) throws -> [String] {
    let process = Process()
    process.executableURL = try program.get()
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw Mismatch("\(arguments) ended with \(process.terminationStatus)")
    }
    return String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// The program itself, for tests that start it in another way.
  package static var executable: URL { get throws { try program.get() } }

  private static let program = Result { try builtFile("LarchChild") }

  /// Programs that are built with the tests are in a folder above the executable of the test
  /// bundle.
  package static func builtFile(_ name: String) throws -> URL {
    var starts = Bundle.allBundles.map(\.bundleURL)
    starts.append(URL(fileURLWithPath: CommandLine.arguments[0]))
    for start in starts {
      var folder = start
      for _ in 0..<6 {
        folder.deleteLastPathComponent()
        let file = folder.appendingPathComponent(name)
        if FileManager.default.fileExists(atPath: file.path) { return file }
      }
    }
    throw Mismatch("\(name) was not built")
  }
}

/// A directory that exists for one test.
package final class CrashDirectory: Sendable {
  package let path: String

  /// In memory if the system has such a place, unless the disk is requested.
  package init(onDisk: Bool = false) throws {
    let memory = "/dev/shm"
    let base =
      !onDisk && access(memory, W_OK) == 0 ? memory : NSTemporaryDirectory()
    path =
      URL(fileURLWithPath: base).appendingPathComponent("larch-crash-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  package var store: String { path + "/store.larch" }
  package var beacon: String { path + "/beacon" }

  package var names: [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []).sorted()
  }
}

/// Whether a sanitizer is active: it keeps freed memory for a while, so measurements of memory mean
/// nothing.
package let isSanitized = ProcessInfo.processInfo.environment["LARCH_SANITIZER"] != nil

/// The amount of work of a test: an environment variable sets more than CI has time for.
package func amount(_ name: String, _ value: Int) -> Int {
  ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? value
}

/// The seed of this run. It is random unless it is set to repeat a failure.
package let runSeed: UInt64 =
  ProcessInfo.processInfo.environment["LARCH_CRASH_SEED"].flatMap(UInt64.init)
  ?? UInt64.random(in: 1..<(1 << 32))
