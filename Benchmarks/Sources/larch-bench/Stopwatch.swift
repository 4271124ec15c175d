import Foundation

/// Times a region; when profiling, also sends it through one frame that a profiler can be told of.
struct Stopwatch {
  var isProfiling = false
  /// Only the time that the thread was running, which other programs on the machine change less.
  var countsProcessorTime = false

  /// Nanoseconds that the body took.
  func time(_ body: () throws -> Void) rethrows -> Double {
    if countsProcessorTime {
      let start = Stopwatch.processorTime()
      try run(body)
      return Stopwatch.processorTime() - start
    }
    let start = ContinuousClock.now
    try run(body)
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
  }

  private func run(_ body: () throws -> Void) rethrows {
    if isProfiling { try profiledRegion(body) } else { try body() }
  }

  private static func processorTime() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
  }
}

/// `valgrind --tool=callgrind --toggle-collect='*profiledRegion*'` sees the operation alone (an old
/// valgrind cannot read newer debug information: give it a copy of the program after `strip -g`).
@inline(never)
func profiledRegion(_ body: () throws -> Void) rethrows {
  try body()
}
