import Foundation
import LarchSourceScan

// Started by the build plugin LarchMemberwise: larch-memberwise <module> <list of the target's files>
// <list of other files> <output>. A list has a path in each line.
guard CommandLine.arguments.count == 5 else {
  FileHandle.standardError.write(Data("LarchMemberwiseTool is started by its build plugin.\n".utf8))
  exit(2)
}
let arguments = CommandLine.arguments

func files(of list: String) throws -> [SourceFile] {
  try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n").map { path in
    let url = URL(fileURLWithPath: String(path))
    return SourceFile(name: url.lastPathComponent, source: [UInt8](try Data(contentsOf: url)))
  }
}

do {
  let scan = CodingScan(
    module: arguments[1], files: try files(of: arguments[2]), others: try files(of: arguments[3]))
  let made = Data(scan.generatedSource.utf8)
  let output = URL(fileURLWithPath: arguments[4])
  // An unchanged file is left alone, so that nothing is compiled because of it.
  if (try? Data(contentsOf: output)) != made {
    try made.write(to: output, options: .atomic)
    if let summary = scan.summary { print("\(summary) \(arguments[4])") }
  }
} catch {
  FileHandle.standardError.write(Data("LarchMemberwise: \(error)\n".utf8))
  exit(1)
}
