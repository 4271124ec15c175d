import Foundation

do {
  let arguments = try Arguments(Array(CommandLine.arguments.dropFirst()))
  #if DEBUG
    print("warning: this is a debug build, its figures mean nothing; build with -c release")
  #endif
  if arguments.help {
    print(Arguments.usage)
  } else if arguments.list {
    print("peers: " + Arguments.allPeers.map { $0.peer }.joined(separator: " "))
    print("operations: " + Operation.all.map(\.name).joined(separator: " "))
  } else if arguments.coding {
    try runCoding()
  } else if arguments.ambient {
    try AmbientBenchmark.run()
  } else if let operation = arguments.profile {
    try runProfile(operation, arguments)
  } else {
    let file = try Report.createFile(arguments)
    let differences: [String]
    if arguments.growth {
      let growth = try GrowthReport(arguments, file: file)
      print("median of \(arguments.rounds) rounds, growth beside that of raw LMDB")
      print(growth.table())
      differences = growth.differences
    } else {
      var harness = Harness(arguments: arguments, file: file)
      try harness.run()
      print("\(arguments.size) records, median of \(arguments.rounds) rounds, ratios to raw LMDB")
      print(harness.report.table())
      differences = harness.report.differences
    }
    guard differences.isEmpty else {
      for difference in differences { print("DIFFERENT: \(difference)") }
      exit(1)
    }
    print("checksums of all peers are equal")
  }
} catch {
  FileHandle.standardError.write(Data("larch-bench: \(error)\n".utf8))
  exit(1)
}
