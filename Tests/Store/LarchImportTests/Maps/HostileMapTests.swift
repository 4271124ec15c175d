import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Hostile texts meet a map")
struct HostileMapTests {
  private let map = ImportMap<Staffer> {
    Mapped(\.name, from: "n")
    Mapped(\.age, from: "a.0.b", coercing: true)
    Mapped(\.birthday, from: "born", date: .iso8601)
    Linked(Staffer.firm, from: "f", by: \.name)
    Linked(Staffer.skills, from: "s")
  }
  private let flat = ImportMap<Staffer> { Mapped(\.name, from: "n") }

  @Test(
    "A text that is no JSON is refused wherever the fault is",
    arguments: [
      #"{"n":"Ada","x":tru}"#, #"{"n":"Ada","x":01}"#, #"{"n":"Ada","x":1.}"#,
      #"{"n":"Ada","x":"\x"}"#, #"{"n":"Ada","x":"\u12"}"#, #"{"n":"Ada",}"#, #"{"n":"Ada" "x":1}"#,
      #"{"n":"Ada","name":nul}"#, #"{"n":"Ada","a":[1,]}"#, #"{"n":"Ada","a":{"z":.5}}"#,
      #"{"n":"Ada"}}"#, #"{"n":"Ada"} 1"#, #"{"n":"Ada""#, #"{"n":"Ada","\ud800":1}"#,
      "{\"n\":\"Ada\",\"name\":\"\u{1}\"}", #"{n:"Ada"}"#, #"{"n":'Ada'}"#, #"{"n":"Ada","x":+1}"#,
      #"{"n":"Ada","x":-}"#, #"{"n":"Ada","f":{"name":"A","x":}}"#,
    ])
  func malformed(_ text: String) throws {
    for map in [map, flat] {
      try Store.staffed { store in
        let report = try store.importJSON(
          Staffer.self, from: .text(text), map: map, onError: .skip)
        #expect(report.failures.map(\.keyword) == ["invalid_json"], "\(report.failures)")
        #expect(try store.count(Staffer.all) == 0 && store.count(Firm.all) == 0)
      }
    }
  }

  @Test("Texts that are not UTF-8 are refused where they are read")
  func notUTF8() throws {
    for (head, tail) in [
      (#"{"n":""#, #""}"#), (#"{"n":"Ada","a":{""#, #"":1}}"#), (#"{"n":"Ada","f":""#, #""}"#),
    ] {
      let bytes = Array(head.utf8) + [0xFF, 0xFE] + Array(tail.utf8)
      try Store.staffed { store in
        let report = try store.importJSON(
          Staffer.self, from: .data(Data(bytes)), map: map, onError: .skip)
        #expect(report.skipped == 1 && report.inserted == 0, "\(head)")
        #expect(try store.count(Firm.all) == 0)
      }
    }
  }

  @Test("A value of another kind is an error of the element")
  func otherKinds() throws {
    for text in [
      "1", "null", "[1]", #""text""#, "{}", #"{"n":{}}"#, #"{"n":"A","a":[{"b":[]}]}"#,
      #"{"n":"A","f":[["x"]]}"#, #"{"n":"A","f":["x","y"]}"#, #"{"n":"A","f":{"name":[]}}"#,
      #"{"n":"A","f":{}}"#, #"{"n":"A","f":5}"#, #"{"n":"A","s":[null]}"#, #"{"n":"A","s":[1]}"#,
      #"{"n":"A","s":{"level":1}}"#, #"{"n":"A","born":[]}"#,
      #"{"n":"A","a":[{"b":123456789012345678901234567890}]}"#,
    ] {
      try Store.staffed { store in
        let report = try store.importJSON(
          Staffer.self, from: .text(text), map: map, onError: .skip)
        #expect(report.failures.map(\.keyword) == ["element_mismatch"], "\(text) \(report)")
        #expect(try store.count(Firm.all) == 0 && store.count(Skill.all) == 0)
      }
    }
  }

  @Test("Of a key that occurs twice, the same value counts as without a map")
  func duplicates() throws {
    let text = #"{"name":"A","name":"B"}"#
    let plain = try named(text, nil)
    #expect(try named(text, ImportMap { Mapped(\.age, from: "age") }) == plain)
    #expect(try named(#"{"n":"A","n":"B"}"#, flat) == plain)
    #expect(
      try named(#"{"p":{"n":"A"},"p":{"n":"B"}}"#, ImportMap { Mapped(\.name, from: "p.n") })
        == plain)
    // A null does not hide a value that counts, nor does a later one without the path.
    let hooked = ImportMap<Staffer> {
      Mapped(\.name, from: "n")
      WillImport { _ in }
    }
    #expect(try named(#"{"n":"A","n":"B"}"#, hooked) == plain)
  }

  private func named(_ text: String, _ map: ImportMap<Staffer>?) throws -> String? {
    var name: String?
    try Store.staffed { store in
      try store.importJSON(Staffer.self, from: .text(text), map: map)
      name = try store.only(Staffer.self)?.name
    }
    return name
  }

  @Test("Deep nesting ends in an error, or is passed over")
  func deep() throws {
    func nested(_ depth: Int) -> String {
      #"{"n":"Ada","x":"# + String(repeating: "[", count: depth)
        + String(repeating: "]", count: depth) + "}"
    }
    for (depth, isGood) in [(5, true), (200, true), (511, true), (512, false), (100_000, false)] {
      for map in [map, flat] {
        try Store.staffed { store in
          let report = try store.importJSON(
            Staffer.self, from: .text(nested(depth)), map: map, onError: .skip,
            options: {
              var options = ImportOptions()
              options.format = .lines
              return options
            }())
          #expect(report.inserted == (isGood ? 1 : 0), "\(depth)")
          #expect(report.failures.map(\.keyword) == (isGood ? [] : ["invalid_json"]), "\(depth)")
        }
      }
    }
  }

  @Test("Random bytes in a valid text never trap, and are read as without a map")
  func damaged() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var generator = SeededGenerator(seed: seed)
    let own = ImportMap<Staffer> { Mapped(\.name, from: "name") }
    let good = Array(
      #"{"name":"A\u00e9da","age":36,"isActive":true,"skillIDs":["a"],"x":[{"y":-1.5e3}, null]}"#
        .utf8)
    try Store.staffed { store in
      try store.insertAll([Skill(id: "a")])
      for round in 0..<1500 {
        var bytes = good
        for _ in 0..<Int.random(in: 1...2, using: &generator) {
          let place = Int.random(in: 0..<bytes.count, using: &generator)
          switch Int.random(in: 0..<3, using: &generator) {
          case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
          case 1: bytes.remove(at: place)
          default:
            bytes.insert(Array(#"{}[]",:\019e-"#.utf8).randomElement(using: &generator)!, at: place)
          }
        }
        var outcomes: [String] = []
        for map in [nil, own] {
          _ = try store.erase(Staffer.self)
          let report = try store.importJSON(
            Staffer.self, from: .data(Data(bytes)), map: map, onError: .skip,
            options: {
              var options = ImportOptions()
              options.format = .lines
              return options
            }())
          let names = try store.everything(Staffer.self).map {
            "\($0.name) \($0.age ?? -1) \($0.isActive.map(String.init) ?? "")"
          }
          let unknown = report.unknownKeys.keys.sorted()
          // Without a map, a number that nothing reads is not checked digit by digit.
          if report.skipped > 0, map != nil, report.failures.first?.keyword == "invalid_json" {
            continue
          }
          outcomes.append("\(names) \(report.failures.map(\.keyword)) \(unknown)")
        }
        #expect(
          Set(outcomes).count == 1,
          "seed \(seed) round \(round): \(String(decoding: bytes, as: UTF8.self))")
      }
    }
  }
}
