import Testing

@testable import LarchSourceScan

@Suite("The generated file")
struct GeneratedSourceTests {
  private func code(_ sources: String...) -> String {
    CodingScan(
      module: "App",
      files: sources.enumerated().map {
        SourceFile(name: "file\($0).swift", source: Array($1.utf8))
      }
    ).generatedSource.split(separator: "\n").filter { !$0.hasPrefix("//") }
      .joined(separator: "\n")
  }

  @Test("It has nothing but comments where no struct is listed")
  func empty() {
    #expect(code("import Larch\nenum E {}") == "")
    #expect(code() == "")
    #expect(code("private struct A: Codable {}") == "")
  }

  @Test("Each struct is written with its path, and as its name is spelled")
  func names() {
    #expect(
      code(
        "enum `in` {}\nextension `in` { struct A<T: Codable>: Codable {} }\nstruct é: Codable {}")
          == """
          import Larch
          extension `in`.A: MemberwiseCoded {}
          extension é: MemberwiseCoded {}
          """)
  }

  @Test("Availability, also of what is around it, and conditions are repeated")
  func conditions() {
    #expect(
      code(
        """
        #if os(Linux) && !DEBUG  // here
        @available(macOS 26,
          iOS 26, *)
        enum E {
          @available(*, deprecated, message: "}")
          struct A: Codable {}
        }
        #endif
        @available(macOS 27, *)
        extension E { struct B: Codable {} }
        """) == """
          import Larch
          #if os(Linux) && !DEBUG
          @available(macOS 26,
            iOS 26, *)
          @available(*, deprecated, message: "}")
          extension E.A: MemberwiseCoded {}
          #endif
          @available(macOS 27, *)
          extension E.B: MemberwiseCoded {}
          """)
  }

  @Test(
    "The import has the access that the structs need",
    arguments: [
      ("import Larch\nstruct A: Codable {}", "import Larch"),
      ("import Larch\npublic struct A: Codable {}", "public import Larch"),
      ("public import Larch\nstruct A: Codable {}", "import Larch"),
      ("internal import Larch\nstruct A: Codable {}", "internal import Larch"),
      ("private import Larch\npackage struct A: Codable {}", "internal import Larch"),
      ("package import Larch\npublic struct A: Codable {}", "public import Larch"),
      ("enum E { public struct A: Codable {} }", "import Larch"),
      ("enum E {}\npublic extension E { struct A: Codable {} }", "import Larch"),
      ("public enum E {}\npublic extension E { struct A: Codable {} }", "public import Larch"),
      ("@usableFromInline struct A: Codable {}", "public import Larch"),
      ("public struct A: Codable {}\nstruct B: Codable {}", "public import Larch"),
      ("package struct A: Codable {}", "import Larch"),
    ])
  func imports(source: String, expected: String) {
    #expect(code(source).split(separator: "\n").first.map(String.init) == expected)
  }

  @Test("If a struct is left out, the build prints how many are listed")
  func summary() {
    #expect(scan("struct A: Codable {}").summary == nil)
    #expect(
      scan("struct A: Codable {}\nprivate struct B: Codable {}").summary
        == "App: 1 MemberwiseCoded, 1 passed over; see")
  }

  @Test("Comments stay comments, whatever the names are")
  func comments() {
    let made = scan("private struct A: Codable {}").generatedSource
    #expect(made.split(separator: "\n").allSatisfy { $0.hasPrefix("//") })
  }
}
