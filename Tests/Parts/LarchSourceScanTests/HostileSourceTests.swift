import Foundation
import LarchTestSupport
import Testing

@testable import LarchSourceScan

@Suite("Sources that are no Swift")
struct HostileSourceTests {
  @Test(
    "If a source is not understood, the output says so and lists no struct",
    arguments: [
      "\"", "\"\"\"", "#\"", "##\"\"\"\n\"#", "\"\\(", "\"\\(\"", "\"\n\"", "/*", "/* /* */", "`",
      "``",
      "{", "}", "(", ")", "[", "{ ( }", "{ ( } )", "struct", "struct {}", "struct B", "struct B: ",
      "struct B<", "struct B<T {}", "struct B<T: (>) {}", "extension", "extension B",
      "protocol P where",
      "typealias", "typealias T", "typealias T<A", "#if A", "#endif", "#else", "#elseif A",
      "struct B {\n#if A\n}\n#endif", "#if A\nstruct B {\n#endif\n}", "#/", "#/a\n/#", "##/\n/#",
      "func f(", "init(from", "@A(", "enum E { case a(", "where {", "class B: {",
      "extension B: C, D where T == (", "let a = \"\\(b))\"\"",
    ])
  func broken(text: String) {
    let found = scan("struct A: Codable {}", text)
    #expect(found.listedNames.isEmpty)
    #expect(found.reason("A")?.contains("file1.swift:") == true, "\(found.passed)")
  }

  @Test(
    "Deep nesting ends in a doubt",
    arguments: [
      ("struct A {", "}"), ("\"\\(", ")\""), ("/*", "*/"), ("{", "}"), ("([", "])"), ("A<", ">"),
      ("struct A: B<(", ")> {}"), ("{ struct A: B<(", ")> {} }"), ("extension A<(", ")> {}"),
      ("#if A\n", "\n#endif\n"), ("typealias A = B<(", ")>"), ("func f(a: (", ")) {}"),
      ("@A<(", ")>"),
    ])
  func deep(open: String, close: String) {
    let text = String(repeating: open, count: 20_000) + String(repeating: close, count: 20_000)
    let found = scan("struct Z: Codable {}", text)
    #expect(found.listedNames.isEmpty || found.listedNames == ["Z"])
    _ = scan(String(repeating: open, count: 20_000))
  }

  @Test("Circles of protocols and aliases end")
  func circles() {
    let found = scan(
      "protocol P: Q {}\nprotocol Q: P {}\ntypealias S = T\ntypealias T = S & P",
      "struct A: P, S, Codable {}", "extension S { func f() {} }")
    #expect(found.listedNames == ["A"])
  }

  @Test("Random bytes never end the process")
  func bytes() {
    var random = SeededGenerator(seed: 41)
    for _ in 0..<2000 {
      let length = Int.random(in: 0..<200, using: &random)
      let source = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
      _ = CodingScan(module: "App", files: [SourceFile(name: "a", source: source)])
    }
  }

  static let tokens = [
    "struct", "A", "B", ":", "Codable", "{", "}", "{", "}", "(", ")", "[", "]", "<", ">", ",", ".",
    "\n",
    "\"", "\"\"\"", "\\(", "#", "#if", "#endif", "#else", "/", "/*", "*/", "//", "`", "@", "&", "~",
    "where", "extension", "protocol", "typealias", "=", "init", "from", "func", "encode", "to",
    "private",
    "public", "import", "Larch", "Self", "any", "->", "?", "é", "\u{0}", "class", "actor", "case",
    "let",
  ]

  @Test("Random tokens never end the process")
  func shuffled() {
    var random = SeededGenerator(seed: 42)
    for _ in 0..<4000 {
      let count = Int.random(in: 0..<60, using: &random)
      let text = (0..<count).map { _ in Self.tokens.randomElement(using: &random)! }
        .joined(separator: Bool.random(using: &random) ? " " : "")
      let found = scan(text, "struct Z: Codable {}")
      _ = found.generatedSource
    }
  }

  @Test("A source with random damage never lists the struct with its own code")
  func damaged() {
    let source = Array(
      """
      struct A: Codable {
        var a = "\\(b("}"))"  /* { */
        let r = /[{"]/
      }
      extension A {
        init(from decoder: any Decoder) throws { a = "" }
      }

      """.utf8)
    var random = SeededGenerator(seed: 43)
    let written = "extension A { func encode(to encoder: any Encoder) throws {} }"
    for _ in 0..<3000 {
      var damaged = source
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let at = Int.random(in: 0..<damaged.count, using: &random)
        if Bool.random(using: &random) {
          damaged.remove(at: at)
        } else {
          damaged[at] = "{}()\"/*\\#\n`".utf8.randomElement(using: &random)!
        }
      }
      // What remains of the type is extended in a file without damage.
      let found = CodingScan(
        module: "App",
        files: [
          SourceFile(name: "a", source: damaged),
          SourceFile(name: "b", source: Array(written.utf8)),
        ])
      #expect(!found.listedNames.contains("A"))
    }
  }

  @Test("A file of ten megabytes is read")
  func large() {
    let part = "  func f() { g(\"}\\(a)\") /* { */ }\n"
    let body = String(repeating: part, count: 10_000_000 / 100 / part.utf8.count)
    var text = ""
    for number in 0..<100 { text += "struct A\(number): Codable {\n\(body)}\n" }
    #expect(text.utf8.count > 9_900_000)
    let found = scan(text, "struct B: Codable {}")
    #expect(found.listedNames.count == 101)
    let one = scan(
      "let a = \"" + String(repeating: "\\(b) } ", count: 1_000_000) + "\"", "struct B: Codable {}")
    #expect(one.listedNames == ["B"])
  }

  @Test("Every source of this package is understood")
  func own() throws {
    var root = URL(fileURLWithPath: #filePath)
    for _ in 0..<4 { root.deleteLastPathComponent() }
    var count = 0
    for folder in ["Sources", "Tests", "Examples", "Benchmarks", "Plugins"] {
      let files = FileManager.default.enumerator(atPath: root.appending(path: folder).path)
      while let path = files?.nextObject() as? String {
        guard path.hasSuffix(".swift"), !path.contains(".build") else { continue }
        let source = try Data(contentsOf: root.appending(path: "\(folder)/\(path)"))
        let file = SourceFile(name: path, source: [UInt8](source))
        #expect(file.failure == nil)
        count += 1
      }
    }
    #expect(count > 500)
  }
}
