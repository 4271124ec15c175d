import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("A JSON text is cut into elements")
struct ScannerTests {
  struct Cut: Equatable, CustomStringConvertible {
    var text: String
    var line: Int
    var offset: Int
    var problem: String?
    var description: String { "\(line):\(offset) \(problem ?? text)" }
  }

  private func cut(
    _ text: String, step: Int = 1 << 20, _ change: (inout ImportOptions) -> Void = { _ in }
  ) throws -> (cuts: [Cut], isComplete: Bool) {
    var options = ImportOptions()
    change(&options)
    let scanner = JSONElementScanner(Trickle(bytes: Array(text.utf8), step: step), options)
    var cuts: [Cut] = []
    while let element = try scanner.next() {
      #expect(element.place.index == cuts.count)
      cuts.append(
        Cut(
          text: String(decoding: element.bytes, as: UTF8.self), line: element.place.line,
          offset: element.place.offset, problem: element.problem?.code.rawValue))
    }
    return (cuts, scanner.isComplete)
  }

  /// The same with every size of pieces.
  private func expectCut(
    _ text: String, _ wanted: [Cut], isComplete: Bool = true,
    _ change: (inout ImportOptions) -> Void = { _ in },
    at place: SourceLocation = #_sourceLocation
  ) throws {
    for step in [1 << 20, 1, 2, 3, 7] {
      let found = try cut(text, step: step, change)
      #expect(found.cuts == wanted, "\(step) bytes at a time", sourceLocation: place)
      #expect(found.isComplete == isComplete, sourceLocation: place)
    }
  }

  @Test("Arrays, with every space that JSON allows, and marks of byte order")
  func arrays() throws {
    try expectCut("[]", [])
    try expectCut(" \r\n\t[ ]\n", [])
    try expectCut(
      "\u{FEFF}[{\"a\":[1,2,{}]} ,\r\n \"x,]\\\"\" , 12.5e3,null\n]",
      [
        Cut(text: "{\"a\":[1,2,{}]}", line: 1, offset: 4),
        Cut(text: "\"x,]\\\"\"", line: 2, offset: 23),
        Cut(text: "12.5e3", line: 2, offset: 33), Cut(text: "null", line: 2, offset: 40),
      ])
    try expectCut(
      "[{\"a\":\n\n1},\n{}]",
      [Cut(text: "{\"a\":\n\n1}", line: 1, offset: 1), Cut(text: "{}", line: 4, offset: 12)])
    try expectCut("[1]", [Cut(text: "[1]", line: 1, offset: 0)]) { $0.format = .lines }
  }

  @Test("Lines with either line ending, empty lines, and a last line without an ending")
  func lines() throws {
    try expectCut("", [])
    try expectCut("\n \r\n", [])
    try expectCut(
      "{\"a\":1}\r\n\n  {\"b\":2}  \n3",
      [
        Cut(text: "{\"a\":1}", line: 1, offset: 0), Cut(text: "{\"b\":2}", line: 3, offset: 12),
        Cut(text: "3", line: 4, offset: 22),
      ])
    // A line that is not JSON is one element, and the next line is another.
    try expectCut(
      "{\"a\":\n{}",
      [Cut(text: "{\"a\":", line: 1, offset: 0), Cut(text: "{}", line: 2, offset: 6)])
  }

  private func bad(_ line: Int, _ offset: Int, _ code: String = "invalid_json") -> Cut {
    Cut(text: "", line: line, offset: offset, problem: code)
  }

  @Test("Invalid text is reported with its place; if elements cannot be separated, it ends")
  func problems() throws {
    let one = Cut(text: "1", line: 1, offset: 1)
    try expectCut("[1,]", [one, bad(1, 3)])
    try expectCut("[1,,2]", [one, bad(1, 3), Cut(text: "2", line: 1, offset: 4)])
    try expectCut("[,]", [bad(1, 1), bad(1, 2)])
    // More of the number may be missing.
    try expectCut("[1", [bad(1, 1)], isComplete: false)
    try expectCut("[1 ", [one, bad(1, 3)], isComplete: false)
    try expectCut("[1,", [one, bad(1, 3)], isComplete: false)
    try expectCut("[", [bad(1, 1)], isComplete: false)
    try expectCut("[1 2]", [one, bad(1, 3)], isComplete: false)
    try expectCut("[1]\n[2]", [one, bad(2, 4)], isComplete: false)
    try expectCut("[1}", [one, bad(1, 2)], isComplete: false)
    try expectCut("[}", [bad(1, 1)], isComplete: false)
    try expectCut("[{\"a\":[1}]", [bad(1, 1)], isComplete: false)
    try expectCut("[\"abc]", [bad(1, 1)], isComplete: false)
    try expectCut("[\"abc\\", [bad(1, 1)], isComplete: false)
    try expectCut("{}", [bad(1, 0)], isComplete: false) { $0.format = .array }
    try expectCut("", [bad(1, 0)], isComplete: false) { $0.format = .array }
    try expectCut("\0[\01\0]", [bad(1, 0)], isComplete: false)
  }

  @Test("Elements that are too deep or too large are skipped, whatever their size")
  func limits() throws {
    let deep = String(repeating: "[", count: 600) + String(repeating: "]", count: 600)
    try expectCut(
      "[\(deep),2]", [bad(1, 1), Cut(text: "2", line: 1, offset: 1202)])
    let open = String(repeating: "[{\"a\":", count: 100_000)
    #expect(try cut("[" + open).cuts == [bad(1, 1)])
    let large = "\"" + String(repeating: "x", count: 900) + "\\\"\""
    for format in [JSONFormat.array, .lines] {
      let text =
        format == .array ? "[{\"a\":\(large)},2]" : "{\"a\":\(large)}\n2"
      let next = text.utf8.count - (format == .array ? 2 : 1)
      try expectCut(
        text,
        [
          bad(1, format == .array ? 1 : 0, "element_too_large"),
          Cut(text: "2", line: format == .array ? 1 : 2, offset: next),
        ]
      ) {
        $0.elementSizeLimit = 100
        $0.format = format
      }
    }
  }

  @Test("Random texts are cut as a parser of the whole text cuts them")
  func random() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    func value(_ depth: Int) -> String {
      let space = [" ", "", "\n", "\r\n", ""].randomElement(using: &generator) ?? ""
      switch Int.random(in: 0..<(depth > 3 ? 4 : 6), using: &generator) {
      case 0: return "\(Int.random(in: -1000...1000, using: &generator))"
      case 1:
        return "\""
          + ["\\\"", "a,b", "[{", "]}\\\\", "ß→", "\\u0041"]
          .shuffled(using: &generator).prefix(3).joined() + "\""
      case 2: return "null"
      case 3: return "-1.5e-3"
      case 4:
        let count = Int.random(in: 0..<4, using: &generator)
        return "[" + (0..<count).map { _ in space + value(depth + 1) }.joined(separator: ",")
          + space + "]"
      default:
        let count = Int.random(in: 0..<4, using: &generator)
        return "{"
          + (0..<count).map { "\(space)\"k\($0)\":\(value(depth + 1))" }
          .joined(separator: "," + space) + "}"
      }
    }
    for _ in 0..<300 {
      let values = (0..<Int.random(in: 0..<6, using: &generator)).map { _ in value(0) }
      let text = "[" + values.map { " \($0)\n" }.joined(separator: ",") + "]"
      let step = Int.random(in: 1...40, using: &generator)
      let found = try cut(text, step: step)
      #expect(found.cuts.map(\.text) == values, "seed \(seed)")
      #expect(found.isComplete)
      for cut in found.cuts {
        let before = Array(text.utf8).prefix(cut.offset)
        #expect(cut.line == 1 + before.count { $0 == 0x0A }, "seed \(seed)")
      }
    }
  }
}
