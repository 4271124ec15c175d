import Foundation

/// The parts of a page between markers, which are written by a program:
///
///     <!-- bench:begin -->         the short table
///     <!-- bench:begin all -->     every operation
///     <!-- bench:begin growth -->  how operations grow
///     <!-- bench:begin shapes -->  the other shapes; and "shapes growth" how they grow
///     <!-- bench:end -->
public enum MarkedBlocks {
  /// The operations of the short table.
  public static let short = [
    "W1", "W3", "W3x8", "W3x64", "W4", "W5", "R1", "R1t", "R2", "R3", "R4", "R6", "R7", "R8",
    "R10", "open", "DISK",
  ]

  private static let begin = "<!-- bench:begin"
  private static let end = "<!-- bench:end -->"

  /// The page with each block's text replaced; one that the results say nothing of stays as it is.
  ///
  /// - Throws: ``FigureError`` when there is no block, one has no end, or its kind is not known.
  public static func filled(_ page: String, with results: ResultFile) throws -> String {
    var lines: [Substring] = []
    var blocks = 0
    var rest = page.split(separator: "\n", omittingEmptySubsequences: false)[...]
    while let line = rest.popFirst() {
      lines.append(line)
      guard line.hasPrefix(begin) else { continue }
      blocks += 1
      guard let last = rest.firstIndex(where: { $0.hasPrefix(end) }),
        !rest[..<last].contains(where: { $0.hasPrefix(begin) })
      else { throw FigureError("\(line) has no \(end)") }
      if let text = try text(of: String(line), results) {
        lines += [""] + text.split(separator: "\n", omittingEmptySubsequences: false) + [""]
      } else {
        lines += rest[..<last]
      }
      rest = rest[last...]
    }
    guard blocks > 0 else { throw FigureError("there is no \(begin) -->") }
    return lines.joined(separator: "\n")
  }

  private static func text(of marker: String, _ results: ResultFile) throws -> String? {
    switch marker.trimmingCharacters(in: .whitespaces) {
    case "\(begin) -->": results.run.map { ResultTable($0).markdown(only: short) }
    case "\(begin) all -->": results.run.map { ResultTable($0).markdown() }
    case "\(begin) growth -->": results.growth.map { $0.markdown() }
    case "\(begin) shapes -->": results.shapes.map { ResultTable($0).markdown() }
    case "\(begin) shapes growth -->": results.shapesGrowth.map { $0.markdown() }
    default: throw FigureError("\(marker) is no block that is known")
    }
  }
}
