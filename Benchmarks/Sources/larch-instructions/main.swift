import BenchmarkFigures
import Foundation

do {
  let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
  switch arguments.task ?? .help {
  case .help: print(Arguments.usage)
  case .count: try CountedPath.runAll(in: arguments.directory)
  case .compare: try compare(arguments)
  }
} catch {
  FileHandle.standardError.write(Data("larch-instructions: \(error)\n".utf8))
  exit(2)
}

/// Puts names to callgrind's totals and holds them against the baseline.
func compare(_ arguments: Arguments) throws {
  let paths = CountedPath.all
  let totals = try CallgrindProfile.totals(of: arguments.profile, regions: paths.count)
  let counts = zip(paths, totals).map { path, total in
    (name: path.name, count: Double(total) / Double(path.operations))
  }
  let measured = InstructionBaseline(
    environment: arguments.environment,
    counts: Dictionary(uniqueKeysWithValues: counts.map { ($0.name, $0.count) }))
  if arguments.isRecording {
    try measured.write(to: arguments.baseline)
    for (name, count) in counts { print(name.padded(to: 20) + decimal(count, 0).aligned(to: 12)) }
    print("recorded in \(arguments.baseline)")
    return
  }
  let baseline = try InstructionBaseline(contentsOf: arguments.baseline)
  let differences = baseline.differences(from: measured)
  let comparison = InstructionComparison(counts, with: baseline)
  print("instructions an operation; the baseline is \(arguments.baseline)")
  print(comparison.table())
  guard differences.isEmpty else {
    print(
      "Not judged: the baseline was made with other tools (" + differences.joined(separator: "; ")
        + ").")
    return
  }
  if comparison.asksForNewBaseline {
    print("Some became better: record it with `make bench-instructions ARGS=--record`.")
  }
  guard comparison.passes else {
    print(
      "More than \(decimal(InstructionComparison.tolerance * 100, 0)) % worse, or another list of paths."
    )
    print(
      "Find the cause with callgrind_annotate, or record why in the commit that records the counts."
    )
    exit(1)
  }
  print("no path is more than \(decimal(InstructionComparison.tolerance * 100, 0)) % worse")
}
