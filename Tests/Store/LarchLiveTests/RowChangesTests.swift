import LarchTestSupport
import Testing

@testable import Larch

@Suite("How rows differ from earlier ones")
struct RowChangesTests {
  private func tags(_ ids: [Int], _ color: (Int) -> Int = { _ in 0 }) -> [Tag] {
    ids.map { Tag(id: "\($0)", color: color($0)) }
  }

  /// What a list does with the changes.
  private func applied(_ changes: RowChanges, to old: [Tag], of new: [Tag]) -> [Tag] {
    var list = old
    for update in changes.updates { list[update.old] = new[update.new] }
    let moved = changes.moves.map { ($0.new, list[$0.old]) }
    for place in (changes.deletions + changes.moves.map(\.old)).sorted(by: >) {
      list.remove(at: place)
    }
    let added = changes.insertions.map { ($0, new[$0]) } + moved
    for (place, tag) in added.sorted(by: { $0.0 < $1.0 }) { list.insert(tag, at: place) }
    return list
  }

  @Test("applied to the old rows they give the new ones", arguments: UInt64(1)...4)
  func random(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let count = Int.random(in: 0...9, using: &generator)
      let old = tags(
        Array(
          (0..<count).filter { _ in Bool.random(using: &generator) }.shuffled(using: &generator)))
      var new = old.filter { _ in Int.random(in: 0..<4, using: &generator) > 0 }
      for number in count..<count + Int.random(in: 0...2, using: &generator) {
        let place = Int.random(in: 0...new.count, using: &generator)
        new.insert(Tag(id: "\(number)", color: 0), at: place)
      }
      for _ in 0..<Int.random(in: 0...2, using: &generator) where !new.isEmpty {
        let moved = new.remove(at: Int.random(in: 0..<new.count, using: &generator))
        new.insert(moved, at: Int.random(in: 0...new.count, using: &generator))
      }
      for place in new.indices where Int.random(in: 0..<5, using: &generator) == 0 {
        new[place].color += 1
      }
      let changes = RowChanges(from: old, to: new)
      #expect(applied(changes, to: old, of: new) == new, "seed \(seed)")
      #expect(changes.isEmpty == (old == new))
      #expect(changes.deletions == changes.deletions.sorted())
    }
  }

  @Test("one record that changes its place is one move")
  func moves() {
    let changes = RowChanges(from: tags([1, 2, 3, 4, 5]), to: tags([5, 1, 2, 3, 4]))
    #expect(changes.moves == [RowChanges.Kept(old: 4, new: 0)])
    #expect(changes.updates.isEmpty && changes.deletions.isEmpty && changes.insertions.isEmpty)
    let updated = RowChanges(from: tags([1, 2]), to: tags([2, 1]) { $0 })
    #expect(updated.moves.count == 1)
    #expect(updated.updates.count == 2)
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
