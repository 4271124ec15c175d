import LarchCrashSupport
import LarchTestSupport
import Testing

@testable import Larch

/// `LARCH_OBSERVED_CHANGES` is the number of changes of all seeds together. They are compared with a
/// fetch after each transaction, by each of the observers that there are at that time.
///
/// In half of the runs the thread of the watch never looks, and a third of the transactions come as those
/// of another process: what they changed is found when the next one is published.
@Suite("Observers that come and go")
struct LongObservationTests {
  private struct Begun {
    let observer: AnyObserver
    var last: String?
  }

  private static let seeds = UInt64(1)...4
  private static let changes = amount("LARCH_OBSERVED_CHANGES", 20_000)

  @Test("3 to 30 observers have what a fetch of their version has", arguments: seeds)
  func comeAndGo(seed: UInt64) throws {
    let path = ScratchFile.freshPath()
    defer { ScratchFile.remove(path) }
    let store = try RandomWrites.openStore(at: path)
    defer { store.close() }
    let watch = seed % 2 == 0 ? try BlindWatch(of: store) : nil
    var writes = RandomWrites(seed: 9_000 + seed)
    var random = SeededGenerator(seed: 9_100 + seed)
    var begun: [Begun] = []
    var (rounds, values, kinds) = (0, 0, Set<String>())
    while writes.changes < Self.changes / Self.seeds.count {
      rounds += 1
      let comment = "seed \(seed), round \(rounds)" as Comment
      if begun.count < 3 || (begun.count < 30 && random.below(4) == 0) {
        // Several of one kind are as likely as one of each.
        let all = AnyObserver.all(store)
        let observer = all[random.below(all.count)]
        begun.append(Begun(observer: observer))
        kinds.insert(observer.name)
      } else if random.below(4) == 0 {
        begun.remove(at: random.below(begun.count))
      }
      if let watch, random.below(3) == 0 {
        watch.isAway = true
        writes.write(to: store)
        watch.isAway = false
        try store.put(Note(text: "own"))
      } else {
        writes.write(to: store)
      }
      let version = try store.version
      let expected = try store.read { tx in try begun.map { try $0.observer.expected(tx) } }
      for place in begun.indices {
        let name = begun[place].observer.name
        if let found = try begun[place].observer.poll() {
          #expect(found.value == expected[place], "\(name), \(comment)")
          #expect(found.version == version, "\(name), \(comment)")
          #expect(found.value != begun[place].last, "\(name), \(comment)")
          values += 1
        } else {
          #expect(begun[place].last == expected[place], "\(name), \(comment)")
        }
        begun[place].last = expected[place]
      }
    }
    #expect(kinds.count > 25)
    #expect(values > rounds)
  }
}
