import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// Copies of one store that all write texts with a search, to the same records.
@Suite("A search in a shared store")
struct SharedSearchTests {
  /// How many writes each copy makes.
  static let writes = amount("LARCH_SHARED_SEARCHES", 60)
  private struct Undone: Error {}

  @Test("Copies that save, change and delete texts at once find what their own records have")
  func random() throws {
    var (unknown, refused, reruns) = (0, 0, 0)
    for seed in 0..<UInt64(4) {
      let server = MemoryServer(seed: seed)
      // So that some errors reach the caller: in one run each of them, since none is tried again.
      let options = Store.Options.quick.with {
        $0.commitTimeout = .milliseconds(seed == 3 ? 1 : 12)
      }
      let counts = Locked<[Int]>([0, 0, 0, 0])
      let count = 2 + Int(seed % 3)
      try withCopies(
        count, of: server, Essay.self, Letter.self, TextProgress.self, options: options
      ) { stores in
        if seed > 0 { server.set(.each(12 * Int(seed))) }
        try onThreads(count) { place in
          var random = SeededGenerator(seed: seed &* 8 &+ UInt64(place))
          var tally = TextTally()
          var (unknown, refused, reruns) = (0, 0, 0)
          for number in 0..<Self.writes {
            switch try Self.write(stores[place], &random, &reruns) {
            case .unavailable: refused += 1
            case .commitUnknown: unknown += 1
            default: break
            }
            if number % 12 == place {
              try stores[place].read { tx throws in
                try Texts.check(tx, queries: 2, &tally, &random)
              }
              let report = try stores[place].verify()
              if !report.isClean { throw Mismatch("copy \(place), write \(number): \(report)") }
            }
          }
          let mine = [unknown, refused, reruns, tally.searched]
          counts.withLock { all in for place in all.indices { all[place] += mine[place] } }
        }
        try expectEqual(stores, server, "seed \(seed)")
        var tally = TextTally()
        for store in stores {
          // The same queries for each of them.
          var random = SeededGenerator(seed: seed)
          try store.read { tx throws in try Texts.check(tx, queries: 8, &tally, &random) }
        }
        let found = tally
        #expect(found.found > 30 && found.searched > 0, "seed \(seed): \(found)")
        // The words that were written commit by commit are those of the records.
        let dump = try stores[0].dump()
        try stores[0].rebuild()
        #expect(
          TextDifference.between(expected: try stores[0].dump(), actual: dump) == nil,
          "seed \(seed)")
        try expectEqual(stores, server, "seed \(seed), built again")
      }
      let all = counts.withLock { $0 }
      unknown += all[0]
      refused += all[1]
      reruns += all[2]
      #expect(all[3] > 0, "seed \(seed): no search was used")
    }
    #expect(unknown > 0 && refused > 0, "no failure reached a caller")
    #expect(reruns > 0, "no two copies have met")
  }

  /// One write, decided from what the copy has when it runs.
  ///
  /// - Returns: the code of its error, if the server failed for too long.
  private static func write(
    _ store: Store, _ random: inout SeededGenerator, _ reruns: inout Int
  ) throws -> LarchError.Code? {
    let before = random
    var runs = 0
    do {
      try store.write { tx throws in
        runs += 1
        random = before
        try change(tx, &random)
      }
    } catch is Undone {
      return nil
    } catch let error as LarchError where error.code == .unavailable {
      return error.code
    } catch let error as LarchError where error.code == .commitUnknown {
      while true {
        if let again = caught({ _ = try store.outcome(of: error) }) {
          guard again.code == .unavailable || again.code == .commitUnknown else { throw again }
        } else {
          return error.code
        }
      }
    }
    reruns += runs - 1
    return nil
  }

  private static func change(_ tx: WriteTransaction, _ random: inout SeededGenerator) throws {
    var state = try TextState.read(0, seed: 0, in: tx)
    let steps = state.next(&random)
    try state.apply(steps, to: tx)
    if random.below(4) == 0 {
      // The write finds what it has just changed.
      let after = try TextState.read(0, seed: 0, in: tx)
      guard after.contents == state.contents else {
        throw Mismatch(
          TextDifference.between(
            expected: state.contents.joined(separator: "\n"),
            actual: after.contents.joined(separator: "\n")) ?? "contents")
      }
      var tally = TextTally()
      try Texts.check(tx, queries: 1, &tally, &random)
    }
    if random.below(10) == 0 { throw Undone() }
  }

  @Test("Copies that open with a search at once build it once, and a writer goes on with it")
  func built() throws {
    let server = MemoryServer(seed: 3)
    var texts = SeededGenerator(seed: 3)
    try withCopies(1, of: server, PlainEssay.self, PlainLetter.self, TextProgress.self) { stores in
      try stores[0].write { tx throws in
        let numbers = 0..<400
        try PlainEssay.saveAll(
          numbers.map { PlainEssay(owner: 0, number: $0, Texts.writing(&texts)) }, in: tx)
        try PlainLetter.saveAll(
          numbers.map { PlainLetter(owner: 0, number: $0, Texts.writing(&texts)) }, in: tx)
      }
    }
    server.set(.each(20))
    let paths = (0..<3).map { _ in ScratchFile.freshPath() }
    defer { paths.forEach(ScratchFile.remove) }
    let opened = Locked<[Store]>([])
    defer { opened.withLock { $0 }.forEach { $0.close() } }
    try onThreads(3) { place in
      var store: Store?
      while store == nil {
        do {
          store = try Store(
            sharing: server.serverLog, copy: paths[place], types: Texts.types,
            options: .quick.with { $0.indexBatchSize = 60 }, isTemporary: false)
        } catch let error as LarchError
          where error.code == .unavailable || error.code == .commitUnknown
        {}
      }
      guard let store else { return }
      opened.withLock { $0.append(store) }
      // The others may still build.
      var random = SeededGenerator(seed: UInt64(place))
      var reruns = 0
      for _ in 0..<15 { _ = try Self.write(store, &random, &reruns) }
    }
    let stores = opened.withLock { $0 }
    try expectEqual(stores, server)
    var tally = TextTally()
    for store in stores {
      var random = SeededGenerator(seed: 9)
      try store.read { tx throws in
        #expect(try tx.explain(Letter.found("larch")).description.hasPrefix("search "))
        try Texts.check(tx, queries: 8, &tally, &random)
      }
    }
    let found = tally
    #expect(found.found > 100 && found.searched > 0, "\(found)")
  }
}
