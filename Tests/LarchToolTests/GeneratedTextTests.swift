import Foundation
import LarchCrashSupport
import Testing

@testable import LarchToolKit

/// The manual page and the completion of shells, which are made from the declarations.
@Suite("Texts that the tool makes of its commands")
struct GeneratedTextTests {
  private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  @Test("docs/larch.1 is what `larch manual` prints")
  func manual() throws {
    let memory = MemoryConsole()
    #expect(memory.run("manual") == .well)
    let file = Self.root.appendingPathComponent("docs/larch.1")
    #expect(try String(contentsOf: file, encoding: .utf8) == memory.output.text)
    for command in Tool.commands { #expect(memory.output.text.contains(".SS \"\(command.name)")) }
    #expect(memory.output.text.utf8.allSatisfy { $0 < 0x80 }, "not every roff knows other signs")
  }

  /// What bash offers after these words.
  private func offered(_ words: [String]) throws -> Set<String> {
    let memory = MemoryConsole()
    #expect(memory.run("completion", "bash") == .well)
    let script = """
      \(memory.output.text)
      COMP_WORDS=(\(words.map { "'\($0)'" }.joined(separator: " "))); COMP_CWORD=\(words.count - 1)
      _larch
      printf '%s\\n' "${COMPREPLY[@]}"
      """
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/bin/bash")
    process.arguments = ["-c", script]
    let pipe = Pipe()
    process.standardOutput = pipe
    try process.run()
    let data = pipe.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
    return Set(String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init))
  }

  @Test("bash offers commands, their options, words and files")
  func bash() throws {
    #expect(try offered(["larch", "ver"]) == ["verify"])
    #expect(try offered(["larch", ""]).isSuperset(of: Tool.commands.map { $0.name }))
    #expect(try offered(["larch", "dump", "x", "--e"]) == ["--entries"])
    #expect(try offered(["larch", "completion", ""]) == ["bash", "zsh", "fish"])
    #expect(try offered(["larch", "help", "comp"]) == ["completion", "compact"])
    #expect(try offered(["larch", "watch", "x", "--count", ""]) == [])
    let directory = try CrashDirectory()
    _ = FileManager.default.createFile(atPath: directory.store, contents: nil)
    let spaced = directory.path + "/st ore"
    _ = FileManager.default.createFile(atPath: spaced, contents: nil)
    for words in [["info"], ["import", "x"], ["report", "x", "-o"]] {
      #expect(
        try offered(["larch"] + words + [directory.path + "/st"]) == [directory.store, spaced])
    }
  }

  @Test("The scripts of zsh and fish name every command and option", arguments: ["zsh", "fish"])
  func others(shell: String) {
    let memory = MemoryConsole()
    #expect(memory.run("completion", shell) == .well)
    for command in Tool.commands {
      #expect(memory.output.text.contains(command.name))
      for option in command.options {
        let name = shell == "zsh" ? option.name : "-l \(option.name.dropFirst(2))"
        #expect(memory.output.text.contains(name))
      }
    }
  }
}
