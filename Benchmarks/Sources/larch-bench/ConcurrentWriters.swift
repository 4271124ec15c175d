import Foundation
import Synchronization

/// Times writers that work at the same time and hand back the last id that each was given.
enum ConcurrentWriters {
  /// Each on a thread of its own, as peers that block need it. The threads are there and wait
  /// before the clock starts.
  static func onThreads(
    _ count: Int, _ stopwatch: Stopwatch, _ body: @escaping @Sendable (Int) throws -> Int64
  ) throws -> (nanoseconds: Double, last: Int64) {
    let outcome = Outcome()
    let (ready, start, done) = (DispatchGroup(), DispatchSemaphore(value: 0), DispatchGroup())
    for number in 0..<count {
      ready.enter()
      done.enter()
      Thread.detachNewThread {
        ready.leave()
        start.wait()
        outcome.add(Result { try body(number) })
        done.leave()
      }
    }
    ready.wait()
    let nanoseconds = stopwatch.time {
      for _ in 0..<count { start.signal() }
      done.wait()
    }
    return (nanoseconds, try outcome.last())
  }

  /// Each a task. The caller's thread waits, which is none of those that tasks share.
  static func inTasks(
    _ count: Int, _ stopwatch: Stopwatch, _ body: @escaping @Sendable (Int) async throws -> Int64
  ) throws -> (nanoseconds: Double, last: Int64) {
    let outcome = Outcome()
    let done = DispatchSemaphore(value: 0)
    let nanoseconds = stopwatch.time {
      Task.detached {
        await withTaskGroup(of: Void.self) { group in
          for number in 0..<count {
            group.addTask {
              do {
                outcome.add(.success(try await body(number)))
              } catch {
                outcome.add(.failure(error))
              }
            }
          }
        }
        done.signal()
      }
      done.wait()
    }
    return (nanoseconds, try outcome.last())
  }

  /// What the writers came to: the largest id, or the first error.
  private final class Outcome: Sendable {
    private let state = Mutex<(last: Int64, error: (any Error)?)>((0, nil))

    func add(_ result: Result<Int64, any Error>) {
      state.withLock { state in
        switch result {
        case .success(let id): state.last = max(state.last, id)
        case .failure(let error): state.error = state.error ?? error
        }
      }
    }

    func last() throws -> Int64 {
      let (last, error) = state.withLock { $0 }
      if let error { throw error }
      return last
    }
  }
}

/// Lets threads share what the compiler cannot know to be safe: each use says why it is.
struct Shared<Value>: @unchecked Sendable {
  let value: Value

  init(_ value: Value) { self.value = value }
}
