/// `larch completion`: completion scripts for shells.
struct CompletionCommand: Command {
  static let name = "completion"
  static let summary = "prints a script for the completion of commands and options in a shell"
  private static let shell = Operand(
    "SHELL", "bash, zsh or fish", completion: .oneOf(CompletionScript.shells))
  static let operands = [shell]
  static let examples = [
    Example("source <(larch completion bash)", "Complete in this shell"),
    Example(
      "larch completion fish > ~/.config/fish/completions/larch.fish", "Complete in each fish"),
  ]

  private let script: String

  init(_ arguments: Arguments) throws {
    let shell = arguments[Self.shell]
    guard let script = CompletionScript.text(for: shell) else {
      throw UsageError("SHELL must be bash, zsh or fish, not \(Quoted(shell))")
    }
    self.script = script
  }

  func run(_ console: Console) throws -> ExitCode {
    try console.print(verbatim: script)
    return .well
  }
}
