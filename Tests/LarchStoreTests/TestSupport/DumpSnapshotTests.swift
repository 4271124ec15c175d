import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Dumps that tests require")
struct DumpSnapshotTests {
  private func store(_ names: String...) throws -> Store {
    let store = try Store.temporary(for: Company.self)
    try store.saveAll(names.map { Company(name: $0) })
    return store
  }

  private func difference(_ work: () throws -> Void) throws -> DumpDifference? {
    do {
      try work()
      return nil
    } catch let error as DumpDifference { return error }
  }

  @Test("A store that is as expected passes, with an end of the last line and without")
  func equal() throws {
    let store = try store("Acme")
    let text = """
      collection Company: 1 record
        Company#1 {"id":"Company#1","name":"Acme"}
        unique name: 1 entry
          ["Acme"] -> Company#1
      """
    try store.requireDump(ids: .named, equals: text)
    try store.requireDump(ids: .named, equals: text + "\n")
    try store.requireDump(.indexes, equals: "collection Company: 1 record\n  unique name: 1 entry")
    try Store.temporary().requireDump(equals: "")
  }

  @Test("The error tells file and line of the test and shows the lines that differ")
  func differs() throws {
    let store = try store("Acme", "Bolt")
    let line = #line + 2
    let found = try difference {
      try store.requireDump(
        .records, ids: .named,
        equals: """
          collection Company: 2 records
            Company#1 {"id":"Company#1","name":"Acme"}
            Company#2 {"id":"Company#2","name":"Bold"}
          """)
    }
    let error = try #require(found)
    #expect(error.place == "DumpSnapshotTests.swift:\(line)")
    #expect(
      error.lines == """
          collection Company: 2 records
            Company#1 {"id":"Company#1","name":"Acme"}
        -   Company#2 {"id":"Company#2","name":"Bold"}
        +   Company#2 {"id":"Company#2","name":"Bolt"}
          \("")
        """)
    #expect(
      error.description.hasPrefix(
        "\(error.place): the store differs from what is expected (-); it has (+)\n"))
    #expect(error.localizedDescription == error.description)
  }

  @Test("A long difference is cut")
  func long() throws {
    let store = try Store.temporary(for: Company.self)
    try store.saveAll((0..<500).map { Company(name: "\($0)") })
    let error = try #require(try difference { try store.requireDump(equals: "") })
    #expect(error.lines?.split(separator: "\n").count == 201)
    #expect(error.lines?.hasSuffix("more lines differ") == true)
  }

  @Test(
    "A file is written when that is asked for, compared otherwise, and told of where it is missing")
  func files() throws {
    let folder = FileManager.default.temporaryDirectory
      .appendingPathComponent("larch-snapshots-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: folder) }
    let test = folder.appendingPathComponent("PeopleTests.swift").path
    let file = folder.appendingPathComponent("Snapshots/firms.dump")
    func require(_ store: Store, _ isRecording: Bool = false) throws -> DumpDifference? {
      try difference {
        try store.requireDump(
          .all, ids: .named, matches: "firms.dump", isRecording: isRecording, file: test, line: 7)
      }
    }
    let missing = try #require(try require(store("Acme")))
    #expect(missing.lines == nil)
    #expect(
      missing.description
        == "PeopleTests.swift:7: \(file.path) cannot be read; run the test with LARCH_RECORD_DUMPS=1 to write it"
    )
    #expect(!FileManager.default.fileExists(atPath: file.path))
    #expect(try require(store("Acme"), true) == nil)
    #expect(try String(contentsOf: file, encoding: .utf8) == store("Acme").dump(ids: .named))
    #expect(try require(store("Acme")) == nil)

    let other = try #require(try require(store("Bolt")))
    #expect(other.lines?.contains("-     [\"Acme\"] -> Company#1") == true)
    #expect(other.lines?.contains("+     [\"Bolt\"] -> Company#1") == true)
    #expect(other.description.contains("LARCH_RECORD_DUMPS=1 writes the file again"))
    #expect(try require(store("Bolt"), true) == nil)
    #expect(try require(store("Bolt")) == nil)

    // By its path, and what is no text.
    try store("Bolt").requireDump(ids: .named, matches: file.path)
    try Data([0xFF, 0xFE]).write(to: file)
    #expect(
      try require(store("Bolt"))?.description.hasSuffix("firms.dump is not UTF-8 text") == true)
    // A folder cannot be read, nor written.
    try FileManager.default.removeItem(at: file)
    try FileManager.default.createDirectory(at: file, withIntermediateDirectories: true)
    #expect(try require(store("Bolt"))?.description.contains("cannot be read") == true)
    #expect(throws: (any Error).self) { try require(store("Bolt"), true) }
  }
}
