import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

extension ForeignTests {
  @Suite("The records that other processes change")
  struct ForeignRecordTests {
    /// How many comparisons, or trees of one, had no answer: if the test was stopped for some time, the
    /// pin ends, and then the observers read again.
    private func misses(_ store: Store) throws -> Int {
      let counts = try #require(store.commitWatch).counts
      return counts.unknown + counts.wanted - counts.found
    }

    @Test("an observer whose filter none of them passes reads nothing")
    func filtered() async throws {
      try await ForeignTests.withWriters { writers, store throws in
        try writers.start(1, .items)
        try writers.startPlain(2, database: try ForeignWriters.notesDatabase(store))
        let reads = ReadCount()
        // Pairs are not Equatable, so each read would give a value.
        let big = store.observe { tx in
          reads.add()
          return (try tx.count(WatchedItem.where { $0.number > 1_000_000 }), try tx.version)
        }.makeAsyncIterator()
        let late = store.observe { tx in
          reads.add()
          return (try tx.fetch(WatchedNote.where { $0.id > 100 }), try tx.find(WatchedNote.self, 7))
        }.makeAsyncIterator()
        let items = store.observe(WatchedItem.all).makeAsyncIterator()
        let notes = store.observe(WatchedNote.all).makeAsyncIterator()
        _ = try await next(big)
        _ = try await next(late)
        _ = try await next(items)
        _ = try await next(notes)
        for step in 0..<40 {
          // The first note, whose id is 0, goes and comes back.
          try await writers.step(1 + step % 2)
          let version = try store.version
          if step % 2 == 0 {
            #expect(try await next(items)?.version == version)
          } else {
            #expect(try await next(notes)?.version == version)
          }
        }
        let hasGiven = [try big.polled.poll() != nil, try late.polled.poll() != nil]
        let counts = try #require(store.commitWatch).counts
        let misses = try misses(store)
        #expect(counts.found > 0)
        #expect(reads.value <= 2 + 2 * misses)
        #expect(hasGiven == [false, false] || misses > 0)
      }
    }

    @Test("rows are brought up to date without a read, and are those of a fetch")
    func patched() async throws {
      try await ForeignTests.withWriters({ $0.checksQueries = true }) { writers, store throws in
        try writers.start(1, .items)
        let sorted = store.observe(WatchedItem.all.sorted(by: \.number)).makeAsyncIterator()
        let part = store.observe(WatchedItem.where { $0.group < 5 }).makeAsyncIterator()
        _ = try await next(sorted)
        var rows = try #require(try await next(part)).rows
        for _ in 0..<40 {
          try await writers.step(1)
          let now = try #require(try await next(sorted))
          #expect(now.version == (try store.version))
          #expect(try store.fetch(WatchedItem.all.sorted(by: \.number)) == now.rows)
          if let now = try part.polled.poll() { rows = now.rows }
          #expect(try store.fetch(WatchedItem.where { $0.group < 5 }) == rows)
        }
        let misses = try misses(store)
        #expect(sorted.polled.reads <= 1 + misses)
        #expect(part.polled.reads <= 1 + misses)
        #expect(sorted.polled.patches + sorted.polled.reads == 41)
        #expect(sorted.polled.patches > 0 || misses > 40)
      }
    }

    @Test(
      "own and foreign commits of the same records lie together: no change is lost or comes twice")
    func together() async throws {
      let seed = runSeed
      try await ForeignTests.withWriters({ $0.checksQueries = true }) {
        writers, store async throws in
        try writers.start(1, .items, burst: -1, seed: seed)
        try writers.start(2, .notes, burst: -1, seed: seed + 1)
        let items = WatchedCheck(store, WatchedItem.where { $0.group < 5 })
        let notes = WatchedCheck(store, WatchedNote.all)
        let first = WatchedCheck(
          store, WatchedItem.where { $0.group != 3 }.sorted(by: \.number).limit(20))
        var random = SeededGenerator(seed: seed + 2)
        for round in 0..<amount("LARCH_OBSERVED_MIXTURES", 300) {
          let kind: Watched.Kind = random.below(2) == 0 ? .items : .notes
          try await store.write { [random] tx in
            var random = random
            try Watched.change(kind, tx, &random)
          }
          _ = random.next()
          if round % 4 == 0 { try await Task.sleep(for: .milliseconds(random.below(6))) }
        }
        for number in [1, 2] { try writers.kill(number) }
        try await eventually("the last values are those of a fetch") {
          try items.isCurrent && notes.isCurrent && first.isCurrent
        }
        let failures = items.latest.failures + notes.latest.failures + first.latest.failures
        #expect(failures == [], "seed \(seed)")
        let counts = try #require(store.commitWatch).counts
        #expect(counts.found > 0)
      }
    }

    @Test("many commits at once are one change, in which old pages are not mistaken for new ones")
    func bursts() async throws {
      try await ForeignTests.withWriters({ $0.checksQueries = true }) { writers, store throws in
        try writers.start(1, .items, burst: 12)
        let iterator = store.observe(WatchedItem.all).makeAsyncIterator()
        var now = try #require(try await next(iterator))
        for _ in 0..<40 {
          try await writers.step(1)
          let version = try store.version
          while now.version < version { now = try #require(try await next(iterator)) }
          #expect(try store.fetch(WatchedItem.all) == now.rows)
        }
        #expect(try #require(store.commitWatch).counts.found > 0)
      }
    }

    @Test("a commit after a rest is compared too, though nothing was held")
    func rested() async throws {
      try await ForeignTests.withWriters { writers, store throws in
        try writers.start(1, .items)
        let iterator = store.observe(WatchedItem.all).makeAsyncIterator()
        _ = try await next(iterator)
        try await eventually("the pin is ended") { try !store.isObserved }
        try await writers.step(1)
        let now = try #require(try await next(iterator))
        #expect(try store.fetch(WatchedItem.all) == now.rows)
        #expect(try misses(store) == 0)
        #expect(iterator.polled.patches == 1)
      }
    }

    @Test("more records than the limit, and a record that is none, are read again")
    func unusable() async throws {
      try await ForeignTests.withWriters { writers, store throws in
        store.environment.changes.log.limits = .init(records: 3, bytes: 1 << 20)
        try writers.start(1, .items, burst: 40)
        let iterator = store.observe(WatchedItem.all).makeAsyncIterator()
        _ = try await next(iterator)
        try await writers.step(1)
        let version = try store.version
        var now = try #require(try await next(iterator))
        while now.version < version { now = try #require(try await next(iterator)) }
        #expect(try store.fetch(WatchedItem.all) == now.rows)
      }
    }

    @Test("changes of several commits are not used for a state between them, or without checksums")
    func usable() throws {
      let path = ScratchFile.freshPath()
      defer { ScratchFile.remove(path) }
      let store = try RandomWrites.openStore(at: path)
      defer { store.close() }
      let proof = ChangeListener(owner: store)
      store.environment.changes.add(proof)
      let (catalog, tree) = try store.read {
        ($0.context.catalog, try $0.context.collection(of: Tag.self).records.handle)
      }
      store.environment.changes.listen(proof, to: [tree], after: 0)
      try store.put(Tag(id: "a", color: 1))
      let change = try #require(proof.changes(of: tree).first?.first)
      store.environment.changes.remove(proof)

      func usable(_ change: StoredChange, since: UInt64?, after version: UInt64) -> Bool {
        let changes = CommittedChanges(
          trees: TreeSet([tree]), records: [tree: [change]], since: since)
        let event = ChangeEvent.commit(9, changes).usable(after: version, TreeSet([tree]), catalog)
        guard case .commit(9, let used) = event else { return false }
        #expect(used.trees == changes.trees)
        return used.records[tree] == [change]
      }
      #expect(usable(change, since: 5, after: 5))
      #expect(usable(change, since: 5, after: 4))
      #expect(!usable(change, since: 5, after: 6))
      #expect(usable(change, since: nil, after: 6))
      var bytes = try #require(change.after)
      bytes[0] ^= 1
      #expect(!usable(StoredChange(id: change.id, before: nil, after: bytes), since: 5, after: 5))
      #expect(!usable(StoredChange(id: change.id, before: bytes, after: nil), since: 5, after: 5))
      #expect(!usable(StoredChange(id: change.id, before: nil, after: []), since: 5, after: 5))
      #expect(!usable(StoredChange(id: [1], before: nil, after: change.after), since: 5, after: 5))
    }
  }
}
