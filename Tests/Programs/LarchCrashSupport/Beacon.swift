internal import Foundation

/// Numbers in a file that outlive the process that wrote them: the progress of a child when it is
/// killed.
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
  /// The meaning of a number in the beacon.
  package enum Slot {
    /// The id of the process that has begun its work under this number.
    case started(Int)
    /// The amount of work that is certainly done.
    case acknowledged(Int)
    /// The amount of work after the current step.
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
