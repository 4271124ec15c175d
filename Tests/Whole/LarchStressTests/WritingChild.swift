import Foundation
import LarchCrashSupport

/// A child process that writes, and reports acknowledgements over a pipe.
final class WritingChild {
  private let process = Process()
  private let pipe = Pipe()
  private var frames = Data()
  private var isAtEnd = false

  init(_ arguments: [String]) throws {
    process.executableURL = try Child.executable
    process.arguments = arguments
    var environment = ProcessInfo.processInfo.environment
    environment["SWIFT_BACKTRACE"] = "enable=no"
    process.environment = environment
    process.standardInput = FileHandle.nullDevice
    process.standardOutput = pipe
    try process.run()
    // The child has the only writing end, otherwise its death would not end the pipe.
    try pipe.fileHandleForWriting.close()
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
  }

  /// Reads the output of the child for this time, so that the pipe is never full; false if the
  /// child has ended.
  func listen(microseconds: Int) -> Bool {
    let deadline = Date() + Double(microseconds) / 1e6
    while !isAtEnd {
      let left = deadline.timeIntervalSinceNow
      if left <= 0 { return true }
      readOnce(milliseconds: Int32(left * 1000))
      if left < 0.001 { usleep(UInt32(left * 1e6)) }
    }
    return false
  }

  /// Waits for the first output; false if the child has ended without one.
  func waitForFirst() throws -> Bool {
    let deadline = Date() + 600
    while frames.count < 8 {
      if isAtEnd { return false }
      guard Date() < deadline else { throw Mismatch("the child says nothing") }
      readOnce(milliseconds: 100)
    }
    return true
  }

  /// Kills the child, and returns what it reported until then.
  func killHard() throws -> [UInt64] {
    kill(process.processIdentifier, SIGKILL)
    while !isAtEnd { readOnce(milliseconds: 1000) }
    process.waitUntilExit()
    guard process.terminationReason == .uncaughtSignal, process.terminationStatus == SIGKILL else {
      throw Mismatch("the child ended by itself with \(process.terminationStatus)")
    }
    return stride(from: 0, to: frames.count - frames.count % 8, by: 8).map { start in
      frames[start..<start + 8].withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
    }
  }

  private func readOnce(milliseconds: Int32) {
    let descriptor = pipe.fileHandleForReading.fileDescriptor
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, milliseconds) > 0 else { return }
    var buffer = [UInt8](repeating: 0, count: 65536)
    let count = read(descriptor, &buffer, buffer.count)
    if count > 0 { frames.append(contentsOf: buffer[..<count]) } else { isAtEnd = true }
  }
}
