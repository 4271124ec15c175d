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

  /// The moves one after the other, among the rows that both have.
  ///
  /// They are made in the order of the new positions. Each row goes right behind the one that it
  /// follows in the end. So at each time three kinds of rows lie between two rows that never move:
  /// first those that were moved there, in their last order, and then those that will be moved away,
  /// in their old order. Positions follow from counts of them, and no list is needed.
  private var moveSteps: [Step] {
    // Among the rows that both have.
    let old = moves.map { $0.old - deletions.count(before: $0.old) }
    let new = moves.map { $0.new - insertions.count(before: $0.new) }
    let byOld = moves.indices.sorted { old[$0] < old[$1] }
    // How many of the rows that never move are before each of the others, in the old order.
    let gaps = byOld.enumerated().map { old[$1] - $0 }
    var rank = [Int](repeating: 0, count: moves.count)
    for (place, move) in byOld.enumerated() { rank[move] = place }
    // The same in the new order, for those that were moved.
    var filled: [Int] = []
    var waiting = PrefixCounts(moves.count)
    return moves.indices.map { move in
      let (place, target) = (rank[move], new[move] - filled.count)
      let from =
        gaps[place] + waiting.count(before: place) + filled.count(before: gaps[place] + 1)
      waiting.remove(place)
      let to = new[move] + waiting.count(before: gaps.count(before: target))
      filled.append(target)
      return Step.move(from: from, to: to)
    }
  }
}

extension [Int] {
  /// How many of ascending numbers are below one.
  fileprivate func count(before limit: Int) -> Int {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle] < limit { low = middle + 1 } else { high = middle }
    }
    return low
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
