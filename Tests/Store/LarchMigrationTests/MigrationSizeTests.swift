import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// Migrations of more records than fit into the map, or should be in memory.
@Suite("Migrations of many records", .serialized)
struct MigrationSizeTests {
  struct Note: Record {
    var id = RecordID<Note>()
    var text: String
    var number: Int
    static let schema = Schema<Note> { Index(\.number) }
  }

  /// The resident memory of the process without the pages of the file, in MiB.
  private static var memory: Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") } ?? ""
    return (line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0) / 1024
  }

  private static func fill(_ path: String, _ count: Int, length: Int) throws {
    try Store.using(path, Note.self) { store throws in
      for start in stride(from: 0, to: count, by: 10_000) {
        try store.saveAll(
          (start..<min(start + 10_000, count)).map {
            Note(text: String(repeating: "x", count: length), number: $0)
          })
      }
    }
  }

  @Test("100,000 records of a kilobyte are rewritten with few of them in memory at a time")
  func memoryIsBounded() async throws {
    // Other tests of this process use memory too.
    await #expect(processExitsWith: .success) { try MigrationSizeTests.rewriteMany() }
  }

  private static func rewriteMany() throws {
    try withScratchPath { path throws in
      let wanted = ProcessInfo.processInfo.environment["LARCH_MIGRATED_RECORDS"]
      let count = wanted.flatMap(Int.init) ?? 100_000
      let length = ProcessInfo.processInfo.environment["LARCH_MIGRATED_LENGTH"]
      try fill(path, count, length: length.flatMap(Int.init) ?? 1000)
      let before = memory
      let highest = Locked(0)
      let options = Store.Options.quick.with {
        $0.migrationProgress = { _ in
          let now = memory
          highest.withLock { $0 = max($0, now) }
        }
      }
      let start = Date()
      let migration = Migration("longer") { tx in
        try tx.rewrite(Note.self, from: Note.self) { old in
          var new = old
          new.number += 1
          return new
        }
      }
      try Store.using(path, Note.self, migrations: [migration], options: options) { store throws in
        let seconds = Date().timeIntervalSince(start)
        #expect(try store.count(Note.where { $0.number == count }) == 1)
        #expect(try store.count(Note.where { $0.number == 0 }) == 0)
        #expect(try store.count(Note.all) == count)
        let grown = highest.withLock { $0 } - before
        print("\(count) records: \(seconds) s, \(grown) MiB more memory")
        // LMDB keeps 131,071 changed pages in memory before it writes the first ones out.
        #expect(grown < 700)
        #expect(try store.faults == [])
      }
    }
  }

  @Test("The map grows in the middle, and the closure runs again")
  func growth() throws {
    try withScratchPath { path throws in
      try Self.fill(path, 2000, length: 10)
      let runs = Notes()
      let migration = Migration("grow") { tx in
        runs.add("run")
        var extra = Note(text: "extra", number: -1)
        try tx.save(&extra)
        #expect(extra.id > 2000)
        try tx.rewrite(Note.self) { fields in
          fields["text"] = .string(String(repeating: "long", count: 1000))
        }
      }
      let options = Store.Options.quick.with { $0.initialMapSize = 1 << 20 }
      try Store.using(path, Note.self, migrations: [migration], options: options) { store throws in
        #expect(try store.count(Note.all) == 2001)
        #expect(try store.count(Note.where { $0.number == -1 }) == 1)
        #expect(try store.faults == [])
      }
      #expect(runs.all.count > 1)
    }
  }

  @Test("A migration runs twice in a store that runs writes twice, and counts once")
  func twice() throws {
    try withScratchPath { path throws in
      try Self.fill(path, 10, length: 10)
      let migration = Migration("twice") { tx in
        try tx.rewrite(Note.self) { $0["number"] = .int(($0["number"]?.int ?? 0) + 100) }
        var extra = Note(text: "extra", number: -1)
        try tx.save(&extra)
      }
      let options = Store.Options.quick.with { $0.runsWritesTwice = true }
      try Store.using(path, Note.self, migrations: [migration], options: options) { store throws in
        #expect(try store.everything(Note.self).map(\.number) == Array(100..<110) + [-1])
        #expect(try store.everything(Note.self).last?.text == "extra")
        #expect(try store.faults == [])
      }
    }
  }
}
