internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

extension StressRun {
  /// The work of an operator while a store is used.
  @Sendable func keep(_ worker: Int, _ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    while watch.goesOn {
      let way = random.below(3)
      watch.step(worker, ["making a backup", "taking statistics", "syncing"][way])
      do {
        switch way {
        case 0: try backUp()
        case 1:
          _ = try store.statistics()
          counts.withLock { $0.add("statistics") }
        default:
          try store.sync()
          counts.withLock { $0.add("syncs") }
        }
      } catch let error as LarchError where error.code == .storage && way == 1 {
        // Commits were too fast to see the file without a change.
      } catch {
        watch.fault("keeper, way \(way): \(error)")
      }
      usleep(UInt32(random.below(300_000)))
    }
  }

  /// A copy is a snapshot like every other.
  private func backUp() throws {
    let path = store.path + "-backup"
    try store.backup(to: path, replacing: true)
    defer {
      unlink(path)
      unlink(path + "-lock")
    }
    let copy = try Store(at: path, for: Purse.self, Transfer.self, Ballast.self)
    defer { copy.close() }
    try copy.read { tx throws in try checkHistory(tx) }
    let report = try copy.verify()
    guard report.isClean else { throw Mismatch("a backup: \(report)") }
    counts.withLock { $0.add("backups") }
  }

  /// Every purse has the amount of its transfers.
  private func checkHistory(_ tx: ReadTransaction) throws {
    var balances = [Int](repeating: Purse.opening, count: Purse.count)
    for transfer in try tx.all(Transfer.self) {
      balances[transfer.source] -= transfer.amount
      balances[transfer.target] += transfer.amount
    }
    let stored = try tx.all(Purse.self).map(\.balance)
    guard stored == balances else { throw Mismatch("\(stored), not \(balances)") }
  }
}
