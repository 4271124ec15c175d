import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Containers that are returned by reference")
struct ReturnedContainerTests {
  @Test("A type that changes its coding keys between values gets containers of the new ones")
  func changingKeys() throws {
    let bench = CodingBench()
    for round in 0..<6 {
      let value = TwoFaced(isShort: round % 2 == 0, first: round, second: "text \(round)")
      for _ in 0..<3 { #expect(try bench.decode(TwoFaced.self, bench.bytes(value)) == value) }
    }
  }

  @Test("Consecutive and nested coders use the same frames")
  func reuse() throws {
    for _ in 0..<50 {
      let outer = CodingBench()
      let inner = CodingBench()
      try outer.roundTrip(Person.sample)
      try inner.roundTrip(Rich.sample)
      try outer.roundTrip(Rich.sample)
    }
  }

  @Test("An id is written as its number, alone, in a list and as an optional")
  func ids() throws {
    struct Holder: Codable, Equatable {
      var id: RecordID<Person>
      var other: RecordID<Person>?
      var list: [RecordID<Person>]
      var named: [String: RecordID<Person>]
    }
    struct Plain: Codable, Equatable {
      var id: Int64
      var other: Int64?
      var list: [Int64]
      var named: [String: Int64]
    }
    let bench = CodingBench()
    for other in [nil, 7 as Int64] {
      let plain = Plain(id: -1, other: other, list: [1, .max], named: ["a": .min])
      let holder = Holder(
        id: -1, other: other.map { RecordID($0) }, list: [1, RecordID(.max)],
        named: ["a": RecordID(.min)])
      let bytes = try bench.bytes(holder)
      // Without the shape id, which goes with the name of the type.
      #expect(try bench.bytes(plain).dropFirst(2) == bytes.dropFirst(2))
      #expect(try bench.decode(Holder.self, bytes) == holder)
      #expect(try bench.decode(Plain.self, bytes) == plain)
    }
  }

  @Test("An id is read from a field of another integer type, and from nothing else")
  func idConversion() throws {
    struct Narrow: Codable { var id: Int16 }
    struct Text: Codable { var id: String }
    struct Wide: Codable { var id: UInt64 }
    struct Holder: Codable { var id: RecordID<Person> }
    let bench = CodingBench()
    #expect(try bench.decode(Holder.self, bench.bytes(Narrow(id: -5))).id == -5)
    #expect(try bench.decode(Holder.self, bench.bytes(Wide(id: 5))).id == 5)
    #expect(throws: LarchError.self) {
      try bench.decode(Holder.self, bench.bytes(Wide(id: .max)))
    }
    #expect(throws: LarchError.self) { try bench.decode(Holder.self, bench.bytes(Text(id: "5"))) }
  }

  @Test("Texts of every length keep their bytes, and damaged ones are refused")
  func texts() throws {
    var random = SeededGenerator(seed: 4)
    let bench = CodingBench()
    for count in 0...40 {
      for alphabet in ["a", "aé", "€x", "\u{0}z", "😀"] {
        let text = String((0..<count).compactMap { _ in alphabet.randomElement(using: &random) })
        let bytes = try bench.bytes([text])
        #expect(Array(try bench.decode([String].self, bytes)[0].utf8) == Array(text.utf8))
        guard count > 0 else { continue }
        var damaged = bytes
        damaged[damaged.count - 1] = 0xFF
        #expect(throws: LarchError.self) { try bench.decode([String].self, damaged) }
      }
    }
  }
}

/// Writes itself with one of two sets of keys.
private struct TwoFaced: Codable, Equatable {
  var isShort: Bool
  var first: Int
  var second: String

  private enum Short: String, CodingKey { case kind, f, s }
  private enum Long: String, CodingKey { case kind, second, first }

  init(isShort: Bool, first: Int, second: String) {
    (self.isShort, self.first, self.second) = (isShort, first, second)
  }

  init(from decoder: any Decoder) throws {
    let short = try decoder.container(keyedBy: Short.self)
    isShort = try short.decode(Bool.self, forKey: .kind)
    if isShort {
      first = try short.decode(Int.self, forKey: .f)
      second = try short.decode(String.self, forKey: .s)
    } else {
      let long = try decoder.container(keyedBy: Long.self)
      first = try long.decode(Int.self, forKey: .first)
      second = try long.decode(String.self, forKey: .second)
    }
  }

  func encode(to encoder: any Encoder) throws {
    if isShort {
      var short = encoder.container(keyedBy: Short.self)
      try short.encode(isShort, forKey: .kind)
      try short.encode(first, forKey: .f)
      try short.encode(second, forKey: .s)
    } else {
      var long = encoder.container(keyedBy: Long.self)
      try long.encode(isShort, forKey: .kind)
      try long.encode(second, forKey: .second)
      try long.encode(first, forKey: .first)
    }
  }
}
