import LarchCrashSupport
import Testing

/// An import keeps one batch in memory, an export one piece. They are measured in a separate
/// program, since other tests use memory too.
@Suite("Streaming of JSON")
struct StreamingImportTests {
  private static let bound = 16 << 20

  private static let count = amount("LARCH_IMPORT_COUNT", 100_000)

  @Test("100,000 elements are imported and exported in constant memory", .disabled(if: isSanitized))
  func constantMemory() throws {
    let directory = try CrashDirectory(onDisk: true)
    let lines = try Child.lines(["stream-json", directory.path, "\(Self.count)"])
    print("streamed JSON: \(lines.joined(separator: "; ")) (bytes more, elements a second)")
    #expect(lines.count == 5)
    for line in lines {
      let parts = line.split(separator: " ")
      #expect(try #require(Int(parts[1])) < Self.bound, "\(line)")
    }
  }
}
