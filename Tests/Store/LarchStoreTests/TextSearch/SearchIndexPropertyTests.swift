import Foundation
import LarchTestSupport
import Testing

@testable import Larch
@testable import LarchInspection

/// Random notes, edits and queries: with an index of words, every answer is that of `TextQuery.matches` over an
/// array, and after every write the index has the words of the records and nothing else.
@Suite struct SearchIndexPropertyTests {
  private struct Undone: Error {}

  private final class Tally {
    var found = 0
    var searched = 0
    var asked = 0
  }

  @Test(arguments: [UInt64(1), 2, 3])
  func signedIDs(_ seed: UInt64) throws { try run(Int.self, seed: seed) }

  @Test(arguments: [UInt64(4), 5])
  func unsignedIDs(_ seed: UInt64) throws { try run(UInt64.self, seed: seed) }

  @Test(arguments: [UInt64(6), 7])
  func uuids(_ seed: UInt64) throws { try run(UUID.self, seed: seed) }

  @Test(arguments: [UInt64(8), 9])
  func textIDs(_ seed: UInt64) throws { try run(String.self, seed: seed) }

  private func run<Key: SearchID>(_ type: Key.Type, seed: UInt64) throws {
    typealias Note = SearchNote<Key, WithSearches>
    var random = SeededGenerator(seed: seed)
    var options = Store.Options.quick
    options.checksQueries = true
    // Changes of this many records wait before they are merged into blocks, or of so many bytes before a piece is.
    options.searchLimits = SearchLimits(
      records: [0, 1, 3, 128][Int(seed % 4)], bytes: seed % 8 == 7 ? 400 : 1 << 20)
    let store = try Store.temporary(for: Note.self, options: options)
    var model: [Key: Note] = [:]
    let tally = Tally()
    for _ in 0..<14 {
      try write(store, &model, &random)
      let report = try store.verify()
      #expect(report.isClean, "\(report)")
      let notes = try store.everything(Note.self)
      #expect(notes.count == model.count && notes.allSatisfy { model[$0.id] == $0 })
      for _ in 0..<4 { try ask(store, notes, tally, &random) }
    }
    #expect(tally.found > 200 && tally.searched * 6 > tally.asked, "\(tally.searched)")
    try expectSameWhenBuiltAgain(store)
  }

  /// One write of a few steps, some of them in savepoints that are undone; some writes are undone too.
  private func write<Key: SearchID>(
    _ store: Store, _ model: inout [Key: SearchNote<Key, WithSearches>],
    _ random: inout SeededGenerator
  ) throws {
    typealias Note = SearchNote<Key, WithSearches>
    var state = (model: model, random: random)
    let isUndone = Int.random(in: 0..<6, using: &state.random) == 0
    do {
      try store.write { tx in
        state = (model, random)
        _ = Int.random(in: 0..<6, using: &state.random)
        for _ in 0..<Int.random(in: 1...8, using: &state.random) {
          let before = state.model
          let isSavepoint = Int.random(in: 0..<4, using: &state.random) == 0
          if isSavepoint {
            let throwsOut = Bool.random(using: &state.random)
            do {
              try tx.savepoint {
                for _ in 0..<3 { try step(tx, &state) }
                if throwsOut { throw Undone() }
              }
            } catch is Undone {
              state.model = before
            }
          } else {
            try step(tx, &state)
          }
        }
        if isUndone { throw Undone() }
      }
      model = state.model
    } catch is Undone {}
    random = state.random
  }

  private func step<Key: SearchID>(
    _ tx: WriteTransaction,
    _ state: inout (model: [Key: SearchNote<Key, WithSearches>], random: SeededGenerator)
  ) throws {
    typealias Note = SearchNote<Key, WithSearches>
    let number = Int.random(in: 0..<40, using: &state.random)
    let id = Key.make(number)
    switch Int.random(in: 0..<10, using: &state.random) {
    case 0..<5:
      var note = Note.random(number, &state.random)
      try tx.save(&note)
      state.model[id] = note
    case 5:
      // Other fields than those of a search.
      guard var note = state.model[id] else { return }
      note.year += 1
      try tx.save(&note)
      state.model[id] = note
    case 6:
      // The text moves from one field to another, and its words stay.
      guard var note = state.model[id] else { return }
      (note.title, note.body) = (note.body ?? "", note.title)
      try tx.save(&note)
      state.model[id] = note
    case 7:
      guard let note = state.model[id] else { return }
      try tx.delete(note)
      state.model[id] = nil
    case 8:
      let query = RandomTexts.query(1, &state.random)
      // Reads what this write has changed, before its end.
      let ids = try tx.ids(Note.where { query.matches($0.title, $0.tags) })
      let expected = state.model.values.filter { query.matches($0.title, $0.tags) }.map(\.id)
      #expect(Set(ids) == Set(expected), "\(query)")
      let year = Int.random(in: 1990...2030, using: &state.random)
      try tx.delete(Note.where { query.matches($0.title, $0.tags) && $0.year < year })
      for (id, note) in state.model
      where query.matches(note.title, note.tags) && note.year < year {
        state.model[id] = nil
      }
    default:
      let word = RandomTexts.words.randomElement(using: &state.random) ?? ""
      try tx.update(Note.where { $0.year < 2000 }) { $0.tags.append(word) }
      for id in state.model.keys where (state.model[id]?.year ?? 2000) < 2000 {
        state.model[id]?.tags.append(word)
      }
    }
  }

  private func ask<Key: SearchID>(
    _ store: Store, _ notes: [SearchNote<Key, WithSearches>], _ tally: Tally,
    _ random: inout SeededGenerator
  ) throws {
    typealias Note = SearchNote<Key, WithSearches>
    let q = RandomTexts.query(2, &random)
    let p = RandomTexts.query(1, &random)
    let year = Int.random(in: 1990...2030, using: &random)
    func check(_ query: Query<Note>, _ isMatch: (Note) -> Bool) throws {
      let expected = notes.filter(isMatch)
      let ids = expected.map(\.id)
      #expect(try store.ids(query) == ids, "\(q) \(p)")
      #expect(try store.count(query) == ids.count, "\(q) \(p)")
      #expect(try store.exists(query) == !ids.isEmpty, "\(q) \(p)")
      #expect(try store.fetch(query) == expected, "\(q) \(p)")
      let page = query.sorted(by: \.year, .descending).limit(3).offset(1)
      let sorted = expected.enumerated().sorted {
        ($0.element.year, $1.offset) > ($1.element.year, $0.offset)
      }.map(\.element)
      #expect(try store.fetch(page) == Array(sorted.dropFirst().prefix(3)), "\(q) \(p)")
      #expect(try store.ids(query.limit(2).offset(1)) == Array(ids.dropFirst().prefix(2)))
      tally.found += ids.count
      tally.asked += 1
      if try store.explain(query).description.contains("search ") { tally.searched += 1 }
    }
    try check(Note.where { q.matches($0.title, $0.body, $0.tags) }) {
      q.matches($0.title, $0.body, $0.tags)
    }
    try check(Note.where { q.matches($0.body) }) { q.matches($0.body) }
    try check(Note.where { q.matches($0.title) }) { q.matches($0.title) }
    try check(Note.where { q.matches($0.tags, $0.title) && $0.year > year }) {
      q.matches($0.tags, $0.title) && $0.year > year
    }
    try check(Note.where { q.matches($0.notes, $0.labels, $0.lists) }) {
      q.matches($0.notes, $0.labels, $0.lists)
    }
    try check(Note.where { q.matches($0.lists) && !p.matches($0.title) }) {
      q.matches($0.lists) && !p.matches($0.title)
    }
    try check(Note.where { q.matches($0.place.name, $0.origin.about) }) {
      q.matches($0.place.name, $0.origin?.about)
    }
    try check(Note.where { q.matches($0.title) && p.matches($0.labels) }) {
      q.matches($0.title) && p.matches($0.labels)
    }
    try check(Note.where { q.matches($0.title) || $0.year == year || p.matches($0.notes) }) {
      q.matches($0.title) || $0.year == year || p.matches($0.notes)
    }
    // No search has both fields.
    try check(Note.where { q.matches($0.title, $0.labels) }) { q.matches($0.title, $0.labels) }
  }

  /// An index that was changed step by step has the same words as one that is built of the same records.
  private func expectSameWhenBuiltAgain(_ store: Store) throws {
    let dump = try store.dump()
    #expect(dump.contains("\"larch\" -> "))
    try store.rebuild()
    #expect(TextDifference.between(expected: dump, actual: try store.dump()) == nil)
    let report = try store.verify()
    #expect(report.isClean, "\(report)")
    #expect(try store.verifyWithoutTypes().report.isClean)
  }
}
