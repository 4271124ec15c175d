internal import Foundation
internal import Larch

/// `larch report`: a store as a page.
struct ReportCommand: Command {
  static let name = "report"
  static let summary = "writes a page that shows collections, associations, space and records"
  static let discussion = """
    The page is one file that any browser shows without a network: a diagram of the collections, \
    the use of space, the indexes, and the first records of each collection with a search. It \
    contains these records: show it only to people who may see them, or use --sample 0.
    """
  private static let output = Option<String>(
    "--output", short: "-o", "FILE",
    "write the page to this file",
    completion: .file)
  private static let replace = Flag("--replace", "replace a file that exists")
  private static let sample = Option<Int>(
    "--sample", "N", "show N records of each collection; 100 by default",
    allowed: "a number from 0 to 10000"
  ) { (0...10_000).contains($0) }
  static let operands = [Operand.store]
  static let options: [any OptionDeclaration] = [output, replace, sample]
  static let examples = [
    Example("larch report people.larch -o people.html", "Write a page"),
    Example("larch report people.larch -o people.html --replace", "Write it again"),
    Example("larch report people.larch --sample 0 > people.html", "Without any records"),
  ]

  private let path: String
  private let output: String?
  private let isReplacing: Bool
  private let sampleSize: Int

  init(_ arguments: Arguments) throws {
    path = arguments[.store]
    output = arguments[Self.output]
    isReplacing = arguments[Self.replace]
    if isReplacing, output == nil {
      throw UsageError("--replace is for a file, so it needs --output")
    }
    sampleSize = arguments[Self.sample] ?? 100
  }

  func run(_ console: Console) throws -> ExitCode {
    let store = try StoreFile.open(path)
    defer { store.close() }
    let content = try ReportContent(
      store, title: (path as NSString).lastPathComponent, date: Amount.time(Date()) + " UTC",
      sampleSize: sampleSize)
    let page = ReportPage(content).text()
    guard let output else {
      try console.print(verbatim: page)
      return .well
    }
    try TargetFile.explaining(output, isReplacing) {
      let file = try ReplacementFile(output, replacing: isReplacing)
      try file.write(Data(page.utf8))
      try file.takePlace()
    }
    try console.print("wrote \(output): \(Amount.bytes(page.utf8.count))")
    return .well
  }
}
