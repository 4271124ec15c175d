extension SectionChanges {
  /// The changes as the difference of two arrays of sections: `old.applying(difference)` gives the new
  /// one.
  ///
  /// ```swift
  /// let changes = cities.changes(from: shown)
  /// let difference = changes.difference(from: shown, to: cities.rows)
  /// ```
  ///
  /// A section whose records differ is a removal and an insertion that are associated with each other,
  /// and so is one that has another place among those that stay. What differs inside of a section is in
  /// the lists of the changes, and in ``steps``.
  ///
  /// The arrays may also have something else for each section, for example the node that shows it.
  ///
  /// - Parameters:
  ///   - old: the old sections, of which the changes are.
  ///   - new: the new ones.
  /// - Precondition: both have as many elements as there were sections.
  /// - Complexity: O(s + c log c) for s sections and c changes.
  public func difference<Section>(
    from old: [Section], to new: [Section]
  ) -> CollectionDifference<Section> {
    difference(old.count, new.count, hasUpdates: true, old: { old[$0] }, new: { new[$0] })
  }

  /// The difference of the values of the sections: as ``difference(from:to:)``, but without the sections
  /// whose records alone differ. A list that knows its sections by their values needs this.
  ///
  /// - Parameters:
  ///   - old: the old sections, of which the changes are.
  ///   - new: the new ones.
  /// - Precondition: both have as many elements as there were sections.
  /// - Complexity: O(s + c log c) for s sections and c changes.
  public func valueDifference<R: Record, Value>(
    from old: [RecordSection<R, Value>], to new: [RecordSection<R, Value>]
  ) -> CollectionDifference<Value> {
    difference(
      old.count, new.count, hasUpdates: false, old: { old[$0].value }, new: { new[$0].value })
  }

  /// That of a list whose rows are the sections.
  private func difference<Element>(
    _ oldCount: Int, _ newCount: Int, hasUpdates: Bool, old: (Int) -> Element,
    new: (Int) -> Element
  ) -> CollectionDifference<Element> {
    let changes = turned.first ?? self
    return RowChanges(
      deletions: changes.deletedSections, insertions: changes.insertedSections,
      moves: changes.movedSections, updates: hasUpdates ? changes.updatedSections(newCount) : []
    ).difference(oldCount, newCount, hasUpdates: hasUpdates, old: old, new: new)
  }

  /// The sections that stay and have other records than before.
  private func updatedSections(_ newCount: Int) -> [RowChanges.Kept] {
    let old = Set((deletions + (moves + updates).map(\.old)).map(\.section))
    let new = Set((insertions + (moves + updates).map(\.new)).map(\.section))
    return keptSections(newCount).filter { old.contains($0.old) || new.contains($0.new) }
  }
}
