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

    @Test("rows that depend on records that another process changes are brought up to date")
    func related() async throws {
      try await withWriters({ $0.checksQueries = true }) { writers, store async throws in
        let items = try store.fetch(WatchedItem.all)
        try await store.write { tx in
          for item in items {
            var task = WatchedTask(itemID: item.id)
            try tx.save(&task)
          }
        }
        try writers.start(1, .items)
        var random = SeededGenerator(seed: runSeed)
        let all = store.observe(WatchedItem.all).makeAsyncIterator()
        let query = WatchedTask.where { $0.item.group < 5 }
        let part = store.observe(query).makeAsyncIterator()
        let pairs = WatchedTask.all.with(WatchedTask.item)
        let both = store.observe(pairs).makeAsyncIterator()
        let join = WatchedTask.all.joined(
          with: WatchedItem.where { $0.group < 7 }, on: \.itemID, kind: .left)
        let joined = store.observe(join).makeAsyncIterator()
        let counted = store.observe { try $0.count(query) }.makeAsyncIterator()
        _ = try await next(all)
        var rows = try #require(try await next(part)).rows
        var texts = "\(try #require(try await next(both)).rows)"
        var joinedTexts = "\(try #require(try await next(joined)).rows)"
        var count = try #require(try await counted.next()).value
        for round in 0..<60 {
          if round % 3 == 0 {
            let (task, item) = (random.below(200), random.below(200))
            try await store.write { tx in
              guard var task = try tx.fetch(WatchedTask.all.limit(1).offset(task)).first else {
                return
              }
              task.itemID = try tx.fetch(WatchedItem.all.limit(1).offset(item % 100)).first?.id
              try tx.save(&task)
            }
          }
          try await writers.step(1)
          #expect(try await next(all)?.version == (try store.version))
          if let now = try part.polled.poll() {
            #expect(now.rows != rows)
            rows = now.rows
          }
          if let now = try both.polled.poll() { texts = "\(now.rows)" }
          if let now = try joined.polled.poll() { joinedTexts = "\(now.rows)" }
          if let now = try counted.polled.poll() { count = now.value }
          #expect(try store.fetch(query) == rows)
          #expect("\(try store.fetch(pairs))" == texts)
          #expect("\(try store.fetch(join))" == joinedTexts)
          #expect(try store.count(query) == count)
        }
        let misses = try misses(store)
        #expect(part.polled.reads <= 1 + misses)
        #expect(both.polled.reads <= 1 + misses)
        #expect(both.polled.patches > 10 || misses > 20)
        #expect(joined.polled.reads <= 1 + misses)
        #expect(joined.polled.patches > 10 || misses > 20)
        #expect(counted.polled.reads <= 1 + misses)
      }
    }

    @Test("a commit of this process does not wait while pages are compared")
    func notWaiting() async throws {
      try await withWriters { writers, store async throws in
        let watch = try #require(store.commitWatch)
        let (entered, mayGo) = (Locked(0), Locked(false))
        watch.willCompare = {
          entered.withLock { $0 += 1 }
          while !mayGo.withLock({ $0 }) { usleep(200) }
        }
        try writers.start(1, .items)
        let items = store.observe(WatchedItem.all).makeAsyncIterator()
        let notes = store.observe(WatchedNote.all).makeAsyncIterator()
        _ = try await next(items)
        _ = try await next(notes)
        try await writers.step(1)
        try await eventually("it compares") { entered.withLock { $0 > 0 } }
        for number in 0..<40 {
          try await store.write { tx in
            var note = WatchedNote(id: 1000 + number, text: "own")
            try tx.save(&note)
          }
          // What the other process did comes no later than what came after it.
          let version = try store.version
          #expect(try notes.polled.poll()?.version == version)
          if number == 0 { #expect(try items.polled.poll()?.version == version) }
          #expect(try items.polled.poll() == nil)
        }
        #expect(items.polled.reads == 2)
        mayGo.withLock { $0 = true }
        try await eventually("the answer comes too late") { watch.counts.late == 1 }
        #expect(try items.polled.poll() == nil && notes.polled.poll() == nil)
        // The next one is in time.
        try await writers.step(1)
        #expect(try await next(items)?.rows == (try store.fetch(WatchedItem.all)))
      }
    }

    @Test("an observer that read a state between two looks hears of what was changed back")
    func between() async throws {
      try await withWriters { writers, store async throws in
        let watch = try #require(store.commitWatch)
        let (entered, mayGo) = (Locked(false), Locked(false))
        watch.willCompare = {
          entered.withLock { $0 = true }
          while !mayGo.withLock({ $0 }) { usleep(200) }
        }
        try writers.start(1, .items)
        try writers.startPlain(2, database: try ForeignWriters.notesDatabase(store))
        let items = store.observe(WatchedItem.all).makeAsyncIterator()
        let notes = store.observe(WatchedNote.all).makeAsyncIterator()
        _ = try await next(items)
        _ = try await next(notes)
        // The watch is stopped while it looks at this commit, and looks at the next two at once.
        try await writers.step(1)
        try await eventually("it compares") { entered.withLock { $0 } }
        let part = store.observe(WatchedNote.where { $0.id < 50 }).makeAsyncIterator()
        let one = store.observe { try $0.exists(WatchedNote.self, 0) }.makeAsyncIterator()
        try await writers.step(2)
        #expect(try part.polled.poll()?.rows.count == 49)
        #expect(try one.polled.poll()?.value == false)
        try await writers.step(2)
        mayGo.withLock { $0 = true }
        #expect(try await next(part)?.rows.count == 50)
        #expect(try await next(one)?.value == true)
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
