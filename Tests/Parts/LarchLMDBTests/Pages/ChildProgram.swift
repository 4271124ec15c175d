import Foundation

/// The program that tests start for what a process may not survive.
enum ChildProgram {
  struct Missing: Error {}

  /// A directory for temporary files, in memory if the system has one there.
  static func withDirectory<T>(_ body: (String) throws -> T) throws -> T {
    let base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
    let path = base + "/larch-test-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try body(path)
  }

  static func count(_ name: String, default value: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap(Int.init) ?? value
  }

  /// The program is built next to the tests: in a folder above the test bundle's executable.
  static func url() throws -> URL {
    var starts = Bundle.allBundles.map(\.bundleURL)
    starts.append(URL(fileURLWithPath: CommandLine.arguments[0]))
    for start in starts {
      var folder = start
      for _ in 0..<6 {
        folder.deleteLastPathComponent()
        let program = folder.appendingPathComponent("LarchChild")
        if FileManager.default.isExecutableFile(atPath: program.path) { return program }
      }
    }
    throw Missing()
  }

  /// How a child ended: its code, the signal that ended it, or nothing printed for too long.
  enum Ending: Equatable {
    case exit(Int32)
    case signal(Int32)
    case hang
  }

  /// Milliseconds; other tests may take the processors for minutes.
  static let patience: Int32 = 600_000

  /// Runs the program and passes each line that it prints; kills it if it prints none for
  /// `patience`.
  static func run(
    _ arguments: [String], patience: Int32 = patience, onLine: (Substring) -> Void
  ) throws -> Ending {
    let process = Process()
    process.executableURL = try url()
    process.arguments = arguments
    var environment = ProcessInfo.processInfo.environment
    // A backtrace of each expected crash would take a second and a page of output.
    environment["SWIFT_BACKTRACE"] = "enable=no"
    process.environment = environment
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    try process.run()
    let descriptor = pipe.fileHandleForReading.fileDescriptor
    var pending: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 1 << 16)
    while true {
      var wait = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if poll(&wait, 1, patience) == 0 {
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        return .hang
      }
      let got = read(descriptor, &buffer, buffer.count)
      if got <= 0 { break }
      pending += buffer[..<got]
      guard let end = pending.lastIndex(of: 10) else { continue }
      for line in String(decoding: pending[..<end], as: UTF8.self).split(separator: "\n") {
        onLine(line)
      }
      pending.removeSubrange(...end)
    }
    process.waitUntilExit()
    return process.terminationReason == .exit
      ? .exit(process.terminationStatus) : .signal(process.terminationStatus)
  }
}
