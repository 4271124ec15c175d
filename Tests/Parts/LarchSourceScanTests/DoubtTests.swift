import Testing

@testable import LarchSourceScan

@Suite("A struct in doubt is left out, with the reason")
struct DoubtTests {
  @Test("Each kind of doubt is reported", arguments: doubts)
  func doubt(row: ScanCase) {
    let scan = row.scan()
    #expect(scan.listedNames == row.listed)
    let name = scan.passed.first { $0.name.hasSuffix("A") }?.name ?? "A"
    #expect(scan.reason(name)?.contains(row.reason ?? "") == true, "\(scan.passed)")
    #expect(scan.generatedSource.contains(": \(name): \(scan.reason(name) ?? "")"))
  }

  static let doubts: [ScanCase] = [
    ScanCase("Private", "private struct A: Codable {}", reason: "private"),
    ScanCase("Private to the file", "fileprivate struct A: Codable {}", reason: "extension A: "),
    ScanCase("In a private one", "private enum E { struct A: Codable {} }", reason: "private"),
    ScanCase(
      "In a private extension", "enum E {}\nprivate extension E { struct A: Codable {} }",
      reason: "private"),
    ScanCase(
      "Not private in a private extension",
      "enum E {}\nprivate extension E { internal struct A: Codable {} }", reason: "private"),
    ScanCase(
      "In an extension of a private one", "private enum E {}\nextension E { struct A: Codable {} }",
      reason: "E, which is private"),
    ScanCase("In a function", "func f() { struct A: Codable {} }", reason: "in a function"),
    ScanCase(
      "In a closure", "let f = { struct A<T>: Hashable, Codable {} }", reason: "in a function"),
    ScanCase(
      "In an accessor", "struct B { var b: Int { struct A: Codable {}; return 1 } }",
      reason: "in a function"),
    ScanCase("An attribute", "@Model struct A: Codable {}", reason: "@Model"),
    ScanCase("Of an actor", "@MainActor struct A: Codable {}", reason: "@MainActor"),
    ScanCase("A wrapper", "struct A: Codable { @Upper var a: Int }", reason: "@Upper"),
    ScanCase(
      "A wrapper with arguments", "struct A: Codable {\n@Default(\"}\") private var a: Int }",
      reason: "@Default"),
    ScanCase("A macro", "struct A: Codable { #makeCoding() }", reason: "#makeCoding"),
    ScanCase(
      "A macro in an extension", "struct A: Codable {}\nextension A { #makeCoding }",
      reason: "#makeCoding"),
    ScanCase(
      "An attribute in an extension", "struct A: Codable {}", "extension A { @Foo func f() {} }",
      reason: "@Foo (file1.swift:1)"),
    ScanCase("Around it", "@Foo enum E { struct A: Codable {} }", reason: "around it"),
    ScanCase(
      "Of its protocol", "@Foo protocol P {}\nstruct A: Codable, P {}", reason: "@Foo"),
    ScanCase(
      "In an extension of its protocol", "protocol P {}\nstruct A: Codable, P {}",
      "extension P { @Foo func f() {} }", reason: "@Foo"),
    ScanCase("A foreign protocol", "struct A: Codable, View {}", reason: "View is not"),
    ScanCase("Behind its protocol", "protocol P: View {}\nstruct A: P, Codable {}", reason: "View"),
    ScanCase(
      "Behind an extension of it", "struct A: Codable {}", "extension A: View {}", reason: "View"),
    ScanCase("A raw value", "struct A: RawRepresentable, Codable {}", reason: "RawRepresentable"),
    ScanCase("A set of options", "struct A: OptionSet, Codable {}", reason: "OptionSet"),
    ScanCase(
      "An id", "import Larch\nstruct A: RecordIdentifier, Codable {}", reason: "RecordIdentifier"),
    ScanCase("Without Larch", "struct A: Record, Codable {}", reason: "does not import Larch"),
    ScanCase(
      "A protocol named as a known one", "protocol Hashable {}\nstruct A: Codable, Foo.Hashable {}",
      reason: "Foo.Hashable"),
    ScanCase(
      "A type named as a known one", "class Equatable {}\nstruct A: Codable, Equatable {}",
      reason: "no protocol"),
    ScanCase(
      "A name in another scope", "enum E { typealias P = Sendable }\nstruct A: Codable, P {}",
      reason: "P is not"),
    ScanCase(
      "A private protocol", "private protocol P {}", "struct A: Codable, P {}", reason: "private"),
    ScanCase(
      "A protocol with a constraint", "protocol P where Self: Foo {}\nstruct A: Codable, P {}",
      reason: "constraint on Self"),
    ScanCase(
      "An alias with parameters", "typealias P<T> = Sendable\nstruct A: Codable, P<Int> {}",
      reason: "not simple"),
    ScanCase(
      "An alias of more than a name", "typealias P = any Sendable\nstruct A: Codable, P {}",
      reason: "any"),
    ScanCase("Two of the name", "struct A: Codable {}", "struct A: Codable {}", reason: "2 types"),
    ScanCase(
      "One of two conditions",
      "#if DEBUG\nstruct A: Codable {}\n#else\nstruct A: Codable {}\n#endif",
      reason: "2 types"),
    ScanCase(
      "In the other case", "#if DEBUG\n#else\nstruct A: Codable {}\n#endif", reason: "not simple"),
    ScanCase(
      "A condition in two lines", "#if DEBUG &&\n X\nstruct A: Codable {}\n#endif",
      reason: "not simple"),
    ScanCase(
      "Members", "struct A: Codable {\n#if DEBUG\nvar a: Int\n#endif\n}",
      reason: "members are in #if"),
    ScanCase(
      "Attributes", "#if DEBUG\n@frozen\n#endif\nstruct A: Codable {}", reason: "in #if"),
    ScanCase(
      "Of some arguments", "struct A<T> {}\nextension A: Codable where T: Codable {}",
      reason: "under a condition"),
    ScanCase(
      "On some systems", "struct A {}\n@available(macOS 16, *) extension A: Codable {}",
      reason: "under a condition"),
    ScanCase(
      "In some builds", "struct A {}\n#if DEBUG\nextension A: Codable {}\n#endif",
      reason: "under a condition"),
    ScanCase("Suppressed", "struct A: ~Copyable, Codable {}", reason: "suppressed"),
    ScanCase(
      "Isolated", "struct A: @MainActor Codable {}", reason: "@MainActor"),
    ScanCase("No name", "struct A: Codable, (Hashable) {}", reason: "not a name"),
    ScanCase(
      "Another type's", "extension String { struct A: Codable {} }", reason: "declared in String"),
    ScanCase(
      "In constraints", "struct B<T> {}\nextension B where T == Int { struct A: Codable {} }",
      reason: "constraints"),
    ScanCase(
      "A container's function", "struct A: Codable {}",
      "extension KeyedDecodingContainer { func decode(_ type: Int.Type, forKey: Key) -> Int { 1 } }",
      reason: "file1.swift extends KeyedDecodingContainer by decode in line 1"),
    ScanCase(
      "A container's function by an alias", "struct A: Codable {}",
      "typealias C = KeyedEncodingContainer\nextension C { func encode() {} }",
      reason: "what synthesised code calls"),
    ScanCase(
      "A decoder's function", "struct A: Codable {}",
      "extension Decoder { func container<K>(keyedBy type: K.Type) {} }",
      reason: "what synthesised code calls"),
    ScanCase(
      "A container's protocol", "struct A: Codable {}",
      "extension KeyedDecodingContainer: P {}", reason: "conform to P"),
    ScanCase(
      "Another file", "struct A: Codable {}", "let a = \"", reason: "file1.swift:1: a string"),
  ]

  @Test("Other modules may extend what is known here, and declare its names")
  func others() {
    let source = "struct A: Codable {}"
    #expect(scan(source, others: ["struct B: Codable {}"]).listedNames == ["A"])
    let extended = scan(
      source, others: ["extension Encodable { public func encode(to e: Encoder) {} }"])
    #expect(extended.reason("A")?.contains("in another module") == true)
    let shadowed = scan(
      source + "\nstruct C: Sendable, Encodable, Decodable {}",
      others: ["public typealias Encodable = Int"])
    #expect(shadowed.listedNames == ["A"])
    #expect(shadowed.unknown.first?.reason.contains("also declared") == true)
    let container = scan(
      source, others: ["extension KeyedDecodingContainer { public func decodeIfPresent() {} }"])
    #expect(container.listedNames.isEmpty)
    let own = scan(
      source,
      others: [
        "extension KeyedDecodingContainer { func decodeIfPresent() {} }",
        "extension Encodable { func encode(to e: Encoder) {} }",
        "private extension Decodable { init(from d: Decoder) {} }",
      ])
    #expect(own.listedNames == ["A"], "what another module keeps for itself is not called here")
  }

  @Test("A struct that may be Codable through a foreign protocol is reported too")
  func unknown() {
    let found = scan("struct A: Foreign {}\nstruct B: Equatable {}")
    #expect(found.unknown.map(\.name) == ["A"])
    #expect(found.generatedSource.contains("// file0.swift:1: A: Foreign is not"))
  }
}
