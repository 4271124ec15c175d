internal import Foundation

/// Where a command writes, and what is known of it.
package final class Console {
  private let output: any Output
  private let errors: any Output
  /// Columns for tables and help; nil where lines may have any length.
  package let width: Int?
  /// Whether a person looks at the output.
  package let isTerminal: Bool
  /// Whether a person looks at standard error, and so at progress.
  package let showsProgress: Bool
  private let isColoured: Bool
  private let areErrorsColoured: Bool

  /// - Parameters:
  ///   - width: nil lets lines have any length.
  ///   - environment: `NO_COLOR` and `TERM` are looked at.
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

  /// The one of this process.
  package static func standard() -> Console {
    // A closed pipe is an answer of `write` then, and does not end the process in mid-work.
    signal(SIGPIPE, SIG_IGN)
    let environment = ProcessInfo.processInfo.environment
    let isTerminal = isatty(STDOUT_FILENO) == 1
    return Console(
      output: DescriptorOutput(STDOUT_FILENO, room: isTerminal ? 0 : 1 << 16),
      errors: DescriptorOutput(STDERR_FILENO, room: 0),
      width: width(environment, isTerminal: isTerminal), isTerminal: isTerminal,
      errorsAreTerminal: isatty(STDERR_FILENO) == 1, environment: environment)
  }

  /// What the user set, else what the terminal says.
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

  /// Writes lines that are wrapped to the width, with spaces in front of each.
  package func print(_ line: Line, indent: Int) throws {
    let room = width.map { max($0 - indent, 10) } ?? .max
    let space = Line(String(repeating: " ", count: indent))
    for piece in line.wrapped(to: room) { try print(space + piece) }
  }

  /// Writes an empty line.
  package func printEmptyLine() throws { try output.write("\n") }

  /// Writes a table as wide as there is room for.
  package func print(_ table: Table, indent: Int = 0) throws {
    let space = Line(String(repeating: " ", count: indent))
    for line in table.lines(width: width.map { max($0 - indent, 10) }) {
      try print(line.pieces.isEmpty ? line : space + line)
    }
  }

  /// Writes a line of what is stored: for a person without what a terminal would obey, else as it is.
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

  /// Writes a text as it is, such as a script or a file that was asked for.
  package func print(verbatim text: String) throws { try output.write(text) }

  /// Shows what was written until now; for commands that go on for long.
  package func flush() throws { try output.flush() }

  // MARK: Standard error

  /// Writes a line to standard error.
  package func warn(_ line: Line) {
    // Where errors cannot be told, there is nobody to tell that.
    try? errors.write(line.rendered(isColoured: areErrorsColoured) + "\n")
  }

  /// Writes the line by which a command fails.
  func fail(_ message: String) {
    // An error shows what was going on; nothing of it may get lost.
    try? output.flush()
    warn(Line("larch:", .bad) + Line(" \(message)"))
  }

  /// Draws over the last line of standard error; only where somebody looks.
  func draw(progress text: String) {
    guard showsProgress else { return }
    try? errors.write("\r\u{1B}[K" + text)
  }
}

/// Tells how far a long command is, on a terminal, and nothing elsewhere.
package final class Progress {
  private let console: Console
  private let title: String
  private var last: ContinuousClock.Instant?
  private var isDrawn = false

  /// - Parameter title: what is done, such as `copying`.
  package init(_ title: String, on console: Console) {
    self.title = Printable.escaped(title)
    self.console = console
  }

  /// Shows a part of a whole, ten times a second at most.
  ///
  /// - Parameter detail: more to say behind the percentage.
  package func update(_ fraction: Double, _ detail: @autoclosure () -> String = "") {
    draw { "\(title): \(Int((min(max(fraction, 0), 1) * 100).rounded(.down))) %\(detail())" }
  }

  /// Shows a number of things that are done, where nobody knows how many there will be.
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

  /// Takes the line away.
  package func end() {
    if isDrawn { console.draw(progress: "") }
    isDrawn = false
  }

  deinit { end() }
}
