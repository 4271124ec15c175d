import Testing

@testable import LarchSourceScan

@Suite("Which structs are Codable by the compiler's code alone")
struct ConformanceTests {
  @Test("A Codable struct is listed, however it says so", arguments: codable)
  func isListed(row: ScanCase) {
    let scan = row.scan()
    #expect(scan.listedNames == row.listed, "\(scan.passed)")
    #expect(scan.passed.isEmpty)
  }

  static let codable: [ScanCase] = [
    ScanCase("Directly", "struct A: Codable { var a: Int }", listed: ["A"]),
    ScanCase("Both halves", "struct A: Encodable, Decodable {}", listed: ["A"]),
    ScanCase("Both halves, composed", "struct A: Encodable & Decodable {}", listed: ["A"]),
    ScanCase("With its module", "struct A: Swift.Codable {}", listed: ["A"]),
    ScanCase("A record", "import Larch\nstruct A: Record { var id: Int }", listed: ["A"]),
    ScanCase("With Larch's name", "struct A: Larch.Record { var id: Int }", listed: ["A"]),
    ScanCase(
      "With names of keys", "import Larch\nstruct A: Codable, KeyNaming {}", listed: ["A"]),
    ScanCase("A timed record", "import Larch\nstruct A: Timestamped {}", listed: ["A"]),
    ScanCase(
      "Larch comes with another file", "@_exported import Larch", "struct A: Record {}",
      listed: ["A"]),
    ScanCase("Through an extension", "struct A {}\nextension A: Codable {}", listed: ["A"]),
    ScanCase(
      "Through a protocol", "protocol P: Codable, Sendable {}", "struct A: P {}", listed: ["A"]),
    ScanCase(
      "Through two protocols", "protocol P: Q {}\nprotocol Q: Encodable {}",
      "struct A: P, Decodable {}", listed: ["A"]),
    ScanCase(
      "Through an alias", "typealias Model = Codable & Hashable", "struct A: Model {}",
      listed: ["A"]),
    ScanCase(
      "An alias in two lines", "typealias Model = Codable\n  & Sendable", "struct A: Model {}",
      listed: ["A"]),
    ScanCase("With other protocols", "struct A: Hashable, Codable, Comparable {}", listed: ["A"]),
    ScanCase("Unchecked", "struct A: Codable, @unchecked Sendable {}", listed: ["A"]),
    ScanCase(
      "Nested", "enum E { struct A: Codable { struct B: Codable {} } }", listed: ["E.A.B", "E.A"]),
    ScanCase(
      "In an extension", "enum E {}", "extension E { struct A: Codable {} }", listed: ["E.A"]),
    ScanCase("Generic", "struct A<T: Codable>: Codable { var a: T }", listed: ["A"]),
    ScanCase("Constrained", "struct A<T>: Codable where T: Codable { var a: T }", listed: ["A"]),
    ScanCase(
      "Its own keys",
      "struct A: Codable { var a = 1; private enum CodingKeys: CodingKey { case a } }",
      listed: ["A"]),
    ScanCase(
      "Another init", "struct A: Codable { init(from text: String, to: Int) { } }", listed: ["A"]),
    ScanCase(
      "An init from another type", "class B {}\nstruct A: Codable { init(from other: B) { } }",
      listed: ["A"]),
    ScanCase("An init from a list", "struct A: Codable { init(from all: [A]) {} }", listed: ["A"]),
    ScanCase(
      "Another encode", "struct A: Codable { func encode(into x: Int) {}; func encode() {} }",
      listed: ["A"]),
    ScanCase(
      "It is another type's", "struct A: Codable { struct B { init(from d: Decoder) {} } }",
      listed: ["A"]),
    ScanCase(
      "Its function decodes",
      "struct A: Codable { func f() { B.init(from: d); struct C { init(from d: Decoder) {} } } }",
      listed: ["A"]),
    ScanCase(
      "A value of another init",
      "struct A: Codable { var b = B.init(from: x); var c: C = .init(from: y) }", listed: ["A"]),
    ScanCase(
      "Harmless attributes",
      "@frozen @available(macOS 15, *) public struct A: Codable { @inlinable func f() {} }",
      listed: ["A"]),
    ScanCase(
      "A label named struct",
      "struct A: Codable { func draw(struct value: Int, in place: Int) {} }",
      listed: ["A"]),
    ScanCase(
      "A variable named macro", "struct A: Codable { var macro = 1; func f() {} }", listed: ["A"]),
    ScanCase(
      "A requirement is no code", "protocol P: Codable { init(from decoder: any Decoder) throws }",
      "struct A: P {}", listed: ["A"]),
    ScanCase(
      "Extended by something else", "struct A: Codable {}\nextension A { func encode() {} }",
      "extension Codable { func save() {} }\nextension Decoder { func keyed() {} }", listed: ["A"]),
    ScanCase(
      "Another type of the same last name",
      "enum X { struct A: Codable {} }\nenum Y { struct A {} }",
      "extension Y.A { init(from decoder: Decoder) {} }", listed: ["X.A"]),
    ScanCase(
      "A nested type named as a protocol", "enum E { struct Record {} }",
      "import Larch\nstruct A: Record {}", listed: ["A"]),
    ScanCase(
      "In backticks", "enum `default` { struct `class`: Codable {} }", listed: ["default.class"]),
    ScanCase(
      "The module's name is in front", "protocol P: Codable {}\nstruct A: App.P {}",
      "extension App.A { func f() {} }", listed: ["A"]),
    ScanCase(
      "No Codable at all", "struct A { init(from decoder: Decoder) {} }\nstruct B: Equatable {}"),
    ScanCase("Half of it", "struct A: Encodable {}\nstruct B: Decodable {}"),
    ScanCase("No struct", "enum A: Codable { case a }\nfinal class B: Codable {}\nactor C {}"),
    ScanCase(
      "It is written", "import Larch\nstruct A: MemberwiseCoded {}\nstruct B: Codable {}",
      "import Larch\nextension B: CustomCoded {}"),
    ScanCase("Nothing", ""),
  ]

  @Test("Hand-written code is found, whatever it looks like", arguments: written)
  func handWritten(row: ScanCase) {
    let scan = row.scan()
    #expect(scan.listedNames == row.listed)
    let found = scan.passed.first { $0.name == "A" || $0.name == "E.A" }
    #expect(found?.reason.contains(row.reason ?? "written") == true, "\(scan.passed)")
  }

  static let written: [ScanCase] =
    [
      "init(from decoder: any Decoder) throws { }", "init(from: Decoder) throws { }",
      "public init (\n  from\n  d\n  : any\n  Decoder\n) throws { }", "init(from _: Decoder) {}",
      "@inlinable nonisolated public init(from decoder: Swift.Decoder) throws(E) { }",
      "init?(from decoder: Decoder) {}", "init<D: Decoder>(from decoder: D) {}",
      "init(from decoder: (any Decoder)) {}", "init(from decoder: Decoder,) {}",
      "init(`from` decoder: Decoder) {}", "init /* a */ ( /* ) */ from decoder: Decoder) {}",
      "init(from decoder: borrowing any Decoder) {}", "init(from d: Unknown) {}",
      "init(from d: P) {}", "init(from d: D) {}",
      "init(from d: Decoder = g(1 < 2, Pair<Int, Int>(), [1, 2])) {}",
      "func encode(to encoder: any Encoder) throws { }", "func `encode`(to e: Encoder) {}",
      "func\n  encode(\n to e: Encoder) {}", "mutating func encode<E>(to e: E) {}",
      "private let a = \"}\"; func encode(to e: Encoder) {}",
      "#if DEBUG\n func encode(to e: Encoder) {}\n#endif",
      "let r = /[\"{]/; init(from decoder: Decoder) {}",
      "func\u{A0}encode(to e: Encoder) {}", "init\u{A0}(from d:\u{A0}Decoder) {}",
      "let a = 1\u{A0}\u{A0}; init(from d: Decoder) {}",
      "var source = macro\n init(from decoder: any Decoder) throws {}",
    ].flatMap { member in
      let names = "protocol P {}\ntypealias D = Decoder\n"
      return [
        ScanCase(
          "In the struct: \(member)", names + "struct A: Codable { var a: Int\n\(member)\n}"),
        ScanCase(
          "In an extension: \(member)", names + "struct A: Codable { }",
          "extension A {\n\(member)\n}"),
        ScanCase(
          "In an extension of a protocol: \(member)", names + "protocol Q: R {}\nprotocol R {}",
          "struct A: Codable, Q {}", "extension R where Self: Hashable {\n\(member)\n}",
          reason: "an extension of R"),
      ]
    } + [
      ScanCase(
        "A type in another one is named as the decoder", "enum E { struct Decoder {} }",
        "struct A: Codable { init(from decoder: Decoder) {} }"),
      ScanCase(
        "A private type is named as the decoder", "private struct Decoder {}",
        "struct A: Codable { init(from decoder: Decoder) {} }"),
      ScanCase(
        "The parameter's name is of a type in another one", "enum E { struct D {} }",
        "struct A: Codable { init(from decoder: D) {} }"),
      ScanCase(
        "By an alias", "enum E { struct A: Codable {} }\ntypealias B = E.A",
        "extension B { init(from decoder: Decoder) {} }"),
      ScanCase(
        "By an alias of what is around it", "enum E { struct A: Codable {} }\ntypealias F = E",
        "struct A: Codable {}\nextension F.A { init(from d: Decoder) {} }"),
      ScanCase(
        "In an extension whose name a no-break space ends", "struct A: Codable {}",
        "extension A\u{A0}{ init(from decoder: Decoder) {} }"),
      ScanCase(
        "Under a condition", "struct A<T: Codable>: Codable {}",
        "extension A where T == Int { init(from decoder: Decoder) {} }"),
      ScanCase(
        "Of one argument", "struct A<T: Codable>: Codable {}",
        "extension A<Int> { init(from decoder: Decoder) {} }"),
      ScanCase(
        "With the module in front", "struct A: Codable {}",
        "extension App.A { init(from decoder: Decoder) {} }"),
      ScanCase(
        "For everything that is Codable", "struct A: Codable {}",
        "extension Decodable { init(from decoder: Decoder) {} }",
        reason: "an extension of Decodable"),
      ScanCase(
        "For all records", "import Larch\nstruct A: Record {}",
        "import Larch\nextension Larch.Record { func encode(to e: Encoder) {} }",
        reason: "an extension of Record"),
      ScanCase(
        "By an alias of a protocol", "typealias P = Encodable\nstruct A: Codable {}",
        "extension P { func encode(to e: Encoder) {} }", reason: "an extension of Encodable"),
    ]
}
