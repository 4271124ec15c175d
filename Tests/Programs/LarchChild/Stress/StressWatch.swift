internal import Foundation
internal import LarchCrashSupport

/// Knows the position of every task and thread of the run, and ends the program if one of them
/// makes no progress.
final class StressWatch: Sendable {
  /// No step of the run takes nearly as long, even on a busy machine.
  private static let patience = 300.0

  private struct Worker {
    var name: String
    var place = "not begun"
    var steps = 0
    /// Nil when it has ended.
    var since: Date? = Date()
  }

  private struct State {
    var workers: [Worker] = []
    var faults: [String] = []
    var isStopping = false
  }

  private let state = Guarded(State())

  init() {
    let state = state
    let thread = Thread {
      while true {
        Thread.sleep(forTimeInterval: 0.5)
        let dump = state.withLock { $0.workers }
        let limit = Date() - StressWatch.patience
        guard dump.contains(where: { ($0.since ?? .distantFuture) < limit }) else { continue }
        var text = "no progress in \(Int(StressWatch.patience)) s:\n"
        for worker in dump {
          let seconds = worker.since.map { String(format: "for %.1f s", -$0.timeIntervalSinceNow) }
          text += "  \(worker.name): \(worker.steps) steps, \(worker.place) \(seconds ?? "")\n"
        }
        FileHandle.standardError.write(Data(text.utf8))
        // Swift's backtrace, which this causes, shows where the threads are.
        abort()
      }
    }
    thread.start()
  }

  /// The number of a worker that begins.
  func begin(_ name: String) -> Int {
    state.withLock { state in
      state.workers.append(Worker(name: name))
      return state.workers.count - 1
    }
  }

  /// A worker has done a step, and continues at this place.
  func step(_ worker: Int, _ place: String) {
    state.withLock { state in
      state.workers[worker].place = place
      state.workers[worker].steps += 1
      state.workers[worker].since = Date()
    }
  }

  func end(_ worker: Int) { state.withLock { $0.workers[worker].since = nil } }

  func removeAll() {
    state.withLock { state in
      state.workers = []
      state.isStopping = false
    }
  }

  var goesOn: Bool { state.withLock { !$0.isStopping && $0.faults.isEmpty } }

  func stop() { state.withLock { $0.isStopping = true } }

  func fault(_ text: String) { state.withLock { $0.faults.append(text) } }

  var faults: [String] { state.withLock { $0.faults } }
}
