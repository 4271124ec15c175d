internal import Foundation

/// The output of a command, and its properties.
package final class Console {
  private let output: any Output
  private let errors: any Output
  /// The number of columns for tables and help; nil for no limit.
  package let width: Int?
  /// Whether the output is a terminal.
  package let isTerminal: Bool
  /// Whether standard error, and so progress, is on a terminal.
  package let showsProgress: Bool
  private let isColoured: Bool
  private let areErrorsColoured: Bool

  /// - Parameters:
  ///   - width: nil lets lines have any length.
  ///   - environment: the variables, of which `NO_COLOR` and `TERM` are used.
  package init(
    output: any Output, errors: any Output, width: Int?, isTerminal: Bool,
    errorsAreTerminal: Bool, environment: [String: String]
  ) {
    self.output = output
    self.errors = errors
    self.width = width
    self.isTerminal = isTerminal
    showsProgress = errorsAreTerminal
    let allowsColour =
      (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    isColoured = isTerminal && allowsColour
    areErrorsColoured = errorsAreTerminal && allowsColour
  }

  /// The console of this process.
  package static func standard() -> Console {
    // `write` then reports a closed pipe, and the process does not end in the middle of its work.
    signal(SIGPIPE, SIG_IGN)
    let environment = ProcessInfo.processInfo.environment
    let isTerminal = isatty(STDOUT_FILENO) == 1
    return Console(
      output: DescriptorOutput(STDOUT_FILENO, room: isTerminal ? 0 : 1 << 16),
      errors: DescriptorOutput(STDERR_FILENO, room: 0),
      width: width(environment, isTerminal: isTerminal), isTerminal: isTerminal,
      errorsAreTerminal: isatty(STDERR_FILENO) == 1, environment: environment)
  }

  /// The width that the user set, or that of the terminal.
  private static func width(_ environment: [String: String], isTerminal: Bool) -> Int? {
    if let set = environment["COLUMNS"].flatMap(Int.init), set > 0 { return max(set, 20) }
    guard isTerminal else { return nil }
    var size = winsize()
    guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
    return max(Int(size.ws_col), 20)
  }

  // MARK: Output

  /// Writes a line, of any length.
  package func print(_ line: Line) throws {
    try output.write(line.rendered(isColoured: isColoured) + "\n")
  }

  /// Writes lines wrapped to the width and indented.
  package func print(_ line: Line, indent: Int) throws {
    let room = width.map { max($0 - indent, 10) } ?? .max
    let space = Line(String(repeating: " ", count: indent))
    for piece in line.wrapped(to: room) { try print(space + piece) }
  }

  /// Writes an empty line.
  package func printEmptyLine() throws { try output.write("\n") }

  /// Writes a table in the available width.
  package func print(_ table: Table, indent: Int = 0) throws {
    let space = Line(String(repeating: " ", count: indent))
    for line in table.lines(width: width.map { max($0 - indent, 10) }) {
      try print(line.pieces.isEmpty ? line : space + line)
    }
  }

  /// Writes a line of stored data: escaped on a terminal, unchanged elsewhere.
  package func print(data line: String) throws {
    let text = isTerminal ? Printable.escaped(line) : Printable.escapedControls(line)
    try output.write(text + "\n")
  }

  /// Writes JSON over several lines, keys sorted.
  package func print(json: JSON) throws { try write(json, isIndented: true) }

  /// Writes JSON on one line, as one of many.
  package func print(jsonLine json: JSON) throws { try write(json, isIndented: false) }

  private func write(_ json: JSON, isIndented: Bool) throws {
    let text = json.text(isIndented: isIndented)
    try output.write((isTerminal ? Printable.escapedJSON(text) : text) + "\n")
  }

  /// Writes a text unchanged, such as a script or a file.
  package func print(verbatim text: String) throws { try output.write(text) }

  /// Shows the output so far; for commands that run for a long time.
  package func flush() throws { try output.flush() }

  // MARK: Standard error

  /// Writes a line to standard error.
  package func warn(_ line: Line) {
    // If errors cannot be written, that cannot be reported either.
    try? errors.write(line.rendered(isColoured: areErrorsColoured) + "\n")
  }

  /// Writes the error line of a command.
  func fail(_ message: String) {
    // The output so far must not get lost, since it may explain the error.
    try? output.flush()
    warn(Line("larch:", .bad) + Line(" \(message)"))
  }

  /// Replaces the last line of standard error; only on a terminal.
  func draw(progress text: String) {
    guard showsProgress else { return }
    try? errors.write("\r\u{1B}[K" + text)
  }
}

/// Shows the progress of a long command, only on a terminal.
package final class Progress {
  private let console: Console
  private let title: String
  private var last: ContinuousClock.Instant?
  private var isDrawn = false

  /// - Parameter title: the activity, such as `copying`.
  package init(_ title: String, on console: Console) {
    self.title = Printable.escaped(title)
    self.console = console
  }

  /// Shows a fraction, at most ten times a second.
  ///
  /// - Parameter detail: the text after the percentage.
  package func update(_ fraction: Double, _ detail: @autoclosure () -> String = "") {
    draw { "\(title): \(Int((min(max(fraction, 0), 1) * 100).rounded(.down))) %\(detail())" }
  }

  /// Shows a count, if the total is unknown.
  package func update(count: Int, _ what: String) {
    draw { "\(title): \(Amount.count(count)) \(what)" }
  }

  private func draw(_ text: () -> String) {
    guard console.showsProgress else { return }
    let now = ContinuousClock.now
    if let last, now - last < .milliseconds(100) { return }
    last = now
    isDrawn = true
    console.draw(progress: text())
  }

  /// Removes the line.
  package func end() {
    if isDrawn { console.draw(progress: "") }
    isDrawn = false
  }

  deinit { end() }
}
