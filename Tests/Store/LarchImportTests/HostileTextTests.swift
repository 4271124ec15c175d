import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Hostile texts")
struct HostileTextTests {
  @Test("Random changes of a text give a report or an error, and a valid store")
  func mutations() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    print("mutated texts, seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let lines = (0..<12).map {
      "{\"name\":\"n\\u00e9\\n\($0) 😀\",\"email\":\"e\($0)@x\",\"age\":\($0),\"role\":null}"
    }
    let texts = [
      "[" + lines.joined(separator: ",\n") + "]", lines.joined(separator: "\r\n"),
      "\u{FEFF}[ ]", "[{\"name\":\"\\ud83d\\ude00\",\"age\":-0}]",
    ].map { Array($0.utf8) }
    let tokens = ["[", "]", "{", "}", "\"", "\\", ",", ":", "\n", "\0", "1e999", "[[[[", "null"]
      .map { Array($0.utf8) }
    try Store.scratch(Guest.self) { store throws in
      for round in 0..<3000 {
        var bytes = texts.randomElement(using: &generator) ?? []
        for _ in 0..<Int.random(in: 1...5, using: &generator) {
          let place = Int.random(in: 0...bytes.count, using: &generator)
          switch Int.random(in: 0..<5, using: &generator) {
          case 0 where place < bytes.count:
            bytes[place] = UInt8(truncatingIfNeeded: generator.next())
          case 1: bytes.insert(contentsOf: tokens.randomElement(using: &generator) ?? [], at: place)
          case 2:
            let end = min(bytes.count, place + Int.random(in: 0..<20, using: &generator))
            bytes.removeSubrange(place..<end)
          case 3: bytes.removeSubrange(place...)
          default:
            let end = min(bytes.count, place + Int.random(in: 0..<60, using: &generator))
            bytes.insert(contentsOf: Array(bytes[place..<end]), at: place)
          }
        }
        let step = Int.random(in: 1...200, using: &generator)
        let text = bytes
        let source = JSONSource { Trickle(bytes: text, step: step) }
        let report = try store.importJSON(
          Guest.self, from: source, onError: .skip,
          batchSize: Int.random(in: 1...20, using: &generator))
        #expect(report.isComplete || report.skipped > 0, "seed \(seed) round \(round)")
        #expect(report.failures.allSatisfy { $0.byteOffset <= bytes.count && $0.line > 0 })
        #expect(
          zip(report.failures, report.failures.dropFirst()).allSatisfy { $0.index < $1.index })
        if round % 10 == 0 { try store.erase(Guest.self) }
      }
      #expect(try store.verify().isClean)
    }
  }

  @Test("Bytes that are not UTF-8, and endless brackets")
  func extremes() throws {
    try Store.scratch(Guest.self) { store throws in
      let bad = Data(
        Array("[{\"name\":\"".utf8) + [0xFF, 0xC0, 0xED, 0xA0, 0x80]
          + Array("\",\"age\":1},{\"name\":\"ok\",\"age\":1}]".utf8))
      let report = try store.importJSON(Guest.self, from: .data(bad), onError: .skip)
      #expect(report.failures.map(\.index) == [0] && report.inserted == 1)
      #expect("\(report.failures[0].reason)".contains("The text is not valid UTF-8"))
      for open in ["[", "{\"a\":", "\"", "[\"\\", "{\"name\":[["] {
        let text = String(repeating: open, count: 200_000)
        let report = try store.importJSON(Guest.self, from: .text(text), onError: .skip)
        #expect(report.inserted == 0 && report.skipped > 0)
      }
      for bytes in [Data([0xFF, 0xFE, 0x5B, 0]), Data([0, 0x5B]), Data([0x5B, 0, 0x5D, 0])] {
        let report = try store.importJSON(Guest.self, from: .data(bytes), onError: .skip)
        #expect(!report.isComplete && report.failures.map(\.keyword) == ["invalid_json"])
      }
    }
  }
}
