internal import Foundation
internal import Larch

/// What the logs of this process on one server share: its connections, and the looks for new entries. So
/// a thousand open stores need hardly more than one.
///
/// Nothing about a log is kept. What a statement leaves behind in its connection, a plan under a name, is the same for
/// each log.
final class PostgresPool: Sendable {
  /// Whoever reaches the server in another way, or as another user, has another pool.
  struct Key: Hashable {
    let address: PostgresAddress.Identity
    let connectTimeout: Double
    let answerTimeout: Double
    let connections: Int
  }

  private struct Weak {
    weak var pool: PostgresPool?
  }

  private static let pools = Locked<[Key: Weak]>([:])

  /// Unchecked, since each connection is in the list or has one user.
  private struct State: @unchecked Sendable {
    var connections: [PostgresConnection] = []
    var logs = 0
    /// How many more may be in use.
    var free: Int
    /// How many more of them may hold turns: these wait for calls on others.
    var freeTurns: Int
    var queue: [DispatchSemaphore] = []
    /// Of the server of the newest connection.
    var failoverRisk: String?
  }

  private let state: Locked<State>
  let watch = PostgresWatch()

  /// The maximum number of unused connections that are kept: of a log, one that ships or follows and one that
  /// folds; and as many of all logs as are used at once on a busy server.
  private static let (keptOfLog, kept) = (2, 16)

  private init(limit: Int) {
    state = Locked(State(free: limit, freeTurns: limit / 2))
  }

  /// The pool of the logs that reach a server in the same way.
  static func shared(_ key: Key) -> PostgresPool {
    pools.withLock { pools in
      if let known = pools[key]?.pool { return known }
      pools = pools.filter { $0.value.pool != nil }
      let made = PostgresPool(limit: key.connections)
      pools[key] = Weak(pool: made)
      return made
    }
  }

  func join() { state.withLock { $0.logs += 1 } }

  /// The last log closes the connections.
  func leave() {
    let closed = state.withLock { state in
      state.logs -= 1
      let left = state.connections
      if state.logs == 0 { state.connections = [] }
      return state.logs == 0 ? left : []
    }
    _ = consume closed
  }

  /// A connection that nobody uses.
  func take() -> PostgresConnection? { state.withLock { $0.connections.popLast() } }

  func giveBack(_ connection: PostgresConnection) {
    state.withLock { state in
      guard state.connections.count < min(Self.keptOfLog * state.logs, Self.kept) else { return }
      state.connections.append(connection)
    }
  }

  /// One was found dead, and the others are as old.
  func forget() { state.withLock { $0.connections = [] } }

  /// Why a failover of the server may lose commits; nil if it may not, or if there was no connection yet.
  var failoverRisk: String? { state.withLock { $0.failoverRisk } }

  func note(failoverRisk risk: String?) { state.withLock { $0.failoverRisk = risk } }

  // MARK: How many are in use

  /// Calls while one connection more is in use; waits for that, in the order of the calls.
  func using<T>(_ wake: PostgresWake, patience: Double, _ body: () throws -> T) throws -> T {
    let turn = state.withLock { state -> DispatchSemaphore? in
      if state.free > 0 {
        state.free -= 1
        return nil
      }
      state.queue.append(DispatchSemaphore(value: 0))
      return state.queue.last
    }
    if let turn { try wait(turn, wake, until: wake.earlier(PostgresWake.now + patience)) }
    defer { free() }
    return try body()
  }

  private func wait(
    _ turn: DispatchSemaphore, _ wake: PostgresWake, until deadline: Double
  ) throws(PostgresFailure) {
    while turn.wait(timeout: .now() + 0.05) == .timedOut {
      let isOver = PostgresWake.now > deadline
      guard isOver || wake.hasEnded else { continue }
      let wasWaiting = state.withLock { state in
        let place = state.queue.firstIndex { $0 === turn }
        if let place { state.queue.remove(at: place) }
        return place != nil
      }
      // It has come at this moment, for the next one.
      if !wasWaiting { free() }
      throw isOver
        ? PostgresFailure(.connection, "all connections are in use") : PostgresFailure(.closed)
    }
  }

  private func free() {
    let next = state.withLock { state -> DispatchSemaphore? in
      guard state.queue.isEmpty else { return state.queue.removeFirst() }
      state.free += 1
      return nil
    }
    next?.signal()
  }

  /// Whether one more connection may hold a turn.
  func mayHoldTurn() -> Bool {
    state.withLock { state in
      guard state.freeTurns > 0 else { return false }
      state.freeTurns -= 1
      return true
    }
  }

  func freeTurn() { state.withLock { $0.freeTurns += 1 } }
}
