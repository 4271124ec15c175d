import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Declarations of rules that cannot be used are refused")
struct RefusedRuleTests {
  struct Thing: Record {
    var id = 0
    var text = ""
    var number = 0
    var isActive = false
    var shout: String { text.uppercased() }
  }

  private func refusal(_ lines: Validate<Thing>...) -> LarchError? {
    do {
      _ = try ValidationCompiler(lines.map(\.declaration))
      return nil
    } catch { return error as? LarchError }
  }

  private func expectRefusal(
    _ words: String, field: String? = "text", _ lines: Validate<Thing>...,
    location: SourceLocation = #_sourceLocation
  ) {
    do {
      _ = try ValidationCompiler(lines.map(\.declaration))
      Issue.record("not refused", sourceLocation: location)
    } catch {
      guard let error = error as? LarchError else { return }
      #expect(error.code == .invalidSchema, sourceLocation: location)
      #expect(error.message.contains(words), "\(error)", sourceLocation: location)
      #expect(error.context.collection == "Thing", sourceLocation: location)
      #expect(error.context.field == field, sourceLocation: location)
    }
  }

  @Test("Lengths and ranges that nothing lies in")
  func ranges() {
    expectRefusal("length range", Validate(\.text, .length(3..<3)))
    expectRefusal("length range", Validate(\.text, .length(min: 4, max: 3)))
    expectRefusal("length range", Validate(\.text, .length(-1)))
    expectRefusal("length range", Validate(\.text, .length(..<0)))
    expectRefusal("range of a rule is empty", field: "number", Validate(\.number, .range(3..<3)))
    expectRefusal("has no values", Validate(\.text, .inclusion([])))
    expectRefusal("no rules", Validate(\.text))
  }

  @Test("Properties and keywords without a name")
  func names() {
    expectRefusal("needs a name", field: nil, Validate(\.shout, .presence))
    expectRefusal("must have 1 to 64", field: "a b", Validate(\.shout, .presence, name: "a b"))
    expectRefusal("keyword of a rule", Validate(\.text, "") { _ in true })
    expectRefusal("keyword of a rule", field: nil, Validate("two words") { _ in true })
  }

  @Test("Rules with indistinguishable errors")
  func doubles() {
    expectRefusal("same field", Validate(\.text, .presence, .presence))
    expectRefusal("same field", Validate(\.text, .presence), Validate(\.text, .presence))
    expectRefusal("same field", Validate(\.text, .length(1...3), .length(2...)))
    expectRefusal(
      "same field", field: nil, Validate("a") { _ in true }, Validate("a") { _ in true })
    #expect(refusal(Validate(\.text, .length(1...), .length(...3))) == nil)
    #expect(
      refusal(Validate(\.text, .format(/a/), .format(/b/).keyword("invalid_letter"))) == nil)
    #expect(
      refusal(Validate(\.text, .presence.when { $0.isActive }, .presence.when { !$0.isActive }))
        == nil)
  }

  struct Nameless: Record {
    var id = 0
    var text = ""
    var shout: String { text.uppercased() }
    static let schema = Schema<Nameless> { Validate(\.shout, .uniqueness) }
  }

  struct Twice: Record {
    var id = 0
    var text = ""
    var isOn = false
    static let schema = Schema<Twice> {
      Validate(\.text, .uniqueness(name: "a").when { $0.isOn })
      Validate(\.text, .uniqueness(name: "a").when { !$0.isOn })
    }
  }

  struct Named: Record {
    var id = 0
    var text = ""
    var isOn = false
    var shout: String { text.uppercased() }
    static let schema = Schema<Named> {
      Validate(\.text, .uniqueness(name: "on").when { $0.isOn })
      Validate(\.text, .uniqueness(name: "off").when { !$0.isOn })
      Validate(\.shout, .uniqueness, name: "shout")
    }
  }

  @Test("A store is not opened with them")
  func opening() throws {
    #expect(code { try Store.scratch(Nameless.self) { _ in } } == .invalidSchema)
    #expect(code { try Store.scratch(Twice.self) { _ in } } == .invalidSchema)
    try Store.scratch(Named.self) { store in
      try store.save(Named(id: 1, text: "a"))
      #expect(
        refused { try store.save(Named(id: 2, text: "a")) } == [
          "text already_exists", "shout already_exists",
        ])
      #expect(
        refused { try store.save(Named(id: 2, text: "a", isOn: true)) } == ["shout already_exists"])
    }
    let schema = try SchemaCompiler.compile(Named.self)
    #expect(schema.indexes.map(\.name) == ["on", "off", "shout"])
  }
}
