internal import Foundation

/// A destination of text.
package protocol Output: AnyObject {
  /// Writes a text, which may be buffered until `flush()`.
  ///
  /// - Throws: `PipeClosed` if nobody reads it any more, `OutputFailed`.
  func write(_ text: String) throws
  /// Writes the buffered text.
  func flush() throws
}

/// The reader has closed the pipe: this is not a failure.
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

  /// - Parameter room: the size of the buffer; 0 writes each text at once.
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
    // Text that could not be written is not tried again: the error is reported once.
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
        // Another process has made the pipe non-blocking.
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
