import Testing

@testable import LarchToolKit

/// Arguments and help, which are made from what commands declare.
@Suite("Arguments and help of the tool")
struct ArgumentTests {
  /// Everything that a command can declare.
  struct Sample: Command {
    static let name = "sample"
    static let summary = "is a sample"
    static let flag = Flag("--flag", short: "-f", "a flag")
    static let number = Option<Int>("--number", short: "-n", "N", "a number") { $0 > 0 }
    static let text = Option<String>("--text", "TEXT", "a text")
    static let first = Operand("FIRST", "the first")
    static let others = Operand("OTHER", "others", isOptional: true, isRepeated: true)
    static let operands = [first, others]
    static let options: [any OptionDeclaration] = [flag, number, text]

    let arguments: Arguments
    init(_ arguments: Arguments) throws { self.arguments = arguments }
    func run(_ console: Console) throws -> ExitCode { .well }

    static func parse(_ arguments: String...) throws -> Arguments {
      try Arguments(arguments, of: Sample.self)
    }
  }

  @Test("Options may be anywhere, with their value after them or after =")
  func options() throws {
    let found = try Sample.parse("a", "-n", "5", "b", "--flag", "--text=x=y", "-5", "--", "--flag")
    #expect(found[Sample.first] == "a")
    #expect(found.all(Sample.others) == ["b", "-5", "--flag"])
    #expect(found[Sample.number] == 5)
    #expect(found[Sample.text] == "x=y")
    #expect(found[Sample.flag])
    let bare = try Sample.parse("-")
    #expect(bare[Sample.first] == "-")
    #expect(bare.all(Sample.others).isEmpty && !bare[Sample.flag] && bare[Sample.number] == nil)
  }

  @Test(
    "What does not fit is told",
    arguments: [
      (["a", "--flg"], "there is no option “--flg”; did you mean --flag?"),
      (
        ["a", "--unheard-of"],
        "there is no option “--unheard-of”; if it is not an option, put -- before it"
      ),
      (["a", "-n", "0"], "the value of --number must be a whole number, not “0”"),
      (["a", "-n", "five"], "the value of --number must be a whole number, not “five”"),
      (["a", "--number"], "--number needs a value"),
      (["a", "-n", "1", "-n", "2"], "--number is repeated"),
      (["a", "--flag=1"], "--flag takes no value"),
      ([], "FIRST is missing: the first"),
    ])
  func mistakes(arguments: [String], message: String) {
    let error = #expect(throws: UsageError.self) { try Arguments(arguments, of: Sample.self) }
    #expect(error?.description == message)
  }

  @Test("Commands with a fixed number of arguments report an extra one")
  func tooMany() {
    let memory = MemoryConsole()
    #expect(memory.run("info", "a", "b\n") == .failed)
    #expect(
      memory.errors.text == "larch: “b\\n” is one argument too many; see `larch help info`\n")
  }

  @Test(
    "A wrong call is told in one line, with what was meant",
    arguments: [
      (["dmup"], "larch: there is no command “dmup”; did you mean dump?; see `larch --help`"),
      (["--dump"], "larch: there is no option “--dump” before a command; see `larch --help`"),
      ([], "larch: a command is missing; `larch --help` lists them"),
      (
        ["completion", "tcsh"],
        "larch: SHELL must be bash, zsh or fish, not “tcsh”; see `larch help completion`"
      ),
      (
        ["help", "dmup"],
        "larch: there is no command “dmup”; did you mean dump?; see `larch --help`"
      ),
    ])
  func wrongCalls(arguments: [String], message: String) {
    let memory = MemoryConsole()
    #expect(Tool.run(arguments, on: memory.console) == .failed)
    #expect(memory.errors.text == message + "\n")
    #expect(memory.output.text.isEmpty)
  }

  @Test("The help names each command, and fits any width", arguments: [40, 80, 200])
  func helpOfTool(width: Int) {
    let memory = MemoryConsole(width: width)
    #expect(memory.run("--help") == .well)
    for command in Tool.commands { #expect(memory.output.text.contains("  \(command.name)")) }
    for line in memory.output.text.split(separator: "\n") { #expect(line.count <= width) }
    let other = MemoryConsole(width: width)
    #expect(other.run("help") == .well)
    #expect(other.output.text == memory.output.text)
  }

  @Test("Each command has help with examples that it understands")
  func helpOfCommands() throws {
    for command in Tool.commands {
      let memory = MemoryConsole(width: 80)
      #expect(memory.run(command.name, "--help") == .well)
      let text = memory.output.text
      #expect(text.contains("larch \(command.name)"))
      for option in command.options { #expect(text.contains(option.name)) }
      let other = MemoryConsole(width: 80)
      #expect(other.run("help", command.name) == .well)
      #expect(other.output.text == text)
      #expect(!command.examples.isEmpty, "\(command.name) has no example")
      for example in command.examples {
        #expect(text.contains("  \(example.line)\n"))
        for call in calls(in: example.line) where call.first == command.name {
          #expect(throws: Never.self, "\(example.line)") {
            _ = try command.init(Arguments(Array(call.dropFirst()), of: command))
          }
        }
      }
    }
  }

  /// The arguments of each `larch` in a line for a shell.
  private func calls(in line: String) -> [[String]] {
    var words: [String] = [""]
    var quote: Character?
    for character in line {
      switch character {
      case "'", "\"":
        if quote == nil {
          quote = character
        } else if quote == character {
          quote = nil
        } else {
          words[words.count - 1].append(character)
        }
      case " " where quote == nil: words.append("")
      case "|", ">", "<", ";", "&", "(",
        ")" where quote == nil:
        words += ["|", ""]
      default: words[words.count - 1].append(character)
      }
    }
    let commands = words.filter { !$0.isEmpty }.split(separator: "|")
    return commands.filter { $0.first == "larch" }.map { Array($0.dropFirst()) }
  }

  @Test("The version shows the library, the format and LMDB")
  func version() {
    let memory = MemoryConsole()
    #expect(memory.run("--version") == .well)
    #expect(
      memory.output.text.wholeMatch(of: /larch \d+\.\d+\.\d+, file format 1, LMDB 0\.9\.\d+\n/)
        != nil)
  }
}
