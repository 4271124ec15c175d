import BenchmarkFigures
import Foundation

/// The command line.
struct Arguments {
  static let usage = """
    larch-instructions --count                        run the main paths, under callgrind
    larch-instructions --compare PROFILE [options]    put names to the counts, and judge them
      --baseline FILE      what to compare with (Benchmarks/instructions.json)
      --environment K=V    something that counts depend on; may be given several times
      --record             write the baseline instead
      --dir DIR            where the store is made (temporary directory)
    Scripts/bench-instructions.sh does both.
    """

  enum Task {
    case help, count, compare
  }

  var task: Task?
  var profile = ""
  var baseline = "Benchmarks/instructions.json"
  var environment: [String: String] = [:]
  var isRecording = false
  var directory = FileManager.default.temporaryDirectory.path

  init(_ words: [String]) throws {
    var words = words[...]
    while let word = words.popFirst() {
      switch word {
      case "--help", "-h": task = .help
      case "--count": task = .count
      case "--record": isRecording = true
      case "--compare", "--baseline", "--environment", "--dir":
        guard let value = words.popFirst() else { throw FigureError("\(word) needs a value") }
        try take(word, value)
      default: throw FigureError("\(word) is not understood\n\(Arguments.usage)")
      }
    }
    guard task != nil else { throw FigureError("nothing to do\n\(Arguments.usage)") }
  }

  private mutating func take(_ option: String, _ value: String) throws {
    switch option {
    case "--compare": (task, profile) = (.compare, value)
    case "--baseline": baseline = value
    case "--dir": directory = value
    default:
      let parts = value.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2 else { throw FigureError("--environment needs NAME=VALUE") }
      environment[parts[0]] = parts[1]
    }
  }
}
