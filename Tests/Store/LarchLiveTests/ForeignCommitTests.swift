import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

extension ForeignTests {
  @Suite("Observers see the commits of other processes")
  struct ForeignCommitTests {
    @Test("each commit of another process gives a value, which is that of a fetch")
    func noticed() async throws {
      try await ForeignTests.withWriters { writers, store throws in
        try writers.start(1, .items)
        let iterator = store.observe(WatchedItem.all.sorted(by: \.number)).makeAsyncIterator()
        var last = try #require(try await next(iterator))
        for _ in 0..<40 {
          try await writers.step(1)
          let now = try #require(try await next(iterator))
          #expect(now.version > last.version)
          #expect(now.rows != last.rows)
          #expect(now.version == (try store.version))
          #expect(try store.fetch(WatchedItem.all.sorted(by: \.number)) == now.rows)
          last = now
        }
      }
    }

    @Test(
      "short observations one after the other share one thread, which hears of others and ends with the store"
    )
    func shortObservations() async throws {
      try await ForeignTests.withWriters { writers, store throws in
        try writers.start(1, .items)
        let watch = try #require(store.commitWatch)
        let before = watch.counts.threads
        var pauses = 0
        for number in 0..<200 {
          let start = MonotonicTime.now.nanoseconds
          let iterator = store.observe(WatchedItem.all).makeAsyncIterator()
          _ = try await next(iterator)
          if number % 20 == 0 {
            try await writers.step(1)
            #expect(try await next(iterator)?.rows == store.fetch(WatchedItem.all))
          }
          if MonotonicTime.now.nanoseconds - start > 500_000_000 { pauses += 1 }
        }
        let begun = watch.counts.threads - before
        // A thread that waits for a second ends, and one that the system refuses to tell is replaced.
        #expect(begun > 0 && begun <= 1 + pauses + watch.counts.untold)
        // The thread may hold a new read at this moment, which it then ends.
        try await eventually("nothing is held") { try !store.isObserved }
        store.close()
        #expect(!watch.hasThread)
      }
    }

    @Test("a thread that nobody needs ends after a while")
    func unneededThread() async throws {
      try await ForeignTests.withWriters { _, store throws in
        let watch = try #require(store.commitWatch)
        _ = try await next(store.observe(WatchedItem.all).makeAsyncIterator())
        let before = watch.counts.threads
        try await eventually("it has ended") { !watch.hasThread }
        _ = try await next(store.observe(WatchedItem.all).makeAsyncIterator())
        #expect(watch.counts.threads == before + 1)
      }
    }

    @Test("a commit that changes other trees wakes nobody, however many come at once")
    func unchangedTrees() async throws {
      try await ForeignTests.withWriters { writers, store throws in
        try writers.start(1, .items, burst: 20)
        try writers.start(2, .notes)
        let reads = ReadCount()
        // A pair is not Equatable, so each read gives a value.
        let notes = store.observe { tx in
          reads.add()
          return (try tx.fetch(WatchedNote.where { $0.id >= 0 }), try tx.version)
        }.makeAsyncIterator()
        let items = store.observe(WatchedItem.all).makeAsyncIterator()
        _ = try await next(notes)
        _ = try await next(items)
        let waiting = Task { try await next(notes) }
        // The pin of a file that nobody changes is ended, and then a burst may wake all.
        var last = MonotonicTime.now
        try await eventually("there is a pin") {
          last = MonotonicTime.now
          try store.put(WatchedItem(group: 1, number: 1))
          return try store.isObserved
        }
        // Only on a machine that stops the test or the writer for a second does the pin end in
        // between, perhaps several times.
        var pauses = 0
        for _ in 0..<25 {
          try await writers.step(1)
          let version = try store.version
          while try #require(try await next(items)).version < version {}
          let now = MonotonicTime.now
          pauses += Int((now.nanoseconds - last.nanoseconds) / 300_000_000)
          last = now
        }
        let unknown = try #require(store.commitWatch).counts.unknown
        #expect(unknown <= pauses)
        #expect(reads.value <= 1 + unknown)
        let before = reads.value
        try await writers.step(2)
        _ = try await waiting.value
        #expect(reads.value >= before && reads.value > 1)
      }
    }

    @Test("commits of others are found while this process commits all the time, and after that")
    func busy() async throws {
      try await ForeignTests.withWriters { writers, store throws in
        try writers.start(1, .items)
        let items = store.observe(WatchedItem.all).makeAsyncIterator()
        _ = try await next(items)
        let watch = try #require(store.commitWatch)
        try await eventually("the thread has begun") { watch.counts.isTold != nil }
        var random = SeededGenerator(seed: runSeed)
        for _ in 0..<12 {
          try await eventually("it commits all the time") {
            for number in 0..<50 {
              let text = "\(MonotonicTime.now.nanoseconds)"
              try store.put(WatchedNote(id: number, text: text))
            }
            return watch.counts.isTold == false
          }
          // In the silence, at its end, or after it.
          try await Task.sleep(for: .microseconds(Int.random(in: 0..<20_000, using: &random)))
          try await writers.step(1)
          let version = try store.version
          while try #require(try await next(items)).version < version {}
        }
        #expect(try items.polled.poll() == nil)
      }
    }

    @Test("a program that knows only LMDB is noticed, and its own tables wake nobody")
    func plain() async throws {
      try await ForeignTests.withWriters { writers, store throws in
        try writers.startPlain(1, database: try ForeignWriters.notesDatabase(store))
        try writers.startPlain(2, database: "of another program")
        let iterator = store.observe(WatchedNote.all).makeAsyncIterator()
        var count = try #require(try await next(iterator)).rows.count
        for step in 0..<20 {
          try await writers.step(2)
          try await writers.step(1)
          let now = try #require(try await next(iterator))
          #expect(now.rows.count == count + (step % 2 == 0 ? -1 : 1))
          count = now.rows.count
          #expect(try iterator.polled.poll() == nil)
        }
      }
    }

    @Test("a store that was opened read-only observes others")
    func readOnly() async throws {
      try await ForeignTests.withWriters({ $0.isReadOnly = true }) { writers, store throws in
        try writers.start(1, .notes, burst: 3)
        let iterator = store.observe(WatchedNote.all).makeAsyncIterator()
        _ = try await next(iterator)
        for _ in 0..<10 {
          try await writers.step(1)
          let version = try store.version
          var now = try #require(try await next(iterator))
          while now.version < version { now = try #require(try await next(iterator)) }
          #expect(try store.fetch(WatchedNote.all) == now.rows)
        }
      }
    }

    @Test(
      "own and foreign writes that alternate: versions ascend, and no change is lost or too much")
    func alternating() async throws {
      try await ForeignTests.withWriters { writers, store throws in
        try writers.start(1, .items)
        let reads = ReadCount()
        // Own writes of notes do not pass this filter, so that only their records can tell.
        let notes = store.observe { tx in
          reads.add()
          return try tx.fetch(WatchedNote.where { $0.id == 7 })
        }.makeAsyncIterator()
        let one = store.observe(WatchedNote.where { $0.text.hasPrefix("found") })
          .makeAsyncIterator()
        let items = store.observe(WatchedItem.all).makeAsyncIterator()
        _ = try await next(notes)
        #expect(try await next(one)?.rows.count == 0)
        var last = try #require(try await next(items))
        for step in 0..<40 {
          try await writers.step(1)
          // It follows at once, so that it may find the commit before the watch does.
          try store.put(WatchedNote(id: 9, text: step % 4 == 3 ? "found \(step)" : "note \(step)"))
          let version = try store.version
          while true {
            // The value of the foreign commit comes, with the own commit or before it.
            let now = try #require(try await next(items))
            #expect(now.version > last.version)
            last = now
            if try store.fetch(WatchedItem.all) == now.rows { break }
          }
          if step % 4 == 3 {
            var now = try #require(try await next(one))
            while now.rows.isEmpty { now = try #require(try await next(one)) }
            #expect(now.version == version)
          }
        }
        // Others changed items only, and what this process changed passes no filter.
        #expect(try notes.polled.poll() == nil)
        #expect(try store.find(WatchedNote.self, 7)?.text == "note 7")
      }
    }

    @Test("observers that start during the commits of others miss none")
    func starting() async throws {
      try await ForeignTests.withWriters { writers, store throws in
        try writers.start(1, .items, burst: -1)
        for round in 0..<amount("LARCH_OBSERVED_STARTS", 60) {
          let iterator = store.observe(WatchedItem.all).makeAsyncIterator()
          let first = try #require(try await next(iterator))
          let second = try #require(try await next(iterator))
          #expect(second.version > first.version)
          #expect(second.rows != first.rows)
          if round % 8 == 0 { try await Task.sleep(for: .milliseconds(3)) }
        }
        try writers.kill(1)
      }
    }

    @Test("where the system does not tell of changes, it looks in intervals, and says so")
    func polled() async throws {
      let messages = Locked<[LogMessage.Event]>([])
      try await ForeignTests.withWriters({
        $0.watchesFile = false
        $0.log = { message in messages.withLock { $0.append(message.event) } }
      }) { writers, store throws in
        try writers.start(1, .notes)
        let iterator = store.observe(WatchedNote.all).makeAsyncIterator()
        _ = try await next(iterator)
        for _ in 0..<3 {
          try await writers.step(1)
          #expect(try await next(iterator)?.version == (try store.version))
        }
      }
      #expect(messages.withLock { $0.count { $0 == .observingPolls } } == 1)
    }

    /// The log said that the system does not tell of changes of the file. It would have, but there was
    /// no file at the path any more.
    @Test("a file that was removed is observed further, and nothing is said of the system")
    func removed() async throws {
      // Others may have all watches of the system for a while; then the log says so rightly.
      for _ in 0..<Int(patience) {
        if try await saysNothingOfARemovedFile() { return }
        try await Task.sleep(for: .seconds(1))
      }
      Issue.record("the log says that the system does not tell of changes")
    }

    private func saysNothingOfARemovedFile() async throws -> Bool {
      let messages = Locked<[LogMessage.Event]>([])
      try await ForeignTests.withWriters({
        $0.log = { message in messages.withLock { $0.append(message.event) } }
      }) { writers, store throws in
        try writers.start(1, .notes)
        try FileManager.default.removeItem(atPath: writers.path)
        let iterator = store.observe(WatchedNote.all).makeAsyncIterator()
        _ = try await next(iterator)
        for _ in 0..<3 {
          try await writers.step(1)
          #expect(try await next(iterator)?.version == (try store.version))
        }
      }
      return messages.withLock { !$0.contains(.observingPolls) }
    }

    @Test("a store that does not observe others has no thread, and its own writes are seen")
    func ignored() async throws {
      try await ForeignTests.withWriters({ $0.observesOtherProcesses = false }) {
        writers, store throws in
        try writers.start(1, .notes)
        let iterator = store.observe(WatchedNote.all).makeAsyncIterator()
        _ = try await next(iterator)
        try await writers.step(1)
        #expect(try store.isObserved == false)
        #expect(try #require(store.commitWatch).counts.looks == 0)
        #expect(try iterator.polled.poll() == nil)
        try store.put(WatchedNote(id: 1000, text: "own"))
        let now = try #require(try await next(iterator))
        #expect(try store.fetch(WatchedNote.all) == now.rows)
      }
    }
  }
}
