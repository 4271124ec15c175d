import Foundation
import Testing

/// A cursor over many records holds one of them at a time, a loop over a list one id. Measured in a program of its own, since
/// other tests use memory meanwhile.
@Suite("Streaming")
struct StreamingTests {
  private static let count = 100_000
  /// Of the 30 MB and more that all records take.
  private static let bound = 4 << 20

  // A sanitizer keeps what was freed for a while.
  private static let isSanitized = ProcessInfo.processInfo.environment["LARCH_SANITIZER"] != nil

  @Test(
    "A cursor streams 100,000 records in constant memory, and a list of so many ids",
    .disabled(if: isSanitized))
  func constantMemory() throws {
    let directory = FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-stream-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let lines = try Self.run(["stream-queries", directory.path, "\(Self.count)"])
    print("streamed: \(lines.joined(separator: "; ")) bytes more")
    #expect(lines.count == 9)
    for line in lines {
      let parts = line.split(separator: " ")
      let bytes = try #require(Int(parts[1]))
      if parts[0] == "array" {
        #expect(bytes > Self.bound * 4, "the measure shows what is held")
      } else {
        #expect(bytes < Self.bound, "\(line)")
      }
    }
  }

  private static func run(_ arguments: [String]) throws -> [String] {
    let process = Process()
    process.executableURL = try program()
    process.arguments = arguments
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let output = try pipe.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return String(decoding: output, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// The program is built next to the tests: in a folder above the test bundle's executable.
  private static func program() throws -> URL {
    var starts = Bundle.allBundles.map(\.bundleURL)
    starts.append(URL(fileURLWithPath: CommandLine.arguments[0]))
    let candidates = starts.flatMap { start in
      sequence(first: start) { $0.deletingLastPathComponent() }.prefix(7)
        .map { $0.appendingPathComponent("LarchChild") }
    }
    return try #require(
      candidates.first {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: $0.path, isDirectory: &isDirectory)
          && !isDirectory.boolValue
      })
  }
}
