import LarchCrashSupport
import Testing

/// A cursor over many records keeps one of them in memory, and a loop over a list one id. They are
/// measured in a separate program, since other tests use memory too.
@Suite("Streaming")
struct StreamingTests {
  private static let count = 100_000
  /// All records take more than 30 MB.
  private static let bound = 4 << 20

  @Test(
    "A cursor streams 100,000 records, and a list of as many ids, in constant memory",
    .disabled(if: isSanitized))
  func constantMemory() throws {
    let directory = try CrashDirectory(onDisk: true)
    let lines = try Child.lines(["stream-queries", directory.path, "\(Self.count)"])
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
}
