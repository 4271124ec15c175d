internal import Foundation
internal import Larch
internal import LarchCrashSupport
internal import LarchTestSupport

extension StressRun {
  private func nextAttempt(_ random: inout SeededGenerator) -> Attempt {
    let number = ledger.withLock { ledger in
      ledger.attempts += 1
      return ledger.attempts
    }
    // Half of them plain, so that money moves.
    let kinds = StressKind.allCases
    let kind = random.below(2) == 0 ? StressKind.plain : kinds[random.below(kinds.count)]
    return Attempt(number: number, kind: kind, isRelaxed: random.below(4) == 0)
  }

  // MARK: Who writes

  @Sendable func writeInTask(_ worker: Int, _ seed: UInt64) async {
    var random = SeededGenerator(seed: seed)
    while watch.goesOn {
      let attempt = nextAttempt(&random)
      watch.step(worker, "in \(attempt)")
      counts.withLock { $0.add("asynchronous writes") }
      guard random.below(4) == 0 else {
        do {
          settle(attempt, .success(try await write(attempt)))
        } catch {
          settle(attempt, .failure(error))
        }
        continue
      }
      let task = Task { try await write(attempt) }
      switch random.below(3) {
      case 0: task.cancel()
      case 1:
        await Task.yield()
        task.cancel()
      default: cancellable.withLock { $0.append(task) }
      }
      settle(attempt, await task.result, mayBeCancelled: true)
    }
  }

  private func write(_ attempt: Attempt) async throws -> Int {
    let runs = Guarded(0)
    return try await store.write(durability: attempt.isRelaxed ? .relaxed : .storeDefault) {
      [self] tx in
      note(runs)
      return try perform(attempt, in: tx)
    }
  }

  @Sendable func writeOnThread(_ worker: Int, _ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    while watch.goesOn {
      let attempt = nextAttempt(&random)
      watch.step(worker, "in \(attempt)")
      counts.withLock { $0.add("synchronous writes") }
      settle(
        attempt,
        Result {
          let runs = Guarded(0)
          return try store.write(durability: attempt.isRelaxed ? .relaxed : .storeDefault) { tx in
            note(runs)
            return try perform(attempt, in: tx)
          }
        })
      // Otherwise threads, which do not wait for tasks, would do most of the writes.
      usleep(UInt32(random.below(2000)))
    }
  }

  /// Cancels writes of which some wait, some run and some have ended.
  @Sendable func cancelAtRandom(_ worker: Int, _ seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    while watch.goesOn {
      watch.step(worker, "between two cancellations")
      usleep(UInt32(random.below(1000)))
      let tasks = cancellable.withLock { tasks in
        defer { tasks = [] }
        return tasks
      }
      for task in tasks { task.cancel() }
    }
  }

  private func note(_ runs: Guarded<Int>) {
    let isRepeated = runs.withLock { runs in
      runs += 1
      return runs == (store.options.runsWritesTwice ? 3 : 2)
    }
    if isRepeated { counts.withLock { $0.add("repeated closures") } }
  }

  // MARK: What is written

  /// The closure of the write; it returns its number.
  private func perform(_ attempt: Attempt, in tx: WriteTransaction) throws -> Int {
    if attempt.kind == .idle {
      guard try tx.count(Purse.all) == Purse.count else { throw Mismatch("a purse is missing") }
      return attempt.number
    }
    var transfer = Transfer(attempt.number, seed: seed)
    guard var source = try tx.find(Purse.self, transfer.source) else {
      throw Mismatch("no purse \(transfer.source)")
    }
    source.balance -= transfer.amount
    if losesMoney, attempt.number % 20 == 0 { source.balance -= 1 }
    try tx.update(source)
    try performInBetween(attempt, in: tx)
    guard var target = try tx.find(Purse.self, transfer.target) else {
      throw Mismatch("no purse \(transfer.target)")
    }
    target.balance += transfer.amount
    try tx.update(target)
    try tx.insert(&transfer)
    let (ledger, number) = (ledger, attempt.number)
    tx.afterCommit { ledger.withLock { $0.afterCommit[number, default: 0] += 1 } }
    if attempt.kind == .throwsAtTheEnd { throw StressError(attempt: attempt.number) }
    return attempt.number
  }

  /// Money is missing at this point, and nobody may see that.
  private func performInBetween(_ attempt: Attempt, in tx: WriteTransaction) throws {
    switch attempt.kind {
    case .plain, .throwsAtTheEnd, .idle: break
    case .savepoint:
      do {
        try spoil(attempt, in: tx)
      } catch let error as StressError where error.attempt == attempt.number {
        let balance = try tx.sum(\.balance, of: Purse.all)
        let amount = Transfer(attempt.number, seed: seed).amount
        guard balance == Purse.count * Purse.opening - amount else {
          throw Mismatch("\(balance) after a savepoint was undone")
        }
      }
    case .throwsInSavepoint: try spoil(attempt, in: tx)
    case .throwsInTheMiddle: throw StressError(attempt: attempt.number)
    case .conflict:
      var purse = Purse(-attempt.number)
      purse.owner = Purse(attempt.number % Purse.count).owner
      try tx.insert(&purse)
    case .large:
      var ballast = Ballast(
        id: attempt.number % 64,
        text: String(repeating: "x", count: 2000 + attempt.number % 30 * 1000))
      try tx.save(&ballast)
    case .nested:
      do {
        try store.write { _ in }
        throw Mismatch("a write in a write did not throw")
      } catch let error as LarchError where error.code == .nestedWrite {}
    }
  }

  /// Changes a lot in a savepoint that throws.
  private func spoil(_ attempt: Attempt, in tx: WriteTransaction) throws {
    try tx.savepoint {
      for id in 0..<5 {
        guard var purse = try tx.find(Purse.self, id) else { throw Mismatch("no purse \(id)") }
        purse.balance = 1_000_000
        try tx.update(purse)
      }
      var wrong = Transfer(attempt.number, seed: seed)
      wrong.amount = 0
      try tx.insert(&wrong)
      throw StressError(attempt: attempt.number)
    }
  }

  // MARK: What came of it

  private func settle(
    _ attempt: Attempt, _ result: Result<Int, any Error>, mayBeCancelled: Bool = false
  ) {
    let kind = attempt.kind
    switch result {
    case .success(let number):
      guard number == attempt.number, kind.isKept || kind == .idle else {
        return watch.fault("\(attempt) returned \(number)")
      }
      if kind.isKept { _ = ledger.withLock { $0.kept.insert(number) } }
      if mayBeCancelled { counts.withLock { $0.add("cancelled and written") } }
    case .failure(is CancellationError) where mayBeCancelled:
      return counts.withLock { $0.add("cancelled and not written") }
    case .failure(let error as StressError)
    where error.attempt == attempt.number
      && [.throwsInTheMiddle, .throwsAtTheEnd, .throwsInSavepoint].contains(kind):
      break
    case .failure(let error as LarchError) where error.code == .uniqueConflict && kind == .conflict:
      guard error.context.id == "\(-attempt.number)" || error.context.otherID != nil else {
        return watch.fault("\(attempt) got somebody else's \(error)")
      }
    case .failure(let error):
      return watch.fault("\(attempt) threw \(error)")
    }
    counts.withLock { $0.add(kind.rawValue) }
  }
}
