import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Damaged files in a child process, which plain LMDB does not always survive.
@Suite(.serialized)
struct DamagedFileTests {
  struct Outcome {
    var files = 0
    var refused = 0
    var opened = 0
    var failed: [String] = []
    var signals: [String] = []
    var hangs: [String] = []
  }

  /// Opens `count` damaged copies; a child that dies is followed by one for the next number.
  static func open(
    _ mode: String, command: String = "open-damaged", template: String, seed: UInt64, count: Int,
    in directory: String
  ) throws -> [String: Outcome] {
    var outcomes: [String: Outcome] = [:]
    var next = 0
    while next < count {
      var current = next - 1
      var kind = ""
      let ending = try ChildProgram.run(
        [command, mode, template, "\(seed)", "\(next)", "\(count - next)", directory],
        // Plain LMDB does hang on some files; with the walk only a starved machine is that slow.
        patience: mode == "verified" ? ChildProgram.patience : 10_000
      ) { line in
        let words = line.split(separator: " ", maxSplits: 2).map(String.init)
        guard words.count >= 2, let number = Int(words[0]) else { return }
        switch words[1] {
        case "start":
          current = number
          kind = words.last ?? ""
          outcomes[kind, default: Outcome()].files += 1
        case "refused": outcomes[kind, default: Outcome()].refused += 1
        case "opened": outcomes[kind, default: Outcome()].opened += 1
        default: outcomes[kind, default: Outcome()].failed.append(String(line))
        }
      }
      switch ending {
      case .exit(0): return outcomes
      case .exit(let code):
        // LMDB's own assertions abort; any other exit of the child is a fault of the harness.
        Issue.record("the child ended with \(code) at number \(current), seed \(seed)")
        return outcomes
      case .signal(let signal):
        outcomes[kind, default: Outcome()].signals.append("\(current): signal \(signal)")
      case .hang: outcomes[kind, default: Outcome()].hangs.append("\(current)")
      }
      next = max(next, current) + 1
    }
    return outcomes
  }

  @Test func everyFileThatPassesTheWalkIsSafeForPlainLMDB() throws {
    let count = ChildProgram.count("LARCH_DAMAGED_FILES", default: 2_000)
    try ChildProgram.withDirectory { directory in
      let templates = 4
      for seed in 1...UInt64(templates) {
        let template = directory + "/template-\(seed)"
        #expect(try ChildProgram.run(["make-template", template, "\(seed)"]) { _ in } == .exit(0))
        let outcomes = try Self.open(
          "verified", template: template, seed: seed, count: count / templates, in: directory)
        #expect(outcomes.values.map(\.files).reduce(0, +) == count / templates)
        for (kind, outcome) in outcomes.sorted(by: { $0.key < $1.key }) {
          print(
            "seed \(seed) \(kind): \(outcome.files) files, \(outcome.refused) refused,",
            "\(outcome.opened) used in full, \(outcome.failed.count) failed,",
            "\(outcome.signals.count) signals, \(outcome.hangs.count) hangs")
          #expect(outcome.signals.isEmpty, "\(kind), seed \(seed)")
          #expect(outcome.hangs.isEmpty, "\(kind), seed \(seed)")
          #expect(outcome.failed.isEmpty, "\(kind), seed \(seed)")
        }
      }
    }
  }

  @Test func withoutTheWalkPlainLMDBDies() throws {
    try ChildProgram.withDirectory { directory in
      let template = directory + "/template"
      #expect(try ChildProgram.run(["make-template", template, "1"]) { _ in } == .exit(0))
      let outcomes = try Self.open(
        "raw", template: template, seed: 1, count: 120, in: directory)
      let dead = outcomes.values.map { $0.signals.count + $0.hangs.count }.reduce(0, +)
      print("raw:", outcomes.mapValues { "\($0.signals.count) of \($0.files)" })
      #expect(dead >= 20)
    }
  }

  @Test func noFileThatLMDBWroteIsRefused() throws {
    let count = ChildProgram.count("LARCH_VALID_FILES", default: 300)
    try ChildProgram.withDirectory { directory in
      var lines: [String] = []
      // Making a file of many transactions may take a while under a sanitizer.
      let ending = try ChildProgram.run(
        ["check-valid", directory, "11", "0", "\(count)"]
      ) { lines.append(String($0)) }
      #expect(ending == .exit(0))
      #expect(lines.filter { $0.hasPrefix("refused") } == [])
      #expect(lines.last?.hasPrefix("done \(count) files") == true)
    }
  }

  @Test func aFileIsNotRefusedWhileAnotherThreadCommitsToIt() throws {
    try ChildProgram.withDirectory { directory in
      var lines: [String] = []
      let ending = try ChildProgram.run(["verify-live", directory, "3"]) {
        lines.append(String($0))
      }
      #expect(ending == .exit(0))
      #expect(lines.filter { $0.hasPrefix("refused") } == [])
      #expect(lines.last?.hasPrefix("done") == true)
    }
  }
}
