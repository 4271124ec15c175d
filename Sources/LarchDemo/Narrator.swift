import Foundation

/// Prints what the demo does, and how long each step took.
struct Narrator {
  private let clock = ContinuousClock()

  func title(_ text: String) { print("\n\(text)\n\(String(repeating: "─", count: text.count))") }

  func say(_ text: String) { print("  " + text) }

  /// Prints a text of several lines, indented.
  func show(_ text: String) {
    for line in text.split(separator: "\n") { print("    \(line)") }
  }

  /// Runs a step and prints how long it took; `per` divides the time, for many operations in one.
  func step<T>(
    _ what: String, per count: Int = 1, _ work: () throws -> T
  ) rethrows -> T {
    let start = clock.now
    let result = try work()
    let whole = clock.now - start
    let time =
      count == 1 ? text(whole) : "\(text(whole)), \(text(whole / count)) each"
    print("  " + what + String(repeating: " ", count: max(1, 48 - what.count)) + time)
    return result
  }

  private func text(_ time: Duration) -> String {
    let parts = time.components
    let nanoseconds = Double(parts.seconds) * 1e9 + Double(parts.attoseconds) / 1e9
    return switch nanoseconds {
    case ..<1e3: String(format: "%.0f ns", nanoseconds)
    case ..<1e6: String(format: "%.1f µs", nanoseconds / 1e3)
    case ..<1e9: String(format: "%.1f ms", nanoseconds / 1e6)
    default: String(format: "%.2f s", nanoseconds / 1e9)
    }
  }
}
