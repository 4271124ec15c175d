import Foundation
import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// What the log has is what was written: the files of a store, copied at any moment while it is open,
/// are a store with the same contents.
@Suite("Replay of a commit log", .serialized)
struct ReplayTests {
  @Test("The copy of a store in use has what the store has, after everything that writes")
  func sameAsLive() throws {
    let cases = amount("LARCH_LOG_CASES", 40)
    var (compared, replayed) = (0, 0)
    for number in 0..<cases {
      let seed = runSeed &+ UInt64(number) &* 7919
      let directory = try CrashDirectory()
      let copy = directory.path + "/copy.larch"
      var random = SeededGenerator(seed: ~seed)
      do {
        // Where no pause begins a checkpoint, more lies in the log.
        var work = try LogWork(
          directory.store, seed: seed, idle: number % 2 == 0 ? .milliseconds(1) : .seconds(60))
        defer { work.store.close() }
        /// The file at earlier moments of the same log.
        var earlier: [[UInt8]] = []
        var openings = 0
        for step in 0..<40 {
          try work.step()
          if work.openings != openings { earlier = [] }
          openings = work.openings
          guard random.below(4) == 0 else { continue }
          let image = try StoreImage(of: work.path)
          let live = try work.store.dump()
          // The power may fail with any state of the file since the last checkpoint.
          let checkpoint = image.header?.checkpoint ?? 0
          earlier.removeAll { StoreImage.newest($0) < checkpoint }
          // A clean log says that the file of now has all.
          let isInUse = image.header?.state == .inUse
          for data in [image.data] + (isInUse ? earlier : []) {
            var image = image
            image.data = data
            let behind = Int(image.newest) - Int(checkpoint)
            try image.write(to: copy)
            let store = try work.openCopy(copy, random.below(2) == 0 ? .durable : .logged)
            defer { store.close() }
            let found = try store.dump()
            if let difference = TextDifference.between(expected: live, actual: found) {
              throw Mismatch("step \(step), \(behind) commits in the file: \(difference)")
            }
            try expectClean(store)
            compared += 1
            if isInUse { replayed += 1 }
          }
          earlier.append(image.data)
          if earlier.count > 3 { earlier.removeFirst() }
        }
      } catch {
        Issue.record("case \(number) of LARCH_CRASH_SEED=\(runSeed): \(error)")
      }
    }
    print("commit log: \(compared) copies compared, \(replayed) of them replayed, seed \(runSeed)")
    #expect(replayed > cases * 4)
  }

  private func expectClean(_ store: Store) throws {
    let report = try store.verify()
    guard report.isClean else { throw Mismatch("\(report)") }
  }
}
