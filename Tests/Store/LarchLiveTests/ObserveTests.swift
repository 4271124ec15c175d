import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Observed requests")
struct ObserveTests {
  private func withStore(_ body: (Store) async throws -> Void) async throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try RandomWrites.openStore(at: path)
    defer { store.close() }
    try await body(store)
  }

  /// For tests that block.
  private func withStoreNow(isChecked: Bool = false, _ body: (Store) throws -> Void) throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try RandomWrites.openStore(at: path, isChecked: isChecked)
    defer { store.close() }
    try body(store)
  }

  @Test("each value is that of a fetch, and no change is missed", arguments: UInt64(1)...4)
  func differential(seed: UInt64) throws {
    try withStoreNow(isChecked: seed % 2 == 0) { store throws in
      var writes = RandomWrites(seed: seed)
      let observers = AnyObserver.all(store)
      var last = [String](repeating: "", count: observers.count)
      var changed = 0
      var needed = [Int](repeating: 0, count: observers.count)
      var compactions = 0
      for round in 0..<200 {
        // Some begin later.
        let begun = observers.indices.filter { $0 <= round * 2 }
        let isCompacted = round % 50 == 49
        if isCompacted {
          try store.compact()
          compactions += 1
        } else {
          writes.write(to: store)
        }
        let version = try store.version
        for place in begun {
          let (observer, comment) = (observers[place], "seed \(seed), round \(round)" as Comment)
          let expected = try store.read { try observer.expected($0) }
          if let found = try observer.poll() {
            #expect(found.value == expected, "\(observer.name), \(comment)")
            #expect(found.version == version, "\(observer.name), \(comment)")
            #expect(found.value != last[place], "\(observer.name), \(comment)")
            changed += 1
            needed[place] += 1
          } else {
            #expect(last[place] == expected, "\(observer.name), \(comment)")
            // After a compaction all is read again.
            if isCompacted { needed[place] += 1 }
          }
          // A change outside of its filter makes it read nothing. After a compaction, it may read
          // twice: what other processes did meanwhile is not known.
          if observer.isExact {
            let extra = try observer.reads() - needed[place]
            #expect(0...compactions ~= extra, "\(observer.name), \(comment)")
          }
          last[place] = expected
        }
      }
      #expect(changed > 500)
    }
  }

  @Test("loops beside a writer get states of the store, ascending, and the last one")
  func concurrent() async throws {
    try await withStore { store throws in
      let states = Locked<[StoreVersion: [String]]>([:])
      let latest = Locked([String](repeating: "", count: AnyObserver.all(store).count))
      let note = { @Sendable () throws -> [String] in
        try store.read { tx in
          let found = try AnyObserver.all(store).map { try $0.expected(tx) }
          let version = try tx.version
          states.withLock { $0[version] = found }
          return found
        }
      }
      _ = try note()
      let seen = try await withThrowingTaskGroup(of: (Int, [Observed<String>]).self) { group in
        for place in latest.withLock({ $0.indices }) {
          group.addTask {
            for _ in 0..<(place * 3) { await Task.yield() }
            var values: [Observed<String>] = []
            let next = AnyObserver.all(store)[place].next
            while let found = try await next() {
              values.append(found)
              latest.withLock { $0[place] = found.value }
            }
            return (place, values)
          }
        }
        var writes = RandomWrites(seed: 77)
        for _ in 0..<100 {
          writes.write(to: store)
          _ = try note()
          await Task.yield()
        }
        let last = try note()
        while latest.withLock({ $0 != last }) { await Task.yield() }
        group.cancelAll()
        return try await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      let noted = states.withLock { $0 }
      for (place, values) in seen {
        #expect(zip(values, values.dropFirst()).allSatisfy { $0.version < $1.version })
        for found in values { #expect(noted[found.version]?[place] == found.value) }
      }
    }
  }

  @Test("a change of records that pass the filter neither before nor after it reads nothing")
  func filter() throws {
    try withStoreNow { store throws in
      var oslo = Owner(name: "a", city: "Oslo", age: 1)
      var rome = Owner(name: "b", city: "Rome", age: 2)
      try store.write { [oslo, rome] tx in
        try tx.put(oslo)
        try tx.put(rome)
      }
      oslo = try #require(try store.first(Owner.where { $0.city == "Oslo" }))
      rome = try #require(try store.first(Owner.where { $0.city == "Rome" }))
      let index = store.observe(Owner.where { $0.city == "Oslo" }).makeAsyncIterator().polled
      let scan = store.observe(Owner.where { $0.name == "a" }).makeAsyncIterator().polled
      let ages = store.observe(Owner.where { $0.city == "Oslo" }.select(\.age))
        .makeAsyncIterator().polled
      let count = store.observe { try $0.count(Owner.where { $0.city == "Oslo" }) }
        .makeAsyncIterator().polled
      #expect(try index.poll()?.rows.map(\.name) == ["a"])
      #expect(try scan.poll()?.rows.map(\.name) == ["a"])
      #expect(try ages.poll()?.rows == [1])
      #expect(try count.poll()?.value == 1)

      rome.name = "c"
      try store.put(rome)
      #expect(try index.poll() == nil)
      #expect(try scan.poll() == nil)
      // Its index has all that is read, and did not change.
      #expect(try ages.poll() == nil)
      #expect(try count.poll() == nil)
      #expect(index.reads == 1 && scan.reads == 1 && ages.reads == 1 && count.reads == 1)

      oslo.name = "d"
      try store.put(oslo)
      #expect(try index.poll()?.rows.map(\.name) == ["d"])
      #expect(try scan.poll()?.rows.isEmpty == true)
      #expect(try ages.poll() == nil)
      #expect(try count.poll() == nil)

      #expect(index.patches == 1 && scan.patches == 1 && ages.reads == 1 && count.reads == 1)

      oslo.age = 5
      try store.put(oslo)
      #expect(try ages.poll()?.rows == [5])
      #expect(try scan.poll() == nil)
      #expect(scan.reads + scan.patches == 2)

      rome.city = "Oslo"
      try store.put(rome)
      #expect(try index.poll()?.rows.count == 2)
      #expect(try count.poll()?.value == 2)
    }
  }

  @Test("a closure reads again only if a record changes that passes one of its filters")
  func closureFilters() throws {
    try withStoreNow { store throws in
      try store.put(Tag(id: "a", color: 1))
      try store.put(Tag(id: "b", color: 2))
      let count = store.observe { try $0.count(Tag.where { $0.color == 1 }) }
        .makeAsyncIterator().polled
      let sum = store.observe { try $0.sum(\.color, of: Tag.where { $0.color > 4 }) }
        .makeAsyncIterator().polled
      let one = store.observe { tx in [try tx.find(Tag.self, "a"), try tx.find(Tag.self, "x")] }
        .makeAsyncIterator().polled
      let both = store.observe { tx in
        [try tx.count(Tag.where { $0.color == 1 }), try tx.find(Tag.self, "c")?.color ?? 0]
      }.makeAsyncIterator().polled
      let mixed = store.observe { tx in
        [try tx.count(Tag.where { $0.color == 1 }), try tx.count(Tag.all)]
      }.makeAsyncIterator().polled
      let polls: [() throws -> Bool] = [
        { try count.poll() != nil }, { try sum.poll() != nil }, { try one.poll() != nil },
        { try both.poll() != nil }, { try mixed.poll() != nil },
      ]
      let reads = {
        [
          count.reads + count.patches, sum.reads + sum.patches, one.reads, both.reads, mixed.reads,
        ].map(\.description)
      }
      let state = { try polls.map { try $0() ? "+" : "-" }.joined() + " " + reads().joined() }
      #expect(try state() == "+++++ 11111")
      try store.put(Tag(id: "b", color: 3))
      // The last one depends on every record.
      #expect(try state() == "----- 11112")
      try store.put(Tag(id: "c", color: 3))
      #expect(try state() == "---++ 11123")
      try store.put(Tag(id: "b", color: 5))
      #expect(try state() == "-+--- 12124")
      try store.put(Tag(id: "a", color: 5))
      #expect(try state() == "+++++ 23235")
      try store.write { try $0.delete(Tag.self, "b") }
      #expect(try state() == "-+--+ 24236")
      try store.put(Tag(id: "x", color: 3))
      #expect(try state() == "--+-+ 24337")
      #expect(count.reads == 1 && sum.reads == 1)
    }
  }

  @Test("a closure may read through its store, and what it reads is one state that is observed")
  func readsThroughStore() throws {
    try withStoreNow { store throws in
      let observer = store.observe { tx in
        [
          try tx.count(Tag.all), try store.count(Tag.all), try Tag.all.count(in: store),
          try store.read { try $0.count(Tag.all) }, try store.fetch(Tag.all).count,
        ]
      }.makeAsyncIterator().polled
      let alone = store.observe { _ in try store.count(Tag.where { $0.color == 1 }) }
        .makeAsyncIterator().polled
      #expect(try observer.poll()?.value == [0, 0, 0, 0, 0])
      #expect(try alone.poll()?.value == 0)
      for count in 1...3 {
        try store.put(Tag(id: "\(count)", color: count % 2))
        #expect(try observer.poll()?.value == [count, count, count, count, count])
        #expect(try alone.poll()?.value == (count % 2 == 1 ? (count + 1) / 2 : nil))
      }
      // A state that came in between is not seen: the closure is inside its own.
      let torn = store.observe { tx in
        let before = try tx.count(Tag.all)
        let writer = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
          try? store.put(Tag(id: "other \(before)", color: 9))
          writer.signal()
        }
        writer.wait()
        return try store.count(Tag.all) - before
      }.makeAsyncIterator().polled
      #expect(try torn.poll()?.value == 0)
    }
  }

  @Test("a write to the store in an observed closure is refused, and one to another store is not")
  func writesInClosure() throws {
    try withStoreNow { store throws in
      let other = try Store.temporary(for: Owner.self, Pet.self, Note.self, Tag.self)
      let codes = Locked<[LarchError.Code]>([])
      let observer = store.observe { tx in
        for write in [
          { try store.put(Tag(id: "a", color: 1)) },
          { try store.write { _ in } },
          { _ = try store.delete(Tag.all) },
        ] as [() throws -> Void] {
          do { try write() } catch let error as LarchError {
            codes.withLock { $0.append(error.code) }
          }
        }
        try other.put(Tag(id: "a", color: 1))
        return try tx.count(Tag.all)
      }.makeAsyncIterator().polled
      #expect(try observer.poll()?.value == 0)
      #expect(codes.withLock { $0 } == [.readOnly, .readOnly, .readOnly])
      #expect(try other.count(Tag.all) == 1)
      // Outside of the closure it may be written.
      try store.put(Tag(id: "c", color: 1))
      #expect(try observer.poll()?.value == 1)
    }
  }

  @Test("a write that changes nothing, or is undone, gives no value")
  func nothing() throws {
    try withStoreNow { store throws in
      let observer = store.observe(Tag.all).makeAsyncIterator().polled
      let amount = store.observe { try $0.fetch(Tag.all).count }.makeAsyncIterator().polled
      #expect(try observer.poll()?.rows == [])
      #expect(try amount.poll()?.value == 0)
      try store.write { tx in
        try tx.put(Tag(id: "a", color: 1))
        try tx.delete(Tag.self, "a")
      }
      try? store.write { tx throws in
        try tx.put(Tag(id: "a", color: 1))
        throw RandomWrites.Undone()
      }
      try store.write { tx in
        try? tx.savepoint {
          try tx.put(Tag(id: "a", color: 1))
          throw RandomWrites.Undone()
        }
      }
      try store.write { _ in }
      #expect(try observer.poll() == nil)
      #expect(try amount.poll() == nil)
    }
  }

  @Test("the first value does not wait for a writer, and its changes follow")
  func startDuringWrite() async throws {
    try await withStore { store throws in
      let iterator = store.observe(Tag.all).makeAsyncIterator()
      let held = HeldWriter(store) { try $0.put(Tag(id: "a", color: 1)) }
      #expect(try await iterator.next()?.rows == [])
      held.end()
      #expect(try await iterator.next()?.rows.map(\.id) == ["a"])
      try store.put(Tag(id: "b", color: 1))
      #expect(try await iterator.next()?.rows.map(\.id) == ["a", "b"])
    }
  }

  @Test("observers that start at random moments miss nothing")
  func startAnywhere() async throws {
    try await withStore { store throws in
      let starts = amount("LARCH_OBSERVED_BEGINNINGS", 4_000)
      let begun = Locked(0)
      // Each write gives the newest of eight tags a greater color.
      async let written = onThread {
        var number = 0
        while begun.withLock({ $0 < starts }) {
          number += 1
          try store.put(Tag(id: "\(number % 8)", color: number))
        }
        return number
      }
      let kept = store.observe(Tag.all).makeAsyncIterator()
      _ = try await next(kept)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<4 {
          group.addTask {
            var random = SeededGenerator(seed: UInt64(task))
            for _ in 0..<(starts / 4) {
              var newest = -1
              var values = Int.random(in: 1...4, using: &random)
              for try await tags in store.observe(Tag.all) {
                let color = tags.rows.map(\.color).max() ?? 0
                #expect(color > newest)
                newest = color
                values -= 1
                if values == 0 { break }
              }
              begun.withLock { $0 += 1 }
            }
          }
        }
        try await group.waitForAll()
      }
      let last = try await written
      // One that began at first ends with the last write.
      var newest = -1
      while newest < last {
        let tags = try #require(try await next(kept))
        let color = tags.rows.map(\.color).max() ?? 0
        #expect(color > newest)
        newest = color
      }
      #expect(newest == last)
    }
  }

  @Test("another store of the same file in this process is seen")
  func otherStore() async throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let (store, other) = (
      try RandomWrites.openStore(at: path), try RandomWrites.openStore(at: path)
    )
    let iterator = store.observe(Tag.all).makeAsyncIterator()
    #expect(try await iterator.next()?.rows == [])
    try other.put(Tag(id: "a", color: 1))
    #expect(try await iterator.next()?.rows.count == 1)
    other.close()
    try store.put(Tag(id: "b", color: 1))
    #expect(try await iterator.next()?.rows.count == 2)
    store.close()
    #expect(try await iterator.next() == nil)
  }
}
