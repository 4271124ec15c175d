internal import Foundation

/// Where text goes.
package protocol Output: AnyObject {
  /// Takes a text; it may be kept until `flush()`.
  ///
  /// - Throws: `PipeClosed` when nobody reads it any more, `OutputFailed`.
  func write(_ text: String) throws
  /// Passes on what is kept.
  func flush() throws
}

/// Whoever read the output has enough of it: no failure.
package struct PipeClosed: Error {}

/// The output cannot be written.
package struct OutputFailed: Error, CustomStringConvertible {
  let reason: String

  package var description: String {
    "the output cannot be written: \(reason); free space, or write elsewhere, then run it again"
  }
}

/// A file or pipe of the process.
package final class DescriptorOutput: Output {
  private let descriptor: Int32
  private let room: Int
  private var bytes: [UInt8] = []

  /// - Parameter room: how much is kept before it is written; 0 writes each text at once.
  package init(_ descriptor: Int32, room: Int) {
    self.descriptor = descriptor
    self.room = room
  }

  package func write(_ text: String) throws {
    bytes.append(contentsOf: text.utf8)
    if bytes.count > room { try flush() }
  }

  package func flush() throws {
    var start = 0
    // What could not be written is not tried again: the error is told once.
    defer { bytes.removeAll(keepingCapacity: true) }
    while start < bytes.count {
      let count = bytes.withUnsafeBytes { bytes in
        let rest = UnsafeRawBufferPointer(rebasing: bytes[start...])
        return Foundation.write(descriptor, rest.baseAddress, rest.count)
      }
      if count > 0 {
        start += count
        continue
      }
      switch errno {
      case EINTR: continue
      case EPIPE: throw PipeClosed()
      case EAGAIN:
        // Somebody else made the pipe one that does not wait.
        var wanted = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        _ = poll(&wanted, 1, -1)
      default: throw OutputFailed(reason: String(cString: strerror(errno)))
      }
    }
  }
}

/// A text in memory, for tests.
package final class TextOutput: Output {
  package private(set) var text = ""

  package init() {}

  package func write(_ text: String) throws { self.text += text }
  package func flush() throws {}
}
