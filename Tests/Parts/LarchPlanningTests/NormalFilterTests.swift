import LarchTestSupport
import Testing

@testable import Larch

/// The form of filters before they are planned.
struct NormalFilterTests {
  private func expect(
    _ filter: Filter<PlanPerson>, _ text: String, location: SourceLocation = #_sourceLocation
  ) throws {
    #expect(try filter.node.normalized().text == text, sourceLocation: location)
  }

  private let person = Fields<PlanPerson>()

  @Test func `And and or are flattened, and not applies to single tests`() throws {
    try expect(!(person.age == 1 || person.city == "a"), #"age != 1 && city != "a""#)
    try expect(!(person.age == 1 && !(person.city == "a")), #"age != 1 || city == "a""#)
    try expect(
      (person.age == 1 && person.city == "a") && (person.note == "b" && person.score == 1),
      #"age == 1 && city == "a" && note == "b" && score == 1.0"#)
    try expect(!(!(person.age < person.company)), "age < company")
  }

  @Test func `A negation is moved inwards only if the meaning stays`() throws {
    try expect(!(person.age < 18), "age >= 18")
    try expect(!(person.age >= 18), "age < 18")
    try expect(!(person.company < 18), "!(company < 18)")
    try expect(!(person.score < 18), "!(score < 18.0)")
    try expect(!person.isActive, "!isActive")
    try expect(!(person.company == nil), "company != nil")
  }

  @Test func `Tests of one field become one`() throws {
    try expect(person.age >= 1 && person.age < 9 && person.age > 1, "age > 1 && age < 9")
    try expect([1, 2, 3].contains(person.age) && person.age > 1, "[2, 3].contains(age)")
    try expect([1, 2, 3].contains(person.age) && person.age != 2, "[1, 3].contains(age)")
    try expect([1, 2].contains(person.age) && person.age >= 2, "age == 2")
    try expect(person.age == 1 || person.age == 2, "[1, 2].contains(age)")
    try expect(person.height != nil && person.height > 1, "height > 1.0")
    try expect(person.city == "ab" && person.city.hasPrefix("a"), #"city == "ab""#)
    try expect(person.age >= 5 && person.age <= 5, "age == 5")
  }

  @Test func `Tests of several values stay as they are`() throws {
    let both = person.tags.contains("a") && person.tags.contains("b")
    try expect(both, #"tags.contains("a") && tags.contains("b")"#)
    try expect(
      person.tags.contains("a") || person.tags.contains("b"),
      #"tags.containsAny(of: ["a", "b"])"#)
    try expect(!person.tags.contains("a"), #"!tags.contains("a")"#)
  }

  @Test func `A filter that is always or never true is recognized`() throws {
    try expect(person.note.hasPrefix(""), "true")
    try expect(person.nick.hasPrefix(""), "nick != nil")
    try expect(person.score == .nan, "false")
    try expect(person.score != .nan, "true")
    try expect(person.score < .nan, "false")
    try expect(person.age > 3 && person.age < 3, "false")
    try expect(person.company == nil && person.company == 3, "false")
    try expect([].contains(person.city) || person.age == 1, "age == 1")
  }

  @Test func `An or is decided by what an equality beside it says`() throws {
    try expect(
      person.age == 3 && (person.city == "a" || person.age == 4), #"age == 3 && city == "a""#)
    try expect((person.age > 2 || person.city == "a") && person.age == 3, "age == 3")
    try expect((person.age > 3 || person.age == 2) && person.age == 3, "false")
    try expect(
      person.nick == nil && (person.nick.hasPrefix("a") || !(person.nick != "b")), "false")
    try expect(
      person.city == "a" && (person.age == 1 || (person.city != "a" && person.note == "n")),
      #"city == "a" && age == 1"#)
    // One of several values is not the only one; a list leaves more than one.
    try expect(
      person.tags.contains("a") && (person.tags.contains("b") || person.age == 1),
      #"tags.contains("a") && (tags.contains("b") || age == 1)"#)
    try expect(
      [1, 2].contains(person.age) && (person.age == 1 || person.city == "a"),
      #"[1, 2].contains(age) && (age == 1 || city == "a")"#)
  }

  @Test func `What may fail stays in an or, whatever an equality beside it says`() throws {
    let failing = FilterNode.record(
      RecordTest<PlanPerson>(text: "fails", mayFail: true) { _ in throw CancellationError() })
    let city = (person.city == "a").node
    #expect(try FilterNode.all([city, .any([failing, city])]).normalized().mayFail)
    let surely = FilterNode.record(RecordTest<PlanPerson>(text: "sure") { _ in false })
    #expect(
      try FilterNode.all([city, .any([surely, city])]).normalized().text == #"city == "a""#)
  }

  @Test func `A filter that cannot be asked is an error, whatever stands beside it`() throws {
    let broken = person.note.contains(pattern: "(") && [].contains(person.city)
    #expect(throws: LarchError.self) { try broken.node.normalized() }
  }

  @Test func `Long constants are shortened`() throws {
    let long = String(repeating: "x", count: 100)
    let some = String(repeating: "x", count: 40)
    try expect(person.city == long, "city == \"\(some)\"…")
    try expect(
      Array(1...20).contains(person.age), "[1, 2, 3, 4, 5, 6, 7, 8, … 20 in all].contains(age)")
  }
}
