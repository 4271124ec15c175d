internal import Foundation

/// Numbers in a file that outlive whoever wrote them: what a child has done when it is killed.
///
/// A number of 8 bytes is written in one call, which a signal does not cut in two.
package final class Beacon: @unchecked Sendable {
  private let descriptor: Int32

  package init(path: String) throws {
    descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Mismatch("cannot open \(path): \(errno)") }
  }

  deinit { close(descriptor) }

  private subscript(slot: Int) -> Int {
    get {
      var value: Int64 = 0
      guard pread(descriptor, &value, 8, off_t(slot * 8)) == 8 else { return 0 }
      return Int(value)
    }
    set {
      var value = Int64(newValue)
      _ = pwrite(descriptor, &value, 8, off_t(slot * 8))
    }
  }
}

extension Beacon {
  /// What a number of the beacon is about.
  package enum Slot {
    /// The id of the process that has begun its work under this number.
    case started(Int)
    /// How much of its work is done for sure.
    case acknowledged(Int)
    /// How much of it will be done when what it is doing now is done.
    case attempted(Int)

    var number: Int {
      switch self {
      case .started(let child): child * 3
      case .acknowledged(let child): child * 3 + 1
      case .attempted(let child): child * 3 + 2
      }
    }
  }

  package subscript(slot: Slot) -> Int {
    get { self[slot.number] }
    set { self[slot.number] = newValue }
  }
}
