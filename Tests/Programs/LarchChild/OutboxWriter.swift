internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

/// `outbox-writer <store> <seed> <owner>`: saves and deletes until it is killed, in commits of a few
/// records, some of which it undoes.
func outboxWriter(_ arguments: [String]) throws {
  guard arguments.count == 3, let seed = UInt64(arguments[1]), let owner = Int(arguments[2])
  else { throw UsageError() }
  limitLifetime()
  var options = Store.Options()
  options.durability = .relaxed
  let store = try Store(at: arguments[0], for: Entry.self, options: options)
  var random = SeededGenerator(seed: seed)
  struct Undone: Error {}
  while true {
    let start = random
    do {
      random = try store.write { tx in
        var random = start
        for _ in 0..<(1 + random.below(4)) {
          let id = "\(owner) \(random.below(400))"
          if random.below(4) == 0 {
            try tx.delete(Entry.self, id)
          } else {
            let length = random.below(10) == 0 ? 900 : random.below(20)
            var entry = Entry(
              id: id, owner: owner,
              text: "\(random.next())" + String(repeating: " text", count: length), value: nil)
            try tx.save(&entry)
          }
        }
        if random.below(8) == 0 { throw Undone() }
        return random
      }
    } catch is Undone {
      _ = random.next()
    }
    // LMDB's write lock is not fair between processes: whoever takes it again at once may keep others waiting
    // for minutes.
    usleep(50)
  }
}
