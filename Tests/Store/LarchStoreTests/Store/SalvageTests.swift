import Foundation
import LarchTestSupport
import Testing

@testable import Larch

@Suite("Salvage")
struct SalvageTests {
  struct Note: Record, Equatable {
    var id = RecordID<Note>()
    var text: String
    var size: Int
    static let schema = Schema<Note> {
      Unique(\.text)
      Index(\.size)
    }
  }
  /// The same collection in a later version of the program.
  struct NewerNote: Record, Equatable {
    var id = RecordID<Note>()
    var text: String
    var size: Int
    var added: [String: Int]?
    static let collectionName = "Note"
    static let schema = Schema<Self> { Unique(\.text) }
  }
  struct Tag: Record, Equatable {
    var id: String
    var values: [Int]
  }

  /// A file in which each record was written once, so that there are no older copies.
  private static func template(_ count: Int) throws -> [UInt8] {
    try withScratchPath { path throws in
      try Store.using(path, Note.self, Tag.self) { store throws in
        try store.write { tx throws in
          for number in 1...count {
            var note = note(number)
            try tx.insert(&note)
            var tag = tag(number)
            try tx.insert(&tag)
          }
        }
      }
      return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }
  }

  private static func note(_ number: Int) -> Note {
    Note(
      id: 0, text: "marker-\(number)-" + String(repeating: "t", count: number % 90),
      size: number % 13)
  }

  private static func tag(_ number: Int) -> Tag {
    // Sometimes one with overflow pages.
    Tag(id: "tag\(number)", values: Array(0..<(number % 97 == 0 ? 900 : number % 9)))
  }

  private struct Outcome {
    var report: SalvageReport
    var notes: [Note]
    var tags: [Tag]
  }

  /// Salvages, checks each record, and uses the new store.
  private func salvage(_ bytes: [UInt8], _ comment: String = "") throws -> Outcome {
    try withScratchPath { source throws in
      try withScratchPath { target throws in
        try Data(bytes).write(to: URL(fileURLWithPath: source))
        let report = try Store.salvage(source, to: target)
        #expect(try Data(contentsOf: URL(fileURLWithPath: source)) == Data(bytes))
        var outcome = Outcome(report: report, notes: [], tags: [])
        try Store.using(target, Note.self, Tag.self) { store throws in
          outcome.notes = try store.everything(Note.self)
          outcome.tags = try store.everything(Tag.self)
          for note in outcome.notes {
            var expected = Self.note(Int(note.id.rawValue))
            expected.id = note.id
            #expect(note == expected, "\(comment)")
          }
          for tag in outcome.tags {
            #expect(tag == Self.tag(Int(tag.id.dropFirst(3)) ?? 0), "\(comment)")
          }
          #expect(report.recordCount == outcome.notes.count + outcome.tags.count, "\(comment)")
          let verification = try store.verify()
          #expect(verification.isClean, "\(comment): \(verification)")
          try store.saveAll([Note(text: "after", size: 1)])
          try store.saveAll([Tag(id: "after", values: [1])])
        }
        try Store.using(target, NewerNote.self, Tag.self) { store throws in
          try store.saveAll([NewerNote(text: "newer", size: 2, added: ["a": 1])])
          let all = try store.everything(NewerNote.self)
          #expect(all.count == outcome.notes.count + 2, "\(comment)")
          #expect(all.last?.added == ["a": 1], "\(comment)")
          #expect(Set(all.map(\.text)).count == all.count, "\(comment)")
          #expect(try store.everything(Tag.self).count == outcome.tags.count + 1, "\(comment)")
          #expect(try store.verify().isClean, "\(comment)")
        }
        return outcome
      }
    }
  }

  private func flags(_ bytes: [UInt8], _ page: Int) -> UInt16? {
    // The pages of a long value have no header but for the first.
    guard bytes[page * 4096] == page & 0xFF, bytes[page * 4096 + 1] == page >> 8 else { return nil }
    return UInt16(bytes[page * 4096 + 10]) | UInt16(bytes[page * 4096 + 11]) << 8
  }

  private func nodeCount(_ bytes: [UInt8], _ page: Int) -> Int {
    (Int(bytes[page * 4096 + 12]) + Int(bytes[page * 4096 + 13]) << 8 - 16) / 2
  }

  private func zero(_ page: Int, _ bytes: inout [UInt8]) {
    for place in page * 4096..<(page + 1) * 4096 { bytes[place] = 0 }
  }

  private func places(of text: String, in bytes: [UInt8]) -> [Int] {
    let pattern = Array(text.utf8)
    return bytes.indices.dropLast(pattern.count).filter {
      bytes[$0] == pattern[0] && bytes[$0..<($0 + pattern.count)].elementsEqual(pattern)
    }
  }

  /// The page of the records tree of `Note` that holds a record; index pages hold its text too.
  private func recordPage(_ number: Int, _ bytes: [UInt8]) throws -> Int {
    let id = withUnsafeBytes(of: (UInt64(number) ^ (1 << 63)).bigEndian) { Array($0) }
    let text = Array("marker-\(number)-".utf8)
    let found = places(of: "marker-\(number)-", in: bytes).filter { place in
      // The key stands before the record it leads to.
      let start = max(0, place - 60)
      let near = bytes[start..<place]
      return near.indices.contains {
        $0 + 8 <= place && bytes[$0..<($0 + 8)].elementsEqual(id)
      } && bytes[place..<(place + text.count)].elementsEqual(text)
    }
    return try #require(found.first) / 4096
  }

  @Test("Nothing is lost from a sound file, and the copy has the same contents")
  func sound() throws {
    let outcome = try salvage(try Self.template(500))
    #expect(outcome.report.damage == [])
    #expect(outcome.notes.count == 500)
    #expect(outcome.tags.count == 500)
    #expect(outcome.report.collections.map(\.name) == ["Note", "Tag"])
    #expect(outcome.report.collections.allSatisfy { $0.strayCount == 0 && $0.damagedCount == 0 })
  }

  @Test("From a file with a destroyed page, all records of the other pages are salvaged")
  func destroyedPage() throws {
    var bytes = try Self.template(3000)
    let page = try recordPage(1500, bytes)
    #expect(flags(bytes, page) == 2)
    let lost = nodeCount(bytes, page)
    #expect(lost > 5)
    zero(page, &bytes)
    let outcome = try salvage(bytes)
    #expect(outcome.notes.count == 3000 - lost)
    #expect(outcome.tags.count == 3000)
    #expect(outcome.report.damage.contains { $0.hasPrefix("page \(page):") })
  }

  @Test("A record with a changed byte is skipped and counted, and all others are salvaged")
  func changedRecord() throws {
    var bytes = try Self.template(500)
    for number in [100, 200] {
      let page = try recordPage(number, bytes)
      let place = try #require(
        places(of: "marker-\(number)-", in: bytes).first { $0 / 4096 == page })
      bytes[place] ^= 1
    }
    let outcome = try salvage(bytes)
    #expect(outcome.notes.count == 498)
    #expect(outcome.tags.count == 500)
    #expect(outcome.report.collections.map(\.damagedCount) == [2, 0])
  }

  @Test("Without any branch page, every record is still salvaged")
  func lostRoots() throws {
    var bytes = try Self.template(2000)
    for page in 2..<(bytes.count / 4096) where flags(bytes, page) == 1 { zero(page, &bytes) }
    let outcome = try salvage(bytes)
    #expect(outcome.notes.count == 2000)
    #expect(outcome.tags.count == 2000)
    #expect(outcome.report.collections.allSatisfy { $0.strayCount > 0 })
  }

  @Test("With both headers destroyed, every record is still salvaged")
  func lostHeaders() throws {
    var bytes = try Self.template(2000)
    zero(0, &bytes)
    zero(1, &bytes)
    let outcome = try salvage(bytes)
    #expect(outcome.notes.count == 2000)
    #expect(outcome.tags.count == 2000)
  }

  @Test("Without a catalog nothing is salvaged, and the error says so")
  func lostCatalog() throws {
    var bytes = try Self.template(100)
    for name in ["collection/Note", "collection/Tag"] {
      for place in places(of: name, in: bytes) { bytes[place + 3] ^= 1 }
    }
    try withScratchPath { source throws in
      try withScratchPath { target throws in
        try Data(bytes).write(to: URL(fileURLWithPath: source))
        let error = caught { try Store.salvage(source, to: target) }
        #expect(error?.code == .notAStore)
        #expect(error?.context.path == source)
        #expect(!FileManager.default.fileExists(atPath: target))
      }
    }
  }

  @Test("Records without their shape are skipped, and never read as something else")
  func lostShapes() throws {
    var bytes = try Self.template(100)
    // The name of the type stands in the description of its shape.
    var hits = 0
    for place in places(of: "Tag", in: bytes)
    where places(of: "collection", in: Array(bytes[max(0, place - 40)..<place])).isEmpty {
      bytes[place] ^= 1
      hits += 1
    }
    #expect(hits > 0)
    let outcome = try salvage(bytes)
    #expect(outcome.notes.count == 100)
    #expect(outcome.tags.count == 0)
    #expect(outcome.report.collections.map(\.damagedCount) == [0, 100])
  }

  @Test("A file that is not a store is not salvaged, and nothing is overwritten")
  func refused() throws {
    try withScratchPath { source throws in
      try withScratchPath { target throws in
        #expect(caught { try Store.salvage(source, to: target) }?.code == .fileNotFound)
        for bytes in [[], Array("text".utf8), [UInt8](repeating: 7, count: 20_000)] {
          try Data(bytes).write(to: URL(fileURLWithPath: source))
          let error = caught { try Store.salvage(source, to: target) }
          #expect(error?.code == .notAStore)
          #expect(error?.context.path == source)
        }
        try Data([1]).write(to: URL(fileURLWithPath: target))
        #expect(caught { try Store.salvage(source, to: target) }?.code == .fileExists)
        #expect(try Data(contentsOf: URL(fileURLWithPath: target)) == Data([1]))
      }
    }
  }

  @Test("Ids of deleted records are not assigned again in the new store")
  func deletedIDs() throws {
    try withScratchPath { source throws in
      try withScratchPath { target throws in
        try Store.using(source, Note.self) { store in
          try store.saveAll((1...10).map { Self.note($0) })
          try store.write { tx throws in
            for id in 6...10 { try tx.delete(Note.self, RecordID(Int64(id))) }
          }
        }
        try Store.salvage(source, to: target)
        try Store.using(target, Note.self) { store throws in
          var note = Note(text: "new", size: 0)
          try store.write { try $0.save(&note) }
          #expect(note.id == 11)
        }
      }
    }
  }

  @Test("From any damage, each salvaged record is one that was written for its id")
  func randomDamage() throws {
    let template = try Self.template(400)
    let kinds = FileDamage.allCases
    var copied = 0
    var lost: [Int] = []
    for number in 0..<(isSoak ? 5000 : 200) {
      var random = SeededGenerator(seed: UInt64(number))
      var bytes = template
      for _ in 0...(number % 3) {
        kinds[number % kinds.count].apply(to: &bytes, pageSize: 4096, using: &random)
      }
      do {
        let outcome = try salvage(bytes, "damage \(number)")
        copied += outcome.report.recordCount
      } catch let error as LarchError where error.code == .notAStore {
        // The page of the catalog is destroyed, or cut off.
        if bytes.count == template.count { lost.append(number) }
      }
    }
    #expect(copied > 400 * 200)
    #expect(lost.count < 10, "\(lost)")
  }
}
