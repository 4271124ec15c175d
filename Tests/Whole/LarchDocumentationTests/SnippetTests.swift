import Foundation
import LarchTestSupport
import Testing

/// The examples in the documents are the marked regions of the tests beside this file, so that
/// each of them compiles and runs. docs/testing.md says how they are marked.
@Suite("The examples in the documents")
struct SnippetTests {
  @Test("Every Swift example has a name and equals the region of that name", arguments: documents)
  func examples(document: String) throws {
    let regions = try Self.regions.get()
    for block in try Document(path: document).swiftBlocks {
      let place = "\(document):\(block.line)"
      guard let name = block.name else {
        Issue.record("\(place): a Swift example without `<!-- snippet: name -->` above it")
        continue
      }
      guard let region = regions[name] else {
        Issue.record("\(place): no test has a region `// snippet: \(name)`")
        continue
      }
      if let difference = TextDifference.between(expected: region, actual: block.text) {
        Issue.record("\(place): the example \(name) differs from its region\n\(difference)")
      }
    }
  }

  @Test("Every region is used by a document")
  func used() throws {
    let names = try Self.documents.flatMap { try Document(path: $0).swiftBlocks.compactMap(\.name) }
    let unused = try Set(Self.regions.get().keys).subtracting(names)
    #expect(unused.isEmpty)
  }

  @Test("The check finds a block without a name and a block that differs")
  func control() throws {
    let document = Document(
      lines: ["<!-- snippet: a -->", "```swift", "let a = 1", "```", "", "```swift", "b", "```"])
    #expect(document.swiftBlocks.map(\.name) == ["a", nil])
    #expect(document.swiftBlocks.map(\.text) == ["let a = 1", "b"])
    let regions = try Regions(of: ["  // snippet: a", "    x", "", "      y", "  // end snippet"])
    #expect(regions.texts == ["a": "x\n\n  y"])
    #expect(throws: Regions.Unfinished.self) { try Regions(of: ["// snippet: a", "x"]) }
    // Without documents the check above would find nothing.
    #expect(Self.documents.contains("README.md"))
    #expect(try Document(path: "README.md").swiftBlocks.isEmpty == false)
  }
}

// MARK: - Files

extension SnippetTests {
  static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  static let documents: [String] = {
    let files = FileManager.default.enumerator(atPath: root.appending(path: "docs").path)
    let names = files?.compactMap { $0 as? String } ?? []
    return [
      "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md",
      "Sources/Larch/Larch.docc/Larch.md",
      "Sources/LarchTestSupport/LarchTestSupport.docc/LarchTestSupport.md",
    ]
      + names.filter { $0.hasSuffix(".md") }.sorted().map { "docs/" + $0 }
  }()

  static func lines(of path: String) throws -> [String] {
    try String(contentsOf: root.appending(path: path), encoding: .utf8)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
  }

  /// Read once, since each takes a second.
  private static let regions = Result { try readRegions() }

  private static func readRegions() throws -> [String: String] {
    let folder = "Tests/Whole/LarchDocumentationTests"
    let names = try FileManager.default.contentsOfDirectory(
      atPath: root.appending(path: folder).path)
    var result: [String: String] = [:]
    for name in names where name.hasSuffix(".swift") && name != "SnippetTests.swift" {
      try result.merge(Regions(of: lines(of: "\(folder)/\(name)")).texts) { first, _ in
        Issue.record("Two regions have the name of one in \(name)")
        return first
      }
    }
    return result
  }
}

/// The Swift blocks of a Markdown file.
private struct Document {
  struct Block {
    let name: String?
    let line: Int
    let text: String
  }

  var swiftBlocks: [Block] = []

  init(path: String) throws { self.init(lines: try SnippetTests.lines(of: path)) }

  init(lines: [String]) {
    var previous = ""
    var open: (isSwift: Bool, name: String?, line: Int)?
    var body: [String] = []
    for (number, line) in lines.enumerated() {
      if let block = open {
        if line == "```" {
          if block.isSwift {
            swiftBlocks.append(
              Block(name: block.name, line: block.line, text: body.joined(separator: "\n")))
          }
          open = nil
        } else {
          body.append(line)
        }
      } else if line.hasPrefix("```") {
        open = (line.dropFirst(3).lowercased().hasPrefix("swift"), name(in: previous), number + 1)
        body = []
      }
      previous = line
    }
  }

  private func name(in line: String) -> String? {
    guard let match = line.wholeMatch(of: /<!-- snippet: ([A-Za-z0-9-]+) -->/) else { return nil }
    return String(match.1)
  }
}

/// The marked regions of a source file, without their indentation.
private struct Regions {
  struct Unfinished: Error {}

  var texts: [String: String] = [:]

  init(of lines: [String]) throws {
    var name: String?
    var body: [String] = []
    for line in lines {
      let text = line.trimmingCharacters(in: .whitespaces)
      if let match = text.wholeMatch(of: /\/\/ snippet: ([A-Za-z0-9-]+)/) {
        guard name == nil else { throw Unfinished() }
        name = String(match.1)
        body = []
      } else if text == "// end snippet" {
        guard let finished = name, texts[finished] == nil else { throw Unfinished() }
        texts[finished] = Regions.unindented(body)
        name = nil
      } else {
        body.append(line)
      }
    }
    guard name == nil else { throw Unfinished() }
  }

  private static func unindented(_ lines: [String]) -> String {
    let full = lines.filter { !$0.allSatisfy(\.isWhitespace) }
    let indent = full.map { $0.prefix { $0 == " " }.count }.min() ?? 0
    return lines.map { String($0.dropFirst(indent)) }.joined(separator: "\n")
  }
}
