extension RowChanges {
  /// The changes as the difference of two arrays: `old.applying(difference)` gives the new one.
  ///
  /// ```swift
  /// let changes = people.changes(from: shown)
  /// let difference = changes.difference(from: shown, to: people.rows)
  /// ```
  ///
  /// A row that was moved or updated is a removal and an insertion that are associated with each
  /// other, as those that `inferringMoves()` finds. A row that was only updated has the same place
  /// among the rows that stay.
  ///
  /// The arrays may also have something else for each row, for example the cell that shows it.
  ///
  /// - Parameters:
  ///   - old: the old rows, of which the changes are.
  ///   - new: the new ones.
  /// - Precondition: both have as many elements as there were rows.
  /// - Complexity: O(c log c) for c changes.
  public func difference<Row>(from old: [Row], to new: [Row]) -> CollectionDifference<Row> {
    difference(old.count, new.count, hasUpdates: true, old: { old[$0] }, new: { new[$0] })
  }

  /// The difference of the ids: as ``difference(from:to:)``, but without the rows that were only
  /// updated, whose ids are the same. A list that knows its rows by their ids needs this and
  /// ``updates``.
  ///
  /// - Parameters:
  ///   - old: the old rows, of which the changes are.
  ///   - new: the new ones.
  /// - Precondition: both have as many elements as there were rows.
  /// - Complexity: O(c log c) for c changes.
  public func idDifference<R: Record>(from old: [R], to new: [R]) -> CollectionDifference<R.ID> {
    difference(old.count, new.count, hasUpdates: false, old: { old[$0].id }, new: { new[$0].id })
  }

  func difference<Element>(
    _ oldCount: Int, _ newCount: Int, hasUpdates: Bool, old: (Int) -> Element,
    new: (Int) -> Element
  ) -> CollectionDifference<Element> {
    // A mistake of the program, as an index out of range is: it passed other rows than the changed ones.
    precondition(
      oldCount - deletions.count == newCount - insertions.count,
      "These are not the rows of which the changes are: \(oldCount) became \(newCount).")
    typealias Change = CollectionDifference<Element>.Change
    var changes = deletions.map {
      Change.remove(offset: $0, element: old($0), associatedWith: nil)
    }
    changes += insertions.map { .insert(offset: $0, element: new($0), associatedWith: nil) }
    for kept in hasUpdates ? Set(moves).union(updates) : Set(moves) {
      changes.append(
        .remove(offset: kept.old, element: old(kept.old), associatedWith: kept.new))
      changes.append(
        .insert(offset: kept.new, element: new(kept.new), associatedWith: kept.old))
    }
    guard let difference = CollectionDifference(changes) else {
      // The changes of rows are made so; a value of the program cannot alter them.
      preconditionFailure("Each position of the old and the new rows is changed once.")
    }
    return difference
  }
}
