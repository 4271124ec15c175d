/// `larch manual`: the page for `man`.
struct ManualCommand: Command {
  static let name = "manual"
  static let summary = "prints the manual page, for man to show"
  static let operands: [Operand] = []
  static let examples = [
    Example("larch manual | man -l -", "Read it"),
    Example("larch manual > /usr/local/share/man/man1/larch.1", "Install it"),
  ]

  init(_ arguments: Arguments) throws {}

  func run(_ console: Console) throws -> ExitCode {
    try console.print(verbatim: Manual.page)
    return .well
  }
}
