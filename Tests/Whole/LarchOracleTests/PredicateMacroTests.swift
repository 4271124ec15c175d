import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Each operator of the macro, as a program writes it.
@Suite("The operators of #Predicate")
struct PredicateMacroTests {
  typealias Person = PredicatePerson

  /// Checks that each predicate gives the records for which it is true, and whether a part of it is
  /// evaluated.
  private func check(
    evaluated: Bool, _ predicates: [Predicate<Person>], _ place: SourceLocation = #_sourceLocation
  ) throws {
    let (store, people) = try Person.samples()
    for (number, predicate) in predicates.enumerated() {
      let query = Person.where(predicate)
      let plan = try store.explain(query)
      let expected = try people.filter { try predicate.evaluate($0) }.map(\.id)
      let text = "number \(number) of the list: \(predicate)\n\(plan)"
      #expect(try store.fetch(query).map(\.id) == expected, "\(text)", sourceLocation: place)
      #expect(
        plan.contains("(evaluated on each record)") == evaluated, "\(text)", sourceLocation: place)
    }
  }

  @Test("Comparisons of properties with constants are filters")
  func comparisons() throws {
    let limit = 18
    let other = Person.sample(7)
    let day = Date(timeIntervalSinceReferenceDate: 20_000)
    let token = UUID(uuid: (9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1))
    let level = PredicateLevel.high
    try check(
      evaluated: false,
      [
        #Predicate { $0.age >= 18 && $0.city == "Oslo" },
        #Predicate { $0.age > limit },
        #Predicate { limit < $0.age },
        #Predicate { $0.age < limit || $0.age <= 41 && $0.age != 30 },
        #Predicate { !($0.age == 30) },
        #Predicate { $0.city == other.city },
        #Predicate { $0.age == -5 || $0.age == 40 + 1 },
        #Predicate { $0.height > 1.7 },
        #Predicate { $0.height != 1.75 },
        #Predicate { $0.height == 0.0 },
        #Predicate { $0.born < day },
        #Predicate { $0.token == token },
        #Predicate { $0.level == level },
        #Predicate { $0.isActive },
        #Predicate { !$0.isActive },
        #Predicate { $0.isActive == false },
        #Predicate { $0.name == "E\u{301}va" },
        #Predicate { $0.age < $0.limit },
        #Predicate { $0.age != $0.limit },
        #Predicate { $0.city == $0.work.city },
        #Predicate { $0.initial == "A" },
        #Predicate { $0.isActive ? $0.age > 20 : $0.city == "Rome" },
        .true, .false,
      ])
  }

  @Test("Tests of optional properties are filters")
  func optionals() throws {
    let email: String? = "p7@other.example"
    let none: String? = nil
    try check(
      evaluated: false,
      [
        #Predicate { $0.email == nil },
        #Predicate { $0.email != nil },
        #Predicate { $0.email == "p7@other.example" },
        #Predicate { $0.email == email },
        #Predicate { $0.email != none },
        #Predicate { $0.home?.city == "Oslo" },
        #Predicate { $0.home?.city != "Oslo" },
        #Predicate { $0.home?.zip == nil },
        #Predicate { $0.work.zip == 5 },
        #Predicate { ($0.email ?? "") == "" },
        #Predicate { ($0.home?.zip ?? 7) < 20 },
        #Predicate { $0.email?.contains("acme") == true },
        #Predicate { $0.email?.contains("acme") != true },
        #Predicate { $0.email?.contains("acme") == nil },
        #Predicate { $0.email?.contains("acme") == false },
        #Predicate { $0.email?.starts(with: "p1") ?? false },
        #Predicate { $0.email?.starts(with: "p1") ?? true },
        #Predicate { $0.email?.starts(with: "p1") ?? $0.isActive },
        #Predicate { $0.isMember ?? false },
        #Predicate { $0.isMember == true },
        #Predicate { $0.isMember != true },
        #Predicate { $0.home.flatMap { $0.city == "Oslo" } ?? false },
        #Predicate { person in
          if let email = person.email { email.contains("1") } else { false }
        },
      ])
  }

  @Test("Ranges, lists, texts and elements are filters")
  func lists() throws {
    let cities = ["Oslo", "Rome"]
    let ages: Set = [17, 18]
    let range = 18..<42
    let mails: [String?] = [nil, "p7@other.example"]
    try check(
      evaluated: false,
      [
        #Predicate { (18...30).contains($0.age) },
        #Predicate { (18..<30).contains($0.age) },
        #Predicate { range.contains($0.age) },
        #Predicate { cities.contains($0.city) },
        #Predicate { ["Kyiv"].contains($0.city) },
        #Predicate { ages.contains($0.age) },
        #Predicate { mails.contains($0.email) },
        #Predicate { $0.name.contains("a") },
        #Predicate { $0.name.starts(with: "\u{C9}") },
        #Predicate { $0.name.isEmpty },
        #Predicate { $0.name.count > 2 },
        #Predicate { $0.tags.contains("go") },
        #Predicate { !$0.tags.contains("go") },
        #Predicate { $0.tags.contains { $0.starts(with: "sw") } },
        #Predicate { $0.tags.contains { $0 == "go" || $0 == "linux" } },
        #Predicate { $0.tags.allSatisfy { $0 != "go" } },
        #Predicate { $0.tags.isEmpty || $0.tags.count == 2 },
        #Predicate { $0.tags.first == "swift" },
      ])
  }

  @Test("What is no filter is evaluated on records")
  func evaluated() throws {
    let point = 3
    try check(
      evaluated: true,
      [
        #Predicate { $0.limit + 1 > 20 },
        #Predicate { $0.limit * 2 - 1 == 19 },
        #Predicate { $0.limit % 7 == 2 },
        #Predicate { $0.limit / 7 == 2 },
        #Predicate { -$0.limit < -30 },
        #Predicate { $0.height * 2.0 > 3.4 },
        #Predicate { $0.height / 2.0 > 0.9 },
        #Predicate { $0.name < "Bz" },
        #Predicate { $0.scores["go"] == 3 },
        #Predicate { $0.scores["chess", default: 0] > point },
        #Predicate { $0.scores["chess"] != nil },
        #Predicate { $0.tags.filter { $0.contains("i") }.count == 2 },
        #Predicate { $0.tags.allSatisfy { $0.contains("i") } },
        #Predicate { $0.tags.contains { $0.contains("i") && !$0.contains("s") } },
        #Predicate { person in person.tags.contains { $0 == person.city } },
        #Predicate { $0.marks.max() == 6 },
        #Predicate { ($0.marks.min() ?? 100) < 5 },
        #Predicate { $0.marks.contains { $0 > 10 } && $0.marks.allSatisfy { $0 < 15 } },
        #Predicate { $0.tags == ["swift"] },
        #Predicate { $0.name.contains(/[A-C]./) },
        #Predicate { $0.home == nil },
        #Predicate { ($0.isActive ? $0.age : $0.limit) > 20 },
        #Predicate { ($0.age as Any) is Int },
        #Predicate { (($0.age as Any) as? String) == nil },
        #Predicate { ($0.limit...$0.limit).contains(12) },
      ])
  }
}
