import Foundation
import LarchTestSupport
import Testing

@testable import Larch

/// An export that was written once when version 1 of the format was settled, and must be read for
/// ever.
///
/// Before the first release it is made again when the format changes, by
/// `LARCH_WRITE_GOLDEN=1 swift test --filter GoldenExportTests`; after it, never.
@Suite("The golden file of version 1 of exports", .serialized)
struct GoldenExportTests {
  private static let folder = URL(fileURLWithPath: #filePath)
    .deletingLastPathComponent().appendingPathComponent("Golden")
  private static let file = folder.appendingPathComponent("export-1.jsonl")
  private static let dump = folder.appendingPathComponent("export-1.txt")

  private func withSample(_ body: (Store) throws -> Void) throws {
    try withScratchPath { path throws in
      try Store.using(path, Everything.self, Club.self, Member.self, Chore.self) { store throws in
        var random = RandomValues(generator: SeededGenerator(seed: 77))
        try store.write { tx throws in
          for _ in 0..<8 {
            var record = random.record()
            record.data = Data(record.data.prefix(40))
            record.datas = []
            try tx.insert(&record)
          }
          try tx.delete(Everything.self, 8)
          var club = Club(id: "trees", name: "Trees")
          try tx.insert(&club)
          for name in ["Ada", "Bo"] {
            var member = Member(name: name, clubID: "trees")
            try tx.insert(&member)
            let id = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))
            var chore = Chore(
              id: id, title: "Rake", at: Date(timeIntervalSinceReferenceDate: 700_000_000.5))
            try tx.add(&chore, to: member.duties)
          }
        }
        try body(store)
      }
    }
  }

  @Test(
    "It is written", .enabled(if: ProcessInfo.processInfo.environment["LARCH_WRITE_GOLDEN"] != nil))
  func write() throws {
    try withSample { store throws in
      try FileManager.default.createDirectory(at: Self.folder, withIntermediateDirectories: true)
      try store.export(toFile: Self.file.path, replacing: true)
      try store.dump().write(to: Self.dump, atomically: true, encoding: .utf8)
    }
  }

  @Test("The same store gives the same text")
  func export() throws {
    try withSample { store throws in
      let expected = try String(contentsOf: Self.file, encoding: .utf8)
      let difference = TextDifference.between(expected: expected, actual: try store.exportText())
      #expect(difference == nil, "\(difference ?? "")")
    }
  }

  @Test("It becomes the store that it was made of")
  func read() throws {
    try withScratchPath { path throws in
      try Store.makeStore(at: path, from: .file(Self.file.path))
      try Store.using(path, Everything.self, Club.self, Member.self, Chore.self) { store throws in
        let expected = try String(contentsOf: Self.dump, encoding: .utf8)
        let difference = TextDifference.between(expected: expected, actual: try store.dump())
        #expect(difference == nil, "\(difference ?? "")")
        #expect(try store.verify().isClean)
      }
    }
  }
}
