internal import Foundation
internal import Larch
internal import LarchCrashSupport

/// `numbered-writers <store> <writers> <seed> <early: 0 or 1>`: so many tasks write without end,
/// each write reports its result on the standard output as soon as it is known. With `early`, it
/// reports before that, which the check must detect.
func numberedWriters(_ arguments: [String]) throws {
  guard arguments.count == 4, let writers = Int(arguments[1]), let seed = UInt64(arguments[2])
  else { throw UsageError() }
  guard #available(macOS 26, iOS 26, *) else { throw UsageError() }
  limitLifetime()
  let store = try NumberedWrites.open(at: arguments[0])
  let work = NumberedWork(
    store: store, seed: seed, isEarly: arguments[3] == "1",
    arrivals: Guarded(try store.read { tx throws in try NumberedWrites.next(in: tx) }))
  for _ in 0..<writers {
    Task.detached { while true { await work.arrive().value } }
  }
  while true { sleep(1000) }
}

@available(macOS 26, iOS 26, *)
private struct NumberedWork: Sendable {
  let store: Store
  let seed: UInt64
  let isEarly: Bool
  /// The number of the next write.
  let arrivals: Guarded<Int>

  /// Numbers the write that begins now. The task runs at once until it waits in the queue, and
  /// nobody else can get in between.
  func arrive() -> Task<Void, Never> {
    arrivals.withLock { next in
      let number = next
      next += 1
      return Task.immediate { await write(number) }
    }
  }

  private func write(_ number: Int) async {
    let outcome: NumberedWrites.Outcome
    do {
      let returned = try await store.write { tx in
        try NumberedWrites.write(number, seed: seed, in: tx)
        if isEarly { report(.written, number) }
        return number
      }
      outcome = returned == number ? .written : .wrong
    } catch let error as RefusedWrite where error.number == number {
      outcome = .refused
    } catch {
      outcome = .wrong
    }
    if !isEarly || outcome != .written { report(outcome, number) }
  }

  private func report(_ outcome: NumberedWrites.Outcome, _ number: Int) {
    var frame = outcome.frame(number)
    // Shorter than the size that a pipe writes as a whole.
    _ = Foundation.write(STDOUT_FILENO, &frame, 8)
  }
}
