internal import Foundation
internal import Larch

/// Those who wait for new entries of the logs on one server.
///
/// One of them looks for all, in one statement, and the others sleep; when it has what it waits for, another one
/// goes on. A connection that listens would know earlier, but a server lets only one transaction at a time
/// commit a notification, and a pooler passes none on.
final class PostgresWatch: Sendable {
  /// Seconds between two looks; more where they would take more than a fourth of the time.
  static let interval = 0.02

  /// What somebody waits for: an entry of a store after a position.
  struct Wanted: Sendable {
    let tables: PostgresTables
    let store: String
    let position: Int64
  }

  /// One who waits. Unchecked, since `outcome` is guarded by the lock of the watch.
  private final class Waiter: @unchecked Sendable {
    let wanted: Wanted
    let owner: PostgresWake
    let signal = DispatchSemaphore(value: 0)
    var outcome: Outcome?

    init(_ wanted: Wanted, _ owner: PostgresWake) {
      self.wanted = wanted
      self.owner = owner
    }
  }

  private enum Outcome {
    case arrived
    case failed(any Error)
    case ended
  }

  private struct State: Sendable {
    var waiters: [Int: Waiter] = [:]
    var next = 0
    /// The one that looks.
    var leader: Int?
  }

  private let state = Locked(State())

  /// Waits until there is an entry, or until the time has passed.
  ///
  /// - Parameters:
  ///   - owner: its end, followed by `end(of:)`, ends the wait.
  ///   - look: returns which of the wanted ones are there, by their places in the list. All are in the same
  ///     tables.
  func wait(
    for wanted: Wanted, of owner: PostgresWake, until deadline: Double,
    look: ([Wanted]) throws -> [Int]
  ) throws {
    let waiter = Waiter(wanted, owner)
    let number = state.withLock { state in
      state.next += 1
      state.waiters[state.next] = waiter
      return state.next
    }
    defer { leave(number) }
    if owner.hasEnded { throw PostgresFailure(.closed) }
    // Whoever begins to lead looks at once.
    var pause = 0.0
    while true {
      let left = min(deadline - PostgresWake.now, 1_000_000)
      if left <= 0 { return }
      let leads = state.withLock { state in
        if state.leader == nil { state.leader = number }
        return state.leader == number
      }
      _ = waiter.signal.wait(timeout: .now() + (leads ? min(left, pause) : left))
      switch state.withLock({ _ in waiter.outcome }) {
      case .arrived: return
      case .failed(let error): throw error
      case .ended: throw PostgresFailure(.closed)
      case nil: break
      }
      guard leads else { continue }
      let begin = PostgresWake.now
      try lead(look)
      pause = max(Self.interval, 3 * (PostgresWake.now - begin))
    }
  }

  /// Looks once for all.
  private func lead(_ look: ([Wanted]) throws -> [Int]) throws {
    let waiters = state.withLock { $0.waiters.values.filter { $0.outcome == nil } }
    for (_, waiters) in Dictionary(grouping: waiters, by: \.wanted.tables.schema) {
      do {
        end(try look(waiters.map(\.wanted)).map { waiters[$0] }, .arrived)
      } catch {
        // The leader's own end is no answer to the others; what the server says is.
        if (error as? LarchError)?.code == .closed { throw error }
        end(waiters, .failed(error))
      }
    }
  }

  private func end(_ waiters: [Waiter], _ outcome: Outcome) {
    state.withLock { _ in
      for waiter in waiters where waiter.outcome == nil { waiter.outcome = outcome }
    }
    for waiter in waiters { waiter.signal.signal() }
  }

  /// Ends the waits of a log that is closed.
  func end(of owner: PostgresWake) {
    end(state.withLock { $0.waiters.values.filter { $0.owner === owner } }, .ended)
  }

  /// Somebody else looks, if the one that leaves did.
  private func leave(_ number: Int) {
    let next = state.withLock { state -> Waiter? in
      state.waiters[number] = nil
      guard state.leader == number else { return nil }
      let next = state.waiters.first { $0.value.outcome == nil }
      state.leader = next?.key
      return next?.value
    }
    next?.signal.signal()
  }
}
