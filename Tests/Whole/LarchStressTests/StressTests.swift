import Foundation
import LarchCrashSupport
import Testing

/// Tasks and threads that write, read, throw and cancel in one store. A separate program does the
/// work (`StressRun` in `Tests/Programs/LarchChild`), since other tests use the threads of this one.
@Suite("Stress", .serialized)
struct StressTests {
  @Test("in memory, where there are most writes", arguments: [false, true])
  func inMemory(runsWritesTwice: Bool) async throws {
    try await stress(share: 0.3, onDisk: false, runsWritesTwice: runsWritesTwice)
  }

  @Test("on a disk, where most writes wait")
  func onDisk() async throws {
    try await stress(share: 0.4, onDisk: true, runsWritesTwice: false)
  }

  @Test("money that a write loses is detected")
  func control() async throws {
    let directory = try StressProgram.makeDirectory(onDisk: false)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let (status, output) = try await StressProgram.run(
      ["stress", directory, "1", "\(StressProgram.seed)", "loses"])
    #expect(status == 1)
    // By the first one that checks: a reader, or a writer that compares the sum around a savepoint.
    let places = ["reader: sum of ", "reader: purse ", " after a savepoint was undone"]
    #expect(places.contains { output.contains($0) }, "\(output)")
  }

  private func stress(share: Double, onDisk: Bool, runsWritesTwice: Bool) async throws {
    let seconds = Double(amount("LARCH_STRESS_SECONDS", 30)) * share
    let seed = StressProgram.seed
    let directory = try StressProgram.makeDirectory(onDisk: onDisk)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let (status, output) = try await StressProgram.run([
      "stress", directory, "\(seconds)", "\(seed)", runsWritesTwice ? "1" : "0",
    ])
    print("stress, \(onDisk ? "on disk" : "in memory")", runsWritesTwice ? "twice:" : ":", output)
    #expect(status == 0, "seed \(seed): \(output)")
  }
}
