import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("A map says from which keys a property takes its value")
struct MappedTests {
  private func imported(
    _ text: String, _ map: ImportMap<Staffer>, policy: ImportErrorPolicy = .stop,
    options: ImportOptions = ImportOptions(),
    _ check: (Staffer?, ImportReport, Store) throws -> Void
  ) throws {
    try Store.staffed { store in
      let report = try store.importJSON(
        Staffer.self, from: .text(text), map: map, onError: policy, options: options)
      try check(try store.only(), report, store)
    }
  }

  @Test("A key is renamed, and a property without a line keeps its own key")
  func renamed() throws {
    let map = ImportMap<Staffer> { Mapped(\.name, from: "full_name") }
    try imported(#"{"full_name":"Ada","age":36,"x":1}"#, map) { ada, report, _ in
      #expect(ada?.name == "Ada" && ada?.age == 36)
      #expect(report.inserted == 1 && report.unknownKeys == ["x": 1])
    }
    // The own name of a property with a line is nobody's key.
    try imported(#"{"full_name":"Ada","name":"Bo"}"#, map) { ada, report, _ in
      #expect(ada?.name == "Ada" && report.unknownKeys == ["name": 1])
    }
  }

  @Test("A property can have its own name as its key, beside others")
  func ownName() throws {
    let map = ImportMap<Staffer> { Mapped(\.name, from: "title", "name") }
    try imported(#"{"name":"Ada"}"#, map) { ada, report, _ in
      #expect(ada?.name == "Ada" && report.unknownKeyCount == 0)
    }
    // The key of one property may be the name of another one, which keeps its own.
    let both = ImportMap<Staffer> { Mapped(\.name, from: "email") }
    try imported(#"{"email":"a@x"}"#, both) { ada, _, _ in
      #expect(ada?.name == "a@x" && ada?.email == "a@x")
    }
  }

  @Test("Paths lead into objects and lists, and what they pass by is reported")
  func paths() throws {
    let map = ImportMap<Staffer> {
      Mapped(\.name, from: "person.names.1")
      Mapped(\.email, from: #"person.e\.mail"#)
      Mapped(\.age, from: "person.years.0.n")
    }
    let text = #"""
      {"person":{"names":["x","Ada","y"],"e.mail":"a@x","years":[{"n":36,"m":1}],"zip":[1]},"1":2}
      """#
    try imported(text, map) { ada, report, _ in
      #expect(ada?.name == "Ada" && ada?.email == "a@x" && ada?.age == 36)
      #expect(
        report.unknownKeys
          == ["person.names[]": 2, "person.years.0.m": 1, "person.zip": 1, "1": 1])
    }
    // What a path leads through is no object.
    let failure = stopping(
      caught { try imported(#"{"person":"Ada"}"#, map) { _, _, _ in } })
    #expect(failure?.field == "name" && failure?.key == "person.names.1")
    // A number is a key, too.
    let numbered = ImportMap<Staffer> { Mapped(\.name, from: "a.0") }
    try imported(#"{"a":{"0":"Ada"}}"#, numbered) { ada, _, _ in #expect(ada?.name == "Ada") }
  }

  @Test("Keys with escapes are the same keys")
  func escapes() throws {
    let map = ImportMap<Staffer> { Mapped(\.name, from: "näme") }
    try imported(#"{"n\u00e4me":"A\ud83d\ude00\n","na\u006de":1}"#, map) { ada, report, _ in
      #expect(ada?.name == "A😀\n" && report.unknownKeys == ["name": 1])
    }
    // The same characters in other bytes, as the decoder of Foundation sees them.
    for key in ["na\u{308}me", "na\\u0308me"] {
      try imported("{\"\(key)\":\"Ada\"}", map) { ada, report, _ in
        #expect(ada?.name == "Ada" && report.unknownKeys.isEmpty)
      }
    }
  }

  @Test("The first of several keys that has a value wins, and the report counts the others")
  func candidates() throws {
    let map = ImportMap<Staffer> { Mapped(\.name, from: "a.b", "c", "d") }
    try imported(#"{"d":"D","c":"C","a":{"b":"B"}}"#, map) { ada, report, _ in
      #expect(ada?.name == "B" && report.unusedKeys == ["c": 1, "d": 1])
    }
    try imported(#"{"d":"D","c":null,"a":{}}"#, map) { ada, report, _ in
      #expect(ada?.name == "D" && report.unusedKeys.isEmpty)
    }
    let failure = stopping(caught { try imported(#"{"c":null}"#, map) { _, _, _ in } })
    #expect(failure?.field == "name" && failure?.key == "a.b or c or d")
  }

  @Test("A default is for elements of new records that have none of the keys")
  func defaults() throws {
    let map = ImportMap<Staffer> {
      Mapped(\.role, from: "r", default: .guest)
      Mapped(\.age, from: "years", default: 7)
      Mapped(\.email, from: "mail", default: nil)
    }
    try imported(#"{"name":"Ada"}"#, map) { ada, _, store in
      #expect(ada?.role == .guest && ada?.age == 7 && ada?.email == nil)
      // A null is not absent, and a merge keeps what the record has.
      try store.importJSON(
        Staffer.self, from: .text(#"{"name":"Ada","r":"member","years":null}"#), map: map,
        matching: \.name)
      #expect(try store.only(Staffer.self)?.role == .member)
      #expect(try store.only(Staffer.self)?.age == nil)
      try store.importJSON(
        Staffer.self, from: .text(#"{"name":"Ada","mail":"a@x"}"#), map: map, matching: \.name,
        existing: .merge)
      let ada = try store.only(Staffer.self)
      #expect(ada?.role == .member && ada?.age == nil && ada?.email == "a@x")
    }
  }

  @Test(
    "Dates have the form that the line says, in UTC",
    arguments: [
      (ImportDate.format("yyyy-MM-dd"), #""2026-11-26""#, 1_795_651_200.0),
      (.format("d MMM yyyy HH:mm"), #""26 Nov 2026 08:30""#, 1_795_681_800),
      (
        .format("yyyy-MM-dd", timeZone: TimeZone(secondsFromGMT: 3600)!), #""2026-11-26""#,
        1_795_647_600
      ),
      (
        .format("d. MMMM yyyy", locale: Locale(identifier: "de_DE")), #""1. März 2026""#,
        1_772_323_200
      ),
      (.iso8601, #""2026-11-26T08:30:00Z""#, 1_795_681_800),
      (.iso8601, #""2026-11-26T08:30:00.5+01:00""#, 1_795_678_200.5),
      (.iso8601, #""2026-11-26""#, 1_795_651_200),
      (.secondsSince1970, "1795681800.25", 1_795_681_800.25),
      (.millisecondsSince1970, "1795681800250", 1_795_681_800.25),
    ])
  func dates(_ form: ImportDate, _ json: String, _ seconds: Double) throws {
    let map = ImportMap<Staffer> { Mapped(\.birthday, from: "born", date: form) }
    try imported(#"{"name":"Ada","born":\#(json)}"#, map) { ada, report, _ in
      #expect(ada?.birthday == Date(timeIntervalSince1970: seconds))
      #expect(report.coercedKeys.isEmpty)
    }
    try imported(#"{"name":"Ada","born":null}"#, map) { ada, _, _ in #expect(ada?.birthday == nil) }
  }

  @Test("A form with characters of several scalars reads what it writes")
  func composedDates() throws {
    for (form, locale) in [("'วันที่' d MMMM yyyy", "th_TH"), ("d MMMM yyyy", "hi_IN")] {
      let formatter = DateFormatter()
      formatter.locale = Locale(identifier: locale)
      formatter.timeZone = .gmt
      formatter.calendar = Calendar(identifier: .gregorian)
      formatter.dateFormat = form
      let day = Date(timeIntervalSince1970: 1_767_571_200)
      let map = ImportMap<Staffer> {
        Mapped(
          \.birthday, from: "born", date: .format(form, locale: Locale(identifier: locale)))
      }
      let text = formatter.string(from: day)
      try imported(#"{"name":"Ada","born":"\#(text)"}"#, map) { ada, _, _ in
        #expect(ada?.birthday == day, "\(text)")
      }
    }
  }

  @Test(
    "A date in another form is an error that names key and field",
    arguments: [
      (ImportDate.format("yyyy-MM-dd"), #""26.11.2026""#),
      (.format("yyyy-MM-dd"), #""2026-13-26""#),
      (.format("yyyy-MM-dd"), #""2026-11-26 and more""#), (.format("yyyy-MM-dd"), "20261126"),
      (.format("yyyy-MM-dd"), #""""#), (.format("yyyy-MM-dd"), "{}"),
      (.format("yyyy-MM-dd"), "true"),
      (.format("yyyy-MM-dd"), "\"2026-11-26\u{301}\""),
      (.format("yyyy-MM-dd"), "\"2026\u{301}-11-26\""),
      (.iso8601, #""2026-11-26T08:30:00Z and more""#),
      (.iso8601, #""2026-11-26T08:30:00.5+01:00xyz""#),
      (.iso8601, #""yesterday""#), (.iso8601, #""2026-02-30""#),
      (.iso8601, #""2026-02-30T08:30:00Z""#), (.iso8601, #""2026-11-266""#),
      (.secondsSince1970, #""1795681800""#), (.secondsSince1970, "1e999"),
      (.millisecondsSince1970, "[1]"),
    ])
  func wrongDates(_ form: ImportDate, _ json: String) throws {
    let map = ImportMap<Staffer> { Mapped(\.birthday, from: "x", "born", date: form) }
    let failure = stopping(
      caught { try imported(#"{"name":"Ada","born":\#(json)}"#, map) { _, _, _ in } })
    #expect(failure?.key == "born" && failure?.field == "birthday" && failure?.line == 1)
    #expect((failure?.reason as? LarchError)?.code == .elementMismatch)
  }

  @Test("A date may be coerced from text or number where asked")
  func coercedDates() throws {
    let map = ImportMap<Staffer> {
      Mapped(\.birthday, from: "born", date: .secondsSince1970, coercing: true)
    }
    try imported(#"{"name":"Ada","born":"60"}"#, map) { ada, report, _ in
      #expect(ada?.birthday == Date(timeIntervalSince1970: 60) && report.coercedKeys == ["born": 1])
    }
    let days = ImportMap<Staffer> {
      Mapped(\.birthday, from: "born", date: .format("yyyyMMdd"), coercing: true)
    }
    try imported(#"{"name":"Ada","born":19700102}"#, days) { ada, report, _ in
      #expect(ada?.birthday == Date(timeIntervalSince1970: 86400))
      #expect(report.coercedKeys == ["born": 1])
    }
  }

  @Test(
    "Texts, numbers and truth values are converted where asked",
    arguments: [
      (#""41""#, 41), (#"" 041 ""#, 41), (#""+7""#, 7), (#""1e2""#, 100), (#""0""#, 0), ("12", 12),
    ])
  func coercedNumbers(_ json: String, _ age: Int) throws {
    let map = ImportMap<Staffer> { Mapped(\.age, from: "a", coercing: true) }
    try imported(#"{"name":"Ada","a":\#(json)}"#, map) { ada, report, _ in
      #expect(ada?.age == age)
      #expect(report.coercedKeys == (json == "12" ? [:] : ["a": 1]))
    }
  }

  @Test(
    "What cannot be converted is an error that names key and field",
    arguments: [
      #""""#, #""4 1""#, #""0x10""#, #""1.5""#, #""٤""#, #""-""#, "true", "[1]", "1e400",
      #""99999999999999999999""#,
    ])
  func wrongNumbers(_ json: String) throws {
    let map = ImportMap<Staffer> { Mapped(\.age, from: "a", coercing: true) }
    let failure = stopping(
      caught { try imported(#"{"name":"Ada","a":\#(json)}"#, map) { _, _, _ in } })
    #expect(failure?.key == "a" && failure?.field == "age", "\(String(describing: failure))")
  }

  @Test("Nothing is converted unless the line says so")
  func notCoerced() throws {
    let map = ImportMap<Staffer> {
      Mapped(\.age, from: "a")
      Mapped(\.name, from: "n")
    }
    for text in [#"{"n":"Ada","a":"41"}"#, #"{"n":41}"#] {
      #expect(caught { try imported(text, map) { _, _, _ in } }?.code == .importStopped)
    }
  }

  @Test("Numbers become texts digit by digit, and 0 and 1 truth values")
  func coercedOthers() throws {
    let map = ImportMap<Staffer> {
      Mapped(\.name, from: "n", coercing: true)
      Mapped(\.isActive, from: "on", coercing: true)
      Mapped(\.id, from: "no", coercing: true)
    }
    try imported(#"{"n":1234567890123456789012345.50,"on":1,"no":"77"}"#, map) { ada, report, _ in
      #expect(ada?.name == "1234567890123456789012345.50" && ada?.isActive == true)
      #expect(ada?.id == 77 && report.coercedKeys == ["n": 1, "on": 1, "no": 1])
    }
    try imported(#"{"n":true,"on":"FALSE"}"#, map) { ada, _, _ in
      #expect(ada?.name == "true" && ada?.isActive == false)
    }
    let failure = stopping(caught { try imported(#"{"n":"Ada","on":2}"#, map) { _, _, _ in } })
    #expect(failure?.key == "on")
  }

  @Test("Unknown keys can be refused, with their names in the source")
  func refused() throws {
    let map = ImportMap<Staffer> { Mapped(\.name, from: "p.n") }
    var options = ImportOptions()
    options.unknownKeys = .refuse
    for (text, name) in [
      (#"{"p":{"n":"Ada","zip":1}}"#, "p.zip"), (#"{"p":{"n":"Ada"},"name":1}"#, "name"),
      (#"{"p":{"n":"Ada"},"other":1}"#, "other"),
    ] {
      let failure = stopping(caught { try imported(text, map, options: options) { _, _, _ in } })
      #expect((failure?.reason as? LarchError)?.code == .unknownKey && failure?.field == name)
    }
    // An unused key is known.
    let two = ImportMap<Staffer> { Mapped(\.name, from: "a", "b") }
    try imported(#"{"a":"Ada","b":"x"}"#, two, options: options) { ada, _, _ in
      #expect(ada?.name == "Ada")
    }
  }

  @Test("Validation and unique values are checked, and errors name the key and the line")
  func errors() throws {
    let map = ImportMap<Staffer> {
      Mapped(\.name, from: "n")
      Mapped(\.age, from: "years")
    }
    let text = """
      {"n":"Ada","years":36}
      {"n":"Bo","years":200}
      {"n":["Cy"]}
      {"years":3}
      """
    try Store.staffed { store in
      let report = try store.importJSON(
        Staffer.self, from: .text(text), map: map, onError: .skip)
      #expect(report.inserted == 1 && report.failures.map(\.line) == [2, 3, 4])
      #expect(report.failures.map(\.key) == ["years", "n", "n"])
      #expect(report.failures.map(\.field) == ["age", "name", "name"])
      #expect(report.failures[0].description.contains("line 2, byte 23, key years: "))
    }
  }

  @Test("A map works with matching, merging and the id of elements")
  func matching() throws {
    let map = ImportMap<Staffer> { Mapped(\.email, from: "mail") }
    try Store.staffed { store in
      try store.importJSON(
        Staffer.self, from: .text(#"{"name":"Ada","mail":"a@x","age":3}"#), map: map)
      let report = try store.importJSON(
        Staffer.self, from: .text(#"{"mail":"a@x","name":"Ada B"}"#), map: map,
        matching: \.email, existing: .merge)
      #expect(report.updated == 1)
      let ada = try store.only(Staffer.self)
      #expect(ada?.name == "Ada B" && ada?.age == 3)
      let again = try store.importJSON(
        Staffer.self, from: .text(#"{"id":1,"name":"Ada B","mail":"a@x","age":3}"#), map: map)
      #expect(again.unchanged == 1)
      // A field that the map makes is matched, too.
      let numbers = ImportMap<Badge> { Mapped(\.code, from: "c", coercing: true) }
      for _ in 0..<2 {
        try store.importJSON(Badge.self, from: .text(#"{"c":"5"}"#), map: numbers, matching: \.code)
      }
      #expect(try store.only(Badge.self)?.code == 5)
    }
  }

  @Test("The methods of a type and the asynchronous ones take a map")
  func otherCalls() async throws {
    let store = try Store.temporary(
      for: Staffer.self, Firm.self, Skill.self, Badge.self, Club.self, Course.self,
      Enrolment.self)
    let map = ImportMap<Staffer> { Mapped(\.name, from: "n") }
    try await store.importJSON(Staffer.self, from: .text(#"{"n":"a"}"#), map: map)
    try await store.importJSON(Staffer.self, from: .text(#"{"n":"b"}"#), map: map, matching: \.name)
    try await Staffer.importJSON(from: .text(#"{"n":"c"}"#), map: map, in: store)
    try await Staffer.importJSON(
      from: .text(#"{"n":"d"}"#), map: map, matching: \.name, in: store)
    try await store.write { tx in
      try Staffer.importJSON(from: .text(#"{"n":"e"}"#), map: map, in: tx)
      try Staffer.importJSON(from: .text(#"{"n":"f"}"#), map: map, matching: \.name, in: tx)
    }
    #expect(try store.everything(Staffer.self).map(\.name) == ["a", "b", "c", "d", "e", "f"])
  }
}
