package import Foundation

extension LogMessage {
  /// A sink for ``Store/Options/log``: a line on standard error for each message of `level` or
  /// above.
  ///
  /// ```swift
  /// options.log = LogMessage.standardError(.notice)
  /// ```
  ///
  /// - Complexity: one system call per message; none for messages below `level`.
  public static func standardError(_ level: Level = .notice) -> @Sendable (LogMessage) -> Void {
    lines(to: STDERR_FILENO, level)
  }

  /// A sink that writes lines to a descriptor.
  static func lines(
    to descriptor: Int32, _ level: Level
  ) -> @Sendable (LogMessage) -> Void {
    { message in
      if message.level >= level { message.write(to: descriptor) }
    }
  }

  /// The message as one line of a log, with the time, the level and all details.
  ///
  /// Control characters, such as a line break in the name of a file, are escaped, so that nobody
  /// can forge a line.
  package func line(at date: Date = Date()) -> String {
    let time = date.formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true))
    var line = "\(time)Z larch \(level) "
    for scalar in description.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator, .format:
        // The lines of a plan become parts of the one line.
        line += scalar == "\n" ? " | " : scalar.escaped(asASCII: true)
      default: line.unicodeScalars.append(scalar)
      }
    }
    return line
  }

  /// One call, so that lines of several threads and processes do not mix.
  private func write(to descriptor: Int32) {
    var bytes = Array(line().utf8)
    bytes.append(UInt8(ascii: "\n"))
    bytes.withUnsafeBytes { bytes in
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = Foundation.write(
          descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
        if count < 0, errno == EINTR { continue }
        // If nobody reads the log, the store continues without it.
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
      }
    }
  }
}
