/// Times a region; when profiling, also sends it through one frame that a profiler can be told of.
struct Stopwatch {
  var isProfiling = false

  /// Nanoseconds that the body took.
  func time(_ body: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    if isProfiling { try profiledRegion(body) } else { try body() }
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return Double(seconds) * 1e9 + Double(attoseconds) / 1e9
  }
}

/// `valgrind --tool=callgrind --toggle-collect='*profiledRegion*'` sees the operation alone (an old
/// valgrind cannot read newer debug information: give it a copy of the program after `strip -g`).
@inline(never)
func profiledRegion(_ body: () throws -> Void) rethrows {
  try body()
}
