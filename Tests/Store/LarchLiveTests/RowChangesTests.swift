import LarchTestSupport
import Testing

@testable import Larch

@Suite("How rows differ from earlier ones")
struct RowChangesTests {
  private func tags(_ ids: [Int], _ color: (Int) -> Int = { _ in 0 }) -> [Tag] {
    ids.map { Tag(id: "\($0)", color: color($0)) }
  }

  /// Two lists, of which the second one has come from the first one by a few changes, or is shuffled.
  private struct Pair: CustomStringConvertible {
    var old: [Tag]
    var new: [Tag]

    var description: String { "\(old.map(\.id)) to \(new.map { "\($0.id):\($0.color)" })" }

    init(_ random: inout SeededGenerator) {
      let count = Int.random(in: 0...[4, 9, 9, 30].randomElement(using: &random)!, using: &random)
      old = (0..<count).map { Tag(id: "\($0)", color: 0) }.shuffled(using: &random)
      let share = Int.random(in: 1...6, using: &random)
      new = old.filter { _ in Int.random(in: 0..<share, using: &random) > 0 }
      for number in count..<count + Int.random(in: 0...3, using: &random) {
        let place = Int.random(in: 0...new.count, using: &random)
        new.insert(Tag(id: "\(number)", color: 0), at: place)
      }
      if Int.random(in: 0..<4, using: &random) == 0 { new.shuffle(using: &random) }
      for _ in 0..<Int.random(in: 0...3, using: &random) where !new.isEmpty {
        let moved = new.remove(at: Int.random(in: 0..<new.count, using: &random))
        new.insert(moved, at: Int.random(in: 0...new.count, using: &random))
      }
      for place in new.indices where Int.random(in: 0..<5, using: &random) == 0 {
        new[place].color += 1
      }
    }

    /// How many rows keep their order at most, by trying each of them as the last one.
    var longestAscent: Int {
      let before = new.compactMap { tag in old.firstIndex { $0.id == tag.id } }
      var lengths: [Int] = []
      for (place, position) in before.enumerated() {
        lengths.append(
          1
            + (before[..<place].indices.filter { before[$0] < position }.map { lengths[$0] }
              .max() ?? 0))
      }
      return lengths.max() ?? 0
    }
  }

  private static func check(
    seed: UInt64, _ body: (Pair, RowChanges, () -> Comment) throws -> Void
  ) throws {
    var random = SeededGenerator(seed: 74_000 + seed)
    for round in 0..<2_500 {
      let pair = Pair(&random)
      try body(pair, RowChanges(from: pair.old, to: pair.new)) {
        "seed \(seed), round \(round): \(pair)"
      }
    }
  }

  @Test("a table view takes them as a batch, and shows the new rows", arguments: UInt64(1)...4)
  func batch(seed: UInt64) throws {
    try Self.check(seed: seed) { pair, changes, text in
      typealias Table = BatchTable<Tag>
      let place = { Table.Place(section: 0, row: $0) }
      var batch = Table.Batch(
        deletions: changes.deletions.map(place), insertions: changes.insertions.map(place),
        moves: changes.moves.map { (place($0.old), place($0.new)) })
      // Updated rows are configured again after the batch.
      var table = Table(cells: [pair.old])
      try table.perform(batch, counts: [pair.new.count]) { pair.new[$0.row] }
      for update in changes.updates { table.cells[0][update.new] = pair.new[update.new] }
      #expect(table.cells == [pair.new], text())
      // Or those that were not moved are loaded again with it.
      let moved = Set(changes.moves)
      batch.reloads = changes.updates.filter { !moved.contains($0) }.map { place($0.old) }
      table = Table(cells: [pair.old])
      try table.perform(batch, counts: [pair.new.count]) { pair.new[$0.row] }
      for update in moved.intersection(changes.updates) {
        table.cells[0][update.new] = pair.new[update.new]
      }
      #expect(table.cells == [pair.new], text())
    }
  }

  @Test("a table view takes them step by step, and shows the new rows", arguments: UInt64(1)...4)
  func steps(seed: UInt64) throws {
    var count = 0
    try Self.check(seed: seed) { pair, changes, text in
      #expect(throws: Never.self, text()) { try changes.check(from: pair.old, to: pair.new) }
      let moves = changes.steps.count { if case .move = $0 { true } else { false } }
      #expect(moves == changes.moves.count, text())
      count += moves
    }
    #expect(count > 1_000)
  }

  @Test("as a difference they change an array, with each move associated", arguments: UInt64(1)...4)
  func difference(seed: UInt64) throws {
    try Self.check(seed: seed) { pair, changes, text in
      let rows = changes.difference(from: pair.old, to: pair.new)
      #expect(pair.old.applying(rows) == pair.new, text())
      let ids = changes.idDifference(from: pair.old, to: pair.new)
      #expect(pair.old.map(\.id).applying(ids) == pair.new.map(\.id), text())
      // Without updates, it is as small as any difference, and the moves are those that Swift infers.
      let known = pair.new.map(\.id).difference(from: pair.old.map(\.id))
      #expect(ids.count == known.count, text())
      let associated = { (difference: CollectionDifference<String>) in
        difference.insertions.count {
          if case .insert(_, _, let from) = $0 { from != nil } else { false }
        }
      }
      #expect(associated(ids) == associated(known.inferringMoves()), text())
      #expect(ids.inferringMoves() == ids, text())
      // Any other array with an element for each row.
      let cells = changes.difference(from: pair.old.map(\.color), to: pair.new.map(\.color))
      #expect(pair.old.map(\.color).applying(cells) == pair.new.map(\.color), text())
    }
  }

  @Test(
    "no row is moved without need, and nothing is listed that is equal", arguments: UInt64(1)...4)
  func fewest(seed: UInt64) throws {
    try Self.check(seed: seed) { pair, changes, text in
      let kept = pair.old.count - changes.deletions.count
      #expect(changes.moves.count == kept - pair.longestAscent, text())
      #expect(changes.isEmpty == (pair.old == pair.new), text())
      #expect(changes.steps.isEmpty == changes.isEmpty, text())
      #expect(changes.deletions == changes.deletions.sorted(), text())
      #expect(changes.insertions == changes.insertions.sorted(), text())
      #expect(changes.moves.map(\.new) == changes.moves.map(\.new).sorted(), text())
      #expect(changes.updates.allSatisfy { pair.old[$0.old].id == pair.new[$0.new].id }, text())
      #expect(changes.updates.allSatisfy { pair.old[$0.old] != pair.new[$0.new] }, text())
    }
  }

  @Test("one record that changes its place is one move")
  func moves() {
    let changes = RowChanges(from: tags([1, 2, 3, 4, 5]), to: tags([5, 1, 2, 3, 4]))
    #expect(changes.moves == [RowChanges.Kept(old: 4, new: 0)])
    #expect(changes.steps == [.move(from: 4, to: 0)])
    #expect(changes.updates.isEmpty && changes.deletions.isEmpty && changes.insertions.isEmpty)
    let updated = RowChanges(from: tags([1, 2]), to: tags([2, 1]) { $0 })
    #expect(updated.moves.count == 1)
    #expect(updated.updates.count == 2)
  }

  @Test("steps have the positions of their moment")
  func stepPlaces() {
    let changes = RowChanges(from: tags([1, 2, 3, 4, 5]), to: tags([9, 5, 3, 1]) { $0 / 9 })
    #expect(
      changes.steps == [
        .remove(at: 3), .remove(at: 1), .move(from: 2, to: 0), .move(from: 2, to: 1),
        .insert(at: 0),
      ])
    let renamed = RowChanges(from: tags([1, 2]), to: tags([1, 2]) { $0 - 1 })
    #expect(renamed.steps == [.update(at: 1)])
  }

  @Test("a long list in the other order has its steps at once")
  func longSteps() throws {
    let ids = Array(0..<50_000)
    let (old, new) = (tags(ids), tags(ids.reversed()))
    let steps = RowChanges(from: old, to: new).steps
    #expect(steps.count == ids.count - 1)
    #expect(steps.first == .move(from: 49_999, to: 0))
  }

  @Test("rows of another length are refused")
  func otherRows() async {
    await #expect(processExitsWith: .failure) {
      let (old, new) = ([Tag(id: "a", color: 0)], [Tag(id: "b", color: 0)])
      _ = RowChanges(from: old, to: new).difference(from: old, to: new + old)
    }
  }

  @Test("values of an observer have them")
  func observed() throws {
    let store = try Store.temporary(for: Tag.self, Pet.self, Owner.self, Note.self)
    let observer = store.observe(Tag.all.sorted(by: \.color)).makeAsyncIterator().polled
    try store.write { tx in
      for tag in tags([1, 2, 3], { $0 }) { try tx.put(tag) }
    }
    let first = try #require(try observer.poll())
    try store.write { tx in
      try tx.put(Tag(id: "1", color: 9))
      try tx.delete(Tag.self, "2")
      try tx.put(Tag(id: "4", color: 0))
    }
    let changes = try #require(try observer.poll()).changes(from: first.rows)
    #expect(changes.deletions == [1])
    #expect(changes.insertions == [0])
    #expect(changes.updates == [RowChanges.Kept(old: 0, new: 2)])
    #expect(changes.moves.count == 1)
  }
}
