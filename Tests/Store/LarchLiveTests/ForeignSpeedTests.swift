import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Times and sizes for docs/live.md. The numbers of commits are small unless a variable sets more.
@Suite("Speed of observing other processes", .serialized)
struct ForeignSpeedTests {
  @Test("the time from a commit of another process to a closure is printed")
  func latency() async throws {
    let writers = try ForeignWriters()
    let store = try writers.open()
    defer { store.close() }
    try writers.start(1, .notes)
    let calls = Locked<[UInt64: Int]>([:])
    // A pair is not Equatable, so each commit gives a value.
    let token = store.observe({ tx in
      (try tx.find(WatchedNote.self, 1), try tx.fetch(WatchedNote.all).count)
    }) { value in
      let time = Watched.nanoseconds
      calls.withLock { $0[value.version.transaction] = time }
    }
    try await eventually("it has begun") { calls.withLock { !$0.isEmpty } }
    var delays: [Int] = []
    for _ in 0..<amount("LARCH_OBSERVED_COMMITS", 40) {
      try await writers.step(1)
      let version = try store.version.transaction
      let time = writers.beacon[.acknowledged(Watched.times(1))]
      try await eventually("it is called") { calls.withLock { $0[version] != nil } }
      delays.append((calls.withLock { $0[version] } ?? 0) - time)
      try await Task.sleep(for: .milliseconds(3))
    }
    delays.sort()
    let (median, late) = (delays[delays.count / 2], delays[delays.count * 99 / 100])
    print("from commit to closure: median \(median / 1000) µs, p99 \(late / 1000) µs")
    token.cancel()
  }

  @Test(
    "own writes without a pause keep the file small, observed or not; sizes are printed",
    arguments: [false, true], [false, true])
  func growth(isObserved: Bool, isForeign: Bool) async throws {
    let writers = try ForeignWriters()
    let store = try writers.open()
    defer { store.close() }
    let count = amount("LARCH_OBSERVED_WRITES", 1000)
    let token = isObserved ? store.observe(WatchedItem.all) { _ in } : nil
    let start = Watched.nanoseconds
    if isForeign {
      try writers.start(1, .notes, burst: count)
      try await writers.step(1)
    } else {
      var random = SeededGenerator(seed: 1)
      func write() throws {
        for _ in 0..<count { try store.write { try Watched.change(.notes, $0, &random) } }
      }
      try write()
    }
    let time = Double(Watched.nanoseconds - start) / Double(count) / 1000
    let size = try store.environment.info().lastPage
    let counts = try #require(store.commitWatch).counts
    print(
      "observed \(isObserved), foreign \(isForeign): \(size) pages, \(time) µs a commit,",
      "\(counts.looks) looks, \(counts.comparisons) comparisons, \(counts.unknown) unknown")
    // How soon the watch follows another process depends on the machine.
    if !isForeign { #expect(size < 200) }
    withExtendedLifetime(token) {}
  }
}
