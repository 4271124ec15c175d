internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// `stress <directory> <seconds> <seed> <twice: 0, 1 or loses>`: many tasks and threads move money in one
/// store and look at it; what must always hold is looked at all the time, and what must hold in the
/// end, in the end. Each few seconds a new store begins tiny again.
///
/// With `loses` a few writes lose money, which must be noticed.
///
/// A program of its own, since the threads that tasks share are then its alone: whoever does not
/// get on is stuck.
func stress(_ arguments: [String]) throws {
  guard arguments.count == 4, let seconds = Double(arguments[1]), let seed = UInt64(arguments[2])
  else { throw UsageError() }
  let watch = StressWatch()
  let total = Guarded(StressCounts())
  let end = Date() + seconds
  var round: UInt64 = 0
  // Goes on until everything that can happen has happened.
  while Date() < end || !total.withLock({ $0.missing.isEmpty }) {
    round += 1
    let path = arguments[0] + "/stress-\(round).larch"
    let run = try StressRun(
      path, seed: seed &+ round, variant: arguments[3], watch, total)
    try run.run(seconds: min(5, max(1, end.timeIntervalSinceNow)))
    unlink(path)
    unlink(path + "-lock")
    watch.removeAll()
  }
  print("\(round) stores, \(total.withLock { $0.summary })")
}

/// How often what happened.
struct StressCounts: Sendable {
  private var counts: [String: Int] = [:]

  mutating func add(_ name: String, _ count: Int = 1) { counts[name, default: 0] += count }

  subscript(_ name: String) -> Int { counts[name] ?? 0 }

  /// What a run must have seen, and has not.
  var missing: [String] {
    let wanted =
      StressKind.allCases.map(\.rawValue) + [
        "cancelled and not written", "cancelled and written", "growths", "repeated closures",
        "reads", "held snapshots", "backups", "synchronous writes", "asynchronous writes",
      ]
    return wanted.filter { self[$0] == 0 }
  }

  var summary: String {
    counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
  }
}

/// One store, and all who work on it.
final class StressRun: Sendable {
  static let taskWriters = 8
  static let threadWriters = 2
  static let readers = 8

  let store: Store
  let seed: UInt64
  let losesMoney: Bool
  let watch: StressWatch
  let counts: Guarded<StressCounts>
  let ledger = Guarded(Ledger())
  /// Writes in tasks that may be cancelled, and are at times.
  let cancellable = Guarded<[Task<Int, any Error>]>([])
  private let active = DispatchGroup()

  /// The reported attempts.
  struct Ledger: Sendable {
    var attempts = 0
    /// Those whose writes returned.
    var kept: Set<Int> = []
    /// How often the work after the commit of each was done.
    var afterCommit: [Int: Int] = [:]
  }

  init(
    _ path: String, seed: UInt64, variant: String, _ watch: StressWatch,
    _ counts: Guarded<StressCounts>
  ) throws {
    self.seed = seed
    self.watch = watch
    self.counts = counts
    var options = Store.Options()
    options.initialMapSize = 64 << 10
    options.runsWritesTwice = variant == "1"
    losesMoney = variant == "loses"
    options.log = { message in
      if message.event == .mapGrown { counts.withLock { $0.add("growths") } }
    }
    store = try Store(at: path, for: Purse.self, Transfer.self, Ballast.self, options: options)
    try store.write { tx throws in
      for id in 0..<Purse.count {
        var purse = Purse(id)
        try tx.insert(&purse)
      }
    }
  }

  func run(seconds: Double) throws {
    for number in 0..<Self.taskWriters { startTask("task writer \(number)", number, writeInTask) }
    for number in 0..<Self.readers { startTask("reader \(number)", 100 + number, read) }
    for number in 0..<Self.threadWriters {
      startThread("thread writer \(number)", 200 + number, writeOnThread)
    }
    startThread("canceller", 300, cancelAtRandom)
    startThread("keeper", 301, keep)
    let end = Date() + seconds
    while Date() < end, watch.goesOn { Thread.sleep(forTimeInterval: 0.05) }
    watch.stop()
    // Whoever does not come to its end is seen by the watch.
    active.wait()
    let faults = watch.faults
    guard faults.isEmpty else { throw Mismatch(faults.prefix(10).joined(separator: "\n")) }
    try check()
    store.close()
  }

  private func startTask(
    _ name: String, _ stream: Int, _ body: @escaping @Sendable (Int, UInt64) async -> Void
  ) {
    let worker = watch.begin(name)
    active.enter()
    Task.detached { [self] in
      await body(worker, seed &+ UInt64(stream) &* 1_000_003)
      watch.end(worker)
      active.leave()
    }
  }

  private func startThread(
    _ name: String, _ stream: Int, _ body: @escaping @Sendable (Int, UInt64) -> Void
  ) {
    let worker = watch.begin(name)
    active.enter()
    Thread.detachNewThread { [self] in
      body(worker, seed &+ UInt64(stream) &* 1_000_003)
      watch.end(worker)
      active.leave()
    }
  }

  // MARK: In the end

  /// The store holds what it must after exactly the transfers that were acknowledged.
  private func check() throws {
    let ledger = ledger.withLock { $0 }
    var balances = [Int](repeating: Purse.opening, count: Purse.count)
    for attempt in ledger.kept {
      let transfer = Transfer(attempt, seed: seed)
      balances[transfer.source] -= transfer.amount
      balances[transfer.target] += transfer.amount
    }
    try store.read { tx throws in
      var found = Set<Int>()
      for transfer in try tx.all(Transfer.self) {
        found.insert(transfer.id)
        guard transfer == Transfer(transfer.id, seed: seed) else {
          throw Mismatch("transfer \(transfer.id) is \(transfer)")
        }
      }
      let lost = ledger.kept.subtracting(found)
      let extra = found.subtracting(ledger.kept)
      guard lost.isEmpty, extra.isEmpty else {
        throw Mismatch("acknowledged and lost: \(lost); not acknowledged and there: \(extra)")
      }
      let stored = try tx.all(Purse.self).map(\.balance)
      guard stored == balances else { throw Mismatch("\(stored), not \(balances)") }
    }
    guard Set(ledger.afterCommit.keys) == ledger.kept,
      ledger.afterCommit.values.allSatisfy({ $0 == 1 })
    else { throw Mismatch("the work after the commits was not done once for each of them") }
    let report = try store.verify()
    guard report.isClean else { throw Mismatch("\(report)") }
    counts.withLock { $0.add("transfers kept", ledger.kept.count) }
  }
}
