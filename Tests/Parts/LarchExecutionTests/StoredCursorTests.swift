import Foundation
import LarchTestSupport
import Testing

@testable import Larch

private struct Note: Record {
  var id: Int
  var text: String
}

/// Scans of records, which read go over the mapped pages, give what an array has.
@Suite("Scans of records on the mapped pages")
struct StoredCursorTests {
  /// Ids with gaps, and texts of which some have pages of their own.
  private func notes(_ count: Int, _ random: inout SeededGenerator) -> [Note] {
    var id = -300
    return (0..<count).map { number in
      id += Int.random(in: 1...5, using: &random)
      let length = [3, 30, 1_900, 2_100, 4_100, 9_000].randomElement(using: &random) ?? 0
      return Note(
        id: id,
        text: "\(number) " + String(repeating: "x", count: number % 7 == 0 ? length : length % 40))
    }
  }

  private func store(_ notes: [Note]) throws -> Store {
    let store = try Store.temporary(for: Note.self)
    try store.write { tx in for var note in notes { try tx.insert(&note) } }
    return store
  }

  @Test("Ranges of ids have the records of an array, in both directions", arguments: 0..<4)
  func ranges(seed: Int) throws {
    var random = SeededGenerator(seed: UInt64(seed) + 40)
    // Trees of one leaf, of two levels and of three.
    let notes = notes([1, 12, 600, 6_000][seed], &random)
    let store = try store(notes)
    let all = notes.map(\.text)
    // The second read of a state no longer leaves the first search to LMDB.
    for _ in 0..<2 {
      try store.read { tx throws in
        #expect(try tx.all(Note.self).map(\.text) == all)
        #expect(try tx.fetch(Note.all).map(\.text) == all)
      }
    }
    try store.write { tx throws in #expect(try tx.all(Note.self).map(\.text) == all) }
    let ids = (notes.first?.id ?? 0) - 3...(notes.last?.id ?? 0) + 3
    for _ in 0..<40 {
      let low = Int.random(in: ids, using: &random)
      let high = low + Int.random(in: 0..<ids.count, using: &random)
      let limit = [1, 4, 70, .max].randomElement(using: &random) ?? 1
      let wanted = notes.filter { $0.id >= low && $0.id < high }.map(\.text)
      let found = try store.fetch(Note.where { $0.id >= low && $0.id < high }.limit(limit))
      #expect(found.map(\.text) == Array(wanted.prefix(limit)))
      let back = try store.fetch(
        Note.where { $0.id >= low && $0.id < high }.sorted(by: \.id, .descending).limit(limit))
      #expect(back.map(\.text) == Array(wanted.reversed().prefix(limit)))
      let from = notes.filter { $0.id <= low }.map(\.text)
      let down = try store.fetch(
        Note.where { $0.id <= low }.sorted(by: \.id, .descending).limit(limit))
      #expect(down.map(\.text) == Array(from.reversed().prefix(limit)))
      let ending = "\(Int.random(in: 0..<10, using: &random))"
      let ended = try store.fetch(Note.where { $0.text.hasPrefix(ending) })
      #expect(ended.map(\.text) == all.filter { $0.hasPrefix(ending) })
    }
  }

  @Test("An iterator stays at the end, also of no records")
  func end() throws {
    var random = SeededGenerator(seed: 3)
    for count in [0, 1, 300] {
      let store = try store(notes(count, &random))
      for _ in 0..<2 {
        try store.read { tx throws in
          var iterator = try tx.all(Note.self).makeIterator()
          for _ in 0..<count { #expect(iterator.next() != nil) }
          for _ in 0..<3 { #expect(iterator.next() == nil) }
          #expect(iterator.error == nil)
        }
      }
    }
  }

  @Test("After its read, an iterator reads no pages")
  func ended() throws {
    var random = SeededGenerator(seed: 4)
    let store = try store(notes(300, &random))
    var kept: RecordSequence<Note>.Iterator?
    try store.read { tx throws in
      kept = try tx.all(Note.self).makeIterator()
      #expect(kept?.next() != nil)
    }
    #expect(kept?.next() == nil)
    #expect((kept?.error as? LarchError)?.code == .transactionEnded)
  }

  /// Flags that no version of LMDB sets, and that it passes over: so LMDB still reads the record.
  @Test("Where a page is not what it should be, LMDB goes on", arguments: [0, 1, 250, 498, 499])
  func unclear(place: Int) throws {
    var random = SeededGenerator(seed: 5)
    let path = FileManager.default.temporaryDirectory.path + "/\(UUID().uuidString).larch"
    defer {
      for end in ["", "-lock"] { try? FileManager.default.removeItem(atPath: path + end) }
    }
    let notes = (0..<500).map { Note(id: $0, text: "note \($0)") }
    let written = try Store(at: path, for: Note.self)
    try written.write { tx in for var note in notes { try tx.insert(&note) } }
    written.close()
    var bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    // The flags of the node, the size of its key, and the key.
    let node =
      [0, 0, 8, 0] + withUnsafeBytes(of: (UInt64(place) ^ 1 << 63).bigEndian) { [UInt8]($0) }
    var changed = 0
    for start in stride(from: 0, to: bytes.count - node.count, by: 2)
    where bytes[start] == 0 && bytes[start + 2] == 8
      && bytes[start..<start + node.count].elementsEqual(node)
    {
      bytes[start] = 0x10
      changed += 1
    }
    #expect(changed > 0)
    try Data(bytes).write(to: URL(filePath: path))
    let store = try Store(at: path, for: Note.self)
    for _ in 0..<2 {
      try store.read { tx throws in
        #expect(try tx.all(Note.self).map(\.text) == notes.map(\.text))
        #expect(try tx.fetch(Note.all).map(\.text) == notes.map(\.text))
        let back = try tx.fetch(Note.all.sorted(by: \.id, .descending))
        #expect(back.map(\.text) == notes.reversed().map(\.text))
        let low = Int.random(in: 0...place, using: &random)
        let part = try tx.fetch(Note.where { $0.id >= low && $0.id < 500 })
        #expect(part.map(\.text) == notes[low...].map(\.text))
        let here = try tx.fetch(Note.where { $0.id >= place && $0.id <= place + 1 })
        #expect(here.map(\.text) == notes[place...min(place + 1, 499)].map(\.text))
      }
    }
  }
}
