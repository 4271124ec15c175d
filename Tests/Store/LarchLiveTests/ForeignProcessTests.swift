import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

extension ForeignTests {
  @Suite("Observers among processes that come and go")
  struct ForeignProcessTests {
    /// Waits until both observers have what a fetch returns, when nobody writes any more.
    private func settle(
      _ items: WatchedCheck<WatchedItem>, _ notes: WatchedCheck<WatchedNote>, _ comment: Comment
    ) async throws {
      try await eventually("the last values are those of a fetch") {
        try items.isCurrent && notes.isCurrent
      }
      #expect(items.latest.failures == [], comment)
      #expect(notes.latest.failures == [], comment)
    }

    @Test("processes are killed and started at random: the last value is that of a fetch")
    func random() async throws {
      let seed = runSeed
      var random = SeededGenerator(seed: seed)
      let writers = try ForeignWriters()
      let store = try writers.open()
      defer { store.close() }
      let items = WatchedCheck(store, WatchedItem.where { $0.group < 5 })
      let notes = WatchedCheck(store, WatchedNote.all)
      let database = try ForeignWriters.notesDatabase(store)
      for round in 0..<amount("LARCH_OBSERVED_ROUNDS", 12) {
        let comment: Comment = "seed \(seed), round \(round)"
        for number in 0..<4 where random.below(3) > 0 {
          // A process that was killed leaves its mark in the beacon.
          let name = round * 4 + number
          switch number {
          case 0: try writers.start(name, .items, burst: -1, seed: random.next())
          case 1: try writers.start(name, .notes, burst: -1, seed: random.next())
          case 2: try writers.startPlain(name, database: database, burst: -1)
          default: try writers.startObserving(name)
          }
        }
        let short = WatchedCheck(store, WatchedNote.where { $0.id < 50 })
        for _ in 0..<random.below(60) {
          let kind: Watched.Kind = random.below(2) == 0 ? .items : .notes
          try await store.write { [random] tx in
            var random = random
            try Watched.change(kind, tx, &random)
          }
          _ = random.next()
          if random.below(8) == 0 { try await Task.sleep(for: .milliseconds(random.below(20))) }
        }
        for number in writers.children.keys.sorted() { try writers.kill(number) }
        try await settle(items, notes, comment)
        try await eventually("the short observer ends with the state") { try short.isCurrent }
        #expect(short.latest.failures == [], comment)
      }
      #expect(items.latest.compared > 0 && notes.latest.compared > 0)
      #expect(items.latest.count > 10 && notes.latest.count > 10)
    }

    @Test("the file is exchanged by this process and by others while others write")
    func exchanged() async throws {
      let writers = try ForeignWriters()
      let store = try writers.open()
      defer { store.close() }
      let items = WatchedCheck(store, WatchedItem.where { $0.group < 5 })
      let notes = WatchedCheck(store, WatchedNote.all)
      let compacting = 50_000
      try writers.startCompacting(compacting)
      for round in 0..<amount("LARCH_OBSERVED_EXCHANGES", 6) {
        try writers.start(round, .items, burst: -1, seed: UInt64(round))
        try await eventually("a foreign commit is seen") { [count = items.latest.count] in
          items.latest.count > count
        }
        if round % 2 == 0 { try await writers.step(compacting) } else { try await store.compact() }
        let before = items.latest.count
        try await eventually("commits to the new file are seen") { items.latest.count > before + 2 }
        try writers.kill(round)
        try await settle(items, notes, "round \(round)")
      }
    }

    @Test("the store is restored while others write, and closed and opened again")
    func restored() async throws {
      let writers = try ForeignWriters()
      let backup = writers.directory.path + "/backup"
      for round in 0..<3 {
        let store = try writers.open()
        if round == 0 { try await store.backup(to: backup) }
        // The versions of a restored store begin again.
        let items = WatchedCheck(store, WatchedItem.all, mayRestart: true)
        try writers.start(round, .items, burst: -1)
        try await eventually("a foreign commit is seen") { items.latest.count > 2 }
        try await Store.restore(from: backup, to: writers.path, replacing: true)
        let count = items.latest.count
        try await eventually("commits to the restored file are seen") {
          items.latest.count > count + 2
        }
        try writers.kill(round)
        try await eventually("the last value is that of a fetch") { try items.isCurrent }
        // Nobody writes now, so the rows are those of the backup.
        try await Store.restore(from: backup, to: writers.path, replacing: true)
        try await eventually("the restored rows come") {
          try items.latest.rows?.count == 200 && items.isCurrent
        }
        #expect(items.latest.failures == [])
        try writers.start(round + 10, .items, burst: -1)
        try await eventually("a foreign commit is seen") { try !items.isCurrent }
        store.close()
        let last = items.latest.count
        try await Task.sleep(for: .milliseconds(20))
        #expect(items.latest.count <= last + 1)
        try writers.kill(round + 10)
      }
    }
  }
}
