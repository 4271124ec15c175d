import Foundation
import Testing

@testable import LarchToolKit

/// The shared parts of all commands: arguments, text for a terminal, tables.
@Suite("The frame of the tool")
struct FrameTests {
  @Test("Tables fit the width, and omissions are marked", arguments: [40, 80, 200])
  func tables(width: Int) {
    var table = Table([
      .init("name", .wrap), .init("count", isNumber: true), .init("text", .wrap),
      .init("rest", .cut),
    ])
    let long = (0..<30).map { "word\($0)" }.joined(separator: " ")
    table.add(["name", "12", Line(long), Line(String(repeating: "x", count: 100))])
    table.add(["平仮名 of a\nname", "3", "", ""])
    let lines = table.lines(width: width)
    for line in lines { #expect(line.width <= width) }
    let text = lines.map(\.description).joined(separator: " ")
    for number in 0..<30 { #expect(text.contains("word\(number)")) }
    #expect(
      text.contains(width == 200 ? "x" : "…") || text.contains(String(repeating: "x", count: 30)))
    #expect(text.contains("\\n"))
  }

  @Test("An empty cell takes no line if a row is a paragraph")
  func emptyCells() {
    var table = Table([.init("name"), .init("keys", isNumber: true), .init("size", isNumber: true)])
    let none: Int? = nil
    table.add(["\("a long name of a tree")", "\(none.map(String.init) ?? "")", "\(12)"])
    #expect(
      table.lines(width: 12).map(\.description)
        == ["name: a long", "name of a", "tree", "  size: 12"])
  }

  @Test("Without a width a row is a line")
  func wideTable() {
    var table = Table([.init("a"), .init("b", isNumber: true)])
    table.add(["one", "1"])
    table.add(["three", "1000"])
    #expect(
      table.lines(width: nil).map(\.description) == ["a         b", "one       1", "three  1000"])
  }

  @Test(
    "A line is wrapped at spaces, and inside words that are too long",
    arguments: [
      ("one two three", 7, ["one two", "three"]), ("abcdefghij", 4, ["abcd", "efgh", "ij"]),
      ("a bcdefgh", 4, ["a bc", "defg", "h"]), ("", 4, [""]), ("日本語", 4, ["日本", "語"]),
    ])
  func wrapping(text: String, width: Int, lines: [String]) {
    #expect(Line(text).wrapped(to: width).map(\.description) == lines)
  }

  @Test("A text of many screens is wrapped, and its table is narrowed")
  func longText() {
    let text = (0..<40_000).map { $0 % 50 == 49 ? " " : "é" }.joined()
    let lines = Line(text).wrapped(to: 30).map(\.description)
    #expect(lines.joined().filter { $0 != " " }.count == 39_200)
    #expect(lines.allSatisfy { Printable.width($0) <= 30 })
    var table = Table([.init("id"), .init("text", .wrap), .init("other", .cut)])
    table.add(["1", Line(String(repeating: "x", count: 100_000)), Line(text)])
    let rows = table.lines(width: 60).map(\.description)
    #expect(rows.allSatisfy { Printable.width($0) <= 60 })
    #expect(rows.joined().count { $0 == "x" } == 100_001)
  }

  @Test(
    "A text cannot send commands to a terminal",
    arguments: [
      ("a\nb", "a\\nb"), ("\u{1B}[31mred", "\\u{1b}[31mred"), ("\u{9B}31m", "\\u{9b}31m"),
      ("x\u{202E}y", "x\\u{202e}y"), ("tab\t", "tab\\t"), ("Łódź 👍🏽", "Łódź 👍🏽"),
      ("\u{2028}", "\\u{2028}"), ("\u{7F}", "\\u{7f}"), ("é — “”", "é — “”"),
    ])
  func escaping(text: String, shown: String) {
    #expect(Printable.escaped(text) == shown)
    #expect(Line("\(text, .strong)").description == shown)
  }

  @Test(
    "Columns are counted as a terminal does",
    arguments: [("abc", 3), ("日本", 4), ("e\u{301}", 1), ("👍🏽", 2), ("", 0), ("✅⭐⌚🟢🪴🇳🇴", 12)])
  func widths(text: String, columns: Int) { #expect(Printable.width(text) == columns) }

  @Test("Colours are only for terminals, and can be switched off")
  func colours() throws {
    func text(_ isTerminal: Bool, _ environment: [String: String]) throws -> String {
      let memory = MemoryConsole(isTerminal: isTerminal, environment: environment)
      try memory.console.print("\("x", .good)")
      return memory.output.text
    }
    #expect(try text(true, [:]) == "\u{1B}[32mx\u{1B}[0m\n")
    #expect(try text(true, ["NO_COLOR": ""]) == "\u{1B}[32mx\u{1B}[0m\n")
    #expect(try text(true, ["NO_COLOR": "1"]) == "x\n")
    #expect(try text(true, ["TERM": "dumb"]) == "x\n")
    #expect(try text(false, [:]) == "x\n")
  }

  @Test("A program gets stored text unchanged, and a terminal gets it without escape sequences")
  func stored() throws {
    let text = "{\"a\":\"\u{200F}\u{9B}1m é\"} \u{1B}\n"
    let json: JSON = ["a": .text("\"\u{200F}\u{9B}é\"")]
    let program = MemoryConsole()
    try program.console.print(data: text)
    try program.console.print(jsonLine: json)
    #expect(
      program.output.text
        == "{\"a\":\"\u{200F}\u{9B}1m é\"} \\u{1b}\\n\n{\"a\":\"\u{200F}\u{9B}é\"}\n")
    let person = MemoryConsole(isTerminal: true)
    try person.console.print(data: text)
    try person.console.print(jsonLine: json)
    #expect(
      person.output.text
        == "{\"a\":\"\\u{200f}\\u{9b}1m é\"} \\u{1b}\\n\n{\"a\":\"\\u200f\\u009bé\"}\n")
    let read = try JSONSerialization.jsonObject(
      with: Data(person.output.text.split(separator: "\n")[1].utf8))
    #expect((read as? [String: String])?["a"] == "\u{200F}\u{9B}é")
  }

  @Test("Progress is drawn and erased on a terminal, and not printed elsewhere")
  func progress() {
    for isTerminal in [true, false] {
      let memory = MemoryConsole(isTerminal: isTerminal)
      let progress = Progress("copying", on: memory.console)
      progress.update(0.5, " of it")
      progress.update(0.6)
      progress.end()
      #expect(
        memory.errors.text == (isTerminal ? "\r\u{1B}[Kcopying: 50 % of it\r\u{1B}[K" : ""))
      #expect(memory.output.text.isEmpty)
    }
  }

  @Test("JSON has sorted keys and is read back unchanged")
  func json() throws {
    let value: JSON = [
      "b": [1, .double(0.5), .null, true], "a": "q\"\\\n\u{1}\u{2028}é", "c": [:],
      "d": .text("[1]"),
    ]
    #expect(
      value.text(isIndented: false)
        == #"{"a":"q\"\\\n\u0001\u2028é","b":[1,0.5,null,true],"c":{},"d":[1]}"#)
    for isIndented in [true, false] {
      let data = Data(value.text(isIndented: isIndented).utf8)
      let read = try JSONSerialization.jsonObject(with: data) as? [String: Any]
      #expect(read?["a"] as? String == "q\"\\\n\u{1}\u{2028}é")
      #expect((read?["b"] as? [Any])?.count == 4)
    }
  }

  @Test(
    "Numbers are written as people read them",
    arguments: [
      (Amount.bytes(1023), "1023 B"), (Amount.bytes(2048), "2.0 KiB"),
      (Amount.bytes(5 << 30), "5.0 GiB"), (Amount.count(1_234_567), "1,234,567"),
      (Amount.count(-1000), "-1,000"), (Amount.count(7), "7"),
      (Amount.counted(1, "entry", "entries"), "1 entry"),
      (Amount.time(Date(timeIntervalSinceReferenceDate: 0)), "2001-01-01 00:00:00"),
    ])
  func amounts(text: String, expected: String) { #expect(text == expected) }
}
