import Foundation
import Larch

/// Counts the answers that were checked, and ends the program at a wrong one.
enum Check {
  nonisolated(unsafe) private(set) static var count = 0

  static func that(_ isRight: Bool, _ what: String) {
    guard isRight else { stop(what) }
    count += 1
  }

  static func equal<T: Equatable>(_ value: T, _ expected: T, _ what: String) {
    guard value == expected else { stop("\(what): \(value) instead of \(expected)") }
    count += 1
  }

  /// Checks that the closure throws an error with the code.
  static func refuses(
    _ code: LarchError.Code, _ what: String, _ body: () throws -> Void
  ) throws {
    do {
      try body()
    } catch let error as LarchError where error.code == code {
      count += 1
      return
    }
    stop("\(what): not refused")
  }

  static func stop(_ what: String) -> Never {
    print("wrong: \(what)")
    exit(1)
  }
}
