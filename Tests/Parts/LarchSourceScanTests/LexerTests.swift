import Testing

@testable import LarchSourceScan

@Suite("What hides a brace or a quote")
struct LexerTests {
  /// Each is followed by an extension with hand-written code, which must be found.
  @Test(
    "The source after it is read right",
    arguments: [
      #"let a = "}""#, #"let a = "\"}""#, #"let a = "\\""#, #"let a = "\(b("}"))}""#,
      #"let a = "\("\("}")" + c { "}" })""#, "let a = \"\"", "let a = \"\"\"\n}\"\n  \"\"\"",
      "let a = \"\"\"\n\\(b \"}\")\\\n\\\"\"\"}\n\"\"\"", "let a = #\"}\"\\(\"#",
      "let a = #\"\\#(b(\"}\"))\"#", "let a = ##\"}\"#\"##", "let a = #\"\"\"#",
      "let a = #\"\"\"\n}\"\"\"\n\"\"\"#", "let a = \"\\(\n b(\")\")\n)}\"",
      "// }", "/* } */", "/* /* } */ } */", "/** \" */", "let a = b /* \" */ / c // \"",
      "let a = /}/", "let a = /[{\"]/", "f(/\\/}/)", "let a = #/}/#", "let a = #/\n  } / \"\n/#",
      "let a = ##/ }/#\" /##", "let a = b / c; let d = \"/\"", "let a = b/c; f(\"}/\")",
      "let a = (b) / (c) / \"}\".count", "f(1, /, \"}\", /)",
      "static func /(a: A, b: B) {}; let c = \"}/\"",
      "func / (a: A, b: B) {}; let c = \"/}\"", "infix operator </>: P", "let `}` = 1",
      "let `a { b` = 1", "let a = #selector(b)", "let a = b ? c : d", "let a = 0x1p-3 + 1.5e+3",
      "let a = b[\"}\"]", "if a { f() } else if b { }", "switch a { case .b: c; default: d }",
      "#if os(Linux)\nlet a = 1\n#elseif os(macOS)\nlet a = 2\n#else\nlet a = 3\n#endif",
      "#if compiler(>=6.2) && hasFeature(X)\nfunc f() {}\n#endif", "f { $0 } g: { $1 }",
      "let é = \"é}\"", "let 🌲 = 1", "a.extension.struct.b()", "a.init(from: b)",
      "var actor: Int { 1 }", "@available(*, deprecated, message: \"}\") func f() {}",
      "@Foo<Int>.Bar(\"}\") func f() {}", "let a: (Int) -> [String: (Int) -> Int] = b",
      "func f<let n: Int, each T: P>(_ a: repeat each T) -> some P<T> {}",
      "precedencegroup P { higherThan: Q }",
      "macro m() = #externalMacro(module: \"}\", type: \"{\")",
      "#Preview { f(\"}\") }", "import struct Foundation.Data", "public import Foundation",
      "enum E { case a(from: Int), actor; indirect case b }", "subscript(a: Int) -> Int { 1 }",
      "let a = \\.b[\"}\"]?.c", "\u{0}let a = 1", "let a = ''",
      "class D: C { override class func f() {} }",
      "func f() throws(E) -> Int { #if X\n1\n#else\n2\n#endif\n}",
    ])
  func hidden(source: String) {
    let written = "\nextension A { init(from decoder: any Decoder) {} }"
    for text in [source + written, "enum F {\n" + source + "\n}" + written] {
      let found = scan("struct A: Codable {}\nstruct B: Codable {}", text)
      #expect(found.listedNames == ["B"], "\(found.passed)")
      #expect(found.reason("A")?.contains("is written in file1.swift:") == true)
    }
  }

  @Test("A report has the line of the struct")
  func lines() {
    let found = scan("/*\n*/ let a = \"\"\"\n  }\n  \"\"\"\n\n private struct A: Codable {}")
    #expect(found.passed.map(\.line) == [6])
  }

  @Test("A mark of the encoding and a first line for the shell are skipped")
  func firstLine() {
    #expect(scan("\u{FEFF}struct A: Codable {}").listedNames == ["A"])
    #expect(scan("#!/usr/bin/swift \"\nstruct A: Codable {}").listedNames == ["A"])
  }
}
