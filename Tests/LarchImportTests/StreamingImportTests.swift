import Foundation
import Testing

/// An import holds a batch at a time, an export a piece. Measured in a program of its own, since
/// other tests use memory meanwhile.
@Suite("Streaming of JSON")
struct StreamingImportTests {
  private static let bound = 16 << 20

  // A sanitizer keeps what was freed for a while.
  private static let isSanitized = ProcessInfo.processInfo.environment["LARCH_SANITIZER"] != nil
  private static let count =
    ProcessInfo.processInfo.environment["LARCH_IMPORT_COUNT"].flatMap { Int($0) } ?? 100_000

  @Test("100,000 elements come in and go out in constant memory", .disabled(if: isSanitized))
  func constantMemory() throws {
    let directory = FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-json-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let lines = try Self.run(["stream-json", directory.path, "\(Self.count)"])
    print("streamed JSON: \(lines.joined(separator: "; ")) (bytes more, elements a second)")
    #expect(lines.count == 5)
    for line in lines {
      let parts = line.split(separator: " ")
      #expect(try #require(Int(parts[1])) < Self.bound, "\(line)")
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
