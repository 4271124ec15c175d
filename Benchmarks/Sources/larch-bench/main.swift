import BenchmarkFigures
import Foundation

do {
  let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
  #if DEBUG
    print("warning: this is a debug build, its figures mean nothing; build with -c release")
  #endif
  if arguments.help {
    print(Arguments.usage)
  } else if arguments.list {
    let benchmark = arguments.benchmark
    print("peers: " + benchmark.peers.joined(separator: " "))
    let width = 2 + (benchmark.operations.map { $0.name.count }.max() ?? 0)
    for operation in benchmark.operations {
      print(operation.name.padded(to: max(10, width)) + operation.what)
    }
  } else if !arguments.from.isEmpty {
    try Output.write(try ResultFile(contentsOf: arguments.from), arguments)
  } else if arguments.coding {
    try runCoding()
  } else if arguments.ambient {
    try AmbientBenchmark.run()
  } else if arguments.commits {
    try CommitBenchmark.run(arguments)
  } else if let count = arguments.killedAfter {
    try RecoveryBenchmark.commitAndDie(count, at: arguments.directory)
  } else if arguments.recovery {
    try RecoveryBenchmark.run(arguments)
  } else if arguments.live {
    try LiveBenchmark.run(arguments.only)
  } else if arguments.text {
    try TextBenchmark.run(arguments)
  } else if let operation = arguments.profile {
    try runProfile(operation, arguments)
  } else {
    try runWorkload(arguments)
  }
} catch {
  FileHandle.standardError.write(Data("larch-bench: \(error)\n".utf8))
  exit(1)
}

func runWorkload(_ arguments: Arguments) throws {
  try Output.check(arguments)
  let file = try Report.createFile(arguments)
  let benchmark = arguments.benchmark
  let differences: [String]
  var results = ResultFile()
  if arguments.growth {
    let growth = try GrowthReport(arguments, file: file)
    let summary = growth.summary()
    results = ResultFile(growth: summary, isOfShapes: arguments.shapes)
    print("median of \(arguments.rounds) rounds, \(benchmark.growthTitle)")
    print(summary.text())
    differences = growth.differences
  } else {
    var harness = Harness(arguments: arguments, file: file)
    try harness.run()
    let summary = harness.report.summary()
    results = ResultFile(run: summary, isOfShapes: arguments.shapes)
    print(
      "\(arguments.size) records, median of \(arguments.rounds) rounds, \(benchmark.ratioTitle)")
    print(ResultTable(summary).text())
    differences = harness.report.differences
  }
  guard differences.isEmpty else {
    for difference in differences { print("DIFFERENT: \(difference)") }
    exit(1)
  }
  print("checksums of all peers are equal")
  for note in benchmark.notes { print(note) }
  // Only now: figures of peers that do not agree are none.
  try file?.write(contentsOf: results.line())
  try Output.write(results, arguments)
}
