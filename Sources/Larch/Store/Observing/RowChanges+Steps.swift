extension RowChanges {
  /// One change of a list, which is valid after the steps before it.
  public enum Step: Sendable, Hashable {
    /// Remove the row at this position.
    case remove(at: Int)
    /// Take the row out at `from`, and then insert it at `to`.
    case move(from: Int, to: Int)
    /// Insert the new row with this position, at this position.
    case insert(at: Int)
    /// Replace the row at this position by the new row with this position.
    case update(at: Int)
  }

  /// The changes one after the other: each position is valid when all steps before it were made.
  ///
  /// ```swift
  /// for step in changes.steps {
  ///   switch step {
  ///   case .remove(let place): cells.remove(at: place)
  ///   case .move(let from, let to): cells.insert(cells.remove(at: from), at: to)
  ///   case .insert(let place): cells.insert(Cell(people.rows[place]), at: place)
  ///   case .update(let place): cells[place] = Cell(people.rows[place])
  ///   }
  /// }
  /// ```
  ///
  /// First come removals, from the back. Then come the moves, with one step for each, and insertions
  /// from the front. Updates come last. So insertions and updates have the positions of the new
  /// rows.
  ///
  /// - Complexity: O(c log c) for c changes.
  public var steps: [Step] {
    deletions.reversed().map { Step.remove(at: $0) } + moveSteps
      + insertions.map { Step.insert(at: $0) } + updates.map { Step.update(at: $0.new) }
  }

  private var moveSteps: [Step] {
    // Among the rows that both have.
    let kept = moves.map {
      SectionChanges.Kept(
        old: .init(section: 0, row: $0.old - deletions.count(before: $0.old)),
        new: .init(section: 0, row: $0.new - insertions.count(before: $0.new)))
    }
    return MoveSteps.steps(kept).map { .move(from: $0.old.row, to: $0.new.row) }
  }
}

/// Makes moves one after the other, among the rows that both have, in sections that both have.
///
/// They are made in the order of the new places. Each row goes directly after the one that it follows in
/// the end. So at each time three kinds of rows lie between two rows of a section that never move:
/// first those that were moved there, in their last order, and then those that will be moved away, in
/// their old order. Places follow from counts of them, and no list is needed.
struct MoveSteps {
  /// The rows of a section that are moved away, and into it.
  private struct Section {
    /// How many rows that never move are before each row that is moved away, in the old order.
    var gaps: [Int] = []
    /// The same in the new order, for those that were moved here.
    var filled: [Int] = []
    /// Those that were not moved away yet.
    var waiting = PrefixCounts(0)
  }

  private var sections: [Section]
  /// The place of each move among those away from its section.
  private var rank: [Int]

  /// The moves with the places of their moment.
  ///
  /// - Parameter moves: in the order of the new places.
  static func steps(_ moves: [SectionChanges.Kept]) -> [SectionChanges.Kept] {
    var steps = MoveSteps(moves)
    return moves.indices.map { steps.next(moves[$0], steps.rank[$0]) }
  }

  private init(_ moves: [SectionChanges.Kept]) {
    let last = moves.reduce(-1) { max($0, $1.old.section, $1.new.section) }
    sections = [Section](repeating: Section(), count: last + 1)
    rank = [Int](repeating: 0, count: moves.count)
    for move in moves.indices.sorted(by: { moves[$0].old < moves[$1].old }) {
      let old = moves[move].old
      rank[move] = sections[old.section].gaps.count
      sections[old.section].gaps.append(old.row - rank[move])
    }
    for place in sections.indices {
      sections[place].waiting = PrefixCounts(sections[place].gaps.count)
    }
  }

  private mutating func next(_ move: SectionChanges.Kept, _ rank: Int) -> SectionChanges.Kept {
    let (old, new) = (move.old.section, move.new.section)
    let gap = sections[old].gaps[rank]
    let from =
      gap + sections[old].waiting.count(before: rank) + sections[old].filled.count(before: gap + 1)
    sections[old].waiting.remove(rank)
    let target = move.new.row - sections[new].filled.count
    let waiting = sections[new].gaps.count(before: target)
    let to = move.new.row + sections[new].waiting.count(before: waiting)
    sections[new].filled.append(target)
    return SectionChanges.Kept(
      old: .init(section: old, row: from), new: .init(section: new, row: to))
  }
}

extension Array where Element: Comparable {
  /// How many of ascending elements are below one.
  func count(before limit: Element) -> Int {
    placeAfter { $0 < limit }
  }
}

/// How many of the first numbers of a set there are, while numbers are removed: a binary indexed tree.
private struct PrefixCounts {
  /// Of the numbers that end with the one at each place. Each covers a power of two.
  private var sums: [Int]

  /// All numbers below a count.
  init(_ count: Int) { sums = (0..<count).map { ($0 + 1) & -($0 + 1) } }

  mutating func remove(_ number: Int) {
    var place = number + 1
    while place <= sums.count {
      sums[place - 1] -= 1
      place += place & -place
    }
  }

  func count(before limit: Int) -> Int {
    var (place, sum) = (limit, 0)
    while place > 0 {
      sum += sums[place - 1]
      place -= place & -place
    }
    return sum
  }
}
