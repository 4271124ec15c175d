import Foundation
import LarchCrashSupport

/// The program that works while a test watches, and where it works.
enum StressProgram {
  /// A directory for the time of a test; in memory where the system has a place for that, unless
  /// the disk is asked for.
  static func withDirectory<T>(onDisk: Bool, _ body: (String) throws -> T) throws -> T {
    let path = try makeDirectory(onDisk: onDisk)
    defer { try? FileManager.default.removeItem(atPath: path) }
    return try body(path)
  }

  static func makeDirectory(onDisk: Bool) throws -> String {
    let base = !onDisk && access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
    let path =
      URL(fileURLWithPath: base).appendingPathComponent("larch-stress-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    return path
  }

  /// Runs the program to its end without blocking a thread; returns its output, with errors.
  static func run(_ arguments: [String]) async throws -> (status: Int32, output: String) {
    let process = Process()
    process.executableURL = try Child.executable
    process.arguments = arguments
    var environment = ProcessInfo.processInfo.environment
    // If it hangs, it ends itself by a signal, and prints the backtrace of every thread.
    environment["SWIFT_BACKTRACE"] = "enable=yes,threads=all,color=no,interactive=no"
    process.environment = environment
    let name = NSTemporaryDirectory() + "/larch-stress-\(UUID().uuidString).txt"
    _ = FileManager.default.createFile(atPath: name, contents: nil)
    defer { unlink(name) }
    guard let log = FileHandle(forWritingAtPath: name) else { throw Mismatch("no log \(name)") }
    defer { try? log.close() }
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = log
    process.standardError = log
    try await withCheckedThrowingContinuation {
      (ended: CheckedContinuation<Void, any Error>) in
      process.terminationHandler = { _ in ended.resume() }
      do { try process.run() } catch { ended.resume(throwing: error) }
    }
    let output = (try? String(contentsOfFile: name, encoding: .utf8)) ?? ""
    return (process.terminationStatus, output)
  }

  /// The seed of this run. It is random unless it is set to repeat a failure.
  static let seed: UInt64 =
    ProcessInfo.processInfo.environment["LARCH_STRESS_SEED"].flatMap(UInt64.init)
    ?? UInt64.random(in: 1..<(1 << 32))
}
