import LarchToolKit
import Testing

@Suite struct ToolTests {
  @Test func theHelpNamesEachCommand() throws {
    let output = TextOutput()
    let console = Console(
      output: output, errors: TextOutput(), width: 80, isTerminal: false, errorsAreTerminal: false,
      environment: [:])
    #expect(Tool.run(["--help"], on: console) == .well)
    for command in Tool.commands { #expect(output.text.contains("\n  \(command.name) ")) }
  }
}
