import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

@Suite("The watch for commits of other processes")
struct CommitWatchTests {
  private func withStore(_ body: (Store) async throws -> Void) async throws {
    let directory = try CrashDirectory()
    try Watched.make(at: directory.store)
    let store = try Watched.open(at: directory.store)
    defer { withExtendedLifetime(directory) { store.close() } }
    try await body(store)
  }

  /// An observer in a store whose file the system watches. The number of such watches has a limit for
  /// each user, and other tests may have them all for a while.
  private func observe(
    _ store: Store
  ) async throws -> (StoreObservation<[WatchedNote]>.AsyncIterator, CommitWatch) {
    for _ in 0..<1000 {
      let iterator = store.observe(WatchedNote.all).makeAsyncIterator()
      _ = try await next(iterator)
      let watch = try #require(store.commitWatch)
      try await eventually("the thread has begun") { watch.counts.isTold != nil }
      if watch.counts.isTold == true { return (iterator, watch) }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw Mismatch("the system watches no further file")
  }

  /// Changes the file as a commit does, but commits nothing: writes a byte of the header again.
  private func touch(_ store: Store) throws {
    let file = open(store.path, O_RDWR | O_CLOEXEC)
    defer { close(file) }
    var byte: UInt8 = 0
    #expect(file >= 0 && pread(file, &byte, 1, 0) == 1 && pwrite(file, &byte, 1, 0) == 1)
  }

  @Test("it holds a read while somebody observes, and no longer")
  func life() async throws {
    try await withStore { store throws in
      #expect(try store.isObserved == false)
      var iterators: [StoreObservation<[WatchedNote]>.AsyncIterator] = []
      for _ in 0..<3 {
        let iterator = store.observe(WatchedNote.all).makeAsyncIterator()
        _ = try await next(iterator)
        iterators.append(iterator)
        #expect(try store.openReads().count { $0.kind == .observation } <= 1)
      }
      iterators.removeLast(2)
      // It is ended after a second without commits, so it is looked for after one.
      var read: Store.OpenRead?
      while read == nil {
        try store.put(WatchedNote(id: 1000, text: "\(MonotonicTime.now.nanoseconds)"))
        try await Task.sleep(for: .milliseconds(10))
        // The thread may be in a short read of its own, too.
        read = try store.openReads().first { $0.kind == .observation }
      }
      #expect(try #require(read).description.hasPrefix("observation, version "))
      iterators = []
      // The thread may hold a new read at this moment, which it then ends.
      try await eventually("nothing is held") { try !store.isObserved }
    }
  }

  @Test("it rests while nobody commits, and then keeps no space")
  func idle() async throws {
    try await withStore { store throws in
      let (iterator, watch) = try await observe(store)
      let (before, start) = (watch.counts, MonotonicTime.now)
      try await eventually("the pin is ended") { try !store.isObserved }
      // Before the time is read: the machine may stop this test in between.
      let wakes = watch.counts.wakes - before.wakes
      let seconds = Int((MonotonicTime.now.nanoseconds - start.nanoseconds) / 1_000_000_000)
      // One look each second, one before the first, and one in the second that is not whole.
      #expect(wakes <= seconds + 2)
      #expect(watch.counts.comparisons == 0)
      try store.put(WatchedNote(id: 1000, text: "own"))
      #expect(try await next(iterator)?.rows.count == 201)
      try await eventually("the pin is back") {
        try store.put(WatchedNote(id: 1000, text: "\(MonotonicTime.now.nanoseconds)"))
        return try store.isObserved
      }
    }
  }

  @Test("it looks again if it is woken before the number of a commit is there")
  func looksAgain() async throws {
    try await withStore { store throws in
      let (iterator, watch) = try await observe(store)
      for _ in 0..<5 {
        try await Task.sleep(for: .milliseconds(20))
        let before = watch.counts
        try touch(store)
        try await eventually("it looks") { watch.counts.wakes > before.wakes }
        // Each wake makes one look and those after the pauses; the look of a second makes one.
        try await eventually("it looks again") {
          let now = watch.counts
          return (now.looks - before.looks) - (now.wakes - before.wakes)
            >= CommitWatchThread.pauses.count
        }
      }
      #expect(try iterator.polled.poll() == nil)
    }
  }

  @Test("own commits are published with their records, and are not taken for those of others")
  func own() async throws {
    try await withStore { store throws in
      let reads = ReadCount()
      let filtered = store.observe { tx in
        reads.add()
        return try tx.fetch(WatchedItem.where { $0.group == 3 })
      }.makeAsyncIterator()
      let found = store.observe(WatchedNote.where { $0.text == "found" }).makeAsyncIterator()
      _ = try await next(filtered)
      _ = try await next(found)
      let watch = try #require(store.commitWatch)
      for number in 0..<300 { try store.put(WatchedNote(id: number, text: "own \(number)")) }
      try store.put(WatchedNote(id: 1000, text: "found"))
      #expect(try await next(found)?.rows.count == 1)
      #expect(watch.counts.comparisons == 0)
      #expect(reads.value == 1)
    }
  }

  @Test("it does not keep the map from growing, or a read from its slot")
  func growth() async throws {
    let directory = try CrashDirectory()
    try Watched.make(at: directory.store)
    let store = try Watched.open(at: directory.store) {
      $0.initialMapSize = 1 << 20
      $0.maximumReaders = 4
    }
    defer { withExtendedLifetime(directory) { store.close() } }
    let iterator = store.observe(WatchedNote.all).makeAsyncIterator()
    var rows = try #require(try await next(iterator)).rows.count
    for round in 0..<8 {
      try store.writeBlocking { tx throws in
        for number in 0..<100 {
          var note = WatchedNote(
            id: 1000 + round * 100 + number, text: String(repeating: "x", count: 4000))
          try tx.save(&note)
        }
      }
      rows += 100
      #expect(try await next(iterator)?.rows.count == rows)
    }
    // With the pin, these are more reads than there are slots.
    let counts = try store.read { first in
      try store.read { second in
        try store.read { third in
          try store.read { fourth in
            try [first, second, third, fourth].map { try $0.count(WatchedNote.all) }
          }
        }
      }
    }
    #expect(counts == [rows, rows, rows, rows])
  }
}
