extension SectionChanges {
  /// One change of a list with sections, which is valid after the steps before it.
  public enum Step: Sendable, Hashable {
    /// Remove the section at this position, with the records that are left in it.
    case removeSection(at: Int)
    /// Take the section out at `from`, and then insert it at `to`.
    case moveSection(from: Int, to: Int)
    /// Insert the new section with this position, at this position, with all of its records.
    case insertSection(at: Int)
    /// Remove the record at this place.
    case remove(at: Place)
    /// Take the record out at `from`, and then insert it at `to`.
    case move(from: Place, to: Place)
    /// Insert the new record with this place, at this place.
    case insert(at: Place)
    /// Replace the record at this place by the new record with this place.
    case update(at: Place)
  }

  /// The changes one after the other: each place is valid when all steps before it were made.
  ///
  /// ```swift
  /// for step in changes.steps {
  ///   switch step {
  ///   case .removeSection(let place): tree.remove(at: place)
  ///   case .moveSection(let from, let to): tree.insert(tree.remove(at: from), at: to)
  ///   case .insertSection(let place): tree.insert(Node(cities.rows[place]), at: place)
  ///   case .remove(let place): tree[place.section].remove(at: place.row)
  ///   case .move(let from, let to):
  ///     let cell = tree[from.section].remove(at: from.row)
  ///     tree[to.section].insert(cell, at: to.row)
  ///   case .insert(let place): tree[place.section].insert(cell(place), at: place.row)
  ///   case .update(let place): tree[place.section][place.row] = cell(place)
  ///   }
  /// }
  /// ```
  ///
  /// First come removals of records and then of sections, from the back. Then come the moves of sections
  /// and those of records, and then insertions of sections and of records, from the front. Updates
  /// come last. So insertions and updates have the places of the new sections, and no record is there
  /// twice at any time.
  ///
  /// Sections move only if they have another order than before, as after
  /// ``LiveResults/follow(_:first:file:line:)``. In the other lists, which are for a batch, such sections are deleted
  /// and inserted.
  ///
  /// - Complexity: O(c log c) for c changes.
  public var steps: [Step] {
    let changes = turned.first ?? self
    return changes.deletions.reversed().map { Step.remove(at: $0) }
      + changes.deletedSections.reversed().map { Step.removeSection(at: $0) }
      + changes.moveSteps
      + changes.insertedSections.map { Step.insertSection(at: $0) }
      + changes.insertions.map { Step.insert(at: $0) }
      + changes.updates.map { Step.update(at: $0.new) }
  }

  /// The moves of sections among those that both have.
  private var keptMoves: [RowChanges.Kept] {
    movedSections.map {
      RowChanges.Kept(
        old: $0.old - deletedSections.count(before: $0.old),
        new: $0.new - insertedSections.count(before: $0.new))
    }
  }

  /// The sections that both have.
  func keptSections(_ newCount: Int) -> [RowChanges.Kept] {
    let count = newCount - insertedSections.count
    let old = Self.places(count + deletedSections.count, without: deletedSections)
    let new = Self.places(newCount, without: insertedSections)
    let places = KeptSections(keptMoves)
    return old.indices.map { RowChanges.Kept(old: old[$0], new: new[places[$0]]) }
  }

  private static func places(_ count: Int, without others: [Int]) -> [Int] {
    let others = Set(others)
    return (0..<count).filter { !others.contains($0) }
  }

  /// The moves among the records and the sections that both have.
  private var moveSteps: [Step] {
    let sections = keptMoves
    let moved = MoveSteps.steps(
      sections.map {
        Kept(old: Place(section: 0, row: $0.old), new: Place(section: 0, row: $0.new))
      })
    let places = KeptSections(sections)
    let rows = moves.map {
      Kept(
        old: Place(
          section: places[$0.old.section - deletedSections.count(before: $0.old.section)],
          row: Self.row($0.old, without: deletions)),
        new: Place(
          section: $0.new.section - insertedSections.count(before: $0.new.section),
          row: Self.row($0.new, without: insertions)))
    }
    return moved.map { .moveSection(from: $0.old.row, to: $0.new.row) }
      + MoveSteps.steps(rows).map { .move(from: $0.old, to: $0.new) }
  }

  /// The position of a row in its section, without those at some places.
  private static func row(_ place: Place, without others: [Place]) -> Int {
    place.row
      - (others.count(before: place) - others.count(before: Place(section: place.section, row: 0)))
  }

  /// The new positions of the sections that both have, among each other.
  private struct KeptSections {
    private let moved: [Int: Int]
    /// The positions of those that moved, ascending.
    private let old: [Int]
    private let new: [Int]

    init(_ moves: [RowChanges.Kept]) {
      moved = Dictionary(uniqueKeysWithValues: moves.map { ($0.old, $0.new) })
      old = moves.map(\.old).sorted()
      new = moves.map(\.new)
    }

    subscript(position: Int) -> Int {
      if let place = moved[position] { return place }
      var place = position - old.count(before: position)
      for taken in new where taken <= place { place += 1 }
      return place
    }
  }
}
