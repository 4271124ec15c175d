/// The least time between two reads of an observer, and so between two values.
struct ObservationPace: Sendable {
  /// Begins the time after a read. Returns what waits for its end, or for the cancellation of the
  /// task.
  let begin: @Sendable () -> Pause

  typealias Pause = @Sendable () async -> Void

  /// Nil for no time at all.
  init?(_ interval: Duration) { self.init(interval, ContinuousClock()) }

  /// Tests have a clock of their own.
  init?<C: Clock>(_ interval: Duration, _ clock: C) where C.Duration == Duration {
    guard interval > .zero else { return nil }
    // The clocks of the system trap on an end that they cannot count. This is 31 years.
    let interval = min(interval, .seconds(1_000_000_000))
    begin = {
      let end = clock.now.advanced(by: interval)
      return { try? await clock.sleep(until: end, tolerance: nil) }
    }
  }
}
