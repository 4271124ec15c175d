import LarchCrashSupport
import Testing

/// A cursor over many records holds one of them at a time, a loop over a list one id. Measured in a
/// program of its own, since other tests use memory meanwhile.
@Suite("Streaming")
struct StreamingTests {
  private static let count = 100_000
  /// Of the 30 MB and more that all records take.
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
