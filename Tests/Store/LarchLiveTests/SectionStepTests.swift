import LarchTestSupport
import Testing

@testable import Larch

@Suite("Changes of sections, one after the other and as a difference")
struct SectionStepTests {
  typealias Sections = [RecordSection<Tag, Int>]
  typealias Place = SectionChanges.Place

  private static func sections(_ tags: [Tag], _ direction: SortDirection = .ascending) -> Sections {
    let sorted = tags.enumerated().sorted { first, second in
      if first.element.color == second.element.color { return first.offset < second.offset }
      return (first.element.color < second.element.color) == (direction == .ascending)
    }
    return Tag.all.sectioned(by: \.color, direction).sections(of: sorted.map(\.element))
  }

  private struct Pair {
    var old: Sections
    var new: Sections
    /// Whether both have more than one section, in different orders.
    var isTurned: Bool

    init(_ random: inout SeededGenerator) {
      let count = Int.random(
        in: 0...[4, 12, 12, 40].randomElement(using: &random)!, using: &random)
      let colors = Int.random(in: 1...7, using: &random)
      func color() -> Int { Int.random(in: 0..<colors, using: &random) }
      let old = (0..<count).map { Tag(id: "\($0)", color: color()) }.shuffled(using: &random)
      let share = Int.random(in: 1...6, using: &random)
      var new = old.filter { _ in Int.random(in: 0..<share, using: &random) > 0 }
      for number in count..<count + Int.random(in: 0...4, using: &random) {
        new.insert(
          Tag(id: "\(number)", color: color()), at: Int.random(in: 0...new.count, using: &random))
      }
      if Int.random(in: 0..<4, using: &random) == 0 { new.shuffle(using: &random) }
      for place in new.indices where Int.random(in: 0..<5, using: &random) == 0 {
        new[place].color = color()
      }
      let directions = (0..<2).map { _ in
        Int.random(in: 0..<4, using: &random) == 0 ? SortDirection.descending : .ascending
      }
      self.old = sections(old, directions[0])
      self.new = sections(new, directions[1])
      isTurned = self.old.count > 1 && self.new.count > 1 && directions[0] != directions[1]
    }
  }

  private static func check(
    seed: UInt64, _ body: (Pair, SectionChanges, () -> Comment) throws -> Void
  ) throws {
    var random = SeededGenerator(seed: 77_000 + seed)
    for round in 0..<2_500 {
      let pair = Pair(&random)
      let changes = SectionChanges(from: pair.old, to: pair.new)
      try body(pair, changes) { "seed \(seed), round \(round): \(pair.old) to \(pair.new)" }
    }
  }

  @Test(
    "a tree takes them step by step, and shows the new sections and no row twice",
    arguments: UInt64(1)...4)
  func steps(seed: UInt64) throws {
    var (rows, sections) = (0, 0)
    try Self.check(seed: seed) { pair, changes, text in
      #expect(throws: Never.self, text()) { try changes.check(from: pair.old, to: pair.new) }
      #expect(changes.steps.isEmpty == (pair.old == pair.new), text())
      let moves = changes.steps.count { if case .move = $0 { true } else { false } }
      let turns = changes.steps.count { if case .moveSection = $0 { true } else { false } }
      if pair.isTurned {
        // One section of those that both have stays where it is.
        let both = Set(pair.old.map(\.value)).intersection(pair.new.map(\.value)).count
        #expect(turns == max(0, both - 1), text())
      } else {
        #expect(turns == 0 && moves == changes.moves.count, text())
      }
      (rows, sections) = (rows + moves, sections + turns)
    }
    #expect(rows > 1_000 && sections > 500)
  }

  @Test("as a difference they change an array of sections", arguments: UInt64(1)...4)
  func difference(seed: UInt64) throws {
    try Self.check(seed: seed) { pair, changes, text in
      let difference = changes.difference(from: pair.old, to: pair.new)
      #expect(pair.old.applying(difference) == pair.new, text())
      #expect(difference.isEmpty == (pair.old == pair.new), text())
      let (old, new) = (pair.old.map(\.value), pair.new.map(\.value))
      let values = changes.valueDifference(from: pair.old, to: pair.new)
      #expect(old.applying(values) == new, text())
      // It is as small as any, and its moves are those that Swift infers.
      #expect(values.count == new.difference(from: old).count, text())
      #expect(values.inferringMoves() == values, text())
      // A section without a change of its own is in neither.
      let same = Set(pair.old.filter(pair.new.contains).map(\.value))
      let moved = Set(values.map(element))
      let changed = Set(difference.map { element($0).value })
      #expect(changed.intersection(same).isSubset(of: moved), text())
    }
  }

  @Test("a record that changes its section is one step, between the places of the moment")
  func move() {
    let tags = [("a", 1), ("b", 1), ("c", 2), ("d", 3)].map { Tag(id: $0, color: $1) }
    let old = Self.sections(tags)
    var moved = tags
    moved[1].color = 3
    moved.remove(at: 2)
    moved.append(Tag(id: "e", color: 0))
    let new = Self.sections(moved)
    let changes = SectionChanges(from: old, to: new)
    #expect(
      changes.steps == [
        .removeSection(at: 1),
        .move(from: Place(section: 0, row: 1), to: Place(section: 1, row: 0)),
        .insertSection(at: 0), .update(at: Place(section: 2, row: 0)),
      ])
    let difference = changes.difference(from: old, to: new)
    #expect(difference.count == 6)
  }

  @Test("sections in the other order move, and keep their records")
  func turned() throws {
    let tags = (0..<5).map { Tag(id: "\($0)", color: $0) }
    let (old, new) = (Self.sections(tags), Self.sections(tags, .descending))
    let changes = SectionChanges(from: old, to: new)
    #expect(
      changes.steps == [
        .moveSection(from: 4, to: 0), .moveSection(from: 4, to: 1), .moveSection(from: 4, to: 2),
        .moveSection(from: 4, to: 3),
      ])
    // A view would refuse rows that change in a section that moves, in one batch.
    #expect(changes.deletedSections.count == changes.insertedSections.count)
    #expect(changes.deletedSections.count >= 4)
    try changes.check(from: old, to: new)
  }

  @Test("sections of another number are refused")
  func otherSections() async {
    await #expect(processExitsWith: .failure) {
      let old = SectionStepTests.sections([Tag(id: "a", color: 0)])
      let new = SectionStepTests.sections([Tag(id: "b", color: 1)])
      _ = SectionChanges(from: old, to: new).difference(from: old, to: new + old)
    }
  }
}

/// The element of a change.
private func element<Element>(_ change: CollectionDifference<Element>.Change) -> Element {
  switch change {
  case .insert(_, let element, _), .remove(_, let element, _): element
  }
}
