internal import Foundation

/// Those who wait until a copy has a place of its log.
///
/// It also knows the newest places that the copy has reached, so that a version of a commit that was
/// lost with its server is not taken for one that the copy has.
final class Arrivals: Sendable {
  enum Outcome: Sendable {
    case arrived
    /// The copy has another entry at the position.
    case lost
    case timedOut
    case cancelled
    case closed
  }

  private struct Waiter {
    let place: LogPlace
    let resume: @Sendable (Outcome) -> Void
  }

  private struct State {
    var position: UInt64 = 0
    var tokens = RecentTokens()
    var waiters: [Int: Waiter] = [:]
    var next = 0
    var isClosed = false
    /// The waits that have not ended, with how those ended that had not begun yet.
    var begun: [Int: Outcome?] = [:]

    /// Nil while the copy does not have the place.
    func outcome(of place: LogPlace) -> Outcome? {
      if isClosed { return .closed }
      guard place.position <= position else { return nil }
      return tokens.contradict(place) ? .lost : .arrived
    }
  }

  private let state = Locked(State())

  /// The copy has these entries now, of which the last one is the newest.
  ///
  /// - Parameters:
  ///   - isAnew: whether it may have another past than before.
  ///   - isRising: whether several threads tell of places, and a lower one only comes late.
  func note(_ places: [LogPlace], isAnew: Bool = false, isRising: Bool = false) {
    guard let newest = places.last else { return }
    let ready = state.withLock { state -> [(Waiter, Outcome)] in
      if isRising, newest.position <= state.position { return [] }
      if isAnew || newest.position < state.position { state.tokens = RecentTokens() }
      state.position = newest.position
      for place in places { state.tokens.add(place) }
      return Self.takeReady(&state)
    }
    for (waiter, outcome) in ready { waiter.resume(outcome) }
  }

  private static func takeReady(_ state: inout State) -> [(Waiter, Outcome)] {
    if state.waiters.isEmpty { return [] }
    var ready: [(Waiter, Outcome)] = []
    for (number, waiter) in state.waiters {
      guard let outcome = state.outcome(of: waiter.place) else { continue }
      ready.append((waiter, outcome))
      state.waiters[number] = nil
    }
    return ready
  }

  /// Ends all who wait, now and later.
  func close() {
    let ready = state.withLock { state in
      state.isClosed = true
      return Self.takeReady(&state)
        + state.waiters.values.map { ($0, Outcome.closed) }
    }
    for (waiter, outcome) in ready { waiter.resume(outcome) }
  }

  /// Nil while the copy does not have the place.
  func outcome(of place: LogPlace) -> Outcome? { state.withLock { $0.outcome(of: place) } }

  /// Waits on this thread.
  func wait(for place: LogPlace, seconds: Double) -> Outcome {
    let arrived = DispatchSemaphore(value: 0)
    let outcome = Locked<Outcome>(.timedOut)
    let number = newNumber()
    add(number, place) { found in
      outcome.withLock { $0 = found }
      arrived.signal()
    }
    if arrived.wait(timeout: .now() + seconds) == .timedOut {
      end(number, .timedOut)
      // If another thread has just taken the waiter, its outcome counts.
      arrived.wait()
    }
    forget(number)
    return outcome.withLock { $0 }
  }

  /// Waits without a thread.
  func wait(for place: LogPlace, seconds: Double) async -> Outcome {
    let number = newNumber()
    let timer = Task {
      do { try await Task.sleep(for: .seconds(seconds)) } catch { return }
      end(number, .timedOut)
    }
    defer {
      timer.cancel()
      forget(number)
    }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        add(number, place) { continuation.resume(returning: $0) }
      }
    } onCancel: {
      end(number, .cancelled)
    }
  }

  private func newNumber() -> Int {
    state.withLock { state in
      state.next += 1
      state.begun.updateValue(nil, forKey: state.next)
      return state.next
    }
  }

  private func add(
    _ number: Int, _ place: LogPlace, _ resume: @escaping @Sendable (Outcome) -> Void
  ) {
    let outcome: Outcome? = state.withLock { state in
      if let known = state.outcome(of: place) { return known }
      if let ended = state.begun[number] ?? nil { return ended }
      state.waiters[number] = Waiter(place: place, resume: resume)
      return nil
    }
    if let outcome { resume(outcome) }
  }

  /// Ends one who waits. That may come before the wait has begun, and is kept for it.
  private func end(_ number: Int, _ outcome: Outcome) {
    let waiter = state.withLock { state in
      let waiter = state.waiters.removeValue(forKey: number)
      if waiter == nil, state.begun.keys.contains(number) { state.begun[number] = outcome }
      return waiter
    }
    waiter?.resume(outcome)
  }

  private func forget(_ number: Int) { _ = state.withLock { $0.begun.removeValue(forKey: number) } }
}

/// The tokens of the newest entries that a copy has.
struct RecentTokens {
  static let limit = 4096

  private var first: UInt64 = 0
  private var tokens: [LogToken] = []

  mutating func add(_ place: LogPlace) {
    let next = first &+ UInt64(tokens.count)
    if tokens.isEmpty || place.position != next {
      if next > 0, place.position == next &- 1, tokens.last == place.token { return }
      (first, tokens) = (place.position, [place.token])
      return
    }
    tokens.append(place.token)
    if tokens.count >= 2 * Self.limit {
      tokens.removeFirst(Self.limit)
      first += UInt64(Self.limit)
    }
  }

  /// Whether another entry is known to be at the position.
  func contradict(_ place: LogPlace) -> Bool {
    guard place.position >= first, place.position - first < UInt64(tokens.count) else {
      return false
    }
    return tokens[Int(place.position - first)] != place.token
  }
}
