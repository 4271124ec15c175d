import Foundation
import Testing

@testable import Larch

/// Pairs of texts that were compared by ICU, see Scripts/generate-collation-pairs.swift.
@Suite("Orders of languages beside ICU")
struct CollationRecordedTests {
  @Test func `recorded pairs of each language have the order that ICU gave them`() throws {
    let other = ProcessInfo.processInfo.environment["LARCH_COLLATION_PAIRS"]
    let path =
      other ?? (#filePath as NSString).deletingLastPathComponent + "/Recorded/collation-pairs.txt"
    let lines = try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
    var language = ""
    var collation = Collation.root
    var different: [String: [String]] = [:]
    var count = 0
    for line in lines {
      let parts = line.split(separator: " ")
      if parts.count == 2 {
        language = String(parts[1])
        collation = try Collation(language)
        continue
      }
      let a = CollationRecordedTests.text(parts[0])
      let b = CollationRecordedTests.text(parts[2])
      let order = collation.compare(a, b)
      let sign = order == .orderedAscending ? "<" : order == .orderedSame ? "=" : ">"
      count += 1
      if sign != parts[1] {
        different[language, default: []].append("\(parts[0]) \(parts[1]) \(parts[2]), not \(sign)")
      }
    }
    #expect(count > 2000)
    for (language, pairs) in different.sorted(by: { $0.key < $1.key }) {
      Issue.record("\(language): \(pairs.count) differ, such as \(pairs.prefix(5))")
    }
  }

  private static func text(_ part: Substring) -> String {
    if part == "-" { return "" }
    var text = String.UnicodeScalarView()
    for number in part.split(separator: ",") {
      if let scalar = UInt32(number, radix: 16).flatMap(Unicode.Scalar.init) { text.append(scalar) }
    }
    return String(text)
  }
}
