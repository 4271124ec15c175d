import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Hooks of a map change elements, leave them out and see their records")
struct MapHookTests {
  private struct Refused: Error {}

  @Test("A hook changes an element before it is read")
  func changes() throws {
    let map = ImportMap<Staffer> {
      WillImport { person in
        person["full"] = .text("\(person["first"]?.text ?? "") \(person["last"]?.text ?? "")")
        person["first"] = nil
        person["last"] = nil
      }
      WillImport { person in person["years"] = person["years"] ?? 18 }
      Mapped(\.name, from: "full")
      Mapped(\.age, from: "years")
    }
    try Store.staffed { store in
      let report = try store.importJSON(
        Staffer.self, from: .text(#"{"first":"A\"d\\a\u0001","last":"é","email":"a@x"}"#),
        map: map)
      let ada = try store.only(Staffer.self)
      #expect(ada?.name == "A\"d\\a\u{1} é" && ada?.age == 18 && ada?.email == "a@x")
      #expect(report.unknownKeyCount == 0)
    }
  }

  @Test("An element that a hook leaves out is no failure, and the report says why")
  func omitted() throws {
    let map = ImportMap<Staffer> {
      WillImport { person in
        if person["deleted"] == true { throw ImportSkip("deleted at the source") }
        if person["odd"] != nil { throw Refused() }
      }
    }
    let text = """
      {"name":"Ada"}
      {"name":"Bo","deleted":true}
      {"name":"Cy","deleted":false}
      """
    for policy in [ImportErrorPolicy.stop, .skip] {
      for existing in [ImportExisting.replace, .merge] {
        try Store.staffed { store in
          let report = try store.importJSON(
            Staffer.self, from: .text(text), map: map, existing: existing, onError: policy)
          #expect(report.inserted == 2 && report.omitted == 1 && report.skipped == 0)
          #expect(report.elements == 3 && report.omissions.map(\.line) == [2])
          #expect(report.omissions.map(\.reason) == ["deleted at the source"])
          #expect(report.description.contains("1 left out"))
          let odd = try store.importJSON(
            Staffer.self, from: .text(#"{"name":"Di","odd":1}"#), map: map, onError: .skip)
          #expect(odd.failures.map(\.keyword) == ["hook_failed"])
        }
      }
    }
  }

  @Test("A hook after the save sees the record, its links and the element")
  func after() throws {
    let map = ImportMap<Staffer> {
      Mapped(\.name, from: "n")
      Linked(Staffer.firm, from: "f", by: \.name)
      WillImport { $0["extra"] = "e" }
      DidImport { person, element, tx in
        let firm = try tx.find(Firm.self, person.firmID ?? 0)
        let isLinked = try tx.ids(person.related(Staffer.firm)).count == 1
        var note = Course(
          code: "\(person.id) \(firm?.name ?? "") \(element["extra"]?.text ?? "") \(isLinked)")
        try tx.save(&note)
        if element["n"] == "Bo" { throw ImportSkip("no Bo") }
        if element["n"] == "Cy" { throw Refused() }
      }
    }
    let text = #"{"n":"Ada","f":"A"}"# + "\n" + #"{"n":"Bo","f":"B"}"# + "\n"
    for policy in [ImportErrorPolicy.stop, .skip] {
      try Store.staffed { store in
        let report = try store.importJSON(
          Staffer.self, from: .text(text), map: map, onError: policy)
        #expect(report.inserted == 1 && report.omissions.map(\.reason) == ["no Bo"])
        // What was done for Bo is undone.
        #expect(try store.everything(Firm.self).map(\.name) == ["A"])
        #expect(try store.everything(Course.self).map(\.code) == ["1 A e true"])
        #expect(try store.only(Staffer.self)?.name == "Ada")
        let more = JSONSource.text(text + #"{"n":"Cy","f":"C"}"#)
        if policy == .stop {
          #expect(caught { try store.importJSON(Staffer.self, from: more, map: map) } != nil)
        }
        #expect(try store.count(Firm.all) == 1 && store.verify().isClean)
      }
    }
  }

  @Test("A linked object that its hook leaves out is not linked")
  func omittedObject() throws {
    let firms = ImportMap<Firm> {
      WillImport { if $0["closed"] == true { throw ImportSkip("closed") } }
      DidImport { firm, _, _ in if firm.name == "Bad" { throw ImportSkip("bad") } }
    }
    let map = ImportMap<Staffer> { Linked(Staffer.firm, from: "f", by: \.name, map: firms) }
    let text = """
      {"name":"Ada","f":{"name":"A","closed":true}}
      {"name":"Bo","f":{"name":"Bad"}}
      {"name":"Cy","f":{"name":"Good"}}
      """
    try Store.staffed { store in
      let report = try store.importJSON(Staffer.self, from: .text(text), map: map)
      #expect(report.inserted == 3 && report.omitted == 0)
      #expect(report.omissions.map(\.key) == ["f", "f"])
      #expect(report.omissions.map(\.reason) == ["closed", "bad"])
      #expect(try store.everything(Firm.self).map(\.name) == ["Good"])
      #expect(report.related["Firm"]?.linked == 1)
    }
  }

  @Test("What an omitted object would add to the element around it is omitted, too")
  func omittedCycle() throws {
    let firms: ImportMap<Firm> = ImportMap {
      Linked(Firm.boss, from: "boss", by: \.name)
      DidImport { _, _, _ in throw ImportSkip("none") }
    }
    let map = ImportMap<Staffer> { Linked(Staffer.firm, from: "f", by: \.name, map: firms) }
    try Store.staffed { store in
      try store.importJSON(
        Staffer.self,
        from: .text(#"{"name":"Ada","f":{"name":"A","boss":{"name":"Ada","age":5}}}"#),
        map: map)
      #expect(try store.only(Staffer.self)?.age == nil && store.count(Firm.all) == 0)
      #expect(try store.verify().isClean)
    }
  }

  @Test("Hooks of the type run, too")
  func typeHooks() throws {
    struct Hooked: Record {
      var id = RecordID<Hooked>()
      var name: String
      static let schema = Schema<Hooked> { WillSave { record, _ in record.name += "!" } }
    }
    let names = Locked([String]())
    let map = ImportMap<Hooked> {
      Mapped(\.name, from: "n")
      DidImport { record, _, _ in names.withLock { $0.append(record.name) } }
    }
    try Store.scratch(Hooked.self) { store throws in
      try store.importJSON(Hooked.self, from: .text(#"{"n":"a"}"#), map: map)
      #expect(try store.only(Hooked.self)?.name == "a!")
      #expect(names.withLock { $0 } == ["a!"])
    }
  }

  @Test("A JSON value gives its parts, and is written as it was read")
  func values() throws {
    let text = #"{"a":[1,2.50,-0,1e400,"x\n\"",true,null,{}],"b":{"c":[]}}"#
    func value(_ text: String) throws -> JSONValue {
      try Array(text.utf8).withUnsafeBytes { try JSONValue($0) }
    }
    let read = try value(text)
    var bytes: [UInt8] = []
    read.write(to: &bytes)
    #expect(try value(String(decoding: bytes, as: UTF8.self)) == read)
    #expect(read["a"]?[0]?.int == 1 && read["a"]?[1] == .number("2.50"))
    #expect(read["a"]?[1]?.number == 2.5 && read["a"]?[1]?.int == nil)
    #expect(read["a"]?[3]?.number == .infinity && read["a"]?[3]?.int == nil)
    #expect(read["a"]?[4]?.text == "x\n\"" && read["a"]?[5]?.bool == true)
    #expect(read["a"]?[8] == nil && read["a"]?["b"] == nil && read[0] == nil && read["z"] == nil)
    var changed = read
    changed["b"] = 5
    changed["a"] = nil
    #expect(changed == .object(["b": 5]))
    changed = "text"
    changed["b"] = 5
    #expect(changed == "text" && changed.text == "text" && changed.number == nil)
  }

  @Test("A whole number keeps all its digits, however it is written")
  func wholeNumbers() {
    let numbers: [(String, Int?)] = [
      ("9007199254740993.0", 9_007_199_254_740_993),
      ("-9007199254740993e0", -9_007_199_254_740_993),
      ("9223372036854775807.00", .max), ("-9.223372036854775808E+18", .min),
      ("9223372036854775808", nil), ("0.9223372036854775808e19", nil), ("1e19", nil), ("12e1", 120),
      ("0.5", nil), ("50.5e1", 505), ("5e-1", nil), ("500e-2", 5), ("501e-2", nil), ("-0.0", 0),
      ("0e99999999999999999999", 0), ("1e99999999999999999999", nil),
      ("0.99999999999999999999999999", nil), ("1e-9223372036854775808", nil), (".", nil), ("", nil),
      ("-", nil), ("one", nil),
    ]
    for (text, whole) in numbers { #expect(JSONValue.number(text).int == whole, "\(text)") }
  }
}
