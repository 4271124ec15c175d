import LarchTestSupport
import Testing

@testable import Larch

/// Bytes decide most ids, and no filter is compiled for these. A mark after the prefix is a part of its
/// last character, so the bytes of such an id decide nothing.
@Suite("Ids with a prefix")
struct IDPrefixTests {
  struct Note: Record, Equatable {
    var id: String
    var size: Int
    static let schema = Schema<Note> { Index(\.size) }
  }

  private static let pieces = [
    "a", "b", "ab", "c", "-", "1", "\r", "\n", "\r\n", "ä", "a\u{308}", "c\u{301}", "x\u{301}",
    "\u{301}", "\u{200D}", "\u{600}", "👨‍👩‍👧", "\u{7F}", "\u{80}", "é", "한", "\u{1112}\u{1161}",
  ]

  private static func text(_ lengths: ClosedRange<Int>, _ random: inout SeededGenerator) -> String {
    let plain = Bool.random(using: &random)
    let pieces = plain ? Array(pieces.prefix(6)) : pieces
    return (0..<Int.random(in: lengths, using: &random))
      .map { _ in pieces.randomElement(using: &random)! }.joined()
  }

  @Test("All answers equal the closure over an array", arguments: 0..<6)
  func oracle(seed: UInt64) throws {
    var random = SeededGenerator(seed: 9_100 + seed)
    let store =
      seed % 2 == 0 ? try Store.checked(for: Note.self) : try Store.temporary(for: Note.self)
    var notes: [Note] = []
    try store.write { tx in
      for number in 0..<[3, 60, 400, 2_000, 900, 150][Int(seed)] {
        var note = Note(id: Self.text(1...5, &random), size: number % 9)
        guard !notes.contains(where: { $0.id == note.id }) else { continue }
        try tx.insert(&note)
        notes.append(note)
      }
    }
    // The order of ids is that of their normal forms.
    notes = try store.fetch(Note.all)
    func check(_ reader: some RecordReading, _ round: Int) throws {
      for _ in 0..<40 {
        let prefix = Self.text(0...3, &random)
        let size = Int.random(in: 0..<9, using: &random)
        let query = Note.where { $0.id.hasPrefix(prefix) }
        let found = notes.filter { $0.id.hasPrefix(prefix) }
        let text = "seed \(seed), round \(round), \(prefix.unicodeScalars.map(\.value))"
        #expect(try reader.count(query) == found.count, "\(text)")
        #expect(try reader.exists(query) == !found.isEmpty, "\(text)")
        #expect(try reader.ids(query) == found.map(\.id), "\(text)")
        #expect(try reader.fetch(query) == found, "\(text)")
        #expect(try reader.count(query.limit(2)) == min(2, found.count), "\(text)")
        #expect(try reader.count(query.offset(1)) == max(0, found.count - 1), "\(text)")
        #expect(try reader.first(query.reversed()) == found.last, "\(text)")
        let both = Note.where { $0.id.hasPrefix(prefix) && $0.size == size }
        #expect(try reader.fetch(both) == found.filter { $0.size == size }, "\(text)")
        #expect(try reader.count(both) == found.count { $0.size == size }, "\(text)")
        if let token = try reader.page(query.limit(1)).next {
          #expect(try reader.fetch(query.after(token)) == Array(found.dropFirst()), "\(text)")
          #expect(try reader.count(query.after(token)) == found.count - 1, "\(text)")
        }
      }
    }
    try check(store, 0)
    try store.read { try check($0, 1) }
    try store.write { tx in
      for note in notes where Bool.random(using: &random) { try tx.delete(note) }
      notes = try tx.fetch(Note.all)
      try check(tx, 2)
    }
    try check(store, 3)
  }
}
