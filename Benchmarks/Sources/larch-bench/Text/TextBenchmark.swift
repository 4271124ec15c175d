import BenchmarkFigures
import Foundation
import Workload

/// Larch's index of words beside FTS5 of SQLite, on the same texts, in one process.
///
/// Rounds on fresh stores, in which the peers take turns. What they find is compared, and at the end of
/// each round all texts, and each index with its texts.
enum TextBenchmark {
  /// The rows, by name.
  static let names = ["F1", "F2", "F2b", "F3", "F4", "F5", "F6", "F7"]

  /// How many records a transaction of the bulk build has.
  static let saveLimit = 100_000

  static var peers: [any TextPeer.Type] { [LarchTexts.self, SQLiteTexts.self] }

  static func run(_ arguments: Arguments) throws {
    var shuffle = RandomStream(state: arguments.seed)
    let longCount = max(1, min(arguments.size / 10, 10_000))
    let sets = [
      ("short texts, 32 words", TextWorkload(count: arguments.size, lengths: .short)),
      ("long texts, 2,000 words", TextWorkload(count: longCount, lengths: .long)),
    ]
    for (name, workload) in sets {
      var table = TextTable()
      let texts = (1...workload.count).map { workload.text($0) }
      for round in 1...arguments.rounds {
        note("\(name), round \(round) of \(arguments.rounds)")
        let run = TextRound(workload, texts, arguments, shuffle)
        try run.run(&table)
        shuffle = run.shuffle
      }
      let bytes = texts.reduce(0) { $0 + $1.title.utf8.count + $1.body.utf8.count }
      print(
        "\n\(workload.count) \(name), \(bytes / 1_000_000) MB, "
          + "median of \(arguments.rounds) rounds, ratios to \(SQLiteTexts.name)\n")
      print(table.text())
    }
    print("\nthe counts, first ids, texts and indexes of both peers agree")
    let origin = Machine.origin(rounds: arguments.rounds)
    print("\(origin.date), \(origin.machine)")
  }

  /// For whoever waits, beside the table.
  static func note(_ text: String) {
    FileHandle.standardError.write(Data("\(text)\n".utf8))
  }

  static func fileSize(_ path: String) throws -> Int {
    let values = try URL(filePath: path).resourceValues(forKeys: [.fileSizeKey])
    guard let size = values.fileSize else { throw BenchmarkError("no size of \(path)") }
    return size
  }
}
