import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

@Suite("Files that are not complete exports")
struct HostileExportTests {
  struct Note: Record, Equatable {
    var id = RecordID<Note>()
    var text: String
    var size: Int8
    var list: [Int] = []
    static let schema = Schema<Note> { Unique(\.text) }
  }

  private func sample() throws -> [String] {
    try withScratchPath { path throws in
      try Store.using(path, Note.self) { store throws in
        try store.write { tx throws in
          for number in 1...5 {
            var note = Note(text: "n\(number)", size: Int8(number))
            try tx.insert(&note)
          }
        }
        return try store.exportText().split(separator: "\n").map(String.init)
      }
    }
  }

  /// The error of creating a store from a text, of which nothing must remain, and of importing it
  /// into a store, which must not change.
  private func refusals(_ text: String) throws -> [LarchError] {
    var found: [LarchError] = []
    try withScratchPath { path throws in
      let error = caught { try Store.makeStore(at: path, from: .text(text)) }
      found.append(try #require(error, "\(text.prefix(300))"))
      #expect(!FileManager.default.fileExists(atPath: path))
      try Store.using(path, Note.self) { _ in }
      try Store.using(path) { store throws in
        let before = try store.exportText()
        let error = caught { try store.importExport(from: .text(text)) }
        found.append(try #require(error, "\(text.prefix(300))"))
        #expect(try store.exportText() == before)
      }
    }
    for error in found { #expect(!error.description.contains("\n")) }
    return found
  }

  @Test(
    "A power of ten beyond every number is refused",
    arguments: ["-9223372036854775808", "9223372036854775807", "-1000", "99999999999999999999"])
  func powers(power: String) throws {
    let text = try withScratchPath { path throws in
      try Store.using(path, Priced.self) { store throws in
        var priced = Priced(price: 1.5)
        try store.save(&priced)
        return try store.exportText()
      }
    }
    let wrong = text.replacing("1.5", with: "1e\(power)")
    try #require(wrong != text)
    try withScratchPath { path throws in
      let error = caught { try Store.makeStore(at: path, from: .text(wrong)) }
      #expect(error != nil)
    }
  }

  struct Priced: Record {
    var id = RecordID<Priced>()
    var price: Decimal
  }

  @Test("An error in a line is reported with its number, and nothing is changed")
  func lines() throws {
    let lines = try sample()
    let wrong: [(from: String, to: String)] = [
      ("{\"collection\"", "{\"collection"), ("\"size\":3", "\"size\":300"),
      ("\"size\":3", "\"size\":3.5"), ("\"size\":3", "\"size\":\"3\""),
      ("\"size\":3", "\"size\":null"), ("\"size\":3", "\"size\":[3]"),
      ("\"size\":3", "\"size\":3,\"size\":3"), ("\"size\":3", "\"more\":3"),
      ("\"size\":3", "\"size\":03"), ("\"size\":3", "\"size\":3}"),
      ("\"size\":3", "\"size\":{\"$int16\":3}"), ("\"size\":3", "\"$size\":3"),
      ("\"text\":\"n3\"", "\"text\":\"\\ud800\""), ("\"text\":\"n3\"", "\"text\":\"\\q\""),
      ("\"text\":\"n3\"", "\"text\":\"\u{1}\""), ("\"text\":\"n3\"", "\"text\":5"),
      ("\"list\":[]", "\"list\":{}"), ("\"list\":[]", "\"list\":[[]"),
      ("\"list\":[]", "\"list\":{\"$tagged\":5}"),
      ("\"list\":[]", "\"list\":[9223372036854775808]"),
      ("\"$shape\":1", "\"$shape\":2"), ("\"$shape\":1", "\"$shape\":0"),
      ("\"$shape\":1,", ""), ("\"id\":3,\"rec", "\"id\":0,\"rec"),
      ("\"id\":3,\"rec", "\"id\":2,\"rec"), ("\"id\":3,\"rec", "\"id\":1,\"rec"),
      ("\"id\":3,\"rec", "\"id\":\"3\",\"rec"),
      ("\"id\":3,\"rec", "\"id\":99999999999999999999,\"rec"),
      ("\"id\":3,\"rec", "\"rec"), ("\"collection\":\"Note\"", "\"collection\":\"Nobody\""),
      ("\"collection\":\"Note\"", "\"collection\":7"), ("\"record\"", "\"rekord\""),
      ("\"collection\"", "\"association\""), ("}}", "}},"), ("}}", "}"),
    ]
    for (from, to) in wrong {
      var text = lines
      #expect(text[3].contains(from))
      text[3] = text[3].replacing(from, with: to, maxReplacements: 1)
      for error in try refusals(text.joined(separator: "\n")) {
        #expect(error.context.detail?.hasPrefix("line 4") == true, "\(to): \(error)")
        #expect(error.code == .invalidJSON, "\(to): \(error)")
      }
    }
  }

  @Test("An export that was cut anywhere is refused")
  func cut() throws {
    let text = Array(try sample().joined(separator: "\n").utf8)
    for end in stride(from: 0, to: text.count, by: 7) {
      _ = try refusals(String(decoding: text[..<end], as: UTF8.self))
    }
    let lines = try sample()
    for left in 1..<6 {
      var some = lines
      some.remove(at: left)
      let errors = try refusals(some.joined(separator: "\n"))
      #expect(errors.allSatisfy { $0.code == .invalidJSON })
    }
    let errors = try refusals(lines.dropLast().joined(separator: "\n"))
    #expect(errors.allSatisfy { $0.code == .truncated })
    _ = try refusals((lines + ["{}"]).joined(separator: "\n"))
    _ = try refusals((lines + [lines[2]]).joined(separator: "\n"))
  }

  @Test("A missing, newer or damaged header is refused")
  func headers() throws {
    let lines = try sample()
    for header in [
      "", "{}", "[]", "null", "{\"format\":\"csv\"}", "hello", "{\"format\":\"larch export\"}",
      lines[0].replacing("\"version\":1", with: "\"version\":\"1\""),
      lines[0].replacing("\"id\":\"assigned\"", with: "\"id\":\"text\""),
      lines[0].replacing("\"name\":\"Note\"", with: "\"name\":\"No/te\""),
      lines[0].replacing("[\"size\",\"int8\"]", with: "[\"size\",\"int7\"]"),
      lines[0].replacing("[\"size\",\"int8\"]", with: "[\"text\",\"int8\"]"),
      lines[0].replacing("\"collections\"", with: "\"kollections\""),
    ] {
      let errors = try refusals(([header] + lines.dropFirst()).joined(separator: "\n"))
      #expect(errors.allSatisfy { $0.code == .invalidJSON || $0.code == .truncated })
    }
    let newer = lines[0].replacing("\"version\":1", with: "\"version\":2")
    let errors = try refusals(([newer] + lines.dropFirst()).joined(separator: "\n"))
    #expect(errors.allSatisfy { $0.code == .newerFormat })
  }

  @Test("A missing file, a directory and an existing target are distinguished")
  func files() throws {
    try withScratchPath { path throws in
      #expect(
        caught { try Store.makeStore(at: path, from: .file("/nowhere/x")) }?.code == .fileNotFound)
      let folder = NSTemporaryDirectory()
      #expect(
        caught { try Store.makeStore(at: path, from: .file(folder)) }?.code == .unsuitableFile)
      #expect(!FileManager.default.fileExists(atPath: path))
      try Store.using(path) { store throws in
        let text = try store.exportText()
        #expect(caught { try Store.makeStore(at: path, from: .text(text)) }?.code == .fileExists)
        try withScratchPath { file throws in
          try store.export(toFile: file)
          #expect(caught { try store.export(toFile: file) }?.code == .fileExists)
          try store.export(toFile: file, replacing: true)
          #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
        }
      }
    }
  }

  @Test("A line of ten million bytes is accepted if it is valid, and refused if it is not")
  func longLines() throws {
    let long = String(repeating: "x", count: 10 << 20)
    var lines = try sample()
    lines[3] = lines[3].replacing("\"n3\"", with: "\"\(long)\"")
    try withScratchPath { path throws in
      try Store.makeStore(at: path, from: .text(lines.joined(separator: "\n")))
      try Store.using(path, Note.self) { store throws in
        #expect(try store.read { try $0.find(Note.self, 3)?.text.count } == long.count)
        #expect(try store.verify().isClean)
      }
    }
    for wrong in [long, "[" + String(repeating: "[", count: 10 << 20), "\"" + long] {
      lines[3] = wrong
      let errors = try refusals(lines.joined(separator: "\n"))
      #expect(errors.allSatisfy { $0.context.detail?.hasPrefix("line 4") == true })
    }
  }

  @Test("Random changes of bytes give a valid store or a clear error")
  func random() throws {
    let seed = UInt64.random(in: 0 ... .max)
    print("random damage of exports, seed \(seed)")
    var generator = SeededGenerator(seed: seed)
    let text = Array(try sample().joined(separator: "\n").utf8)
    for _ in 0..<300 {
      var damaged = text
      for _ in 0..<Int.random(in: 1...3, using: &generator) {
        let place = Int.random(in: damaged.indices, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: damaged[place] = UInt8.random(in: .min ... .max, using: &generator)
        case 1: damaged.remove(at: place)
        default:
          damaged.insert(Array("{}[],:\"0$".utf8).randomElement(using: &generator)!, at: place)
        }
      }
      try withScratchPath { path throws in
        do {
          try Store.makeStore(at: path, from: .data(Data(damaged)))
          try Store.using(path) { store throws in #expect(try store.verify().isClean) }
        } catch let error as LarchError {
          #expect(!error.description.contains("\n"))
          #expect(!FileManager.default.fileExists(atPath: path))
        }
      }
    }
  }

  @Test("A store is created while others remove old files in the same directory")
  func cleaners() throws {
    let text = try sample().joined(separator: "\n")
    try withScratchPath { directory throws in
      try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
      let isDone = Locked(false)
      Thread.detachNewThread {
        while !isDone.withLock({ $0 }) { TemporaryFile.removeLeftovers(in: directory) }
      }
      defer { isDone.withLock { $0 = true } }
      for number in 0..<200 {
        try Store.makeStore(at: "\(directory)/\(number).larch", from: .text(text))
      }
    }
  }
}
