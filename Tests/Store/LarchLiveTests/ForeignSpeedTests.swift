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

  @Test("the time to the rows of a query that a commit of another process changes is printed")
  func rows() async throws {
    let writers = try ForeignWriters()
    let store = try writers.open()
    defer { store.close() }
    let count = amount("LARCH_OBSERVED_ROWS", 1000)
    try await store.write { tx in
      for number in 0..<count {
        var note = WatchedNote(id: 1000 + number, text: "note \(number)")
        try tx.save(&note)
      }
    }
    try writers.start(1, .notes)
    let iterator = store.observe(WatchedNote.all).makeAsyncIterator()
    let first = try #require(try await next(iterator))
    #expect(first.rows.count == count + 200)
    var delays: [Int] = []
    for _ in 0..<amount("LARCH_OBSERVED_COMMITS", 40) {
      let waiting = Task {
        let value = try await next(iterator)
        return (value?.version, Watched.nanoseconds)
      }
      try await writers.step(1)
      let time = writers.beacon[.acknowledged(Watched.times(1))]
      let (version, called) = try await waiting.value
      #expect(version == (try store.version))
      delays.append(called - time)
      try await Task.sleep(for: .milliseconds(3))
    }
    delays.sort()
    print(
      "from commit to \(count + 200) rows: median \(delays[delays.count / 2] / 1000) µs,",
      "\(iterator.polled.patches) brought up to date, \(iterator.polled.reads) read")
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
    var random = SeededGenerator(seed: 1)
    func write() throws { try store.write { try Watched.change(.notes, $0, &random) } }
    let start = Watched.nanoseconds
    if isForeign {
      try writers.start(1, .notes, burst: count)
      try await writers.step(1)
    } else {
      func writeAll() throws { for _ in 0..<count { try write() } }
      try writeAll()
    }
    let time = Double(Watched.nanoseconds - start) / Double(count) / 1000
    let size = try store.environment.info().lastPage
    let counts = try #require(store.commitWatch).counts
    print(
      "observed \(isObserved), foreign \(isForeign): \(size) pages, \(time) µs a commit,",
      "\(counts.looks) looks, \(counts.comparisons) comparisons, \(counts.unknown) unknown")
    // How soon the watch follows another process depends on the machine, and its thread may be stopped
    // in a look. But own commits take the pin with them.
    if !isForeign {
      if !isObserved { #expect(size < 200) }
      await token?.settled()
      var late = 0
      for _ in 0..<count {
        try await store.write { [random] tx in
          var random = random
          try Watched.change(.notes, tx, &random)
        }
        _ = random.next()
        let version = try store.version.transaction
        let lags = try store.openReads().filter { $0.kind == .observation }
          .map { version - min(version, $0.version.transaction) }
        // A look that was stopped may have put an old pin there; the next commit moves it.
        late = (lags.min() ?? 0) > 16 ? late + 1 : 0
        try #require(late < 2, "\(lags)")
      }
    }
    withExtendedLifetime(token) {}
  }

  @Test("the cost of finding the changed records of a commit is printed")
  func comparison() throws {
    let directory = try CrashDirectory()
    let store = try Watched.open(at: directory.store)
    defer { withExtendedLifetime(directory) { store.close() } }
    let count = amount("LARCH_COMPARED_RECORDS", 20_000)
    for start in stride(from: 0, to: count, by: 10_000) {
      try store.write { tx throws in
        for number in start..<min(count, start + 10_000) {
          var note = WatchedNote(id: number, text: "note \(number) of \(count)")
          try tx.save(&note)
        }
      }
    }
    let tree = try store.read { try $0.context.collection(of: WatchedNote.self).records.handle }
    var random = SeededGenerator(seed: 1)
    var state = try HeldState(store)
    for changes in [1, 100, 10_000] {
      var times: [Int] = []
      for _ in 0..<(changes == 1 ? 200 : 20) {
        let ids = Set((0..<changes).map { _ in random.below(count) })
        try store.write { tx throws in
          for id in ids {
            var note = WatchedNote(id: id, text: "\(random.next())")
            try tx.save(&note)
          }
        }
        let now = try HeldState(store)
        let start = Watched.nanoseconds
        let found = try now.changes(of: tree, since: state)
        times.append(Watched.nanoseconds - start)
        #expect(found?.count == ids.count)
        state = now
      }
      times.sort()
      print(
        "\(changes) of \(count) records: median \(Double(times[times.count / 2]) / 1000) µs,",
        "least \(Double(times[0]) / 1000) µs")
    }
  }
}
