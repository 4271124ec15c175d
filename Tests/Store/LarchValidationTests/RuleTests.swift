import Foundation
import RegexBuilder
import Testing

@testable import Larch

@Suite("Rules and the values that they accept")
struct RuleTests {
  enum Role: String, Codable, Sendable { case guest, member, owner }

  struct Thing: Record {
    var id = RecordID<Thing>()
    var text = ""
    var maybe: String?
    var number = 0
    var maybeNumber: Int?
    var real = 0.0
    var list: [String] = []
    var maybeList: [Int]?
    var marks: Set<Int> = []
    var names: [String: Int] = [:]
    var data = Data()
    var role = Role.guest
    var maybeRole: Role?
    var thingID = RecordID<Thing>()
    var date = Date(timeIntervalSinceReferenceDate: 0)
  }

  private func told(_ lines: Validate<Thing>..., of change: (inout Thing) -> Void) throws
    -> [String]
  {
    var thing = Thing()
    change(&thing)
    return LarchValidationTests.told(
      try ValidationCompiler(lines.map(\.declaration)).program.errors(of: thing) { _ in false })
  }

  @Test("Presence refuses nil, empty values, and white space of every kind")
  func presence() throws {
    for text in ["", " ", "\n\t", "\u{3000}\u{00A0}\u{2003}", "\r\n"] {
      #expect(try told(Validate(\.text, .presence)) { $0.text = text } == ["text cant_be_blank"])
      #expect(try told(Validate(\.maybe, .presence)) { $0.maybe = text } == ["maybe cant_be_blank"])
    }
    for text in ["a", " a ", "\u{200B}", "👩‍👩‍👧"] {
      #expect(try told(Validate(\.text, .presence)) { $0.text = text } == [])
      #expect(try told(Validate(\.maybe, .presence)) { $0.maybe = text } == [])
    }
    #expect(try told(Validate(\.maybe, .presence)) { _ in } == ["maybe cant_be_blank"])
    #expect(try told(Validate(\.maybeNumber, .presence)) { _ in } == ["maybeNumber cant_be_blank"])
    #expect(try told(Validate(\.maybeNumber, .presence)) { $0.maybeNumber = 0 } == [])
    #expect(try told(Validate(\.maybeRole, .presence)) { _ in } == ["maybeRole cant_be_blank"])
    #expect(try told(Validate(\.maybeRole, .presence)) { $0.maybeRole = .owner } == [])
    #expect(try told(Validate(\.list, .presence)) { _ in } == ["list cant_be_blank"])
    #expect(try told(Validate(\.list, .presence)) { $0.list = [""] } == [])
    #expect(try told(Validate(\.maybeList, .presence)) { _ in } == ["maybeList cant_be_blank"])
    #expect(
      try told(Validate(\.maybeList, .presence)) { $0.maybeList = [] } == [
        "maybeList cant_be_blank"
      ])
    #expect(try told(Validate(\.maybeList, .presence)) { $0.maybeList = [1] } == [])
    #expect(try told(Validate(\.marks, .presence)) { _ in } == ["marks cant_be_blank"])
    #expect(try told(Validate(\.names, .presence)) { $0.names = ["a": 1] } == [])
    #expect(try told(Validate(\.data, .presence)) { _ in } == ["data cant_be_blank"])
    #expect(try told(Validate(\.thingID, .presence)) { _ in } == ["thingID cant_be_blank"])
    #expect(try told(Validate(\.thingID, .presence)) { $0.thingID = 3 } == [])
  }

  @Test("A length counts characters as Swift does")
  func characters() throws {
    let family = "👩‍👩‍👧‍👦"
    for text in ["ab", "é👩‍👩‍👧", "e\u{301}x", family + family, "\r\n!"] {
      #expect(try told(Validate(\.text, .length(2))) { $0.text = text } == [])
      #expect(try told(Validate(\.text, .length(2...2))) { $0.text = text } == [])
      #expect(try told(Validate(\.text, .length(3...))) { $0.text = text } == ["text too_short 3"])
      #expect(try told(Validate(\.text, .length(..<2))) { $0.text = text } == ["text too_long 1"])
      #expect(try told(Validate(\.text, .length(3))) { $0.text = text } == ["text wrong_length 3"])
      #expect(try told(Validate(\.text, .length(1))) { $0.text = text } == ["text wrong_length 1"])
    }
  }

  @Test("A length includes its bounds, and nil is accepted")
  func bounds() throws {
    func verdict(_ count: Int, _ rule: ValidationRule<Thing, String>) throws -> [String] {
      try told(Validate(\.text, rule)) { $0.text = String(repeating: "x", count: count) }
    }
    #expect(try verdict(0, .length(1...3)) == ["text too_short 1"])
    #expect(try verdict(1, .length(1...3)) == [])
    #expect(try verdict(3, .length(1...3)) == [])
    #expect(try verdict(4, .length(1...3)) == ["text too_long 3"])
    #expect(try verdict(2, .length(1..<3)) == [])
    #expect(try verdict(3, .length(1..<3)) == ["text too_long 2"])
    #expect(try verdict(0, .length(...0)) == [])
    #expect(try verdict(1, .length(...0)) == ["text too_long 0"])
    #expect(try verdict(0, .length(0)) == [])
    #expect(try verdict(1, .length(0)) == ["text wrong_length 0"])
    #expect(try verdict(4, .length(min: 5)) == ["text too_short 5"])
    #expect(try verdict(5, .length(min: 5, max: 6)) == [])
    #expect(try verdict(7, .length(max: 6)) == ["text too_long 6"])
    for rule: ValidationRule<Thing, String?> in [.length(2...3), .length(9), .length(5...)] {
      #expect(try told(Validate(\.maybe, rule)) { _ in } == [])
    }
    #expect(try told(Validate(\.maybe, .length(2...3))) { $0.maybe = "" } == ["maybe too_short 2"])
    #expect(try told(Validate(\.maybe, .length(9))) { $0.maybe = "" } == ["maybe wrong_length 9"])
  }

  @Test("Arrays, sets, dictionaries and data have lengths")
  func lengths() throws {
    #expect(try told(Validate(\.list, .length(1...2))) { _ in } == ["list too_short 1"])
    #expect(
      try told(Validate(\.list, .length(1...2))) { $0.list = ["", "", ""] } == ["list too_long 2"])
    #expect(try told(Validate(\.maybeList, .length(1...2))) { _ in } == [])
    #expect(
      try told(Validate(\.maybeList, .length(1...2))) { $0.maybeList = [] }
        == ["maybeList too_short 1"])
    #expect(try told(Validate(\.marks, .length(2))) { $0.marks = [1, 2] } == [])
    #expect(
      try told(Validate(\.names, .length(2))) { $0.names = ["a": 1] } == ["names wrong_length 2"])
    #expect(
      try told(Validate(\.data, .length(...2))) { $0.data = Data([1, 2, 3]) } == ["data too_long 2"]
    )
  }

  @Test("A range includes its bounds, except the upper one of a half-open range")
  func ranges() throws {
    func verdict(_ value: Int, _ rule: ValidationRule<Thing, Int>) throws -> [String] {
      try told(Validate(\.number, rule)) { $0.number = value }
    }
    #expect(try verdict(-1, .range(0...5)) == ["number too_small 0"])
    #expect(try verdict(0, .range(0...5)) == [])
    #expect(try verdict(5, .range(0...5)) == [])
    #expect(try verdict(6, .range(0...5)) == ["number too_large 5"])
    #expect(try verdict(4, .range(0..<5)) == [])
    #expect(try verdict(5, .range(0..<5)) == ["number too_large 5"])
    #expect(try verdict(.max, .range(3...)) == [])
    #expect(try verdict(2, .range(3...)) == ["number too_small 3"])
    #expect(try verdict(.min, .range(...3)) == [])
    #expect(try verdict(4, .range(...3)) == ["number too_large 3"])
    #expect(try verdict(3, .range(..<3)) == ["number too_large 3"])
    #expect(try told(Validate(\.maybeNumber, .range(1...2))) { _ in } == [])
    #expect(
      try told(Validate(\.maybeNumber, .range(1...2))) { $0.maybeNumber = 0 }
        == ["maybeNumber too_small 1"])
    #expect(try told(Validate(\.text, .range("b"..."d"))) { $0.text = "a" } == ["text too_small b"])
    let later = Date(timeIntervalSinceReferenceDate: 1)
    #expect(try told(Validate(\.date, .range(later...))) { _ in }.count == 1)
  }

  @Test("NaN lies in no range")
  func notANumber() throws {
    #expect(
      try told(Validate(\.real, .range(0...1))) { $0.real = .nan } == ["real too_small 0.0"])
    #expect(try told(Validate(\.real, .range(..<1))) { $0.real = .nan } == ["real too_large 1.0"])
    #expect(try told(Validate(\.real, .range(0...))) { $0.real = .infinity } == [])
    #expect(try told(Validate(\.real, .range(0...))) { $0.real = -0.0 } == [])
  }

  @Test("A format matches the whole text")
  func formats() throws {
    for (text, isRight) in [
      ("12345", true), ("1234", false), ("a12345", false), ("12345\n", false),
    ] {
      let wanted = isRight ? [] : ["text invalid_format"]
      #expect(try told(Validate(\.text, .format(/[0-9]{5}/))) { $0.text = text } == wanted)
    }
    let built = Validate<Thing>(
      \.maybe,
      .format(
        Regex {
          OneOrMore(.word)
          "@"
          OneOrMore(.word)
        }))
    #expect(try told(built) { $0.maybe = "a@b" } == [])
    #expect(try told(built) { $0.maybe = "a@" } == ["maybe invalid_format"])
    #expect(try told(built) { _ in } == [])
    #expect(try told(Validate(\.text, .format(/é/))) { $0.text = "e\u{301}" } == [])
  }

  @Test("Lists compare values like Swift, and nil passes inclusion and exclusion")
  func lists() throws {
    let cities = ["Oslo", "Rome", "Malm\u{F6}"]
    #expect(try told(Validate(\.text, .inclusion(cities))) { $0.text = "Rome" } == [])
    #expect(try told(Validate(\.text, .inclusion(cities))) { $0.text = "Malmo\u{308}" } == [])
    #expect(try told(Validate(\.text, .inclusion(cities))) { _ in } == ["text not_included"])
    #expect(try told(Validate(\.maybe, .inclusion(cities))) { _ in } == [])
    #expect(try told(Validate(\.maybe, .inclusion(Set(cities)))) { $0.maybe = "Rome" } == [])
    #expect(
      try told(Validate(\.maybe, .inclusion(["Oslo"]))) { $0.maybe = "" } == ["maybe not_included"])
    #expect(
      try told(Validate(\.text, .exclusion(["root"]))) { $0.text = "root" } == ["text reserved"])
    #expect(try told(Validate(\.text, .exclusion(["root"]))) { $0.text = "Root" } == [])
    #expect(try told(Validate(\.maybe, .exclusion(["root"]))) { _ in } == [])
    #expect(try told(Validate(\.maybe, .exclusion([nil, "root"]))) { _ in } == [])
    #expect(
      try told(Validate(\.role, .inclusion([.member, .owner]))) { _ in } == ["role not_included"])
    #expect(
      try told(Validate(\.maybeRole, .exclusion([.owner]))) { $0.maybeRole = .owner }
        == ["maybeRole reserved"])
    #expect(try told(Validate(\.number, .exclusion([]))) { _ in } == [])
  }

  @Test("Custom rules have their own keyword, field and message")
  func custom() throws {
    let even = Validate<Thing>(\.number, "must_be_even") { $0.isMultiple(of: 2) }
    #expect(try told(even) { $0.number = 2 } == [])
    #expect(try told(even) { $0.number = 3 } == ["number must_be_even"])
    let odd = Validate<Thing>(\.maybeNumber, "must_be_odd") { $0 % 2 == 1 }
    #expect(try told(odd) { _ in } == [])
    #expect(try told(odd) { $0.maybeNumber = 2 } == ["maybeNumber must_be_odd"])
    let whole = Validate<Thing>("too_long_for_its_number") { $0.text.count <= $0.number }
    #expect(try told(whole) { _ in } == [])
    #expect(try told(whole) { $0.text = "x" } == ["- too_long_for_its_number"])
    let named = Validate<Thing>("too_long_for_its_number", on: \.text) {
      $0.text.count <= $0.number
    }
    #expect(try told(named) { $0.text = "x" } == ["text too_long_for_its_number"])
    let inside = Validate<Thing>(\.text, .presence, .custom("shouts") { $0 != $0.uppercased() })
    #expect(try told(inside) { $0.text = "A" } == ["text shouts"])
  }

  @Test("A condition selects the records for a rule")
  func conditions() throws {
    let line = Validate<Thing>(\.text, .presence, .length(...3)).when { $0.number > 0 }
    #expect(try told(line) { _ in } == [])
    #expect(try told(line) { $0.number = 1 } == ["text cant_be_blank"])
    let rule = Validate<Thing>(
      \.text, .presence.when { $0.number > 0 }, .length(1...).when { $0.number > 1 })
    #expect(try told(rule) { _ in } == [])
    #expect(try told(rule) { $0.number = 1 } == ["text cant_be_blank"])
    #expect(try told(rule) { $0.number = 2 } == ["text cant_be_blank", "text too_short 1"])
    let both = Validate<Thing>(\.text, .presence.when { $0.number > 0 }).when { $0.real > 0 }
    #expect(try told(both) { $0.number = 1 } == [])
    #expect(
      try told(both) {
        $0.number = 1
        $0.real = 1
      } == ["text cant_be_blank"])
  }

  @Test("Errors have model, field, keyword and bound, and a sentence")
  func messages() throws {
    let lines: [Validate<Thing>] = [
      Validate(\.text, .presence, .length(3...40)),
      Validate(\.number, .range(1..<150)),
      Validate(\.list, .length(1).message("One of them, please.").keyword("one")),
      Validate("odd_thing", message: "What a thing.") { _ in false },
    ]
    let errors = try ValidationCompiler(lines.map(\.declaration)).program
      .errors(of: Thing(number: 200)) { _ in false }
    #expect(
      errors == [
        ValidationError(
          model: "Thing", field: "text", keyword: .cantBeBlank, message: "text must not be blank."),
        ValidationError(
          model: "Thing", field: "text", keyword: .tooShort, limit: "3",
          message: "text must have at least 3 characters."),
        ValidationError(
          model: "Thing", field: "number", keyword: .tooLarge, limit: "150",
          message: "number must be less than 150."),
        ValidationError(
          model: "Thing", field: "list", keyword: "one", limit: "1", message: "One of them, please."
        ),
        ValidationError(model: "Thing", field: nil, keyword: "odd_thing", message: "What a thing."),
      ])
    #expect(errors.map(\.description).first == "Thing.text cant_be_blank")
  }
}
